/* producer.c - sends, and their receipts.  Thread: that of the loop. */
#include "producer.h"

#include "call.h"

/* producerNew(client, options) */
napi_value producer_new(napi_env env, napi_callback_info info)
{
    napi_value argv[2];
    size_t argc = 2;
    smq_status status;
    smq_error err = SMQ_ERROR_INIT;
    smq_producer *producer = NULL;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *client = handle_get(env, argv[0], HANDLE_CLIENT);
    if (client == NULL) {
        return NULL;
    }
    struct addon *addon = addon_of(env);
    void *options =
        value_options(env, argv[1], SMQ_OPTION_SET_PRODUCER, &addon->arena, &status, &err);
    if (status == SMQ_OK) {
        ((smq_producer_options *) options)->poll_receipts = true;
        status = smq_producer_new(&producer, client->native, options, &err);
    }
    smq_options_free(options);
    arena_reset(&addon->arena);
    if (status != SMQ_OK) {
        call_throw(env, status, err.text);
        return NULL;
    }
    return handle_new(addon, HANDLE_PRODUCER, producer);
}

/* send(producer, topic, user, ...the words of a message): SMQ_OK, or SMQ_FULL. */
napi_value producer_send(napi_env env, napi_callback_info info)
{
    enum { BEFORE = 3 };
    napi_value argv[BEFORE + VALUE_MESSAGE_WORDS];
    size_t argc = BEFORE + VALUE_MESSAGE_WORDS;
    const char *topic;
    int64_t user = 0;
    smq_message message;
    smq_error err = SMQ_ERROR_INIT;
    napi_value result = NULL;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *handle = handle_get(env, argv[0], HANDLE_PRODUCER);
    if (handle == NULL) {
        return NULL;
    }
    struct arena *arena = &handle->addon->arena;
    if (value_text(env, argv[1], arena, &topic) && value_int(env, argv[2], &user) &&
        value_message(env, argv + BEFORE, arena, &message)) {
        smq_status status =
            smq_send_async(handle->native, topic, &message, NULL, (void *) (intptr_t) user, &err);
        if (status == SMQ_OK || status == SMQ_FULL) {
            result = value_of_number(env, status);
        } else {
            call_throw(env, status, err.text);
        }
    }
    arena_reset(arena);
    return result;
}

enum { PRODUCER_AT_ONCE = 256, PRODUCER_FACTS = 4 };

/* poll(producer): {facts: Float64Array of user, status, merged and slot of each, ids: the ids that
 * the library made with newlines between them, texts: why sends failed, room} */
napi_value producer_poll(napi_env env, napi_callback_info info)
{
    smq_receipt receipts[PRODUCER_AT_ONCE];
    napi_value argv[1], buffer = NULL, facts = NULL, texts = NULL, result = NULL, ids = NULL,
                        flag = NULL;
    char text[PRODUCER_AT_ONCE * SMQ_ID_SIZE], *end = text;
    size_t argc = 1, count = 0;
    bool room = false;
    smq_error err = SMQ_ERROR_INIT;
    void *data = NULL;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *handle = handle_get(env, argv[0], HANDLE_PRODUCER);
    if (handle == NULL) {
        return NULL;
    }
    smq_status status =
        smq_producer_poll(handle->native, receipts, PRODUCER_AT_ONCE, &count, &room, 0, &err);
    if (status != SMQ_OK) {
        call_throw(env, status, err.text);
        return NULL;
    }
    (void) napi_create_arraybuffer(env, count * PRODUCER_FACTS * sizeof(double), &data, &buffer);
    (void) napi_create_array(env, &texts);
    for (size_t i = 0; i < count; i++) {
        double *fact = (double *) data + i * PRODUCER_FACTS;
        size_t len = strlen(receipts[i].id);

        fact[0] = (double) (intptr_t) receipts[i].user;
        fact[1] = receipts[i].status;
        fact[2] = receipts[i].merged;
        fact[3] = receipts[i].slot;
        memcpy(end, receipts[i].id, len);
        end[len] = '\n';
        end += len + 1;
        if (receipts[i].text != NULL) {
            (void) napi_set_element(env, texts, (uint32_t) i, value_of_text(env, receipts[i].text));
        }
    }
    (void) napi_create_typedarray(env, napi_float64_array, count * PRODUCER_FACTS, buffer, 0,
                                  &facts);
    (void) napi_create_string_latin1(env, text, (size_t) (end - text), &ids);
    (void) napi_get_boolean(env, room, &flag);
    (void) napi_create_object(env, &result);
    value_set(env, result, "facts", facts);
    value_set(env, result, "ids", ids);
    value_set(env, result, "texts", texts);
    value_set(env, result, "room", flag);
    return result;
}
