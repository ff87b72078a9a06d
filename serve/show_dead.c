/* show_dead.c - the dead letters of a topic, by their causes and reasons.
 *
 * Thread: serve:ask-N. */
#include <stdlib.h>
#include <string.h>

#include <slotmq/ops.h>

#include "cli/http/query.h"
#include "cli/message/message.h"
#include "cli/message/reason_fold.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "serve/serve.h"

enum { DEAD_LIMIT = 10000, DEAD_REASONS_MAX = 1000, DEAD_IDS = 5 };

struct dead_group {
    char *reason; /* owned: of the first */
    char *folded; /* owned */
    char *common; /* owned: a part of all of them */
    bool several; /* reasons, which fold to the same */
    uint64_t count;
    int64_t first_ms, last_ms;
    json_t *ids; /* owned */
};

struct dead_visit {
    struct dead_group *groups; /* owned */
    size_t count;
    uint64_t looked_at;
};

/* The group of this reason; the last one has what there is no room for. */
static struct dead_group *dead_group_of(struct dead_visit *visit, const char *reason)
{
    char *folded = say_alloc(strlen(reason) + 1, 1);
    smq_bytes common;

    reason_fold(folded, &common, reason);
    for (size_t i = 0; i < visit->count; i++) {
        struct dead_group *group = &visit->groups[i];
        if (strcmp(group->folded, folded) == 0 || i + 1 == DEAD_REASONS_MAX) {
            group->several = group->several || strcmp(group->reason, reason) != 0;
            free(folded);
            return group;
        }
    }
    struct dead_group *grown = say_grow(visit->groups, visit->count, sizeof(*visit->groups));
    struct dead_group *group = &grown[visit->count++];
    visit->groups = grown;
    *group = (struct dead_group){.reason = say_copy(reason),
                                 .folded = folded,
                                 .common = strndup(common.data, common.len),
                                 .first_ms = INT64_MAX,
                                 .ids = json_array()};
    if (!group->common) {
        say_no_memory();
    }
    return group;
}

static bool dead_on_message(const smq_message_info *message, void *user)
{
    struct dead_visit *visit = user;
    struct dead_group *group = dead_group_of(visit, message->reason ? message->reason : "");
    json_t *id = message_has_id(message) && json_array_size(group->ids) < DEAD_IDS
                     ? json_stringn(message->id.data, message->id.len)
                     : NULL;

    visit->looked_at++;
    group->count++;
    group->first_ms = message->dead_at_ms < group->first_ms ? message->dead_at_ms : group->first_ms;
    group->last_ms = message->dead_at_ms > group->last_ms ? message->dead_at_ms : group->last_ms;
    if (id) {
        (void) json_array_append_new(group->ids, id);
    }
    return true;
}

static int dead_compare(const void *left, const void *right)
{
    const struct dead_group *a = left;
    const struct dead_group *b = right;

    if (a->count != b->count) {
        return a->count > b->count ? -1 : 1;
    }
    return strcmp(a->reason, b->reason);
}

/* A text that the reasons of the group have, and no other that was seen; "": there is none.  null:
 * it has one reason, which selects it. */
static json_t *dead_common_json(const struct dead_visit *visit, const struct dead_group *group)
{
    size_t have = 0;

    for (size_t i = 0; i < visit->count; i++) {
        have += strstr(visit->groups[i].reason, group->common) ? 1 : 0;
    }
    json_t *text = group->several && have == 1 ? json_string(group->common) : NULL;
    return !group->several ? json_null() : text ? text : json_string("");
}

static json_t *dead_reasons_json(struct dead_visit *visit)
{
    json_t *array = json_array();

    if (visit->count > 0) {
        qsort(visit->groups, visit->count, sizeof(*visit->groups), dead_compare);
    }
    for (size_t i = 0; i < visit->count; i++) {
        const struct dead_group *group = &visit->groups[i];
        json_t *object = json_object();
        const char *shown = group->several ? group->folded : group->reason;
        output_set_bytes(object, "reason", shown, strlen(shown));
        output_set(object, "common", dead_common_json(visit, group));
        output_set(object, "count", json_integer((json_int_t) group->count));
        output_set(object, "first_dead_at_ms", json_integer(group->first_ms));
        output_set(object, "last_dead_at_ms", json_integer(group->last_ms));
        output_set(object, "ids", json_incref(group->ids));
        output_append(array, object);
    }
    return array;
}

struct dead_causes {
    json_t *object;
    const smq_stats *stats;
};

static bool dead_on_number(const smq_number_info *number, void *user)
{
    const struct dead_causes *causes = user;
    int64_t count;

    if (strcmp(number->label, "cause") == 0) {
        memcpy(&count, (const char *) causes->stats + number->offset, sizeof(count));
        output_set(causes->object, number->label_value, json_integer(count));
    }
    return true;
}

static json_t *dead_causes_json(const smq_stats *stats)
{
    struct dead_causes causes = {json_object(), stats};

    smq_stat_each(dead_on_number, &causes);
    return causes.object;
}

static void dead_visit_fini(struct dead_visit *visit)
{
    for (size_t i = 0; i < visit->count; i++) {
        free(visit->groups[i].reason);
        free(visit->groups[i].folded);
        free(visit->groups[i].common);
        json_decref(visit->groups[i].ids);
    }
    free(visit->groups);
}

struct answer *show_dead(struct serve *serve, const json_t *query,
                         const struct guard_caller *caller)
{
    const char *topic = query_text(query, "topic");
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    smq_filter filter = SMQ_FILTER_INIT;
    smq_stats stats = SMQ_STATS_INIT;
    struct dead_visit visit = {.count = 0};
    struct answer *answer = NULL;

    (void) caller;
    filter.states = SMQ_STATE_DEAD;
    filter.limit = (uint64_t) query_number(query, "limit", DEAD_LIMIT);
    if (!client || smq_topic_stats(client, topic, &stats, &err) != SMQ_OK) {
        return answer_failure(&err);
    }
    const smq_status status =
        smq_message_each(client, topic, &filter, dead_on_message, &visit, &err);
    if (status == SMQ_OK || show_is_partial(&err)) {
        json_t *document = json_object();
        output_set(document, "topic", output_text(topic));
        output_set(document, "at_ms", json_integer(moment_wall_ms()));
        output_set(document, "dead", json_integer((json_int_t) stats.dead));
        output_set(document, "causes", dead_causes_json(&stats));
        output_set(document, "looked_at", json_integer((json_int_t) visit.looked_at));
        output_set(document, "whole",
                   json_boolean(status == SMQ_OK && visit.looked_at < filter.limit));
        output_set(document, "reasons", dead_reasons_json(&visit));
        answer = answer_json(200, document);
    } else {
        answer = answer_failure(&err);
    }
    dead_visit_fini(&visit);
    return answer;
}
