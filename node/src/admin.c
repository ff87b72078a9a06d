/* admin.c - clients and their events; topics, stored messages and schedules.  Thread: that of the
 * loop, but for the steps of calls, admin_run_...(). */
#include "admin.h"

#include <stddef.h>
#include <stdlib.h>

#include "call.h"
#include "fields.h"

/* === Clients ============================================================ */

static void admin_run_client(struct call *call)
{
    smq_client_options *options = call->options;

    options->poll_events = true;
    call->status = smq_client_new((smq_client **) &call->data, options, &call->err);
}

static napi_value admin_client_made(napi_env env, struct call *call)
{
    (void) env;
    return handle_new(call->addon, HANDLE_CLIENT, call->data);
}

/* clientNew(options) */
napi_value admin_client_new(napi_env env, napi_callback_info info)
{
    napi_value argv[1];
    size_t argc = 1;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct call *call = call_new(env, NULL);
    call->options =
        value_options(env, argv[0], SMQ_OPTION_SET_CLIENT, &call->arena, &call->status, &call->err);
    return call->options != NULL ? call_begin(env, call, admin_run_client, admin_client_made)
                                 : call_refuse(env, call);
}

/* clientPoll(client): an array of events. */
napi_value admin_client_poll(napi_env env, napi_callback_info info)
{
    enum { AT_ONCE = 64 };
    const smq_event *events[AT_ONCE];
    napi_value argv[1], array = NULL;
    size_t argc = 1, count = 0;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *client = handle_get(env, argv[0], HANDLE_CLIENT);
    if (client == NULL) {
        return NULL;
    }
    (void) smq_client_poll_events(client->native, events, AT_ONCE, &count, 0, NULL);
    (void) napi_create_array(env, &array);
    for (size_t i = 0; i < count; i++) {
        (void) napi_set_element(env, array, (uint32_t) i,
                                value_of_record(env, fields_event, events[i]));
    }
    return array;
}

/* limitNew(client, most) */
napi_value admin_limit_new(napi_env env, napi_callback_info info)
{
    napi_value argv[2];
    size_t argc = 2;
    int64_t most = 0;
    smq_limit *limit = NULL;
    smq_error err = SMQ_ERROR_INIT;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *client = handle_get(env, argv[0], HANDLE_CLIENT);
    if (client == NULL || !value_int(env, argv[1], &most)) {
        return NULL;
    }
    smq_status status = smq_limit_new(&limit, client->native, (int32_t) most, &err);
    if (status != SMQ_OK) {
        call_throw(env, status, err.text);
        return NULL;
    }
    return handle_new(client->addon, HANDLE_LIMIT, limit);
}

/* === Calls with a topic ================================================= */

/* Something that a visit has shown. */
struct shown {
    struct shown *next;
    void *record;
    const struct field *fields;
    const char *const *names; /* headers, and then what they say */
    const smq_bytes *values;
    size_t count;
    const smq_try *tries;
    size_t try_count;
};

struct admin {
    const char *topic, *text, *more;
    smq_message_ref which;
    smq_filter filter;
    smq_message message;
    smq_schedule schedule;
    bool flag;
    /* results */
    double number;
    char *made; /* smq_free() */
    struct shown *first, **last;
    union {
        size_t size; /* with which each of them begins */
        smq_stats stats;
        smq_health health;
        smq_metrics metrics;
        smq_topic_report report;
    } out;
};

/* --- what is shown --- */

static struct shown *admin_show(struct call *call, const struct field *fields, const void *record,
                                size_t size)
{
    struct admin *admin = call->data;
    struct shown *shown = arena_get(&call->arena, sizeof(*shown));

    *shown =
        (struct shown){.record = value_keep(&call->arena, fields, record, size), .fields = fields};
    *admin->last = shown;
    admin->last = &shown->next;
    return shown;
}

static void admin_keep_headers(struct arena *arena, struct shown *shown, const smq_header *headers,
                               size_t count)
{
    const char **names = arena_get(arena, count * sizeof(*names));
    smq_bytes *values = arena_get(arena, count * sizeof(*values));

    for (size_t i = 0; i < count; i++) {
        names[i] = arena_copy(arena, headers[i].name, strlen(headers[i].name));
        values[i] = (smq_bytes){arena_copy(arena, headers[i].value.data, headers[i].value.len),
                                headers[i].value.len};
    }
    shown->names = names;
    shown->values = values;
    shown->count = count;
}

static bool admin_show_message(const smq_message_info *message, void *user)
{
    struct call *call = user;
    struct shown *shown = admin_show(call, fields_message_info, message, sizeof(*message));
    smq_try *tries = arena_get(&call->arena, message->try_count * sizeof(*tries));

    admin_keep_headers(&call->arena, shown, message->headers, message->header_count);
    for (size_t i = 0; i < message->try_count; i++) {
        tries[i] = message->tries[i];
        tries[i].reason = arena_copy(&call->arena, tries[i].reason, strlen(tries[i].reason));
    }
    shown->tries = tries;
    shown->try_count = message->try_count;
    return true;
}

/* Two records: the schedule, and what is known of it; a third one is its message, if that was read.
 */
static bool admin_show_schedule(const smq_schedule_info *info, void *user)
{
    struct call *call = user;
    const smq_message *message = info->schedule.message;

    (void) admin_show(call, fields_schedule_info, info, sizeof(*info));
    (void) admin_show(call, fields_schedule, &info->schedule, sizeof(info->schedule));
    if (message != NULL) {
        smq_message_info as_stored = {.body = message->body,
                                      .key = message->key,
                                      .priority = message->priority,
                                      .topic = "",
                                      .token = "",
                                      .reason = "",
                                      .cursor = ""};
        struct shown *shown = admin_show(call, fields_message_info, &as_stored, sizeof(as_stored));

        admin_keep_headers(&call->arena, shown, message->headers, message->header_count);
    }
    return true;
}

static bool admin_show_topic(const smq_topic_info *topic, void *user)
{
    struct call *call = user;
    smq_schedule_info named = {.topic = topic->name,
                               .id = topic->unreadable,
                               .note = topic->unreadable,
                               .paused = topic->paused};

    (void) admin_show(call, fields_schedule_info, &named, sizeof(named));
    return true;
}

static napi_value admin_of_shown(napi_env env, const struct shown *shown)
{
    napi_value object = value_of_record(env, shown->fields, shown->record), headers = NULL,
               tries = NULL;

    (void) napi_create_object(env, &headers);
    for (size_t i = 0; i < shown->count; i++) {
        value_set(env, headers, shown->names[i], value_of_bytes(env, shown->values[i]));
    }
    value_set(env, object, "headers", headers);
    (void) napi_create_array(env, &tries);
    for (size_t i = 0; i < shown->try_count; i++) {
        napi_value one = NULL;

        (void) napi_create_object(env, &one);
        value_set(env, one, "how", value_of_text(env, smq_try_how_name(shown->tries[i].how)));
        value_set(env, one, "at", value_of_number(env, (double) shown->tries[i].at_ms));
        value_set(env, one, "reason", value_of_text(env, shown->tries[i].reason));
        (void) napi_set_element(env, tries, (uint32_t) i, one);
    }
    value_set(env, object, "tries", tries);
    return object;
}

/* --- results --- */

static napi_value admin_all_shown(napi_env env, struct call *call)
{
    struct admin *admin = call->data;
    napi_value array = NULL;
    uint32_t count = 0;

    (void) napi_create_array(env, &array);
    for (const struct shown *shown = admin->first; shown != NULL; shown = shown->next) {
        (void) napi_set_element(env, array, count++, admin_of_shown(env, shown));
    }
    return array;
}

static napi_value admin_number(napi_env env, struct call *call)
{
    return value_of_number(env, ((struct admin *) call->data)->number);
}

static napi_value admin_made_text(napi_env env, struct call *call)
{
    struct admin *admin = call->data;
    napi_value text = value_of_text(env, admin->made);

    smq_free(admin->made);
    return text;
}

#define ADMIN_RECORD(name)                                                                         \
    static napi_value admin_##name##_record(napi_env env, struct call *call)                       \
    {                                                                                              \
        return value_of_record(env, fields_##name, &((struct admin *) call->data)->out);           \
    }
ADMIN_RECORD(health)
ADMIN_RECORD(metrics)
ADMIN_RECORD(stats)
ADMIN_RECORD(topic_report)

/* --- steps --- */

#define ADMIN_RUN(name, ...)                                                                       \
    static void admin_run_##name(struct call *call)                                                \
    {                                                                                              \
        struct admin *admin = call->data;                                                          \
        smq_client *client = call->handle->native;                                                 \
        smq_error *err = &call->err;                                                               \
        uint64_t count = 0;                                                                        \
                                                                                                   \
        (void) err;                                                                                \
        (void) count;                                                                              \
        call->status = __VA_ARGS__;                                                                \
        admin->number = count != 0 ? (double) count : admin->number;                               \
    }
ADMIN_RUN(create, smq_topic_create(client, call->options, &admin->out.report, err))
ADMIN_RUN(alter, smq_topic_alter(client, call->options, admin->text, err))
ADMIN_RUN(exists, smq_topic_get(client, admin->topic, NULL, err))
ADMIN_RUN(pause, smq_topic_pause(client, admin->topic, err))
ADMIN_RUN(resume, smq_topic_resume(client, admin->topic, err))
ADMIN_RUN(delete, smq_topic_delete(client, admin->topic, admin->flag, err))
ADMIN_RUN(stats, smq_topic_stats(client, admin->topic, &admin->out.stats, err))
ADMIN_RUN(topics, smq_topic_each(client, admin_show_topic, call, err))
ADMIN_RUN(messages,
          smq_message_each(client, admin->topic, &admin->filter, admin_show_message, call, err))
ADMIN_RUN(rank, smq_message_rank(client, admin->topic, &admin->which, &count, err))
ADMIN_RUN(remove, smq_message_remove(client, admin->topic, &admin->which, err))
ADMIN_RUN(reschedule,
          smq_message_reschedule(client, admin->topic, &admin->which, &admin->message, err))
ADMIN_RUN(requeue, smq_dead_requeue(client, admin->topic, &admin->filter, &count, NULL, NULL, err))
ADMIN_RUN(purge, smq_topic_purge(client, admin->topic, &admin->filter, &count, NULL, NULL, err))
ADMIN_RUN(schedules, smq_schedule_each(client, admin->topic, admin_show_schedule, call, err))
ADMIN_RUN(schedule_remove, smq_schedule_remove(client, admin->topic, admin->text, err))
ADMIN_RUN(schedule_pause, smq_schedule_pause(client, admin->topic, admin->text, admin->more, err))
ADMIN_RUN(schedule_resume, smq_schedule_resume(client, admin->topic, admin->text, err))
ADMIN_RUN(schedule_run, smq_schedule_run(client, admin->topic, admin->text, err))
ADMIN_RUN(health, smq_client_health(client, &admin->out.health, err))
ADMIN_RUN(metrics, smq_client_metrics(client, &admin->out.metrics, err))
ADMIN_RUN(metrics_text, smq_metrics_text(client, admin->text, &admin->made, err))

static void admin_run_get(struct call *call)
{
    const struct admin *admin = call->data;
    smq_message_info *info = NULL;

    call->status =
        smq_message_get(call->handle->native, admin->topic, &admin->which, &info, &call->err);
    if (call->status == SMQ_OK) {
        (void) admin_show_message(info, call);
        smq_message_info_free(info);
    }
}

static void admin_run_schedule_put(struct call *call)
{
    struct admin *admin = call->data;
    smq_schedule_change change = SMQ_SCHEDULE_SAME;

    call->status = smq_schedule_put(call->handle->native, admin->topic, admin->text,
                                    &admin->schedule, &change, &call->err);
    admin->number = change;
}

static void admin_run_schedule_get(struct call *call)
{
    const struct admin *admin = call->data;
    smq_schedule_info *info = NULL;

    call->status =
        smq_schedule_get(call->handle->native, admin->topic, admin->text, &info, &call->err);
    if (call->status == SMQ_OK) {
        (void) admin_show_schedule(info, call);
        smq_schedule_info_free(info);
    }
}

static const struct admin_kind {
    const char *name;
    call_run_fn *run;
    call_result_fn *result;
    size_t size; /* of the struct that it fills */
} admin_kinds[] = {
    {"create", admin_run_create, admin_topic_report_record, sizeof(smq_topic_report)},
    {"alter", admin_run_alter, NULL, 0},
    {"exists", admin_run_exists, NULL, 0},
    {"pause", admin_run_pause, NULL, 0},
    {"resume", admin_run_resume, NULL, 0},
    {"delete", admin_run_delete, NULL, 0},
    {"stats", admin_run_stats, admin_stats_record, sizeof(smq_stats)},
    {"topics", admin_run_topics, admin_all_shown, 0},
    {"messages", admin_run_messages, admin_all_shown, 0},
    {"get", admin_run_get, admin_all_shown, 0},
    {"rank", admin_run_rank, admin_number, 0},
    {"remove", admin_run_remove, NULL, 0},
    {"reschedule", admin_run_reschedule, NULL, 0},
    {"requeue", admin_run_requeue, admin_number, 0},
    {"purge", admin_run_purge, admin_number, 0},
    {"schedules", admin_run_schedules, admin_all_shown, 0},
    {"schedulePut", admin_run_schedule_put, admin_number, 0},
    {"scheduleGet", admin_run_schedule_get, admin_all_shown, 0},
    {"scheduleRemove", admin_run_schedule_remove, NULL, 0},
    {"schedulePause", admin_run_schedule_pause, NULL, 0},
    {"scheduleResume", admin_run_schedule_resume, NULL, 0},
    {"scheduleRun", admin_run_schedule_run, NULL, 0},
    {"health", admin_run_health, admin_health_record, sizeof(smq_health)},
    {"metrics", admin_run_metrics, admin_metrics_record, sizeof(smq_metrics)},
    {"metricsText", admin_run_metrics_text, admin_made_text, 0},
};

/* --- arguments --- */

/* [key, id, body] */
static bool admin_read_which(napi_env env, napi_value words, struct arena *arena,
                             smq_message_ref *out)
{
    *out = SMQ_MESSAGE_REF(.key = {NULL, 0});
    return value_bytes(env, value_at(env, words, 0), arena, &out->key) &&
           value_bytes(env, value_at(env, words, 1), arena, &out->id) &&
           value_bytes(env, value_at(env, words, 2), arena, &out->body);
}

/* [states, contains, reason, limit, cursor] */
static bool admin_read_filter(napi_env env, napi_value words, struct arena *arena, smq_filter *out)
{
    int64_t states, limit;

    *out = SMQ_FILTER(.states = 0);
    if (!value_int(env, value_at(env, words, 0), &states) ||
        !value_text(env, value_at(env, words, 1), arena, &out->contains) ||
        !value_text(env, value_at(env, words, 2), arena, &out->reason) ||
        !value_int(env, value_at(env, words, 3), &limit) ||
        !value_text(env, value_at(env, words, 4), arena, &out->cursor)) {
        return false;
    }
    out->states = (unsigned) states;
    out->limit = (uint64_t) limit;
    return true;
}

/* [cron, every, zone, start, end, limit, missed] */
static bool admin_read_schedule(napi_env env, napi_value words, struct arena *arena,
                                smq_schedule *out)
{
    int64_t missed;

    *out = SMQ_SCHEDULE(.cron = NULL);
    if (!value_text(env, value_at(env, words, 0), arena, &out->cron) ||
        !value_int(env, value_at(env, words, 1), &out->every_ms) ||
        !value_text(env, value_at(env, words, 2), arena, &out->zone) ||
        !value_int(env, value_at(env, words, 3), &out->start_at_ms) ||
        !value_int(env, value_at(env, words, 4), &out->end_at_ms) ||
        !value_int(env, value_at(env, words, 5), &out->limit) ||
        !value_int(env, value_at(env, words, 6), &missed)) {
        return false;
    }
    out->missed = (smq_missed) missed;
    return true;
}

/* A message of a call that waits: its bytes are copied. */
static bool admin_read_message(napi_env env, napi_value words, struct arena *arena,
                               smq_message *out)
{
    napi_value word[VALUE_MESSAGE_WORDS];

    for (uint32_t i = 0; i < VALUE_MESSAGE_WORDS; i++) {
        word[i] = value_at(env, words, i);
    }
    if (!value_message(env, word, arena, out)) {
        return false;
    }
    smq_bytes *parts[] = {&out->body, &out->key, &out->id};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i]->data != NULL) {
            parts[i]->data = arena_copy(arena, parts[i]->data, parts[i]->len);
        }
    }
    for (size_t i = 0; i < out->header_count; i++) {
        smq_bytes *value = &((smq_header *) out->headers)[i].value;
        value->data = arena_copy(arena, value->data, value->len);
    }
    return true;
}

enum {
    ARG_CLIENT,
    ARG_KIND,
    ARG_TOPIC,
    ARG_TEXT,
    ARG_WHICH,
    ARG_FILTER,
    ARG_MESSAGE,
    ARG_OPTIONS,
    ARG_SCHEDULE,
    ARG_FLAG,
    ARG_MORE,
    ARGS
};

static bool admin_read(napi_env env, struct call *call, const napi_value argv[ARGS])
{
    struct admin *admin = call->data;
    struct arena *arena = &call->arena;

    *admin = (struct admin){.flag = value_bool(env, argv[ARG_FLAG]), .last = &admin->first};
    if (!value_text(env, argv[ARG_TOPIC], arena, &admin->topic) ||
        !value_text(env, argv[ARG_TEXT], arena, &admin->text) ||
        !value_text(env, argv[ARG_MORE], arena, &admin->more) ||
        !admin_read_which(env, argv[ARG_WHICH], arena, &admin->which) ||
        !admin_read_filter(env, argv[ARG_FILTER], arena, &admin->filter) ||
        !admin_read_message(env, argv[ARG_MESSAGE], arena, &admin->message) ||
        !admin_read_schedule(env, argv[ARG_SCHEDULE], arena, &admin->schedule)) {
        return false;
    }
    admin->schedule.message = &admin->message;
    if (value_is_none(env, argv[ARG_OPTIONS])) {
        return true;
    }
    call->options = value_options(env, argv[ARG_OPTIONS], SMQ_OPTION_SET_TOPIC, arena,
                                  &call->status, &call->err);
    if (call->options != NULL) {
        ((smq_topic_options *) call->options)->name = admin->topic;
    }
    return call->options != NULL;
}

/* call(client, kind, topic, text, which, filter, message, options, schedule, flag, more): a
 * promise. */
napi_value admin_call(napi_env env, napi_callback_info info)
{
    napi_value argv[ARGS];
    size_t argc = ARGS;
    char name[32] = "";

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct handle *client = handle_get(env, argv[ARG_CLIENT], HANDLE_CLIENT);
    if (client == NULL) {
        return NULL;
    }
    (void) napi_get_value_string_utf8(env, argv[ARG_KIND], name, sizeof(name), NULL);
    for (size_t i = 0; i < sizeof(admin_kinds) / sizeof(admin_kinds[0]); i++) {
        const struct admin_kind *kind = &admin_kinds[i];

        if (strcmp(kind->name, name) == 0) {
            struct call *call = call_new(env, client);

            call->data = arena_get(&call->arena, sizeof(struct admin));
            if (!admin_read(env, call, argv)) {
                return call_refuse(env, call);
            }
            ((struct admin *) call->data)->out.size = kind->size;
            return call_begin(env, call, kind->run, kind->result);
        }
    }
    (void) napi_throw_type_error(env, "ERR_INVALID_ARG_VALUE", "there is no such call");
    return NULL;
}

/* scheduleNext(schedule, after, count): the times at which it is due. */
napi_value admin_schedule_next(napi_env env, napi_callback_info info)
{
    enum { MOST = 1000 };
    napi_value argv[3], array = NULL;
    size_t argc = 3, count = 0;
    int64_t after = 0, wanted = 0, times[MOST];
    smq_schedule schedule;
    smq_error err = SMQ_ERROR_INIT;

    (void) napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct arena *arena = &addon_of(env)->arena;
    if (!admin_read_schedule(env, argv[0], arena, &schedule) || !value_int(env, argv[1], &after) ||
        !value_int(env, argv[2], &wanted)) {
        return NULL;
    }
    smq_status status = smq_schedule_next(&schedule, after, times,
                                          wanted < MOST ? (size_t) wanted : MOST, &count, &err);
    arena_reset(arena);
    if (status != SMQ_OK) {
        call_throw(env, status, err.text);
        return NULL;
    }
    (void) napi_create_array(env, &array);
    for (size_t i = 0; i < count; i++) {
        (void) napi_set_element(env, array, (uint32_t) i, value_of_number(env, (double) times[i]));
    }
    return array;
}
