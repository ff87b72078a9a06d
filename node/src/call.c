/* call.c - calls of the library that wait: on a thread of the pool of Node.js, with a promise of
 * their result.  tables.py writes what each of them takes and gives. */
#include <stdlib.h>

#include "addon.h"

/* === Errors ============================================================= */

napi_value call_error(napi_env env, smq_status status, const char *text)
{
    napi_value make = NULL, error = NULL;
    napi_value argv[] = {value_of_number(env, status), value_of_text(env, smq_status_name(status)),
                         value_of_number(env, smq_status_class(status)),
                         value_of_text(env, text[0] != '\0' ? text : smq_status_text(status))};

    napi_get_reference_value(env, addon_of(env)->error_of, &make);
    napi_call_function(env, make, make, sizeof(argv) / sizeof(argv[0]), argv, &error);
    return error;
}

napi_value call_throw(napi_env env, smq_status status, const char *text)
{
    napi_throw(env, call_error(env, status, text));
    return NULL;
}

/* === A call ============================================================= */

struct call *call_new(napi_env env, const struct call_kind *kind)
{
    struct call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        abort();
    }
    call->addon = addon_of(env);
    call->kind = kind;
    call->last = &call->shown;
    return call;
}

static napi_value call_drop(struct call *call)
{
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (call->kind->parameters[i].kind == PARAMETER_OPTIONS) {
            smq_options_free(call->args[i].data);
        }
    }
    arena_reset(&call->arena);
    free(call);
    return NULL;
}

/* Each handle that it has stays until it has ended. */
static struct handle *call_handle_at(const struct call *call, size_t index)
{
    bool is_handle = call->kind->parameters[index].kind == PARAMETER_HANDLE;

    return is_handle ? call->args[index].handle : NULL;
}

static void call_execute(napi_env env, void *data)
{
    struct call *call = data;

    (void) env;
    call->kind->run(call);
}

/* At the end of the environment promises can be neither kept nor broken, but handles are made and
 * left. */
static void call_complete(napi_env env, napi_status done, void *data)
{
    struct call *call = data;
    napi_value undefined = NULL, result = NULL;

    (void) done;
    napi_get_undefined(env, &undefined);
    if (call->status != SMQ_OK) {
        napi_reject_deferred(env, call->deferred, call_error(env, call->status, call->err.text));
    } else {
        result = call->kind->result != NULL ? call->kind->result(env, call) : NULL;
        napi_resolve_deferred(env, call->deferred, result != NULL ? result : undefined);
    }
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (call_handle_at(call, i) != NULL) {
            handle_leave(call_handle_at(call, i));
        }
    }
    napi_delete_async_work(env, call->work);
    call_drop(call);
}

napi_value call_prepare(napi_env env, struct call *call)
{
    napi_value promise = NULL;

    if (napi_create_async_work(env, NULL, value_of_text(env, "slotmq"), call_execute, call_complete,
                               call, &call->work) != napi_ok ||
        napi_create_promise(env, &call->deferred, &promise) != napi_ok) {
        abort();
    }
    return promise;
}

/* === What JavaScript gives and gets ===================================== */

static bool call_read(napi_env env, napi_value value, const struct parameter *parameter,
                      struct arena *arena, union argument *out)
{
    switch (parameter->kind) {
    case PARAMETER_HANDLE:
        out->handle = value_is_none(env, value)
                          ? NULL
                          : handle_get(env, value, (enum handle_kind) parameter->of);
        return out->handle != NULL || value_is_none(env, value);
    case PARAMETER_TEXT:
        return value_text(env, value, arena, &out->text);
    case PARAMETER_NUMBER:
        return value_int(env, value, &out->number);
    case PARAMETER_OPTIONS:
        out->data = value_options(env, value, (smq_option_set) parameter->of);
        return out->data != NULL;
    case PARAMETER_RECORD:
        out->data = arena_get(arena, parameter->record->size);
        return value_read(env, value, parameter->record, arena, out->data);
    case PARAMETER_NONE:
        break;
    }
    return true;
}

/* call(name, ...): a promise of the result of smq_NAME(...).  What it gives is no parameter. */
ADDON_CALL(call_begin)
{
    napi_value argv[1 + PARAMETERS];
    size_t argc = 1 + PARAMETERS;
    char name[32] = "";
    const struct call_kind *kind = call_kinds;

    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    napi_get_value_string_utf8(env, argv[0], name, sizeof(name), NULL);
    while (strcmp(kind->name, name) != 0) {
        kind++; /* lib/ knows their names */
    }
    struct call *call = call_new(env, kind);
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (!call_read(env, argv[1 + i], &kind->parameters[i], &call->arena, &call->args[i])) {
            return call_drop(call);
        }
    }
    napi_value promise = call_prepare(env, call);
    for (size_t i = 0; i < PARAMETERS; i++) {
        if (call_handle_at(call, i) != NULL) {
            call_handle_at(call, i)->calls++;
        }
    }
    napi_queue_async_work(env, call->work);
    return promise;
}

void call_show(struct call *call, const struct record *record, const void *data)
{
    if (data != NULL) {
        struct shown *shown = arena_get(&call->arena, sizeof(*shown));
        size_t size = pack_records(record, &data, 1, NULL);

        *shown = (struct shown){.size = size, .data = arena_get(&call->arena, size)};
        pack_records(record, &data, 1, shown->data);
        *call->last = shown;
        call->last = &shown->next;
    }
}

napi_value call_shown(napi_env env, struct call *call)
{
    napi_value array = NULL, buffer = NULL;
    uint32_t count = 0;
    void *out = NULL;

    napi_create_array(env, &array);
    for (const struct shown *shown = call->shown; shown != NULL; shown = shown->next) {
        if (napi_create_arraybuffer(env, shown->size, &out, &buffer) == napi_ok) {
            memcpy(out, shown->data, shown->size);
            napi_set_element(env, array, count++, buffer);
        }
    }
    return array;
}

napi_value call_handle(napi_env env, struct call *call)
{
    (void) env;
    return handle_new(call->addon, call->kind->made, call->made);
}

napi_value call_number(napi_env env, struct call *call)
{
    return value_of_number(env, call->number);
}

napi_value call_text(napi_env env, struct call *call)
{
    napi_value text = value_of_text(env, call->made);

    smq_free(call->made);
    return text;
}
