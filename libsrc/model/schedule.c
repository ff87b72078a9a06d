/* schedule.c - see schedule.h.
 *
 * Pure. */
#include "model/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "model/headers.h"
#include "model/member.h"
#include "model/number.h"

enum { LATE_MS = 60000, TIMES = 7, PARTS = 6 };

static const char *const SCHEDULE_MISSED[] = {"unknown", "one", "none"};

SMQ_API const char *smq_missed_name(smq_missed missed)
{
    return SCHEDULE_MISSED[missed == SMQ_MISSED_ONE || missed == SMQ_MISSED_NONE ? missed : 0];
}

SMQ_API const char *smq_schedule_change_name(smq_schedule_change change)
{
    static const char *const names[] = {"same", "made", "changed", "restarted"};

    return (unsigned) change < sizeof(names) / sizeof(names[0]) ? names[change] : "unknown";
}

/* --- checks --- */

smq_status schedule_check_id(const char *id, smq_error *err)
{
    const size_t len = id != NULL ? strlen(id) : 0;

    for (size_t i = 0; i < len; i++) {
        if ((unsigned char) id[i] < ' ' || id[i] == 0x7f) {
            return status_set(err, SMQ_INVALID,
                              "the id of a schedule has no control characters, which byte %zu is",
                              i + 1);
        }
    }
    if (len == 0 || len > SMQ_SCHEDULE_ID_MAX) {
        return status_set(err, SMQ_INVALID, "the id of a schedule has 1 to %d bytes, not %zu",
                          SMQ_SCHEDULE_ID_MAX, len);
    }
    if (strspn(id, " ") == len) {
        return status_set(err, SMQ_INVALID, "the id of a schedule is not of blanks alone");
    }
    return SMQ_OK;
}

smq_status schedule_check_note(const char *note, smq_error *err)
{
    if (strlen(note) > SMQ_REASON_MAX || strpbrk(note, "\n\r") != NULL) {
        return status_set(err, SMQ_INVALID, "a note is one line of at most %d bytes",
                          SMQ_REASON_MAX);
    }
    return SMQ_OK;
}

static smq_status schedule_check_number(const char *name, int64_t value, int64_t least,
                                        smq_error *err)
{
    if (value != 0 && (value < least || value > TOPIC_TIME_MAX_MS)) {
        return status_set(err, SMQ_INVALID,
                          "%s must be from %" PRId64 " to %" PRId64 ", not %" PRId64, name, least,
                          TOPIC_TIME_MAX_MS, value);
    }
    return SMQ_OK;
}

struct schedule_amount {
    const char *name;
    int64_t value, least;
};

static smq_status schedule_check_rows(const struct schedule_amount *rows, size_t count,
                                      smq_error *err)
{
    smq_status status = SMQ_OK;

    for (size_t i = 0; i < count && status == SMQ_OK; i++) {
        status = schedule_check_number(rows[i].name, rows[i].value, rows[i].least, err);
    }
    return status;
}

static smq_status schedule_check_numbers(const smq_schedule *schedule, smq_error *err)
{
    const struct schedule_amount rows[] = {
        {"every_ms", schedule->every_ms, TICKS_EVERY_LEAST_MS},
        {"start_at_ms", schedule->start_at_ms, 0},
        {"end_at_ms", schedule->end_at_ms, schedule->start_at_ms},
        {"limit", schedule->limit, 1}};

    return schedule_check_rows(rows, sizeof(rows) / sizeof(rows[0]), err);
}

smq_status schedule_check_saved(const smq_schedule_info *saved, smq_error *err)
{
    const struct schedule_amount rows[] = {{"next_at_ms", saved->next_at_ms, 0},
                                           {"last_at_ms", saved->last_at_ms, 0},
                                           {"ticks", saved->ticks, 0}};
    smq_status status = schedule_check_rows(rows, sizeof(rows) / sizeof(rows[0]), err);

    return status == SMQ_OK ? schedule_check_note(saved->note, err) : status;
}

smq_status schedule_check(struct ticks *out, smq_schedule *schedule, smq_error *err)
{
    smq_status status = schedule_check_numbers(schedule, err);

    if (status != SMQ_OK) {
        return status;
    }
    if ((schedule->cron != NULL) == (schedule->every_ms != 0)) {
        return status_set(err, SMQ_INVALID, "a schedule has either cron or every_ms");
    }
    if (schedule->every_ms != 0 && schedule->zone != NULL) {
        return status_set(err, SMQ_INVALID,
                          "a zone is for cron: every_ms is the same in all zones");
    }
    if (schedule->missed == 0) {
        schedule->missed = SMQ_MISSED_ONE;
    }
    if (schedule->missed != SMQ_MISSED_ONE && schedule->missed != SMQ_MISSED_NONE) {
        return status_set(err, SMQ_INVALID, "missed is SMQ_MISSED_ONE or SMQ_MISSED_NONE, not %d",
                          (int) schedule->missed);
    }
    if (schedule->cron != NULL && schedule->zone == NULL) {
        schedule->zone = "UTC";
    }
    *out = (struct ticks){.every_ms = schedule->every_ms,
                          .start_ms = schedule->start_at_ms,
                          .end_ms = schedule->end_at_ms};
    return schedule->cron != NULL ? cron_parse(&out->cron, schedule->cron, err) : SMQ_OK;
}

/* --- times --- */

void schedule_format_times(char out[SCHEDULE_TIMES_MAX], const smq_schedule *schedule)
{
    (void) snprintf(out, SCHEDULE_TIMES_MAX,
                    "%s\n%" PRId64 "\n%s\n%" PRId64 "\n%" PRId64 "\n%" PRId64 "\n%s",
                    schedule->cron != NULL ? schedule->cron : "", schedule->every_ms,
                    schedule->zone != NULL ? schedule->zone : "", schedule->start_at_ms,
                    schedule->end_at_ms, schedule->limit, smq_missed_name(schedule->missed));
}

bool schedule_parse_times(smq_schedule *out, char *text)
{
    char *part[TIMES];

    for (size_t i = 0; i < TIMES; i++) {
        part[i] = strsep(&text, "\n");
        if (part[i] == NULL) {
            return false;
        }
    }
    *out =
        (smq_schedule){.struct_size = sizeof(*out),
                       .cron = part[0][0] != '\0' ? part[0] : NULL,
                       .zone = part[2][0] != '\0' ? part[2] : NULL,
                       .missed = strcmp(part[6], "none") == 0 ? SMQ_MISSED_NONE : SMQ_MISSED_ONE};
    return number_parse(&out->every_ms, part[1], strlen(part[1]), TOPIC_TIME_MAX_MS) &&
           number_parse(&out->start_at_ms, part[3], strlen(part[3]), TOPIC_TIME_MAX_MS) &&
           number_parse(&out->end_at_ms, part[4], strlen(part[4]), TOPIC_TIME_MAX_MS) &&
           number_parse(&out->limit, part[5], strlen(part[5]), TOPIC_TIME_MAX_MS);
}

/* --- the definition --- */

static void schedule_add_part(struct buf *out, const void *data, size_t len)
{
    buf_printf(out, "%zu:", len);
    buf_add(out, data, len);
}

static void schedule_add_text(struct buf *out, const char *text)
{
    schedule_add_part(out, text, strlen(text));
}

/* The message as one that is sent, but for the time at the end of its id. */
static smq_status schedule_make_message(struct message *out, char *id_at, size_t size,
                                        const struct topic *topic, const char *id,
                                        const smq_message *given, smq_error *err)
{
    if (given->id.data != NULL || given->delay_ms != 0 || given->due_at_ms != 0) {
        return status_set(err, SMQ_INVALID,
                          "the message of a schedule has no id, delay_ms or due_at_ms: the "
                          "schedule says when it is stored, and its id is ID@DUE");
    }
    (void) snprintf(id_at, size, "%s@", id);
    if (topic->layout == SMQ_LAYOUT_KEYED && given->key.len >= strlen(id_at) &&
        memcmp(given->key.data, id_at, strlen(id_at)) == 0) {
        return status_set(err, SMQ_INVALID,
                          "the key of a schedule's message does not begin with \"%.120s\": so do "
                          "the ids of its messages",
                          id_at);
    }
    *out = (struct message){.body = given->body,
                            .key = given->key.data != NULL ? given->key : smq_text(id),
                            .priority = given->priority,
                            .ttl_ms = given->ttl_ms,
                            .max_retries = given->max_retries,
                            .headers = given->headers,
                            .header_count = given->header_count};
    if (topic->layout == SMQ_LAYOUT_KEYED) {
        out->id = smq_text(id_at);
    }
    return send_check(out, err);
}

/* Headers and body, "LIMIT/BYTES", and the time to live: empty, that of the topic at the tick; "-",
 * none. */
static void schedule_add_keyed(struct buf *out, const struct message *message,
                               const struct send_place *place)
{
    struct buf stored = {0};
    char text[48] = "";
    size_t headers_len, used = 0;

    headers_encode(&stored, message->headers, message->header_count);
    headers_len = stored.len;
    if (message->body.len > 0) {
        buf_add(&stored, message->body.data, message->body.len);
    }
    schedule_add_part(out, stored.len > 0 ? stored.data : "", stored.len);
    if (place->max_retries >= 0) {
        used = (size_t) snprintf(text, sizeof(text), "%" PRId32, place->max_retries);
    }
    if (headers_len > 0) {
        (void) snprintf(text + used, sizeof(text) - used, "/%zu", headers_len);
    }
    schedule_add_text(out, text);
    (void) snprintf(text, sizeof(text), "%" PRId64, message->ttl_ms);
    schedule_add_text(out, message->ttl_ms > 0 ? text : message->ttl_ms < 0 ? "-" : "");
    buf_fini(&stored);
}

smq_status schedule_define(struct buf *out, int32_t *slot, const struct topic *topic,
                           const char *id, const smq_schedule *schedule, smq_error *err)
{
    static const smq_message none = SMQ_MESSAGE_INIT;
    char times[SCHEDULE_TIMES_MAX], id_at[SMQ_SCHEDULE_ID_MAX + 2];
    struct send_place place;
    struct buf scratch = {0};
    struct message message = {0};
    const void *member;
    size_t len;
    smq_status status =
        schedule_make_message(&message, id_at, sizeof(id_at), topic, id,
                              schedule->message != NULL ? schedule->message : &none, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = send_place(&place, topic, &message, err);
    if (status != SMQ_OK) {
        return status;
    }
    *slot = place.slot;
    schedule_format_times(times, schedule);
    schedule_add_text(out, times);
    send_member(&member, &len, &scratch, topic, &message);
    schedule_add_part(out, member, len);
    buf_fini(&scratch);
    schedule_add_text(out, topic->type == SMQ_TYPE_FIXED_TIME ? "+0" : place.when);
    if (topic->layout == SMQ_LAYOUT_KEYED) {
        schedule_add_keyed(out, &message, &place);
    } else {
        buf_printf(out, "0:0:0:");
    }
    return SMQ_OK;
}

static bool schedule_next_part(smq_bytes *out, const char **data, const char *end)
{
    const char *colon = memchr(*data, ':', (size_t) (end - *data));
    int64_t len;

    if (colon == NULL || !number_parse(&len, *data, (size_t) (colon - *data), end - colon - 1)) {
        return false;
    }
    *out = (smq_bytes){colon + 1, (size_t) len};
    *data = colon + 1 + len;
    return true;
}

/* The number with which a part begins; `none` if it has none. */
static int64_t schedule_number(smq_bytes part, int64_t none)
{
    const char *text = part.data;
    const bool negative = part.len > 0 && text[0] == '-';
    int64_t out;

    if (number_read_prefix(&out, text + negative, part.len - negative, INT64_MAX) == 0) {
        return none;
    }
    return negative ? -out : out;
}

/* What is stored beside the member of a message in layout keyed. */
static bool schedule_read_keyed(smq_message *message, smq_header *headers, const smq_bytes *part)
{
    const char *slash = memchr(part[4].data, '/', part[4].len);
    const char *end = (const char *) part[4].data + part[4].len;
    int64_t headers_len = 0;

    if (slash != NULL &&
        !number_parse(&headers_len, slash + 1, (size_t) (end - slash - 1), (int64_t) part[3].len)) {
        return false;
    }
    message->body =
        (smq_bytes){(const char *) part[3].data + headers_len, part[3].len - (size_t) headers_len};
    message->max_retries = (int32_t) schedule_number(part[4], 0);
    if (message->max_retries == 0 && schedule_number(part[4], -1) == 0) {
        message->max_retries = SMQ_NONE;
    }
    message->ttl_ms = part[5].len == 1 && *(const char *) part[5].data == '-'
                          ? SMQ_NONE
                          : schedule_number(part[5], 0);
    message->headers = headers;
    if (headers_len > 0) {
        message->header_count = headers_decode(headers, part[3].data, (size_t) headers_len);
    }
    return headers_len == 0 || message->header_count > 0;
}

bool schedule_read(char times[SCHEDULE_TIMES_MAX], smq_message *message, smq_header *headers,
                   const struct topic *topic, const char *data, size_t len)
{
    const char *end = data + len;
    smq_bytes part[PARTS];
    struct member member;

    for (size_t i = 0; i < PARTS; i++) {
        if (!schedule_next_part(&part[i], &data, end)) {
            return false;
        }
    }
    if (part[0].len >= SCHEDULE_TIMES_MAX || !member_decode(&member, part[1].data, part[1].len)) {
        return false;
    }
    memcpy(times, part[0].data, part[0].len);
    times[part[0].len] = '\0';
    *message = (smq_message) SMQ_MESSAGE_INIT;
    message->key = (smq_bytes){member.key, member.key_len};
    if (topic->type == SMQ_TYPE_PRIORITY) {
        message->priority = schedule_number(part[2], 0);
    }
    if (topic->layout == SMQ_LAYOUT_KEYED) {
        return schedule_read_keyed(message, headers, part);
    }
    message->body = (smq_bytes){member.id, member.id_len};
    return true;
}

/* --- the state --- */

void schedule_format_state(struct buf *out, const struct schedule_state *state)
{
    if (state->due_ms >= 0) {
        buf_printf(out, "%" PRId64, state->due_ms);
    }
    buf_printf(out, ",%" PRId64 ",", state->ticks);
    if (state->last_ms >= 0) {
        buf_printf(out, "%" PRId64, state->last_ms);
    }
    buf_printf(out, ",%d,%s", state->paused ? 1 : 0, state->note);
}

/* Read a number up to the next comma; -1: there is none. */
static bool schedule_read_number(int64_t *out, const char **text)
{
    size_t len = strcspn(*text, ",");

    *out = -1;
    if ((len > 0 && !number_parse(out, *text, len, INT64_MAX)) || (*text)[len] != ',') {
        return false;
    }
    *text += len + 1;
    return true;
}

bool schedule_parse_state(struct schedule_state *out, const char *text)
{
    int64_t paused;

    if (!schedule_read_number(&out->version, &text) || !schedule_read_number(&out->due_ms, &text) ||
        !schedule_read_number(&out->ticks, &text) || !schedule_read_number(&out->last_ms, &text) ||
        !schedule_read_number(&paused, &text)) {
        return false;
    }
    out->paused = paused == 1;
    out->note = text;
    return out->version >= 0 && out->ticks >= 0;
}

/* --- half put --- */

static const char HALF[] = "half put: put it again";
static const char HALF_PAUSED[] = "; paused: ";

bool schedule_is_half(const struct schedule_state *state)
{
    return state->paused && strncmp(state->note, HALF, sizeof(HALF) - 1) == 0;
}

void schedule_make_half(struct schedule_state *state, char note[SCHEDULE_HALF_MAX])
{
    (void) snprintf(note, SCHEDULE_HALF_MAX, "%s%s%s", HALF, state->paused ? HALF_PAUSED : "",
                    state->paused ? state->note : "");
    state->paused = true;
    state->note = note;
}

void schedule_make_whole(struct schedule_state *state)
{
    const char *before;

    if (!schedule_is_half(state)) {
        return;
    }
    before = state->note + sizeof(HALF) - 1;
    state->paused = strncmp(before, HALF_PAUSED, sizeof(HALF_PAUSED) - 1) == 0;
    state->note = state->paused ? before + sizeof(HALF_PAUSED) - 1 : "";
}

/* --- ticks --- */

struct schedule_step schedule_step_of(const struct ticks *ticks, const struct zone *zone,
                                      const smq_schedule *schedule,
                                      const struct schedule_state *state, int64_t now_ms)
{
    int64_t next_ms = ticks_after(ticks, zone, state->due_ms);
    const bool is_late = next_ms <= now_ms || now_ms - state->due_ms > LATE_MS;
    struct schedule_step step = {.fires = !is_late || schedule->missed == SMQ_MISSED_ONE};

    if (next_ms <= now_ms) {
        next_ms = ticks_after(ticks, zone, now_ms);
    }
    if (next_ms == TICKS_NEVER ||
        (step.fires && schedule->limit != 0 && state->ticks + 1 >= schedule->limit)) {
        next_ms = -1;
    }
    step.next_ms = next_ms;
    return step;
}
