/* consumer.c - consumers, and the deliveries that they have polled. */
#include <stdlib.h>

#include "addon.h"

/* === What is held ======================================================= */

/* A delivery, or a place that is free and names the next one. */
struct held {
    smq_delivery *delivery;
    uint32_t next_free;
};

static double consumer_hold(struct handle *handle, smq_delivery *delivery)
{
    enum { FIRST = 64 };

    if (handle->held_free == handle->held_size) {
        handle->held_size = handle->held_size == 0 ? FIRST : 2 * handle->held_size;
        handle->held = realloc(handle->held, handle->held_size * sizeof(*handle->held));
        if (handle->held == NULL) {
            abort();
        }
        for (uint32_t i = handle->held_free; i < handle->held_size; i++) {
            handle->held[i] = (struct held){.next_free = i + 1};
        }
    }
    uint32_t place = handle->held_free;
    handle->held_free = handle->held[place].next_free;
    handle->held[place].delivery = delivery;
    return place;
}

static smq_delivery *consumer_take(struct handle *handle, uint32_t place)
{
    smq_delivery *delivery = place < handle->held_size ? handle->held[place].delivery : NULL;

    if (delivery != NULL) {
        handle->held[place] = (struct held){.next_free = handle->held_free};
        handle->held_free = place;
    }
    return delivery;
}

void consumer_release_held(struct handle *handle)
{
    for (uint32_t i = 0; i < handle->held_size; i++) {
        smq_delivery *delivery = consumer_take(handle, i);

        if (delivery != NULL) {
            smq_release(delivery, 0, NULL);
        }
    }
}

/* === Polls ============================================================== */

/* consumerPoll(consumer, places): records of jobs, whose places it writes; undefined: there is
 * none. Without room for one it is a sign of life. */
ADDON_CALL(consumer_poll)
{
    enum { MOST = 256 };
    smq_delivery *got[MOST];
    const void *jobs[MOST];
    napi_value argv[2];
    size_t count = 0, room = 0;
    smq_error err = SMQ_ERROR_INIT;
    void *places = NULL;

    struct handle *handle = handle_arg(env, info, 2, argv, HANDLE_CONSUMER);
    if (handle == NULL ||
        napi_get_typedarray_info(env, argv[1], NULL, &room, &places, NULL, NULL) != napi_ok) {
        return NULL;
    }
    smq_status status =
        smq_consumer_poll(handle->native, got, room < MOST ? room : MOST, &count, 0, &err);
    if (status != SMQ_OK) {
        return call_throw(env, status, err.text);
    }
    for (size_t i = 0; i < count; i++) {
        jobs[i] = smq_delivery_info(got[i]);
        ((double *) places)[i] = consumer_hold(handle, got[i]);
    }
    return pack_buffer(env, &record_message_info, jobs, count);
}

/* === Answers ============================================================ */

/* answer(consumer, places, verdict, delay, reason): of a Float64Array each place becomes the status
 * of its answer. */
ADDON_CALL(consumer_answer)
{
    napi_value argv[5];
    size_t argc = 5, count = 0, taken = 0;
    int64_t verdict = 0, delay_ms = 0;
    const char *reason = NULL;
    void *handle = NULL, *data = NULL;

    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct arena *arena = &addon_of(env)->arena;
    if (napi_get_value_external(env, argv[0], &handle) != napi_ok ||
        napi_get_typedarray_info(env, argv[1], NULL, &count, &data, NULL, NULL) != napi_ok ||
        !value_int(env, argv[2], &verdict) || !value_int(env, argv[3], &delay_ms) ||
        !value_text(env, argv[4], arena, &reason)) {
        return NULL;
    }
    double *places = data;
    smq_answer *answers = arena_get(arena, count * sizeof(*answers));
    for (size_t i = 0; i < count; i++) {
        smq_delivery *delivery = consumer_take(handle, (uint32_t) places[i]);

        places[i] = delivery != NULL ? SMQ_OK : SMQ_CLOSED; /* those were released */
        if (delivery != NULL) {
            answers[taken++] = (smq_answer){.delivery = delivery,
                                            .verdict = (smq_verdict) verdict,
                                            .delay_ms = delay_ms,
                                            .reason = reason};
        }
    }
    smq_answer_all(answers, taken, NULL);
    for (size_t i = 0; i < count; i++) {
        places[i] = places[i] == SMQ_OK ? (answers++)->status : places[i];
    }
    arena_reset(arena);
    return NULL;
}
