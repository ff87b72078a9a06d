/* testing.h - cmocka, and the headers that have to come before it.
 *
 * Thread: main. */
#ifndef SUPPORT_TESTING_H
#define SUPPORT_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka gives its state to each test, set-up and tear-down, and most have none. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
