/* call.h - a call of the model as the script takes it.
 *
 * Thread: main. */
#ifndef TESTS_LUA_CALL_H
#define TESTS_LUA_CALL_H

#include "fixture.h"
#include "model.h"

const char *call_script(const struct call *call);

void call_args(struct args *args, const struct model *model, const struct call *call);

#endif
