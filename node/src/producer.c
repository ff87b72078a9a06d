/* producer.c - sends, and their receipts. */
#include "addon.h"

/* producerNew(client, options) */
ADDON_CALL(producer_new)
{
    napi_value argv[2];
    smq_error err = SMQ_ERROR_INIT;
    smq_producer *producer = NULL;

    struct handle *client = handle_arg(env, info, 2, argv, HANDLE_CLIENT);
    smq_producer_options *options =
        client != NULL ? value_options(env, argv[1], SMQ_OPTION_SET_PRODUCER) : NULL;
    if (options == NULL) {
        return NULL;
    }
    options->poll_receipts = true;
    smq_status status = smq_producer_new(&producer, client->native, options, &err);
    smq_options_free(options);
    return status == SMQ_OK ? handle_new(client->addon, HANDLE_PRODUCER, producer)
                            : call_throw(env, status, err.text);
}

/* send(producer, topic, user, message): false: there is no room. */
ADDON_CALL(producer_send)
{
    napi_value argv[4], result = NULL;
    const char *topic;
    int64_t number = 0;
    void *user = NULL; /* has the number */
    smq_message message;
    smq_error err = SMQ_ERROR_INIT;

    struct handle *handle = handle_arg(env, info, 4, argv, HANDLE_PRODUCER);
    if (handle == NULL) {
        return NULL;
    }
    struct arena *arena = &handle->addon->arena;
    if (value_text(env, argv[1], arena, &topic) && value_int(env, argv[2], &number) &&
        value_message(env, argv[3], arena, &message)) {
        memcpy(&user, &number, sizeof(user));
        smq_status status = smq_send_async(handle->native, topic, &message, NULL, user, &err);

        if (status == SMQ_OK || status == SMQ_FULL) {
            napi_get_boolean(env, status == SMQ_OK, &result);
        } else {
            call_throw(env, status, err.text);
        }
    }
    arena_reset(arena);
    return result;
}

/* producerPoll(producer): [facts, ids, errors]: `facts` is a Float64Array of user, merged and slot
 * of each receipt, `ids` has those that the library made with newlines between them, `errors` those
 * of sends that failed. */
ADDON_CALL(producer_poll)
{
    enum { AT_ONCE = 256, FACTS = 3 };
    smq_receipt receipts[AT_ONCE];
    char text[AT_ONCE * SMQ_ID_SIZE], *end = text;
    napi_value argv[1], buffer = NULL, parts[3] = {NULL}, result = NULL;
    size_t count = 0;
    smq_error err = SMQ_ERROR_INIT;
    void *data = NULL;

    struct handle *handle = handle_arg(env, info, 1, argv, HANDLE_PRODUCER);
    if (handle == NULL) {
        return NULL;
    }
    smq_status status = smq_producer_poll(handle->native, receipts, AT_ONCE, &count, NULL, 0, &err);
    if (status != SMQ_OK) {
        return call_throw(env, status, err.text);
    }
    napi_create_arraybuffer(env, count * FACTS * sizeof(double), &data, &buffer);
    napi_create_typedarray(env, napi_float64_array, count * FACTS, buffer, 0, &parts[0]);
    napi_create_array(env, &parts[2]);
    for (size_t i = 0; i < count; i++) {
        double *fact = (double *) data + i * FACTS;
        size_t len = strlen(receipts[i].id);

        fact[0] = (double) (intptr_t) receipts[i].user;
        fact[1] = receipts[i].merged;
        fact[2] = receipts[i].slot;
        memcpy(end, receipts[i].id, len);
        end[len] = '\n';
        end += len + 1;
        if (receipts[i].status != SMQ_OK) {
            const char *why = receipts[i].text != NULL ? receipts[i].text : "";
            napi_set_element(env, parts[2], (uint32_t) i, call_error(env, receipts[i].status, why));
        }
    }
    napi_create_string_latin1(env, text, (size_t) (end - text), &parts[1]);
    napi_create_array(env, &result);
    for (uint32_t i = 0; i < 3; i++) {
        napi_set_element(env, result, i, parts[i]);
    }
    return result;
}
