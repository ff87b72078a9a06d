/* show_schedules.c - the schedules of a topic, and when they are due next.
 *
 * Thread: serve:ask-N. */
#include "cli/http/query.h"
#include "cli/schedule/schedule_json.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "serve/serve.h"

/* The most that are shown, each with its next times. */
enum { SCHEDULES_MAX = 1000, SCHEDULE_TIMES = 3 };

struct schedule_listing {
    int64_t at_ms;
    json_t *array;
    bool whole;
};

/* Empty: it has ended, or this machine does not know its zone. */
static json_t *schedule_times(const smq_schedule_info *info)
{
    smq_schedule schedule = *info->schedule;
    int64_t times_at_ms[SCHEDULE_TIMES];
    size_t count = 0;
    json_t *array = json_array();

    schedule.limit = schedule.limit > 0 ? schedule.limit - info->ticks : 0;
    if (info->next_at_ms != 0 && schedule.limit >= 0 &&
        smq_schedule_next(&schedule, info->next_at_ms - 1, times_at_ms, SCHEDULE_TIMES, &count,
                          NULL) == SMQ_OK) {
        for (size_t i = 0; i < count; i++) {
            output_append(array, json_integer(times_at_ms[i]));
        }
    }
    return array;
}

static bool schedule_show(const smq_schedule_info *info, void *user)
{
    struct schedule_listing *listing = user;
    const bool late = !info->paused && info->next_at_ms != 0 && info->next_at_ms < listing->at_ms;
    json_t *object = NULL;

    listing->whole = json_array_size(listing->array) < SCHEDULES_MAX;
    if (listing->whole) {
        object = schedule_json(info);
        output_set(object, "times_at_ms", schedule_times(info));
        output_set(object, "late_ms",
                   late ? json_integer(listing->at_ms - info->next_at_ms) : json_null());
        output_append(listing->array, object);
    }
    return listing->whole;
}

struct answer *show_schedules(struct serve *serve, const json_t *query,
                              const struct guard_caller *caller)
{
    struct schedule_listing listing = {
        .at_ms = moment_wall_ms(), .array = json_array(), .whole = true};
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    json_t *document = NULL;

    (void) caller;
    if (!client || smq_schedule_each(client, query_text(query, "topic"), schedule_show, &listing,
                                     &err) != SMQ_OK) {
        json_decref(listing.array);
        return answer_failure(&err);
    }
    document = json_object();
    output_set(document, "at_ms", json_integer(listing.at_ms));
    output_set(document, "whole", json_boolean(listing.whole));
    output_set(document, "schedules", listing.array);
    return answer_json(200, document);
}
