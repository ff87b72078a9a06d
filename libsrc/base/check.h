/* check.h - the invariants of structs, checked while the program runs.
 *
 * The `..._check()` of a struct asserts what the struct's comment promises.  Builds with a
 * sanitizer and builds without optimization call it; in all others CHECK() is nothing.
 *
 * Thread: that which changes the struct. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <assert.h>
#include <stdbool.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define CHECK_RUNS true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECK_RUNS true
#endif
#endif
#ifndef CHECK_RUNS
#define CHECK_RUNS false
#endif

#define CHECK(call) ((void) (CHECK_RUNS && ((call), true)))

#endif
