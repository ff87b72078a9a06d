/* history.c - the last hour of a topic. */
#include "serve/history.h"

#include <stdlib.h>

#include <slotmq/slotmq.h>

#include "cli/text/output.h"
#include "cli/text/say.h"

static const struct history_point *history_at(const struct history *history, size_t index)
{
    return &history->points[(history->first + index) % HISTORY_POINTS];
}

bool history_wants(const struct history *history, int64_t at_ms)
{
    return history->count == 0 ||
           at_ms - history_at(history, history->count - 1)->at_ms >= HISTORY_STEP_MS;
}

void history_add(struct history *history, const struct history_point *point)
{
    if (!history->points) {
        history->points = say_alloc(HISTORY_POINTS, sizeof(*history->points));
    }
    if (history->count == HISTORY_POINTS) {
        history->first = (history->first + 1) % HISTORY_POINTS;
        history->count--;
    }
    history->points[(history->first + history->count) % HISTORY_POINTS] = *point;
    history->count++;
}

void history_fini(struct history *history)
{
    free(history->points);
    *history = (struct history){.count = 0};
}

/* === JSON =============================================================== */

/* The mean of the known ones; below 0: none is. */
static float history_mean(const float *rates, size_t count)
{
    float sum = 0;
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        sum += rates[i] >= 0 ? rates[i] : 0;
        known += rates[i] >= 0 ? 1 : 0;
    }
    return known > 0 ? sum / (float) known : -1;
}

/* `count` points from `first` on as one. */
static struct history_point history_merge(const struct history *history, size_t first, size_t count)
{
    float sent[HISTORY_POINTS], done[HISTORY_POINTS], failed[HISTORY_POINTS];
    struct history_point merged = *history_at(history, first + count - 1);

    for (size_t i = 0; i < count; i++) {
        const struct history_point *point = history_at(history, first + i);
        sent[i] = point->sent_per_s;
        done[i] = point->done_per_s;
        failed[i] = point->failed_per_s;
        merged.lag_ms = point->lag_ms > merged.lag_ms ? point->lag_ms : merged.lag_ms;
    }
    merged.sent_per_s = history_mean(sent, count);
    merged.done_per_s = history_mean(done, count);
    merged.failed_per_s = history_mean(failed, count);
    return merged;
}

static json_t *history_rate(float rate)
{
    return rate >= 0 ? json_real((double) rate) : json_null();
}

json_t *history_json(const struct history *history, int64_t now_ms, size_t most)
{
    enum { AT, SENT, DONE, FAILED, LAG, WAITING, DEAD, ARRAYS };
    static const char *const names[ARRAYS] = {"at_ms",        "sent_per_s",        "done_per_s",
                                              "failed_per_s", "oldest_due_age_ms", "waiting",
                                              "dead"};
    json_t *document = json_object();
    json_t *array[ARRAYS];
    size_t first = 0;

    output_set(document, "step_ms", json_integer(HISTORY_STEP_MS));
    for (size_t i = 0; i < ARRAYS; i++) {
        array[i] = json_array();
        output_set(document, names[i], array[i]);
    }
    while (first < history->count && history_at(history, first)->at_ms < now_ms - HISTORY_SPAN_MS) {
        first++;
    }
    const size_t left = history->count - first;
    const size_t step = most > 0 ? (left + most - 1) / most : left + 1;
    for (size_t i = first; i < history->count && most > 0; i += step) {
        const size_t count = history->count - i < step ? history->count - i : step;
        const struct history_point point = history_merge(history, i, count);
        output_append(array[AT], json_integer(point.at_ms));
        output_append(array[SENT], history_rate(point.sent_per_s));
        output_append(array[DONE], history_rate(point.done_per_s));
        output_append(array[FAILED], history_rate(point.failed_per_s));
        output_append(array[LAG],
                      point.lag_ms == SMQ_AGE_UNKNOWN ? json_null() : json_integer(point.lag_ms));
        output_append(array[WAITING], json_integer((json_int_t) point.waiting));
        output_append(array[DEAD], json_integer((json_int_t) point.dead));
    }
    return document;
}
