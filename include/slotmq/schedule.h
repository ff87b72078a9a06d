/* schedule.h - schedules: messages that are stored at times which repeat, each time exactly once.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_SCHEDULE_H
#define SLOTMQ_SCHEDULE_H

#include <slotmq/client.h>
#include <slotmq/message.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SMQ_SCHEDULE_ID_MAX 200 /* bytes of the id of a schedule */

/* What becomes of ticks that were missed: because nobody consumed the topic, or topic or schedule
 * were paused, until the next tick had come as well, or for more than a minute. */
typedef enum smq_missed {
    SMQ_MISSED_ONE = 1, /* one message is stored for all of them, with the time of the first */
    SMQ_MISSED_NONE = 2 /* none is */
} smq_missed;

/* The name of a policy, as "one"; "unknown" if there is no such policy. */
SMQ_API const char *smq_missed_name(smq_missed missed);

/* A schedule.  It has either `cron` or `every_ms`.
 *
 * `cron` has 5 fields: minute, hour, day of month, month, day of week; or 6, with the second in
 * front; or it is @yearly, @monthly, @weekly, @daily or @hourly.  A time that summer time leaves
 * out is due at the end of the gap, and one that comes twice is due at the first; but if the hour
 * or the minute is * or a step, it is due whenever clocks show such a time. */
typedef struct smq_schedule {
    size_t struct_size;
    const char *cron;
    int64_t every_ms; /* 100 .. 2^43, from start_at_ms on, or from 1970: never from the last tick */
    const char *zone; /* of `cron`, as "Europe/Berlin"; default "UTC" */
    int64_t start_at_ms; /* no tick is before this time, in ms since 1970; default 0 */
    int64_t end_at_ms;   /* nor after this one; 0: no end */
    int64_t limit;       /* how many ticks there are; 0: no limit */
    smq_missed missed;   /* default SMQ_MISSED_ONE */
    /* What is stored with each tick.  It has no time and no id: in layout keyed its id is ID@DUE,
     * the id of the schedule and the time at which the tick was due in ms since 1970.  Without a
     * key its key is the id of the schedule, so the ticks of a schedule are handled one at a time.
     * In layout inline a tick merges with the one before while that waits. */
    const smq_message *message;
} smq_schedule;
#define SMQ_SCHEDULE_INIT SMQ_INIT(smq_schedule)
#define SMQ_SCHEDULE(...) SMQ_WITH(smq_schedule, __VA_ARGS__)

/* A stored schedule.  Of a topic with groups each group has its own. */
typedef struct smq_schedule_info {
    size_t struct_size;
    const char *topic; /* or TOPIC/GROUP */
    const char *id;
    const smq_schedule *schedule; /* its message is NULL in a visit */
    int64_t version;              /* grows with each change */
    int64_t next_at_ms;           /* when it is due next; 0: it has ended */
    int64_t last_at_ms;           /* when its last tick was due; 0: it had none */
    int64_t ticks;                /* how many it had, since its times were changed */
    bool paused;
    const char *note; /* that was given with the pause, or "" */
    int32_t slot;
} smq_schedule_info;
#define SMQ_SCHEDULE_INFO_INIT SMQ_INIT(smq_schedule_info)

/* What smq_schedule_put() did. */
typedef enum smq_schedule_change {
    SMQ_SCHEDULE_SAME = 0,     /* an equal one was stored: nothing was changed */
    SMQ_SCHEDULE_MADE = 1,     /* there was none of this id */
    SMQ_SCHEDULE_CHANGED = 2,  /* its message was changed, and it is due when it was */
    SMQ_SCHEDULE_RESTARTED = 3 /* its times were changed, and count from now */
} smq_schedule_change;

/* The name of a change, as "made"; "unknown" if there is no such change. */
SMQ_API const char *smq_schedule_change_name(smq_schedule_change change);

/* Store a schedule.  To put an equal one changes nothing, so a program may do it whenever it
 * starts.  A paused one stays paused.  `id` has 1 .. 200 bytes, not blanks alone, without
 * control characters.
 * In a topic with groups each group gets it; a group that is added later gets those of the first
 * one as they are.  With another key the schedule moves to another slot: a put that ends midway may
 * leave it paused there, with a note that says so, and a repeat completes it.
 * *change may be NULL.
 *
 * The consumers of the topic make the ticks; without a consumer there are none.  Each tick is
 * stored once.  After a failover that lost it, it is stored again with the same id; in layout keyed
 * with a dedup_window_ms it is handled once even so.
 * Fails: INVALID (the schedule cannot be read, or is never due, or this machine does not know its
 * zone), WRONG_TYPE, TOO_BIG (as smq_send()), FULL. */
SMQ_API smq_status smq_schedule_put(smq_client *client, const char *topic, const char *id,
                                    const smq_schedule *schedule, smq_schedule_change *change,
                                    smq_error *err);

/* Store a schedule as it was: *info is that of smq_schedule_get(), in this topic or in another one,
 * or what a program has kept of it.  Its id, schedule, next_at_ms, last_at_ms, ticks, paused and
 * note count, and info->schedule has its own struct_size.  It is due at next_at_ms, or at the first
 * of its times behind that; so what has come since counts as missed.  If next_at_ms is 0 it counts
 * from now, or has ended if no tick is left.  One that is there with the same times keeps all but
 * its message, and a paused one stays paused, so a repeat changes nothing.  `change` and groups are
 * as in smq_schedule_put().  Fails: as that; INVALID (also a number, the note, or no message). */
SMQ_API smq_status smq_schedule_restore(smq_client *client, const char *topic,
                                        const smq_schedule_info *info, smq_schedule_change *change,
                                        smq_error *err);

/* Read one.  In a topic with groups it is that of the first group; name TOPIC/GROUP to read
 * another.  Free *out with smq_schedule_info_free().  If `out` is NULL the call only tells whether
 * there is one.  Fails: NO_SCHEDULE. */
SMQ_API smq_status smq_schedule_get(smq_client *client, const char *topic, const char *id,
                                    smq_schedule_info **out, smq_error *err);
SMQ_API void smq_schedule_info_free(smq_schedule_info *info);

/* Runs on the calling thread.  `info` is valid only during the callback.  Returning false ends the
 * visit, and the call returns SMQ_OK. */
typedef bool smq_schedule_fn(const smq_schedule_info *info, void *user);

/* Visit the schedules of a topic, in a topic with groups those of each group, by the names of
 * groups, and then by their ids. */
SMQ_API smq_status smq_schedule_each(smq_client *client, const char *topic, smq_schedule_fn *visit,
                                     void *user, smq_error *err);

/* Remove a schedule; messages of its ticks stay.  Fails: NO_SCHEDULE. */
SMQ_API smq_status smq_schedule_remove(smq_client *client, const char *topic, const char *id,
                                       smq_error *err);

/* Pause a schedule, with a note for people, of at most 200 bytes, or NULL; or resume it.  What it
 * missed is due at once, or not at all (smq_missed).  To pause it again changes the note.
 * Fails: NO_SCHEDULE, INVALID (the note). */
SMQ_API smq_status smq_schedule_pause(smq_client *client, const char *topic, const char *id,
                                      const char *note, smq_error *err);
SMQ_API smq_status smq_schedule_resume(smq_client *client, const char *topic, const char *id,
                                       smq_error *err);

/* Store its message now, also while it is paused.  Its next tick stays.  *at_ms is the time in the
 * id of the message, in ms since 1970: 0, or at_ms NULL, is now, and then *at_ms is set, also if
 * the call fails.  To repeat a call that failed with the same time stores nothing twice, as groups
 * of the topic may have the message already; what was handled is known in layout keyed with a
 * dedup_window_ms.  Fails: NO_SCHEDULE, FULL (max_waiting), INVALID. */
SMQ_API smq_status smq_schedule_run(smq_client *client, const char *topic, const char *id,
                                    int64_t *at_ms, smq_error *err);

/* Without a server: the first `capacity` times after `after_at_ms` at which a schedule is due, its
 * limit included, in ms since 1970; *count is how many there are.  The message is not looked at.
 * Fails: INVALID. */
SMQ_API smq_status smq_schedule_next(const smq_schedule *schedule, int64_t after_at_ms,
                                     int64_t *times_at_ms, size_t capacity, size_t *count,
                                     smq_error *err);

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_SCHEDULE_H */
