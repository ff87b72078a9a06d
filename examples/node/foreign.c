/* foreign.c - what Node.js lacks to use the library.  Thread: that of the loop.
 *   call(name, ...words)  a Buffer is passed by its address; the result is a BigInt.  No parameter
 *                         of the library is longer than a word
 *   watch(fd, fn)         calls fn while fd is readable; the result is for uv_close() */
#include <dlfcn.h>
#include <node_api.h>
#include <stdlib.h>
#include <uv.h>

typedef int64_t function(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);

struct watch {
    uv_poll_t poll; /* first: its address is that of the watch */
    napi_env env;
    napi_ref fn;
};

static napi_value call(napi_env env, napi_callback_info info)
{
    char name[64] = "";
    napi_value args[8], result = NULL;
    int64_t word[8] = {0};
    size_t count = 8;

    napi_get_cb_info(env, info, &count, args, NULL, NULL);
    napi_get_value_string_utf8(env, args[0], name, sizeof(name), NULL);
    for (size_t i = 1; i < count && i < 8; i++) {
        if (napi_get_buffer_info(env, args[i], (void **) &word[i], NULL) != napi_ok) {
            napi_get_value_bigint_int64(env, args[i], &word[i], &(bool){false});
        }
    }
    function *fn = (function *) dlsym(RTLD_DEFAULT, name);
    if (fn == NULL) {
        napi_throw_error(env, NULL, name);
    } else {
        int64_t value = fn(word[1], word[2], word[3], word[4], word[5], word[6], word[7]);
        napi_create_bigint_int64(env, value, &result);
    }
    return result;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    const struct watch *watch = (const struct watch *) poll;
    napi_handle_scope scope;
    napi_value fn;

    napi_open_handle_scope(watch->env, &scope);
    napi_get_reference_value(watch->env, watch->fn, &fn);
    napi_make_callback(watch->env, NULL, fn, fn, 0, NULL, NULL);
    napi_close_handle_scope(watch->env, scope);
}

static napi_value watch(napi_env env, napi_callback_info info)
{
    struct watch *watch = malloc(sizeof(*watch));
    napi_value args[2], result;
    uv_loop_t *loop;
    size_t count = 2;
    int32_t fd = -1;

    napi_get_cb_info(env, info, &count, args, NULL, NULL);
    napi_get_value_int32(env, args[0], &fd);
    watch->env = env;
    napi_create_reference(env, args[1], 1, &watch->fn);
    napi_get_uv_event_loop(env, &loop);
    uv_poll_init(loop, &watch->poll, fd);
    uv_poll_start(&watch->poll, UV_READABLE, on_readable);
    napi_create_bigint_int64(env, (int64_t) watch, &result);
    return result;
}

NAPI_MODULE_INIT()
{
    const napi_property_descriptor calls[] = {{.utf8name = "call", .method = call},
                                              {.utf8name = "watch", .method = watch}};
    return napi_define_properties(env, exports, 2, calls) == napi_ok ? exports : NULL;
}
