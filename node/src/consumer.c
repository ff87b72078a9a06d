/* consumer.c - consumers, and the deliveries that they have polled. */
#include <stdlib.h>

#include "addon.h"

/* === Making ============================================================= */

static void consumer_run_new(struct call *call)
{
    smq_consumer *made = NULL;
    smq_consumer_options *options = call->options;

    options->topic = call->data;
    options->limit = call->also != NULL ? call->also->native : NULL;
    call->status = smq_consumer_new(&made, call->handle->native, options, &call->err);
    call->data = made;
}

static napi_value consumer_made(napi_env env, struct call *call)
{
    (void) env;
    return handle_new(call->addon, HANDLE_CONSUMER, call->data);
}

/* consumerNew(client, topic, options, limit) */
ADDON_CALL(consumer_new)
{
    napi_value argv[4];
    struct handle *client = handle_arg(env, info, 4, argv, HANDLE_CLIENT);

    if (client == NULL) {
        return NULL;
    }
    struct call *call = call_new(env, client);
    call->run = consumer_run_new;
    call->result = consumer_made;
    if (!value_text(env, argv[1], &call->arena, (const char **) &call->data) ||
        (call->options = value_options(env, argv[2], SMQ_OPTION_SET_CONSUMER)) == NULL ||
        (!value_is_none(env, argv[3]) &&
         (call->also = handle_get(env, argv[3], HANDLE_LIMIT)) == NULL)) {
        return call_drop(call);
    }
    return call_begin(env, call);
}

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

/* What JavaScript reads of a delivery, in this order, before the bytes of all of them (lib/job.js).
 */
enum fact {
    FACT_PLACE,
    FACT_SLOT,
    FACT_ATTEMPT,
    FACT_RETRIES_LEFT,
    FACT_PRIORITY,
    FACT_DUE_AT,
    FACT_SENT_AT,
    FACT_REDELIVERED,
    FACT_BASE, /* where its bytes begin: body, key, id, token, headers, of these lengths */
    FACT_BODY,
    FACT_KEY,
    FACT_ID,
    FACT_TOKEN,
    FACT_HEADERS,
    FACTS
};

static char *consumer_put(char *at, const void *data, size_t len)
{
    if (at != NULL && len > 0) {
        memcpy(at, data, len);
    }
    return at != NULL ? at + len : NULL;
}

/* Of each header the lengths of its name and value, and both.  With `at` NULL they are only
 * counted. */
static size_t consumer_put_headers(char *at, const smq_message_info *info)
{
    size_t size = 0;

    for (size_t i = 0; i < info->header_count; i++) {
        const smq_header *header = &info->headers[i];
        uint32_t lengths[] = {(uint32_t) strlen(header->name), (uint32_t) header->value.len};

        at = consumer_put(at, lengths, sizeof(lengths));
        at = consumer_put(at, header->name, lengths[0]);
        at = consumer_put(at, header->value.data, lengths[1]);
        size += sizeof(lengths) + lengths[0] + lengths[1];
    }
    return size;
}

/* Returns where its bytes end. */
static size_t consumer_describe(const smq_message_info *info, double *facts, size_t base)
{
    facts[FACT_SLOT] = info->slot;
    facts[FACT_ATTEMPT] = info->attempt;
    facts[FACT_RETRIES_LEFT] = info->retries_left;
    facts[FACT_PRIORITY] = (double) info->priority;
    facts[FACT_DUE_AT] = (double) info->due_at_ms;
    facts[FACT_SENT_AT] = (double) info->sent_at_ms;
    facts[FACT_REDELIVERED] = info->redelivered;
    facts[FACT_BASE] = (double) base;
    facts[FACT_BODY] = (double) info->body.len;
    facts[FACT_KEY] = (double) info->key.len;
    facts[FACT_ID] = (double) info->id.len;
    facts[FACT_TOKEN] = (double) strlen(info->token);
    facts[FACT_HEADERS] = (double) consumer_put_headers(NULL, info);
    for (enum fact fact = FACT_BODY; fact < FACTS; fact++) {
        base += (size_t) facts[fact];
    }
    return base;
}

/* consumerPoll(consumer, capacity): an ArrayBuffer; undefined: there is none.  With 0 it is a sign
 * of life. */
ADDON_CALL(consumer_poll)
{
    enum { MOST = 256 };
    smq_delivery *got[MOST];
    double facts[MOST][FACTS];
    napi_value argv[2], buffer = NULL;
    size_t count = 0;
    int64_t capacity = 0;
    smq_error err = SMQ_ERROR_INIT;
    void *data = NULL;

    struct handle *handle = handle_arg(env, info, 2, argv, HANDLE_CONSUMER);
    if (handle == NULL || !value_int(env, argv[1], &capacity)) {
        return NULL;
    }
    size_t most = capacity < MOST ? (size_t) capacity : MOST;
    smq_status status = smq_consumer_poll(handle->native, got, most, &count, 0, &err);
    if (status != SMQ_OK) {
        return call_throw(env, status, err.text);
    }
    size_t size = count * sizeof(facts[0]);
    for (size_t i = 0; i < count; i++) {
        facts[i][FACT_PLACE] = consumer_hold(handle, got[i]);
        size = consumer_describe(smq_delivery_info(got[i]), facts[i], size);
    }
    if (count == 0 || napi_create_arraybuffer(env, size, &data, &buffer) != napi_ok) {
        return NULL;
    }
    char *at = consumer_put(data, facts, count * sizeof(facts[0]));
    for (size_t i = 0; i < count; i++) {
        const smq_message_info *of = smq_delivery_info(got[i]);

        at = consumer_put(at, of->body.data, of->body.len);
        at = consumer_put(at, of->key.data, of->key.len);
        at = consumer_put(at, of->id.data, of->id.len);
        at = consumer_put(at, of->token, strlen(of->token));
        at += consumer_put_headers(at, of);
    }
    return buffer;
}

/* === Answers ============================================================ */

/* answer(consumer, places, verdict, delay, reason): of a Float64Array each place becomes the status
 * of its answer. */
ADDON_CALL(consumer_answer)
{
    enum { AT_ONCE = 128 };
    smq_answer some[AT_ONCE];
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
    for (size_t i = 0; i < count; i++) {
        smq_delivery *delivery = consumer_take(handle, (uint32_t) places[i]);

        places[i] = SMQ_CLOSED;
        if (delivery != NULL) { /* those of a consumer that was closed were released */
            some[taken++] = (smq_answer){.delivery = delivery,
                                         .verdict = (smq_verdict) verdict,
                                         .delay_ms = delay_ms,
                                         .reason = reason};
        }
        if (taken == AT_ONCE || (i + 1 == count && taken > 0)) {
            smq_answer_all(some, taken, NULL);
            for (size_t back = 0; back < taken; back++) {
                places[i + 1 - taken + back] = some[back].status;
            }
            taken = 0;
        }
    }
    arena_reset(arena);
    return NULL;
}

/* === Stops ============================================================== */

static void consumer_run_set_most(struct call *call)
{
    int32_t most = *(int32_t *) call->data;

    call->status = call->handle->kind == HANDLE_LIMIT
                       ? smq_limit_set(call->handle->native, most, &call->err)
                       : smq_consumer_set_max_in_flight(call->handle->native, most, &call->err);
}

/* setMost(consumer or limit, most, isLimit) */
ADDON_CALL(consumer_set_most)
{
    napi_value argv[3];
    size_t argc = 3;
    int64_t most = 0;

    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *handle =
        handle_get(env, argv[0], value_bool(env, argv[2]) ? HANDLE_LIMIT : HANDLE_CONSUMER);
    if (handle == NULL || !value_int(env, argv[1], &most)) {
        return NULL;
    }
    struct call *call = call_new(env, handle);
    call->run = consumer_run_set_most;
    call->data = arena_get(&call->arena, sizeof(int32_t));
    *(int32_t *) call->data = (int32_t) most;
    return call_begin(env, call);
}

/* stop(consumer) */
ADDON_CALL(consumer_stop)
{
    napi_value argv[1];
    struct handle *handle = handle_arg(env, info, 1, argv, HANDLE_CONSUMER);

    if (handle != NULL) {
        smq_consumer_stop(handle->native);
    }
    return NULL;
}
