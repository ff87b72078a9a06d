/* show_topics.c - topics as they were read last, and what one of them is now.
 *
 * Thread: that of the port; show_topic() runs on serve:ask-N. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/http/query.h"
#include "cli/stat/gauges.h"
#include "cli/stat/stat_read.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/topic/definition.h"
#include "cli/topic/topic.h"
#include "serve/serve.h"

enum { TOPICS_LIMIT = 100, TOPIC_SLOTS_MAX = 1024 };

static json_t *show_number(bool known, int64_t number)
{
    return known ? json_integer(number) : json_null();
}

static json_t *show_word(bool known, const char *word)
{
    return known ? output_text(word) : json_null();
}

static json_t *show_mark(enum gauges_mark mark)
{
    static const char *const names[] = {
        [GAUGES_PLAIN] = NULL, [GAUGES_WARNING] = "warning", [GAUGES_ERROR] = "error"};

    return show_word(names[mark] != NULL, names[mark]);
}

static void show_verdict(json_t *object, const struct gauges_verdict *verdict)
{
    json_t *marks = json_object();

    output_set(object, "state", show_word(strcmp(verdict->state, "-") != 0, verdict->state));
    output_set(marks, "state", show_mark(verdict->of_state));
    output_set(marks, "dead", show_mark(verdict->of_dead));
    output_set(marks, "lag", show_mark(verdict->of_lag));
    output_set(object, "marks", marks);
}

/* === Readings =========================================================== */

static json_t *show_reading_of(const struct readings_view *view)
{
    const struct reading_state *state = view->state;
    const bool read = state->round_at_ms != 0;
    const int64_t age_ms = view->now_ms - state->round_at_ms;
    json_t *object = json_object();

    output_set(object, "at_ms", show_number(read, state->round_at_ms));
    output_set(object, "age_ms", show_number(read, age_ms > 0 ? age_ms : 0));
    output_set(object, "round_ms", show_number(read, state->round_ms));
    output_set(object, "since_at_ms", json_integer(state->since_at_ms));
    output_set(object, "topics", json_integer((json_int_t) view->count));
    output_set(object, "code", json_string(smq_status_name(state->err.status)));
    output_set(object, "detail",
               output_text(state->err.status == SMQ_OK ? "" : say_text(&state->err)));
    return object;
}

json_t *show_reading(struct readings *readings)
{
    const struct readings_view view = readings_open(readings);
    json_t *object = show_reading_of(&view);

    readings_close(readings);
    return object;
}

/* === One topic ========================================================== */

/* What cannot be read, or found, needs a person, whatever its numbers are. */
static struct gauges_verdict show_judge(const struct reading_topic *topic)
{
    struct gauges_verdict verdict =
        gauges_judge(&topic->now.stats, stat_read_is_unowned(&topic->now));

    verdict.need = topic->unreadable || topic->unlisted ? GAUGES_ERROR : verdict.need;
    return verdict;
}

static json_t *show_one(const struct reading_topic *topic, int64_t now_ms, size_t points)
{
    const smq_survey_topic *now = &topic->now;
    const struct gauges_verdict verdict = show_judge(topic);
    const bool read = topic->read_at_ms != 0;
    json_t *object = json_object();

    output_set(object, "topic", output_text(topic->name));
    show_verdict(object, &verdict);
    output_set(object, "need", show_mark(verdict.need));
    output_set(object, "read_at_ms", show_number(read, topic->read_at_ms));
    output_set(object, "unreadable", show_word(topic->unreadable != NULL, topic->unreadable));
    output_set(object, "unlisted", json_boolean(topic->unlisted));
    output_set(object, "type", show_word(topic->defined, definition_type_name(topic->type)));
    output_set(object, "layout", show_word(topic->defined, definition_layout_name(topic->layout)));
    output_set(object, "shared", topic->defined ? json_boolean(topic->shared) : json_null());
    output_set(object, "slots_total", show_number(topic->defined, topic->slots));
    output_set(object, "owners", show_number(now->has_owners, (int64_t) now->owners));
    output_set(object, "slots_unowned", show_number(now->has_owners, (int64_t) now->slots_unowned));
    gauges_json_all(object, &now->stats);
    gauges_json_left_out(object, &now->stats);
#define X(counter, title, weight)                                                                  \
    output_set(object, #counter "_per_s",                                                          \
               topic->has_rates ? json_real(topic->rates.counter) : json_null());
    RATE_FIELDS(X)
#undef X
    if (points > 0) {
        output_set(object, "history", history_json(&topic->history, now_ms, points));
    }
    return object;
}

/* === All topics ========================================================= */

enum topics_order { BY_NAME, BY_ACTIVITY, BY_WAITING, BY_LAG, BY_DEAD, BY_NEED };

static const char *const topics_orders[] = {"name", "activity", "waiting", "lag",
                                            "dead", "need",     NULL};

/* By what topics are put in order, the largest first. */
static double topics_weight(const struct reading_topic *topic, enum topics_order order)
{
    const smq_stats *stats = &topic->now.stats;

    switch (order) {
    case BY_ACTIVITY:
        return topic->has_rates ? topic->rates.sent + topic->rates.done : 0;
    case BY_WAITING:
        return (double) stats->waiting;
    case BY_LAG:
        return (double) stats->oldest_due_age_ms;
    case BY_DEAD:
        return (double) stats->dead;
    case BY_NEED:
        return show_judge(topic).need;
    default:
        return 0;
    }
}

struct topics_row {
    const struct reading_topic *topic;
    double weight;
};

static int topics_compare(const void *left, const void *right)
{
    const struct topics_row *a = left;
    const struct topics_row *b = right;

    if (a->weight != b->weight) {
        return a->weight > b->weight ? -1 : 1;
    }
    return strcmp(a->topic->name, b->topic->name);
}

/* Those that match, in their order; to be freed. */
static struct topics_row *topics_choose(size_t *count, const struct readings_view *view,
                                        const char *search, enum topics_order order)
{
    struct topics_row *rows = say_alloc(view->count, sizeof(*rows));

    *count = 0;
    for (size_t i = 0; i < view->count; i++) {
        const struct reading_topic *topic = view->topics[i];
        if (!search || strstr(topic->name, search)) {
            rows[(*count)++] = (struct topics_row){topic, topics_weight(topic, order)};
        }
    }
    if (*count > 0) {
        qsort(rows, *count, sizeof(*rows), topics_compare);
    }
    return rows;
}

/* How many topics need a person, whether they match or not. */
static json_t *topics_needing(const struct readings_view *view)
{
    json_int_t count = 0;

    for (size_t i = 0; i < view->count; i++) {
        count += topics_weight(view->topics[i], BY_NEED) > 0 ? 1 : 0;
    }
    return json_integer(count);
}

/* -1: there is no such order. */
static int topics_order_named(const char *name)
{
    for (int i = 0; topics_orders[i]; i++) {
        if (!name || strcmp(topics_orders[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

struct answer *show_topics(struct serve *serve, const json_t *query,
                           const struct guard_caller *caller)
{
    const int order = topics_order_named(query_text(query, "order"));
    const size_t offset = (size_t) query_number(query, "offset", 0);
    const size_t limit = (size_t) query_number(query, "limit", TOPICS_LIMIT);
    const size_t points = (size_t) query_number(query, "points", 0);
    json_t *document = json_object();
    json_t *array = json_array();
    size_t count = 0;

    (void) caller;
    output_set(document, "topics", array);
    if (order < 0) {
        json_decref(document);
        return answer_problem(400, SMQ_INVALID,
                              "order must be name, activity, waiting, lag, dead or need");
    }
    const struct readings_view view = readings_open(serve->readings);
    struct topics_row *rows =
        topics_choose(&count, &view, query_text(query, "search"), (enum topics_order) order);
    for (size_t i = offset; i < count && i - offset < limit; i++) {
        output_append(array, show_one(rows[i].topic, view.now_ms, points));
    }
    output_set(document, "reading", show_reading_of(&view));
    output_set(document, "needing", topics_needing(&view));
    readings_close(serve->readings);
    output_set(document, "total", json_integer((json_int_t) count));
    output_set(document, "offset", json_integer((json_int_t) offset));
    free(rows);
    return answer_json(200, document);
}

/* === One topic now ====================================================== */

static bool topic_on_definition(const smq_topic_info *topic, void *user)
{
    json_t **out = user;

    *out = topic_json(topic);
    return true;
}

struct topic_slots {
    json_t *definition, *array; /* owned */
};

static bool topic_on_slot(const smq_slot_info *slot, void *user)
{
    const struct topic_slots *slots = user;
    const bool shared = json_is_true(json_object_get(slots->definition, "shared"));
    const struct gauges_verdict verdict =
        gauges_judge(&slot->stats, !shared && slot->owner[0] == '\0');
    json_t *object = json_object();

    output_set(object, "slot", json_integer(slot->slot));
    output_set(object, "owner", output_text(slot->owner));
    output_set(object, "token", output_text(slot->token));
    output_set(object, "code", json_string(smq_status_name(slot->status)));
    output_set(object, "why", output_text(slot->why));
    show_verdict(object, &verdict);
    gauges_json_all(object, &slot->stats);
    output_append(slots->array, object);
    return json_array_size(slots->array) < TOPIC_SLOTS_MAX;
}

/* What was read of the topic; NULL: nothing yet. */
static json_t *topic_reading(struct serve *serve, json_t *document, const char *name, size_t points)
{
    const struct readings_view view = readings_open(serve->readings);
    const struct reading_topic *topic = readings_find(&view, name);
    json_t *object = topic ? show_one(topic, view.now_ms, points) : NULL;

    output_set(document, "reading", show_reading_of(&view));
    readings_close(serve->readings);
    return object;
}

struct answer *show_topic(struct serve *serve, const json_t *query,
                          const struct guard_caller *caller)
{
    const char *name = query_text(query, "topic");
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    struct topic_slots slots = {.array = json_array()};

    (void) caller;
    if (!client ||
        topic_visit(client, name, topic_on_definition, &slots.definition, &err) != SMQ_OK ||
        smq_topic_slots(client, name, topic_on_slot, &slots, &err) != SMQ_OK) {
        json_decref(slots.definition);
        json_decref(slots.array);
        return answer_failure(&err);
    }
    json_t *document = json_object();
    json_t *topic = topic_reading(serve, document, name,
                                  (size_t) query_number(query, "points", HISTORY_POINTS));
    if (!topic) {
        const struct reading_topic none = {.name = (char *) name,
                                           .now.stats.oldest_due_age_ms = SMQ_AGE_UNKNOWN};
        topic = show_one(&none, moment_wall_ms(), 1);
    }
    output_set(document, "topic", topic);
    output_set(document, "definition", slots.definition);
    output_set(document, "slots", slots.array);
    output_set(document, "slots_at_ms", json_integer(moment_wall_ms()));
    return answer_json(200, document);
}

/* === For other programs ================================================= */

/* The topics are the groups of one of this name, which has no messages of its own; NULL: there are
 * none. */
static struct answer *show_groups(const struct readings_view *view, const char *name)
{
    const size_t size = strlen(name);
    char groups[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < view->count && used < sizeof(groups); i++) {
        const char *topic = view->topics[i]->name;
        if (strncmp(topic, name, size) == 0 && topic[size] == '/') {
            used += (size_t) snprintf(groups + used, sizeof(groups) - used, "%s%s",
                                      used > 0 ? ", " : "", topic);
        }
    }
    return used == 0 ? NULL
                     : answer_problem(400, SMQ_INVALID, "topic %s has groups; name one of them: %s",
                                      name, groups);
}

struct answer *show_lag(struct serve *serve, const json_t *query, const struct guard_caller *caller)
{
    const char *name = query_text(query, "topic");
    const struct readings_view view = readings_open(serve->readings);
    const struct reading_topic *topic = readings_find(&view, name);
    json_t *object = NULL;

    (void) caller;
    if (topic && topic->read_at_ms != 0 && !topic->unreadable) {
        const smq_survey_topic *now = &topic->now;
        const bool paused = now->stats.slots_paused > 0;
        object = json_object();
        output_set(object, "topic", output_text(topic->name));
        output_set(object, "value", json_integer(paused ? 0 : (json_int_t) now->stats.due));
        output_set(object, "due", json_integer((json_int_t) now->stats.due));
        output_set(object, "waiting", json_integer((json_int_t) now->stats.waiting));
        output_set(object, "claimed", json_integer((json_int_t) now->stats.claimed));
        output_set(object, "resting", json_integer((json_int_t) now->stats.resting));
        output_set(object, "oldest_due_age_ms",
                   show_number(now->stats.oldest_due_age_ms != SMQ_AGE_UNKNOWN,
                               now->stats.oldest_due_age_ms));
        output_set(object, "paused", json_boolean(paused));
        output_set(object, "owners", show_number(now->has_owners, (int64_t) now->owners));
        const int64_t age_ms = view.now_ms - topic->read_at_ms;
        output_set(object, "reading_age_ms", json_integer(age_ms > 0 ? age_ms : 0));
    }
    const bool known = topic != NULL;
    const bool begun = view.state->rounds > 0;
    struct answer *grouped = known ? NULL : show_groups(&view, name);
    readings_close(serve->readings);
    if (object || grouped) {
        return object ? answer_json(200, object) : grouped;
    }
    return known || !begun ? answer_problem(503, SMQ_UNAVAILABLE, "topic %s was not read", name)
                           : answer_problem(404, SMQ_NO_TOPIC, "there is no topic %s", name);
}

struct answer *show_metrics(struct serve *serve, const json_t *query,
                            const struct guard_caller *caller)
{
    size_t size = 0;
    char *text = readings_text(serve->readings, &size);

    (void) query;
    (void) caller;
    verdict_append(serve->verdict, &text, &size);
    return answer_new(200, "text/plain; version=0.0.4; charset=utf-8", text, size);
}

struct answer *show_health(struct serve *serve, const json_t *query,
                           const struct guard_caller *caller)
{
    (void) query;
    (void) caller;
    return readings_alive(serve->readings) ? answer_line(200, "ok")
                                           : answer_line(503, "the thread that reads hangs");
}

struct answer *show_ready(struct serve *serve, const json_t *query,
                          const struct guard_caller *caller)
{
    char why[SMQ_TEXT_SIZE];

    (void) query;
    (void) caller;
    return verdict_refuses(serve->verdict, why, sizeof(why)) ||
                   !readings_ready(serve->readings, why, sizeof(why))
               ? answer_line(503, "%s", why)
               : answer_line(200, "ok");
}

struct answer *show_self(struct serve *serve, const json_t *query,
                         const struct guard_caller *caller)
{
    json_t *object = json_object();
    char version[32];

    (void) query;
    snprintf(version, sizeof(version), "%d.%d.%d", SMQ_VERSION_MAJOR, SMQ_VERSION_MINOR,
             SMQ_VERSION_PATCH);
    output_set(object, "version", json_string(version));
    output_set(object, "write", json_boolean(caller->write));
    output_set(object, "personal", json_boolean(caller->personal));
    output_set(object, "token", json_boolean(serve->guard.token != NULL));
    output_set(object, "zookeeper", json_true());
    const struct readings_view view = readings_open(serve->readings);
    output_set(object, "since_at_ms", json_integer(view.state->since_at_ms));
    readings_close(serve->readings);
    return answer_json(200, object);
}
