/* show_work.c - what is in work in topics: since when, and at which process.
 *
 * Thread: serve:ask-N. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/http/query.h"
#include "cli/stat/stat_fleet.h"
#include "cli/stat/work_table.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "serve/serve.h"

/* So many topics are read for an answer that is about all, and so many slots are shown. */
enum { WORK_TOPICS_MAX = 100, WORK_ROWS_MAX = 1000 };

static int work_compare_topics(const void *left, const void *right)
{
    const struct reading_topic *a = *(const struct reading_topic *const *) left;
    const struct reading_topic *b = *(const struct reading_topic *const *) right;
    const int64_t a_ms = a->now.stats.oldest_claim_age_ms;
    const int64_t b_ms = b->now.stats.oldest_claim_age_ms;

    return a_ms > b_ms ? -1 : a_ms < b_ms;
}

/* The names of the topics that had messages in work when they were read last, to be freed.  Of too
 * many those with the oldest; *whole is false then. */
static char *work_names(bool *whole, struct readings *readings)
{
    const struct readings_view view = readings_open(readings);
    const struct reading_topic **busy = say_alloc(view.count + 1, sizeof(const void *));
    size_t count = 0, size = 0;
    char *names = NULL;
    FILE *out = open_memstream(&names, &size);

    for (size_t i = 0; i < view.count; i++) {
        if (view.topics[i]->now.stats.claimed > 0) {
            busy[count++] = view.topics[i];
        }
    }
    qsort(busy, count, sizeof(const void *), work_compare_topics);
    *whole = count <= WORK_TOPICS_MAX;
    for (size_t i = 0; out && i < count && i < WORK_TOPICS_MAX; i++) {
        fprintf(out, "%s%s", i > 0 ? "," : "", busy[i]->name);
    }
    readings_close(readings);
    free(busy);
    if (!out || fclose(out) != 0) {
        say_no_memory();
    }
    return names;
}

/* Keys are personal data, and so are the ids of layout inline, which are bodies. */
static void work_hide(json_t *array, const struct work_row *rows)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        json_t *object = json_array_get(array, i);
        (void) json_object_del(object, "key_base64");
        output_set(object, "key", json_null());
        if (!rows[i].keyed) {
            (void) json_object_del(object, "id_base64");
            output_set(object, "id", json_null());
        }
    }
}

/* Was everything read that was asked for? */
static bool work_is_whole(const struct stat_topics *topics)
{
    for (size_t i = 0; i < topics->count; i++) {
        const struct stat_topic *topic = &topics->all[i];
        if (topic->fault_count > 0 ||
            (topic->err.status != SMQ_OK && topic->err.status != SMQ_NO_TOPIC)) {
            return false;
        }
    }
    return true;
}

static struct answer *work_answer(const struct stat_topics *topics, bool whole, bool personal)
{
    size_t count = 0;
    struct work_row *rows = work_rows(&count, topics);
    const size_t shown = count < WORK_ROWS_MAX ? count : WORK_ROWS_MAX;
    json_t *document = json_object();
    json_t *array = work_json(rows, shown);

    if (!personal) {
        work_hide(array, rows);
    }
    output_set(document, "at_ms", json_integer(moment_wall_ms()));
    output_set(document, "hidden", json_boolean(!personal));
    output_set(document, "whole", json_boolean(whole && shown == count && work_is_whole(topics)));
    output_set(document, "work", array);
    free(rows);
    return answer_json(200, document);
}

struct answer *show_work(struct serve *serve, const json_t *query,
                         const struct guard_caller *caller)
{
    const char *name = query_text(query, "topic");
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    struct stat_topics topics = {.count = 0};
    struct answer *answer = NULL;
    char *names = NULL;
    bool whole = true;

    if (client) {
        names = name ? topic_names_of(client, name, &err) : work_names(&whole, serve->readings);
    }
    if (!names || (names[0] != '\0' &&
                   stat_read(&topics, client, names, STAT_SLOTS_IN_WORK, &err) != SMQ_OK)) {
        answer = answer_failure(&err);
    } else if (name && topics.count == 1 && topics.all[0].err.status != SMQ_OK) {
        answer = answer_failure(&topics.all[0].err);
    } else {
        (void) stat_fleet_mark_gone(&topics, client, &err); /* else it is not known */
        answer = work_answer(&topics, whole, caller->personal);
    }
    stat_read_free(&topics);
    free(names);
    return answer;
}
