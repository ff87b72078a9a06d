/* edit.c - what a caller who may write can change.
 *
 * Thread: serve:ask-N; edit_stop(), edit_jobs() and edit_job() run on that of the port. */
#include <stdio.h>
#include <string.h>

#include "cli/http/query.h"
#include "cli/message/message.h"
#include "cli/text/output.h"
#include "cli/topic/topic.h"
#include "serve/serve.h"

static struct answer *edit_done(smq_status status, const smq_error *err)
{
    json_t *object = NULL;

    if (status != SMQ_OK) {
        return answer_failure(err);
    }
    object = json_object();
    output_set(object, "done", json_integer(1));
    return answer_json(200, object);
}

/* === One message, one topic ============================================= */

struct answer *edit_remove(struct serve *serve, const json_t *query,
                           const struct guard_caller *caller)
{
    const char *topic = query_text(query, "topic");
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    smq_layout layout = SMQ_LAYOUT_KEYED;
    struct query_ref ref;

    (void) caller;
    query_ref_read(&ref, query);
    smq_status status = client ? topic_layout(&layout, client, topic, &err) : err.status;
    if (layout == SMQ_LAYOUT_INLINE) {
        query_ref_by_body(&ref);
    }
    if (status == SMQ_OK) {
        status = smq_message_remove(client, topic, &ref.which, &err);
    }
    query_ref_fini(&ref);
    return edit_done(status, &err);
}

struct answer *edit_pause(struct serve *serve, const json_t *query,
                          const struct guard_caller *caller)
{
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);

    (void) caller;
    return edit_done(
        client ? smq_topic_pause(client, query_text(query, "topic"), &err) : err.status, &err);
}

struct answer *edit_resume(struct serve *serve, const json_t *query,
                           const struct guard_caller *caller)
{
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);

    (void) caller;
    return edit_done(
        client ? smq_topic_resume(client, query_text(query, "topic"), &err) : err.status, &err);
}

struct answer *edit_alter(struct serve *serve, const json_t *query,
                          const struct guard_caller *caller)
{
    const char *option = query_text(query, "option");
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);

    (void) caller;
    smq_status status = client ? smq_option_parse(&options, SMQ_OPTION_SET_TOPIC, option,
                                                  query_text(query, "value"), &err)
                               : err.status;
    options.name = query_text(query, "topic");
    if (status == SMQ_OK) {
        status = smq_topic_alter(client, &options, option, &err);
    }
    return edit_done(status, &err);
}

struct answer *edit_schedule(struct serve *serve, const json_t *query,
                             const struct guard_caller *caller)
{
    const char *topic = query_text(query, "topic"), *id = query_text(query, "id");
    const char *action = query_text(query, "action");
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    smq_status status = err.status;

    (void) caller;
    if (client && strcmp(action, "pause") == 0) {
        status = smq_schedule_pause(client, topic, id, query_text(query, "note"), &err);
    } else if (client && strcmp(action, "resume") == 0) {
        status = smq_schedule_resume(client, topic, id, &err);
    } else if (client && strcmp(action, "run") == 0) {
        status = smq_schedule_run(client, topic, id, NULL, &err);
    } else if (client) {
        return answer_problem(400, SMQ_INVALID, "action must be pause, resume or run");
    }
    return edit_done(status, &err);
}

/* === Jobs =============================================================== */

/* Does it select all, or messages that it names, or some by a filter?  Only one of these. */
static bool edit_selects(const json_t *query, const struct query_filter *filter)
{
    const bool all = query_switch(query, "all");
    const bool named = json_object_get(query, "messages") != NULL;
    const bool some = filter->filter.contains || filter->filter.reason ||
                      filter->filter.reason_is || filter->filter.header ||
                      filter->filter.older_than_ms != 0;

    return all + named + some == 1 && !(named && filter->filter.limit != 0);
}

/* Every message that is named needs an id. */
static bool edit_names(const json_t *query)
{
    const json_t *messages = json_object_get(query, "messages");

    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *one = json_array_get(messages, i);
        if (!json_object_get(one, "id") && !json_object_get(one, "id_base64")) {
            return false;
        }
    }
    return true;
}

/* The answer that refuses the selection; NULL: it is clear. */
static struct answer *edit_check(const json_t *query)
{
    char why[QUERY_WHY] = "";
    struct query_filter filter;
    bool good = query_filter_read(&filter, query, why);

    if (good && (!edit_selects(query, &filter) || !edit_names(query))) {
        snprintf(why, sizeof(why),
                 "select all, or messages with their ids, or some by contains, reason, reason_is, "
                 "header or older_than_ms: just one of these; limit is not for messages");
        good = false;
    }
    query_filter_fini(&filter);
    return good ? NULL : answer_problem(400, SMQ_INVALID, "%s", why);
}

static struct answer *edit_begin(struct serve *serve, const json_t *query, enum job_kind kind)
{
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    smq_layout layout = SMQ_LAYOUT_KEYED;
    struct answer *refused = edit_check(query);

    if (refused) {
        return refused;
    }
    if (!client || topic_layout(&layout, client, query_text(query, "topic"), &err) != SMQ_OK) {
        return answer_failure(&err);
    }
    json_t *job = jobs_begin(serve->jobs, client, kind, query, layout == SMQ_LAYOUT_INLINE);
    return job ? answer_json(202, job)
               : answer_problem(429, SMQ_FULL, "too many jobs run: stop one, or wait for its end");
}

struct answer *edit_requeue(struct serve *serve, const json_t *query,
                            const struct guard_caller *caller)
{
    (void) caller;
    return edit_begin(serve, query, JOB_REQUEUE);
}

struct answer *edit_purge(struct serve *serve, const json_t *query,
                          const struct guard_caller *caller)
{
    const json_t *words = json_object_get(query, "states");

    (void) caller;
    for (size_t i = 0; i < json_array_size(words); i++) {
        const smq_state state = message_state_named(json_string_value(json_array_get(words, i)));
        if (state == 0 || state == SMQ_STATE_CLAIMED) {
            return answer_problem(400, SMQ_INVALID, "states must be waiting, resting or dead");
        }
    }
    return edit_begin(serve, query, JOB_PURGE);
}

static struct answer *edit_answer(json_t *job, const char *id)
{
    return job ? answer_json(200, job)
               : answer_problem(404, SMQ_INVALID, "there is no job %.40s", id);
}

struct answer *edit_stop(struct serve *serve, const json_t *query,
                         const struct guard_caller *caller)
{
    const char *id = query_text(query, "id");

    (void) caller;
    return edit_answer(jobs_stop(serve->jobs, id), id);
}

struct answer *edit_job(struct serve *serve, const json_t *query, const struct guard_caller *caller)
{
    const char *id = query_text(query, "id");

    (void) caller;
    return edit_answer(jobs_find_json(serve->jobs, id), id);
}

struct answer *edit_jobs(struct serve *serve, const json_t *query,
                         const struct guard_caller *caller)
{
    (void) query;
    (void) caller;
    return answer_json(200, jobs_json(serve->jobs));
}
