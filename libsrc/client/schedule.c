/* schedule.c - public entry points: schedules.
 *
 * Thread: any. */
#include <slotmq/schedule.h>

#include "admin/admin.h"
#include "base/status.h"
#include "client/client.h"
#include "client/options.h"
#include "core/zones.h"
#include "model/schedule.h"

static smq_status schedule_copy_in(smq_schedule *out, smq_message *message,
                                   const smq_schedule *schedule, smq_error *err)
{
    smq_status status =
        options_check_and_copy(out, sizeof(*out), schedule, "SMQ_SCHEDULE_INIT", err);

    if (status != SMQ_OK || out->message == NULL) {
        return status;
    }
    status =
        options_check_and_copy(message, sizeof(*message), out->message, "SMQ_MESSAGE_INIT", err);
    out->message = message;
    return status;
}

SMQ_API smq_status smq_schedule_put(smq_client *client, const char *topic, const char *id,
                                    const smq_schedule *schedule, smq_schedule_change *change,
                                    smq_error *err)
{
    smq_schedule known;
    smq_message message;
    smq_status status = client_check(client, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = schedule_copy_in(&known, &message, schedule, err);
    return status == SMQ_OK ? admin_schedule_put(change, client->core, topic, id, &known, err)
                            : status;
}

SMQ_API smq_status smq_schedule_restore(smq_client *client, const char *topic,
                                        const smq_schedule_info *info, smq_schedule_change *change,
                                        smq_error *err)
{
    smq_schedule_info saved;
    smq_schedule known;
    smq_message message;
    smq_status status = client_check(client, err);

    if (status == SMQ_OK) {
        status = options_check_and_copy(&saved, sizeof(saved), info, "SMQ_SCHEDULE_INFO_INIT", err);
    }
    if (status == SMQ_OK) {
        status = schedule_copy_in(&known, &message, saved.schedule, err);
    }
    if (status == SMQ_OK && known.message == NULL) {
        status =
            status_set(err, SMQ_INVALID,
                       "the schedule has no message, as in a visit: smq_schedule_get() has it");
    }
    if (status != SMQ_OK) {
        return status;
    }
    saved.schedule = &known;
    saved.note = saved.note != NULL ? saved.note : "";
    return admin_schedule_restore(change, client->core, topic, &saved, err);
}

SMQ_API smq_status smq_schedule_get(smq_client *client, const char *topic, const char *id,
                                    smq_schedule_info **out, smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_schedule_get(out, client->core, topic, id, err) : status;
}

SMQ_API void smq_schedule_info_free(smq_schedule_info *info)
{
    admin_schedule_info_free(info);
}

SMQ_API smq_status smq_schedule_each(smq_client *client, const char *topic, smq_schedule_fn *visit,
                                     void *user, smq_error *err)
{
    smq_status status = client_check_visit(client, visit != NULL, err);

    return status == SMQ_OK ? admin_schedule_each(client->core, topic, visit, user, err) : status;
}

SMQ_API smq_status smq_schedule_remove(smq_client *client, const char *topic, const char *id,
                                       smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_schedule_remove(client->core, topic, id, err) : status;
}

SMQ_API smq_status smq_schedule_pause(smq_client *client, const char *topic, const char *id,
                                      const char *note, smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK
               ? admin_schedule_pause(client->core, topic, id, note != NULL ? note : "", err)
               : status;
}

SMQ_API smq_status smq_schedule_resume(smq_client *client, const char *topic, const char *id,
                                       smq_error *err)
{
    smq_status status = client_check(client, err);

    return status == SMQ_OK ? admin_schedule_pause(client->core, topic, id, NULL, err) : status;
}

SMQ_API smq_status smq_schedule_run(smq_client *client, const char *topic, const char *id,
                                    int64_t *at_ms, smq_error *err)
{
    int64_t now_ms = 0;
    smq_status status = client_check(client, err);

    return status == SMQ_OK
               ? admin_schedule_run(at_ms != NULL ? at_ms : &now_ms, client->core, topic, id, err)
               : status;
}

SMQ_API smq_status smq_schedule_next(const smq_schedule *schedule, int64_t after_at_ms,
                                     int64_t *times_at_ms, size_t capacity, size_t *count,
                                     smq_error *err)
{
    smq_schedule known;
    smq_message message;
    struct ticks ticks;
    struct zones zones = {.next = 0};
    const struct zone *zone;
    smq_status status = schedule_copy_in(&known, &message, schedule, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (count == NULL || (times_at_ms == NULL && capacity > 0)) {
        return status_set(err, SMQ_INVALID, "there is no place for the times");
    }
    status = schedule_check(&ticks, &known, err);
    zone = status == SMQ_OK ? zones_get(&zones, known.zone, err) : NULL;
    if (zone == NULL) {
        return SMQ_INVALID;
    }
    *count = 0;
    while (*count < capacity && (known.limit == 0 || (int64_t) *count < known.limit)) {
        after_at_ms = ticks_after(&ticks, zone, after_at_ms);
        if (after_at_ms == TICKS_NEVER) {
            break;
        }
        times_at_ms[(*count)++] = after_at_ms;
    }
    zones_fini(&zones);
    return SMQ_OK;
}
