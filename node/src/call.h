/* call.h - calls of the library that wait: on a thread of the pool of Node.js, with a promise of
 * their result. */
#ifndef SLOTMQ_NODE_CALL_H
#define SLOTMQ_NODE_CALL_H

#include "handle.h"

struct call;

typedef void call_run_fn(struct call *call);                        /* on a thread of the pool */
typedef napi_value call_result_fn(napi_env env, struct call *call); /* NULL: undefined */

struct call {
    struct addon *addon;
    struct handle *handle, *also; /* that stay until it has ended; NULL: none */
    napi_async_work work;
    napi_deferred deferred;
    call_run_fn *run;
    call_result_fn *result; /* of SMQ_OK */
    struct arena arena;
    smq_status status;
    smq_error err;
    void *data;    /* of its kind, in the arena */
    void *options; /* freed with it */
};

/* A call with the handle. */
struct call *call_new(napi_env env, struct handle *handle);
/* Its promise; it is queued by the caller. */
napi_value call_prepare(napi_env env, struct call *call, call_run_fn *run, call_result_fn *result);
/* Its promise; it runs. */
napi_value call_begin(napi_env env, struct call *call, call_run_fn *run, call_result_fn *result);
/* It was not begun.  Returns NULL. */
napi_value call_drop(struct call *call);
/* Drop it, and throw its error, if no other was thrown. */
napi_value call_refuse(napi_env env, struct call *call);

void call_throw(napi_env env, smq_status status, const char *text);

#endif
