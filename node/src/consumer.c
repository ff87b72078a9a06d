/* consumer.c - consumers, and the deliveries that they have polled.  Thread: that of the loop, but
 * for the steps of calls. */
#include "consumer.h"

#include <stdlib.h>

#include "call.h"

/* === Making ============================================================= */

struct consumer_making {
    const char *topic;
    smq_consumer *made;
};

static void consumer_run_new(struct call *call)
{
    struct consumer_making *making = call->data;
    smq_consumer_options *options = call->options;

    options->topic = making->topic;
    options->limit = call->also != NULL ? call->also->native : NULL;
    call->status = smq_consumer_new(&making->made, call->handle->native, options, &call->err);
}

static napi_value consumer_made(napi_env env, struct call *call)
{
    struct consumer_making *making = call->data;

    (void) env;
    return handle_new(call->addon, HANDLE_CONSUMER, making->made);
}

/* consumerNew(client, topic, options, limit) */
napi_value consumer_new(napi_env env, napi_callback_info info)
{
    napi_value argv[4];
    size_t argc = 4;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *client = handle_get(env, argv[0], HANDLE_CLIENT), *limit = NULL;
    if (client == NULL || (!value_is_none(env, argv[3]) &&
                           (limit = handle_get(env, argv[3], HANDLE_LIMIT)) == NULL)) {
        return NULL;
    }
    struct call *call = call_new(env, client);
    struct consumer_making *making = arena_get(&call->arena, sizeof(*making));
    call->data = making;
    call->also = limit;
    call->options = value_options(env, argv[2], SMQ_OPTION_SET_CONSUMER, &call->arena,
                                  &call->status, &call->err);
    if (call->options == NULL || !value_text(env, argv[1], &call->arena, &making->topic)) {
        return call_refuse(env, call);
    }
    return call_begin(env, call, consumer_run_new, consumer_made);
}

/* === What is held ======================================================= */

/* A delivery that JavaScript knows by a number, which is never given again: GENERATION * HELD_MOST
 * + its place. */
struct held {
    smq_delivery *delivery; /* NULL: the place is free */
    uint32_t generation, next_free;
    bool is_extended; /* a call extends its lease now */
};

enum { HELD_MOST = 1 << 20, HELD_FIRST = 64 };

static void consumer_grow(struct handle *handle)
{
    uint32_t size = handle->held_size == 0 ? HELD_FIRST : 2 * handle->held_size;
    struct held *held = realloc(handle->held, size * sizeof(*held));

    if (held == NULL) {
        abort();
    }
    for (uint32_t i = handle->held_size; i < size; i++) {
        held[i] = (struct held){.next_free = i + 1};
    }
    handle->held = held;
    handle->held_size = size;
}

static double consumer_hold(struct handle *handle, smq_delivery *delivery)
{
    if (handle->held_free == handle->held_size) {
        consumer_grow(handle);
    }
    uint32_t place = handle->held_free;
    struct held *held = &handle->held[place];
    handle->held_free = held->next_free;
    held->delivery = delivery;
    return (double) held->generation * HELD_MOST + place;
}

/* What has the number; NULL: it was answered. */
static struct held *consumer_held(const struct handle *handle, double number)
{
    uint64_t whole = number >= 0 ? (uint64_t) number : UINT64_MAX;
    uint64_t place = whole % HELD_MOST;

    if (place >= handle->held_size || handle->held[place].delivery == NULL ||
        handle->held[place].generation != whole / HELD_MOST) {
        return NULL;
    }
    return &handle->held[place];
}

static smq_delivery *consumer_take(struct handle *handle, struct held *held)
{
    smq_delivery *delivery = held->delivery;

    held->delivery = NULL;
    held->generation++;
    held->next_free = handle->held_free;
    handle->held_free = (uint32_t) (held - handle->held);
    return delivery;
}

void consumer_release_held(struct handle *handle)
{
    for (uint32_t i = 0; i < handle->held_size; i++) {
        if (handle->held[i].delivery != NULL) {
            (void) smq_release(consumer_take(handle, &handle->held[i]), 0, NULL);
        }
    }
}

/* === Polls ============================================================== */

/* What JavaScript reads of a delivery, in this order; then the bytes of all of them (lib/job.js).
 */
enum fact {
    FACT_NUMBER,
    FACT_SLOT,
    FACT_ATTEMPT,
    FACT_RETRIES_LEFT,
    FACT_PRIORITY,
    FACT_DUE_AT,
    FACT_SENT_AT,
    FACT_EXPIRES_AT,
    FACT_REDELIVERED,
    FACT_BASE, /* where its bytes begin: body, key, id, token, headers */
    FACT_BODY,
    FACT_KEY,
    FACT_ID,
    FACT_TOKEN,
    FACT_HEADERS,
    FACTS
};

enum { POLL_MOST = 256 };

/* The bytes of its headers: of each the lengths of name and value, and both. */
static size_t consumer_headers_size(const smq_message_info *info)
{
    size_t size = 0;

    for (size_t i = 0; i < info->header_count; i++) {
        size += 2 * sizeof(uint32_t) + strlen(info->headers[i].name) + info->headers[i].value.len;
    }
    return size;
}

static char *consumer_put(char *at, const void *data, size_t len)
{
    if (len > 0) {
        memcpy(at, data, len);
    }
    return at + len;
}

static char *consumer_put_headers(char *at, const smq_message_info *info)
{
    for (size_t i = 0; i < info->header_count; i++) {
        const smq_header *header = &info->headers[i];
        uint32_t lengths[] = {(uint32_t) strlen(header->name), (uint32_t) header->value.len};

        at = consumer_put(at, lengths, sizeof(lengths));
        at = consumer_put(at, header->name, lengths[0]);
        at = consumer_put(at, header->value.data, lengths[1]);
    }
    return at;
}

static size_t consumer_describe(const smq_message_info *info, double *facts, size_t base)
{
    facts[FACT_SLOT] = info->slot;
    facts[FACT_ATTEMPT] = info->attempt;
    facts[FACT_RETRIES_LEFT] = info->retries_left;
    facts[FACT_PRIORITY] = (double) info->priority;
    facts[FACT_DUE_AT] = (double) info->due_at_ms;
    facts[FACT_SENT_AT] = (double) info->sent_at_ms;
    facts[FACT_EXPIRES_AT] = (double) info->expires_at_ms;
    facts[FACT_REDELIVERED] = info->redelivered;
    facts[FACT_BASE] = (double) base;
    facts[FACT_BODY] = (double) info->body.len;
    facts[FACT_KEY] = (double) info->key.len;
    facts[FACT_ID] = (double) info->id.len;
    facts[FACT_TOKEN] = (double) strlen(info->token);
    facts[FACT_HEADERS] = (double) consumer_headers_size(info);
    for (enum fact fact = FACT_BODY; fact < FACTS; fact++) {
        base += (size_t) facts[fact];
    }
    return base;
}

/* poll(consumer, capacity): the facts of each delivery, and then their bytes; undefined: there is
 * none.  With a capacity of 0 it is a sign of life. */
napi_value consumer_poll(napi_env env, napi_callback_info info)
{
    smq_delivery *got[POLL_MOST];
    const smq_message_info *infos[POLL_MOST];
    double facts[POLL_MOST][FACTS];
    napi_value argv[2], buffer = NULL;
    size_t argc = 2, count = 0;
    int64_t capacity = 0;
    smq_error err = SMQ_ERROR_INIT;
    void *data = NULL;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *handle = handle_get(env, argv[0], HANDLE_CONSUMER);
    if (handle == NULL || !value_int(env, argv[1], &capacity)) {
        return NULL;
    }
    smq_status status = smq_consumer_poll(
        handle->native, got, capacity < POLL_MOST ? (size_t) capacity : POLL_MOST, &count, 0, &err);
    if (status != SMQ_OK) {
        call_throw(env, status, err.text);
        return NULL;
    }
    size_t size = count * FACTS * sizeof(double);
    for (size_t i = 0; i < count; i++) {
        infos[i] = smq_delivery_info(got[i]);
        facts[i][FACT_NUMBER] = consumer_hold(handle, got[i]);
        size = consumer_describe(infos[i], facts[i], size);
    }
    if (count == 0 || napi_create_arraybuffer(env, size, &data, &buffer) != napi_ok) {
        return NULL;
    }
    char *at = consumer_put(data, facts, count * FACTS * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        at = consumer_put(at, infos[i]->body.data, infos[i]->body.len);
        at = consumer_put(at, infos[i]->key.data, infos[i]->key.len);
        at = consumer_put(at, infos[i]->id.data, infos[i]->id.len);
        at = consumer_put(at, infos[i]->token, strlen(infos[i]->token));
        at = consumer_put_headers(at, infos[i]);
    }
    return buffer;
}

/* === Answers ============================================================ */

enum { ANSWER_AT_ONCE = 128, ANSWERED_BEFORE = 1 };

/* Answer some, and write the statuses into `numbers`. */
static void consumer_answer_some(struct handle *handle, double *numbers, size_t count,
                                 const smq_answer *answer)
{
    smq_answer some[ANSWER_AT_ONCE];
    size_t place[ANSWER_AT_ONCE], taken = 0;

    for (size_t i = 0; i < count; i++) {
        struct held *held = consumer_held(handle, numbers[i]);

        if (held == NULL || held->is_extended) {
            numbers[i] = held != NULL ? SMQ_IN_WORK : handle->closed ? SMQ_CLOSED : ANSWERED_BEFORE;
            continue;
        }
        some[taken] = *answer;
        some[taken].delivery = consumer_take(handle, held);
        place[taken++] = i;
    }
    (void) smq_answer_all(some, taken, NULL);
    for (size_t i = 0; i < taken; i++) {
        numbers[place[i]] = some[i].status;
    }
}

/* answer(consumer, numbers: Float64Array, count, verdict, delay, reason): each number becomes the
 * status of its answer, or 1: it was answered before. */
napi_value consumer_answer(napi_env env, napi_callback_info info)
{
    napi_value argv[6];
    size_t argc = 6, length = 0;
    napi_typedarray_type type = napi_int8_array;
    int64_t count = 0, verdict = 0;
    void *numbers = NULL, *data = NULL;
    smq_answer answer = {0};

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct addon *addon = addon_of(env);
    if (napi_get_value_external(env, argv[0], &data) != napi_ok ||
        napi_get_typedarray_info(env, argv[1], &type, &length, &numbers, NULL, NULL) != napi_ok ||
        type != napi_float64_array || !value_int(env, argv[2], &count) ||
        !value_int(env, argv[3], &verdict) || !value_int(env, argv[4], &answer.delay_ms) ||
        !value_text(env, argv[5], &addon->arena, &answer.reason)) {
        return NULL;
    }
    answer.verdict = (smq_verdict) verdict;
    for (size_t done = 0, left = count < (int64_t) length ? (size_t) count : length; left > 0;) {
        size_t some = left < ANSWER_AT_ONCE ? left : ANSWER_AT_ONCE;

        consumer_answer_some(data, (double *) numbers + done, some, &answer);
        done += some;
        left -= some;
    }
    arena_reset(&addon->arena);
    return NULL;
}

struct consumer_extending {
    double number;
    smq_delivery *delivery;
    int64_t lease_ms;
};

static void consumer_run_extend(struct call *call)
{
    struct consumer_extending *extending = call->data;

    call->status = smq_extend(extending->delivery, extending->lease_ms, &call->err);
}

/* extend(consumer, number, lease): until extend(consumer, number) ends that, the delivery cannot be
 * answered. */
napi_value consumer_extend(napi_env env, napi_callback_info info)
{
    napi_value argv[3];
    size_t argc = 3;
    double number = -1;
    int64_t lease_ms = 0;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *handle = handle_get(env, argv[0], HANDLE_CONSUMER);
    (void) napi_get_value_double(env, argv[1], &number);
    if (handle == NULL || !value_int(env, argv[2], &lease_ms)) {
        return NULL;
    }
    struct held *held = consumer_held(handle, number);
    if (held == NULL) {
        call_throw(env, SMQ_INVALID, "the job was answered before");
        return NULL;
    }
    if (value_is_none(env, argv[2])) {
        held->is_extended = false;
        return NULL;
    }
    struct call *call = call_new(env, handle);
    struct consumer_extending *extending = arena_get(&call->arena, sizeof(*extending));
    *extending = (struct consumer_extending){number, held->delivery, lease_ms};
    call->data = extending;
    held->is_extended = true;
    return call_begin(env, call, consumer_run_extend, NULL);
}

/* check(consumer, number): the status of smq_delivery_check(), or 1: it was answered. */
napi_value consumer_check(napi_env env, napi_callback_info info)
{
    napi_value argv[2];
    size_t argc = 2;
    double number = -1;
    void *data = NULL;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    (void) napi_get_value_external(env, argv[0], &data);
    (void) napi_get_value_double(env, argv[1], &number);
    const struct held *held = data != NULL ? consumer_held(data, number) : NULL;
    return value_of_number(env,
                           held != NULL ? smq_delivery_check(held->delivery) : ANSWERED_BEFORE);
}

/* === Stops ============================================================== */

static void consumer_run_set_most(struct call *call)
{
    int32_t most = *(int32_t *) call->data;

    call->status = call->handle->kind == HANDLE_LIMIT
                       ? smq_limit_set(call->handle->native, most, &call->err)
                       : smq_consumer_set_max_in_flight(call->handle->native, most, &call->err);
}

/* setMost(limit or consumer, most) */
napi_value consumer_set_most(napi_env env, napi_callback_info info)
{
    napi_value argv[2];
    size_t argc = 2;
    int64_t most = 0;
    void *data = NULL;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    (void) napi_get_value_external(env, argv[0], &data);
    struct handle *handle =
        handle_get(env, argv[0], data != NULL ? ((struct handle *) data)->kind : HANDLE_LIMIT);
    if (handle == NULL || !value_int(env, argv[1], &most)) {
        return NULL;
    }
    struct call *call = call_new(env, handle);
    call->data = arena_get(&call->arena, sizeof(int32_t));
    *(int32_t *) call->data = (int32_t) most;
    return call_begin(env, call, consumer_run_set_most, NULL);
}

/* stop(consumer) */
napi_value consumer_stop(napi_env env, napi_callback_info info)
{
    napi_value argv[1];
    size_t argc = 1;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *handle = handle_get(env, argv[0], HANDLE_CONSUMER);
    if (handle != NULL) {
        smq_consumer_stop(handle->native);
    }
    return NULL;
}
