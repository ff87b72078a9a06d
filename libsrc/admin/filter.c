/* filter.c - see filter.h.
 *
 * Thread: any. */
#include "admin/filter.h"

#include <inttypes.h>
#include <string.h>

#include "base/status.h"
#include "model/headers.h"
#include "model/send.h"
#include "model/whole.h"

#define STATES_ALL                                                                                 \
    ((unsigned) (SMQ_STATE_WAITING | SMQ_STATE_CLAIMED | SMQ_STATE_RESTING | SMQ_STATE_DEAD))

static const struct {
    smq_state state;
    bool scheduled;
} parts[FILTER_PARTS] = {{SMQ_STATE_WAITING, false},
                         {SMQ_STATE_WAITING, true},
                         {SMQ_STATE_CLAIMED, false},
                         {SMQ_STATE_RESTING, false},
                         {SMQ_STATE_DEAD, false}};

/* --- one message --- */

smq_status message_ref_check_and_copy(struct message_ref *out, const struct topic *topic,
                                      const smq_message_ref *which, smq_error *err)
{
    smq_status status;

    *out =
        (struct message_ref){.message = {.key = which->key, .id = which->id, .body = which->body}};
    status = send_check(&out->message, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (send_lacks_id(topic, &out->message)) {
        return status_set(err, SMQ_INVALID,
                          "no message given: topic %s has layout keyed, so set the id",
                          topic->name);
    }
    if (topic->layout == SMQ_LAYOUT_INLINE && out->message.body.len == 0) {
        return status_set(err, SMQ_INVALID,
                          "no message given: topic %s has layout inline, so set the body",
                          topic->name);
    }
    out->whole = topic->layout == SMQ_LAYOUT_KEYED && topic->format >= TOPIC_FORMAT_WHOLE &&
                 whole_may_have_id(out->message.id.data, out->message.id.len);
    out->slot = send_slot(topic, &out->message);
    send_member(&out->member, &out->member_len, &out->scratch, topic, &out->message);
    return SMQ_OK;
}

void message_ref_fini(struct message_ref *which)
{
    buf_fini(&which->scratch);
}

/* --- many --- */

static smq_status filter_check_fields(const smq_filter *filter, smq_error *err)
{
    if ((filter->states & ~STATES_ALL) != 0) {
        return status_set(err, SMQ_INVALID,
                          "states of the filter is %u; or values of smq_state together",
                          filter->states);
    }
    if (filter->older_than_ms < 0) {
        return status_set(err, SMQ_INVALID, "older_than_ms is %" PRId64 "; give 0 or more",
                          filter->older_than_ms);
    }
    if (filter->reason != NULL && filter->reason_is != NULL) {
        return status_set(err, SMQ_INVALID, "reason and reason_is are both set; give one of them");
    }
    if (filter->rate_per_s < 0) {
        return status_set(err, SMQ_INVALID,
                          "rate_per_s is %" PRId64 "; give 1 or more, or 0 for no limit",
                          filter->rate_per_s);
    }
    return SMQ_OK;
}

/* In a priority topic of layout inline only dead messages have a time. */
static smq_status filter_check_age(const struct filter *filter, const struct topic *topic,
                                   smq_error *err)
{
    if (filter->older_ms >= 0 && topic->type == SMQ_TYPE_PRIORITY &&
        topic->layout == SMQ_LAYOUT_INLINE && (filter->states & ~(unsigned) SMQ_STATE_DEAD) != 0) {
        return status_set(err, SMQ_WRONG_TYPE,
                          "older_than_ms: topic %s stores no time of its messages, only of dead "
                          "letters",
                          topic->name);
    }
    return SMQ_OK;
}

static smq_status filter_check_and_copy_header(struct filter *out, const struct topic *topic,
                                               const smq_header *header, smq_error *err)
{
    smq_status status = headers_check(header, header != NULL ? 1 : 0, err);

    if (status != SMQ_OK || header == NULL) {
        return status;
    }
    if (topic->layout != SMQ_LAYOUT_KEYED) {
        return status_set(err, SMQ_WRONG_TYPE,
                          "topic %s does not have layout keyed, so its messages have no headers",
                          topic->name);
    }
    headers_encode(&out->header, header, 1);
    return SMQ_OK;
}

static smq_status filter_check_and_copy_cursor(struct filter *out, const struct topic *topic,
                                               const char *cursor, smq_error *err)
{
    if (cursor == NULL || cursor[0] == '\0') {
        return SMQ_OK;
    }
    if (!cursor_parse(&out->cursor, &out->cursor_bytes, cursor, topic->slots)) {
        return status_set(err, SMQ_INVALID,
                          "\"%.60s\" is no cursor of topic %s: pass one that a visit of it has "
                          "given",
                          cursor, topic->name);
    }
    out->from_cursor = true;
    return SMQ_OK;
}

smq_status filter_check_and_copy(struct filter *out, const struct topic *topic,
                                 const smq_filter *filter, unsigned states, smq_error *err)
{
    smq_status status = filter_check_fields(filter, err);

    *out = (struct filter){.states = filter->states != 0 ? filter->states : states,
                           .one = filter->which != NULL,
                           .limit = filter->limit != 0 ? filter->limit : UINT64_MAX,
                           .rate_per_s = filter->rate_per_s,
                           .contains = filter->contains != NULL ? filter->contains : "",
                           .reason = filter->reason != NULL ? filter->reason : "",
                           .exact = filter->reason_is != NULL,
                           .older_ms = filter->older_than_ms > 0 ? filter->older_than_ms : -1};
    if (filter->reason_is != NULL) {
        out->reason = filter->reason_is;
    }
    if (status != SMQ_OK) {
        return status;
    }
    status = filter_check_age(out, topic, err);
    if (status != SMQ_OK) {
        return status;
    }
    if (filter->which != NULL) {
        status = message_ref_check_and_copy(&out->which, topic, filter->which, err);
    }
    if (status == SMQ_OK) {
        status = filter_check_and_copy_header(out, topic, filter->header, err);
    }
    return status == SMQ_OK ? filter_check_and_copy_cursor(out, topic, filter->cursor, err)
                            : status;
}

void filter_fini(struct filter *filter)
{
    message_ref_fini(&filter->which);
    buf_fini(&filter->cursor_bytes);
    buf_fini(&filter->header);
}

bool filter_looks(const struct filter *filter)
{
    return filter->one || filter->from_cursor || filter->contains[0] != '\0' ||
           filter->reason[0] != '\0' || filter->exact || filter->header.len > 0 ||
           filter->older_ms >= 0;
}

int32_t filter_first_slot(const struct filter *filter)
{
    int32_t first = filter->from_cursor ? filter->cursor.slot : 0;

    return filter->one && filter->which.slot > first ? filter->which.slot : first;
}

int32_t filter_end_slot(const struct filter *filter, const struct topic *topic)
{
    return filter->one ? filter->which.slot + 1 : topic->slots;
}

smq_state filter_state(int part)
{
    return parts[part].state;
}

static int filter_part_of(smq_state state, bool scheduled)
{
    int part = 0;

    while (parts[part].state != state || parts[part].scheduled != scheduled) {
        part++;
    }
    return part;
}

bool filter_begin(const struct filter *filter, struct page_reader *reader, int32_t slot, int part)
{
    bool at_cursor = filter->from_cursor && filter->cursor.slot == slot;
    int first = at_cursor ? filter_part_of(filter->cursor.state, filter->cursor.scheduled) : 0;

    if ((filter->states & (unsigned) parts[part].state) == 0 || part < first) {
        return false;
    }
    reader->slot = slot;
    reader->query = (struct store_page){.state = parts[part].state,
                                        .scheduled = parts[part].scheduled,
                                        .limit = PAGE_LIMIT,
                                        .max_bytes = PAGE_BYTES,
                                        .member = "",
                                        .contains = filter->contains,
                                        .reason = filter->reason,
                                        .exact = filter->exact,
                                        .header = filter->header.data,
                                        .header_len = filter->header.len,
                                        .older_ms = filter->older_ms};
    if (filter->one) {
        reader->query.member = filter->which.member;
        reader->query.member_len = filter->which.member_len;
        reader->query.whole = filter->which.whole;
    }
    if (at_cursor && part == first) {
        reader->query.from = (struct store_position){.score = filter->cursor.score,
                                                     .name = filter->cursor.name,
                                                     .name_len = filter->cursor.name_len};
    }
    return true;
}

uint64_t filter_count(const struct store_inspected *look, int part)
{
    switch (parts[part].state) {
    case SMQ_STATE_WAITING:
        return parts[part].scheduled ? look->scheduled : look->stats.waiting - look->scheduled;
    case SMQ_STATE_CLAIMED:
        return look->stats.claimed;
    case SMQ_STATE_RESTING:
        return look->stats.resting;
    case SMQ_STATE_DEAD:
        break;
    }
    return look->stats.dead;
}
