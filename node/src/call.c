/* call.c - calls of the library that wait: on a thread of the pool of Node.js, with a promise of
 * their result.  Thread: that of the loop, but for the step `run`. */
#include "call.h"

#include <stdlib.h>

struct call *call_new(napi_env env, struct handle *handle)
{
    struct call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        abort();
    }
    call->addon = addon_of(env);
    call->handle = handle;
    return call;
}

static void call_free(struct call *call)
{
    if (call->work != NULL) {
        (void) napi_delete_async_work(call->addon->env, call->work);
    }
    smq_options_free(call->options);
    arena_free(&call->arena);
    free(call);
}

napi_value call_drop(struct call *call)
{
    call_free(call);
    return NULL;
}

static napi_value call_error(napi_env env, smq_status status, const char *text)
{
    napi_value make = NULL, error = NULL;
    napi_value argv[] = {value_of_number(env, status), value_of_text(env, smq_status_name(status)),
                         value_of_number(env, smq_status_class(status)),
                         value_of_text(env, text[0] != '\0' ? text : smq_status_text(status))};

    (void) napi_get_reference_value(env, addon_of(env)->error_of, &make);
    return napi_call_function(env, value_undefined(env), make, 4, argv, &error) == napi_ok ? error
                                                                                           : NULL;
}

void call_throw(napi_env env, smq_status status, const char *text)
{
    napi_value error = call_error(env, status, text);

    if (error != NULL) {
        (void) napi_throw(env, error);
    }
}

napi_value call_refuse(napi_env env, struct call *call)
{
    bool is_thrown = false;

    (void) napi_is_exception_pending(env, &is_thrown);
    if (!is_thrown) {
        call_throw(env, call->status, call->err.text);
    }
    return call_drop(call);
}

static void call_execute(napi_env env, void *data)
{
    struct call *call = data;

    (void) env;
    call->run(call);
}

/* At the end of the environment the promise can be neither kept nor broken, but handles are made
 * and left. */
static void call_complete(napi_env env, napi_status status, void *data)
{
    struct call *call = data;

    (void) status;
    if (call->status == SMQ_OK) {
        napi_value result = call->result != NULL ? call->result(env, call) : NULL;

        (void) napi_resolve_deferred(env, call->deferred,
                                     result != NULL ? result : value_undefined(env));
    } else {
        napi_value error = call_error(env, call->status, call->err.text);

        if (error != NULL) {
            (void) napi_reject_deferred(env, call->deferred, error);
        }
    }
    if (call->also != NULL) {
        handle_leave(call->also);
    }
    if (call->handle != NULL && call->handle->end != call) {
        handle_leave(call->handle);
    }
    call_free(call);
}

napi_value call_prepare(napi_env env, struct call *call, call_run_fn *run, call_result_fn *result)
{
    napi_value promise = NULL, name = value_of_text(env, "slotmq");

    call->run = run;
    call->result = result;
    if (napi_create_async_work(env, NULL, name, call_execute, call_complete, call, &call->work) !=
            napi_ok ||
        napi_create_promise(env, &call->deferred, &promise) != napi_ok) {
        abort();
    }
    return promise;
}

napi_value call_begin(napi_env env, struct call *call, call_run_fn *run, call_result_fn *result)
{
    napi_value promise = call_prepare(env, call, run, result);

    if (call->handle != NULL) {
        call->handle->calls++;
    }
    if (call->also != NULL) {
        call->also->calls++;
    }
    (void) napi_queue_async_work(env, call->work);
    return promise;
}
