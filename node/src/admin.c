/* admin.c - clients, their events and limits; topics, stored messages and schedules. */
#include <stddef.h>

#include "addon.h"
#include "fields.h"

/* === Clients ============================================================ */

static void admin_run_client(struct call *call)
{
    smq_client *client = NULL;

    ((smq_client_options *) call->options)->poll_events = true;
    call->status = smq_client_new(&client, call->options, &call->err);
    call->data = client;
}

static napi_value admin_client_made(napi_env env, struct call *call)
{
    (void) env;
    return handle_new(call->addon, HANDLE_CLIENT, call->data);
}

/* clientNew(options) */
ADDON_CALL(admin_client_new)
{
    napi_value argv[1];
    size_t argc = 1;

    napi_get_cb_info(env, info, &argc, argv, NULL, NULL);
    struct call *call = call_new(env, NULL);
    call->run = admin_run_client;
    call->result = admin_client_made;
    call->options = value_options(env, argv[0], SMQ_OPTION_SET_CLIENT);
    return call->options != NULL ? call_begin(env, call) : call_drop(call);
}

/* clientPoll(client): an array of events. */
ADDON_CALL(admin_client_poll)
{
    enum { AT_ONCE = 64 };
    const smq_event *events[AT_ONCE];
    napi_value argv[1], array = NULL;
    size_t count = 0;
    struct handle *client = handle_arg(env, info, 1, argv, HANDLE_CLIENT);

    if (client == NULL) {
        return NULL;
    }
    smq_client_poll_events(client->native, events, AT_ONCE, &count, 0, NULL);
    napi_create_array(env, &array);
    for (uint32_t i = 0; i < count; i++) {
        napi_set_element(env, array, i, value_of_record(env, fields_event, events[i]));
    }
    return array;
}

/* limitNew(client, most) */
ADDON_CALL(admin_limit_new)
{
    napi_value argv[2];
    int64_t most = 0;
    smq_limit *limit = NULL;
    smq_error err = SMQ_ERROR_INIT;
    struct handle *client = handle_arg(env, info, 2, argv, HANDLE_CLIENT);

    if (client == NULL || !value_int(env, argv[1], &most)) {
        return NULL;
    }
    smq_status status = smq_limit_new(&limit, client->native, (int32_t) most, &err);
    return status == SMQ_OK ? handle_new(client->addon, HANDLE_LIMIT, limit)
                            : call_throw(env, status, err.text);
}

/* === Calls with a topic ================================================= */

/* A record that a visit has shown. */
struct shown {
    struct shown *next;
    const struct field *fields;
    const void *record;
    const smq_header *headers;
    size_t header_count;
};

struct admin {
    /* arguments */
    const char *topic, *text, *note;
    bool flag;
    smq_message_ref which;
    smq_filter filter;
    smq_message message;
    smq_schedule schedule;
    /* results */
    uint64_t count;
    char *made;
    struct shown *first, **last;
    union {
        size_t size; /* with which each of them begins */
        smq_stats stats;
        smq_health health;
        smq_metrics metrics;
    } out;
};

/* --- what is shown --- */

static struct shown *admin_show(struct call *call, const struct field *fields, const void *record,
                                size_t size)
{
    struct admin *admin = call->data;
    struct shown *shown = arena_get(&call->arena, sizeof(*shown));

    *shown =
        (struct shown){.fields = fields, .record = value_keep(&call->arena, fields, record, size)};
    *admin->last = shown;
    admin->last = &shown->next;
    return shown;
}

static bool admin_show_message(const smq_message_info *message, void *user)
{
    struct call *call = user;
    struct shown *shown = admin_show(call, fields_message_info, message, sizeof(*message));
    smq_header *headers = arena_get(&call->arena, message->header_count * sizeof(*headers));

    for (size_t i = 0; i < message->header_count; i++) {
        const smq_header *header = &message->headers[i];

        headers[i].name = arena_copy(&call->arena, header->name, strlen(header->name));
        headers[i].value = arena_bytes(&call->arena, header->value);
    }
    shown->headers = headers;
    shown->header_count = message->header_count;
    return true;
}

/* Two records: what is known of the schedule, and the schedule. */
static bool admin_show_schedule(const smq_schedule_info *info, void *user)
{
    admin_show(user, fields_schedule_info, info, sizeof(*info));
    admin_show(user, fields_schedule, &info->schedule, sizeof(info->schedule));
    return true;
}

static napi_value admin_all_shown(napi_env env, struct call *call)
{
    const struct admin *admin = call->data;
    napi_value array = NULL;
    uint32_t count = 0;

    napi_create_array(env, &array);
    for (const struct shown *shown = admin->first; shown != NULL; shown = shown->next) {
        napi_value object = value_of_record(env, shown->fields, shown->record), headers = NULL;

        napi_create_object(env, &headers);
        for (size_t i = 0; i < shown->header_count; i++) {
            value_set(env, headers, shown->headers[i].name,
                      value_of_bytes(env, shown->headers[i].value));
        }
        value_set(env, object, "headers", headers);
        napi_set_element(env, array, count++, object);
    }
    return array;
}

/* --- the calls --- */

static smq_status admin_get(struct call *call, struct admin *admin, smq_client *client)
{
    smq_message_info *info = NULL;
    smq_status status = smq_message_get(client, admin->topic, &admin->which, &info, &call->err);

    if (status == SMQ_OK) {
        admin_show_message(info, call);
    }
    smq_message_info_free(info);
    return status;
}

static smq_status admin_schedule_get(struct call *call, struct admin *admin, smq_client *client)
{
    smq_schedule_info *info = NULL;
    smq_status status = smq_schedule_get(client, admin->topic, admin->text, &info, &call->err);

    if (status == SMQ_OK) {
        admin_show_schedule(info, call);
    }
    smq_schedule_info_free(info);
    return status;
}

static smq_status admin_schedule_put(struct call *call, struct admin *admin, smq_client *client)
{
    smq_schedule_change change = SMQ_SCHEDULE_SAME;
    smq_status status =
        smq_schedule_put(client, admin->topic, admin->text, &admin->schedule, &change, &call->err);

    admin->count = change;
    return status;
}

static napi_value admin_count(napi_env env, struct call *call)
{
    return value_of_number(env, (double) ((struct admin *) call->data)->count);
}

static napi_value admin_made_text(napi_env env, struct call *call)
{
    struct admin *admin = call->data;
    napi_value text = value_of_text(env, admin->made);

    smq_free(admin->made);
    return text;
}

#define ADMIN_RECORD(name)                                                                         \
    static napi_value admin_record_##name(napi_env env, struct call *call)                         \
    {                                                                                              \
        return value_of_record(env, fields_##name, &((struct admin *) call->data)->out);           \
    }
ADMIN_RECORD(health)
ADMIN_RECORD(metrics)
ADMIN_RECORD(stats)

/* X(name, the result, the size of the record that it fills, the call) */
#define ADMIN_MAP(X)                                                                               \
    X(create, NULL, 0, smq_topic_create(client, call->options, NULL, err))                         \
    X(alter, NULL, 0, smq_topic_alter(client, call->options, admin->text, err))                    \
    X(exists, NULL, 0, smq_topic_get(client, admin->topic, NULL, err))                             \
    X(pause, NULL, 0, smq_topic_pause(client, admin->topic, err))                                  \
    X(resume, NULL, 0, smq_topic_resume(client, admin->topic, err))                                \
    X(delete, NULL, 0, smq_topic_delete(client, admin->topic, admin->flag, err))                   \
    X(stats, admin_record_stats, sizeof(smq_stats),                                                \
      smq_topic_stats(client, admin->topic, &admin->out.stats, err))                               \
    X(messages, admin_all_shown, 0,                                                                \
      smq_message_each(client, admin->topic, &admin->filter, admin_show_message, call, err))       \
    X(get, admin_all_shown, 0, admin_get(call, admin, client))                                     \
    X(rank, admin_count, 0,                                                                        \
      smq_message_rank(client, admin->topic, &admin->which, &admin->count, err))                   \
    X(remove, NULL, 0, smq_message_remove(client, admin->topic, &admin->which, err))               \
    X(reschedule, NULL, 0,                                                                         \
      smq_message_reschedule(client, admin->topic, &admin->which, &admin->message, err))           \
    X(requeue, admin_count, 0,                                                                     \
      smq_dead_requeue(client, admin->topic, &admin->filter, &admin->count, NULL, NULL, err))      \
    X(purge, admin_count, 0,                                                                       \
      smq_topic_purge(client, admin->topic, &admin->filter, &admin->count, NULL, NULL, err))       \
    X(schedulePut, admin_count, 0, admin_schedule_put(call, admin, client))                        \
    X(scheduleGet, admin_all_shown, 0, admin_schedule_get(call, admin, client))                    \
    X(schedules, admin_all_shown, 0,                                                               \
      smq_schedule_each(client, admin->topic, admin_show_schedule, call, err))                     \
    X(scheduleRemove, NULL, 0, smq_schedule_remove(client, admin->topic, admin->text, err))        \
    X(schedulePause, NULL, 0,                                                                      \
      smq_schedule_pause(client, admin->topic, admin->text, admin->note, err))                     \
    X(scheduleResume, NULL, 0, smq_schedule_resume(client, admin->topic, admin->text, err))        \
    X(scheduleRun, NULL, 0, smq_schedule_run(client, admin->topic, admin->text, NULL, err))        \
    X(health, admin_record_health, sizeof(smq_health),                                             \
      smq_client_health(client, &admin->out.health, err))                                          \
    X(metrics, admin_record_metrics, sizeof(smq_metrics),                                          \
      smq_client_metrics(client, &admin->out.metrics, err))                                        \
    X(metricsText, admin_made_text, 0, smq_metrics_text(client, admin->text, &admin->made, err))

#define ADMIN_RUN(name, result, size, ...)                                                         \
    static void admin_run_##name(struct call *call)                                                \
    {                                                                                              \
        struct admin *admin = call->data;                                                          \
        smq_client *client = call->handle->native;                                                 \
        smq_error *err = &call->err;                                                               \
                                                                                                   \
        (void) admin;                                                                              \
        (void) err;                                                                                \
        call->status = __VA_ARGS__;                                                                \
    }
ADMIN_MAP(ADMIN_RUN)

#define ADMIN_ROW(name, result, size, ...) {#name, admin_run_##name, result, size},
static const struct admin_kind {
    const char *name;
    void (*run)(struct call *call);
    napi_value (*result)(napi_env env, struct call *call);
    size_t size;
} admin_kinds[] = {ADMIN_MAP(ADMIN_ROW)};

/* --- arguments --- */

/* [key, id] */
static bool admin_read_which(napi_env env, napi_value words, struct arena *arena,
                             smq_message_ref *out)
{
    *out = SMQ_MESSAGE_REF(.key = {NULL, 0});
    bool is_read = value_bytes(env, value_at(env, words, 0), arena, &out->key) &&
                   value_bytes(env, value_at(env, words, 1), arena, &out->id);
    out->key = arena_bytes(arena, out->key);
    out->id = arena_bytes(arena, out->id);
    return is_read;
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

/* [cron, zone, every, start, end, limit, missed] */
static bool admin_read_schedule(napi_env env, napi_value words, struct arena *arena,
                                smq_schedule *out)
{
    int64_t missed = 0;
    int64_t *numbers[] = {&out->every_ms, &out->start_at_ms, &out->end_at_ms, &out->limit, &missed};

    *out = SMQ_SCHEDULE(.cron = NULL);
    if (!value_text(env, value_at(env, words, 0), arena, &out->cron) ||
        !value_text(env, value_at(env, words, 1), arena, &out->zone)) {
        return false;
    }
    for (uint32_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!value_int(env, value_at(env, words, 2 + i), numbers[i])) {
            return false;
        }
    }
    out->missed = (smq_missed) missed;
    return true;
}

/* Its bytes are copied, for another thread. */
static bool admin_read_message(napi_env env, napi_value words, struct arena *arena,
                               smq_message *out)
{
    if (!value_message(env, words, arena, out)) {
        return false;
    }
    out->body = arena_bytes(arena, out->body);
    out->key = arena_bytes(arena, out->key);
    out->id = arena_bytes(arena, out->id);
    for (size_t i = 0; i < out->header_count; i++) {
        smq_bytes *value = (smq_bytes *) &out->headers[i].value;

        *value = arena_bytes(arena, *value);
    }
    return true;
}

enum {
    ARG_CLIENT,
    ARG_KIND,
    ARG_TOPIC,
    ARG_TEXT,
    ARG_NOTE,
    ARG_FLAG,
    ARG_WHICH,
    ARG_FILTER,
    ARG_MESSAGE,
    ARG_SCHEDULE,
    ARG_OPTIONS,
    ARGS
};

static bool admin_read(napi_env env, struct call *call, const napi_value argv[ARGS])
{
    struct admin *admin = call->data;
    struct arena *arena = &call->arena;

    *admin = (struct admin){.flag = value_bool(env, argv[ARG_FLAG]), .last = &admin->first};
    if (!value_text(env, argv[ARG_TOPIC], arena, &admin->topic) ||
        !value_text(env, argv[ARG_TEXT], arena, &admin->text) ||
        !value_text(env, argv[ARG_NOTE], arena, &admin->note) ||
        !admin_read_which(env, argv[ARG_WHICH], arena, &admin->which) ||
        !admin_read_filter(env, argv[ARG_FILTER], arena, &admin->filter) ||
        !admin_read_message(env, argv[ARG_MESSAGE], arena, &admin->message) ||
        !admin_read_schedule(env, argv[ARG_SCHEDULE], arena, &admin->schedule)) {
        return false;
    }
    admin->schedule.message = &admin->message;
    if (!value_is_none(env, argv[ARG_OPTIONS])) {
        smq_topic_options *options = value_options(env, argv[ARG_OPTIONS], SMQ_OPTION_SET_TOPIC);

        if (options == NULL) {
            return false;
        }
        options->name = admin->topic;
        call->options = options;
    }
    return true;
}

/* call(client, kind, topic, text, note, flag, which, filter, message, schedule, options): a
 * promise. */
ADDON_CALL(admin_call)
{
    napi_value argv[ARGS];
    char name[32] = "";
    struct handle *client = handle_arg(env, info, ARGS, argv, HANDLE_CLIENT);

    if (client == NULL) {
        return NULL;
    }
    napi_get_value_string_utf8(env, argv[ARG_KIND], name, sizeof(name), NULL);
    const struct admin_kind *kind = admin_kinds;
    while (strcmp(kind->name, name) != 0) {
        kind++; /* lib/ knows their names */
    }
    struct call *call = call_new(env, client);
    call->run = kind->run;
    call->result = kind->result;
    call->data = arena_get(&call->arena, sizeof(struct admin));
    if (!admin_read(env, call, argv)) {
        return call_drop(call);
    }
    ((struct admin *) call->data)->out.size = kind->size;
    return call_begin(env, call);
}
