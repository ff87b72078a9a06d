/* addon.c - what JavaScript calls of libslotmq.  It only translates: lib/ has the interface.
 * Nothing calls JavaScript on a thread of the library; descriptors wake the loop of Node.js, whose
 * own libuv is called for that. */
#include <stdlib.h>

#include "addon.h"

static const struct {
    const char *name;
    napi_callback call;
} addon_calls[] = {
    {"clientNew", admin_client_new}, {"clientPoll", admin_client_poll},
    {"limitNew", admin_limit_new},   {"call", admin_call},
    {"producerNew", producer_new},   {"send", producer_send},
    {"producerPoll", producer_poll}, {"consumerNew", consumer_new},
    {"consumerPoll", consumer_poll}, {"answer", consumer_answer},
    {"setMost", consumer_set_most},  {"stop", consumer_stop},
    {"watch", handle_watch},         {"listen", handle_listen},
    {"hold", handle_hold},           {"wakes", handle_wakes},
    {"close", handle_close},
};

static void addon_finalize(napi_env env, void *addon, void *hint)
{
    (void) env;
    (void) hint;
    addon_drop(addon);
}

/* init(errorOf): what makes errors. */
static napi_value addon_init(napi_env env, napi_callback_info info)
{
    napi_value argv[1];
    size_t argc = 1;

    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    napi_create_reference(env, argv[0], 1, &addon_of(env)->error_of);
    return NULL;
}

/* error(status): that of an answer which changed nothing. */
static napi_value addon_error(napi_env env, napi_callback_info info)
{
    napi_value argv[1];
    size_t argc = 1;
    int64_t status = 0;

    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    return value_int(env, argv[0], &status) ? call_error(env, (smq_status) status, "") : NULL;
}

static void addon_add(napi_env env, napi_value exports, const char *name, napi_callback call)
{
    napi_value function = NULL;

    napi_create_function(env, name, NAPI_AUTO_LENGTH, call, NULL, &function);
    value_set(env, exports, name, function);
}

NAPI_MODULE_INIT()
{
    struct addon *addon = calloc(1, sizeof(*addon));

    if (addon == NULL || napi_get_uv_event_loop(env, &addon->loop) != napi_ok) {
        free(addon);
        return NULL;
    }
    addon->env = env;
    addon->owners = 2;
    LIST_INIT(&addon->handles);
    napi_set_instance_data(env, addon, addon_finalize, NULL);
    napi_add_async_cleanup_hook(env, handle_end_all, addon, &addon->hook);
    addon_add(env, exports, "init", addon_init);
    addon_add(env, exports, "error", addon_error);
    for (size_t i = 0; i < sizeof(addon_calls) / sizeof(addon_calls[0]); i++) {
        addon_add(env, exports, addon_calls[i].name, addon_calls[i].call);
    }
    value_set(env, exports, "version", value_of_text(env, smq_version()));
    return exports;
}
