/* addon.c - what JavaScript calls of libslotmq.  It only translates: lib/ has the interface.
 * Nothing calls JavaScript on a thread of the library; descriptors wake the loop of Node.js, whose
 * own libuv is called for that. */
#include <stdlib.h>

#include "addon.h"

static const struct {
    const char *name;
    napi_callback call;
} addon_calls[] = {
    {"call", call_begin},        {"send", producer_send},       {"producerPoll", producer_poll},
    {"answer", consumer_answer}, {"watch", handle_watch},       {"consumerPoll", consumer_poll},
    {"listen", handle_listen},   {"clientPoll", handle_events}, {"close", handle_close},
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

/* error(status, text) */
static napi_value addon_error(napi_env env, napi_callback_info info)
{
    napi_value argv[2];
    size_t argc = 2;
    int64_t status = 0;
    const char *text = NULL;

    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct arena *arena = &addon_of(env)->arena;
    napi_value error = value_int(env, argv[0], &status) && value_text(env, argv[1], arena, &text)
                           ? call_error(env, (smq_status) status, text != NULL ? text : "")
                           : NULL;
    arena_reset(arena);
    return error;
}

static void addon_add(napi_env env, napi_value exports, const char *name, napi_callback call)
{
    napi_value function = NULL;

    napi_create_function(env, name, NAPI_AUTO_LENGTH, call, NULL, &function);
    value_set(env, exports, name, function);
}

/* Of each struct the kinds of its fields, by their names, in their order. */
static napi_value addon_fields(napi_env env)
{
    napi_value all = NULL, kinds = NULL;

    napi_create_object(env, &all);
    for (const struct record *const *record = records; *record != NULL; record++) {
        napi_create_object(env, &kinds);
        for (size_t i = 0; i < (*record)->count; i++) {
            value_set(env, kinds, (*record)->fields[i].name,
                      value_of_number(env, (*record)->fields[i].kind));
        }
        value_set(env, all, (*record)->name, kinds);
    }
    return all;
}

#ifdef NODE_API_MODULE_GET_API_VERSION
/* The header of newer versions defines it without a declaration. */
NAPI_MODULE_EXPORT int32_t NODE_API_MODULE_GET_API_VERSION(void);
#endif

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
    value_set(env, exports, "fields", addon_fields(env));
    value_set(env, exports, "version", value_of_text(env, smq_version()));
    return exports;
}
