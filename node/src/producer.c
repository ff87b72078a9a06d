/* producer.c - sends, and their receipts. */
#include "addon.h"

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
        value_read(env, argv[3], &record_message, arena, &message)) {
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

/* producerPoll(producer): records of receipts; undefined: there is none. */
ADDON_CALL(producer_poll)
{
    enum { AT_ONCE = 256 };
    smq_receipt receipts[AT_ONCE];
    const void *each[AT_ONCE];
    napi_value argv[1];
    size_t count = 0;
    smq_error err = SMQ_ERROR_INIT;

    struct handle *handle = handle_arg(env, info, 1, argv, HANDLE_PRODUCER);
    if (handle == NULL) {
        return NULL;
    }
    smq_status status = smq_producer_poll(handle->native, receipts, AT_ONCE, &count, NULL, 0, &err);
    if (status != SMQ_OK) {
        return call_throw(env, status, err.text);
    }
    for (size_t i = 0; i < count; i++) {
        each[i] = &receipts[i];
    }
    return pack_buffer(env, &record_receipt, each, count);
}
