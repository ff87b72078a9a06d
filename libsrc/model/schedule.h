/* schedule.h - a schedule as it is stored: its definition, which scripts pass on, and its state.
 *
 * The definition is parts, each as LEN ':' BYTES: the times of the schedule, then the arguments of
 * the script `send` for its message, in layout keyed without the time in its member
 * (lua/schedule_tick.lua).
 *
 * Pure. */
#ifndef MODEL_SCHEDULE_H
#define MODEL_SCHEDULE_H

#include <slotmq/schedule.h>

#include "model/send.h"
#include "model/ticks.h"
#include "model/zone.h"

enum { SCHEDULE_TIMES_MAX = CRON_TEXT_MAX + ZONE_NAME_MAX + 120 };

/* The state: VERSION,DUE,FIRED,LAST,PAUSED,NOTE.  `note` points into the text that was read. */
struct schedule_state {
    int64_t version;
    int64_t due_ms; /* -1: it has ended */
    int64_t ticks;
    int64_t last_ms; /* -1: none yet */
    bool paused;
    const char *note;
};

/* Fails: INVALID. */
smq_status schedule_check_id(const char *id, smq_error *err);

/* A note for people is one line.  Fails: INVALID. */
smq_status schedule_check_note(const char *note, smq_error *err);

/* Check the numbers and the note of one that is to be stored as it was.  Fails: INVALID. */
smq_status schedule_check_saved(const smq_schedule_info *saved, smq_error *err);

/* Check a schedule of full size, but for its message and zone, and set what has a default.  *out
 * gets its times.  Fails: INVALID. */
smq_status schedule_check(struct ticks *out, smq_schedule *schedule, smq_error *err);

/* Write the times of a checked schedule, and read them: *out points into `text`, which is changed.
 * false: these are none. */
void schedule_format_times(char out[SCHEDULE_TIMES_MAX], const smq_schedule *schedule);
bool schedule_parse_times(smq_schedule *out, char *text);

/* Append the definition of a checked schedule, and tell the slot to which its messages belong.
 * Fails: INVALID (also a message with an id or a time), WRONG_TYPE, TOO_BIG. */
smq_status schedule_define(struct buf *out, int32_t *slot, const struct topic *topic,
                           const char *id, const smq_schedule *schedule, smq_error *err);

/* Read the definition with a message whose headers are in `headers`, which has room for
 * SMQ_HEADERS_MAX.  `times` gets the first part.  false: it is none. */
bool schedule_read(char times[SCHEDULE_TIMES_MAX], smq_message *message, smq_header *headers,
                   const struct topic *topic, const char *data, size_t len);

/* Append all but the version. */
void schedule_format_state(struct buf *out, const struct schedule_state *state);

/* `text` is ended by a NUL.  false: it is no state. */
bool schedule_parse_state(struct schedule_state *out, const char *text);

/* A schedule that comes into a slot is half put there, until it is in no other slot: it is paused,
 * so it makes no ticks, and its note says whether it was paused before, and with which note.
 * `note`: room for that, which the state then points to. */
enum { SCHEDULE_HALF_MAX = SMQ_REASON_MAX + 40 };
bool schedule_is_half(const struct schedule_state *state);
void schedule_make_half(struct schedule_state *state, char note[SCHEDULE_HALF_MAX]);
void schedule_make_whole(struct schedule_state *state); /* one that is whole stays as it is */

/* What becomes of a tick that has come. */
struct schedule_step {
    bool fires;
    int64_t next_ms; /* -1: it is not due again */
};
struct schedule_step schedule_step_of(const struct ticks *ticks, const struct zone *zone,
                                      const smq_schedule *schedule,
                                      const struct schedule_state *state, int64_t now_ms);

#endif
