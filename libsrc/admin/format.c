/* format.c - which processes would refuse a topic of the newest format.
 *
 * Versions before 0.3.0 refuse a topic of format 5.  Their members write no line with their format
 * into their nodes, and the names of their producers in send ids begin with a hex digit.  Consumers
 * of shared topics, and what sends without send ids, are seen nowhere.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include "admin/fail.h"
#include "admin/fanout.h"
#include "admin/fleet.h"
#include "store/slot.h"

/* Producers that have sent nothing for so long do not count. */
enum { FORMAT_SENT_MS = 600000 };

struct format_look {
    struct core *core;
    struct topic topic, part;
    smq_topic_older *out;
};

static void format_slot_send(struct store_call *call, int32_t index, void *user)
{
    const struct format_look *look = user;
    struct store_slot slot;

    store_slot_fill(&slot, &look->part, index);
    store_slot_old_senders(call, look->core->redis, &slot, FORMAT_SENT_MS);
}

static enum fanout_next format_slot_done(const struct store_result *result, int32_t index,
                                         void *user, smq_error *err)
{
    struct format_look *look = user;
    uint64_t count;

    if (result->outcome != STORE_OK || !store_slot_old_senders_read(&count, result)) {
        return admin_fail(err, &look->part, index, result);
    }
    look->out->senders = count > look->out->senders ? count : look->out->senders;
    return FANOUT_DONE;
}

static smq_status format_look_at_senders(struct format_look *look, smq_error *err)
{
    smq_status status = SMQ_OK;

    for (int i = 0; i < topic_parts(&look->topic) && status == SMQ_OK; i++) {
        topic_part(&look->part, &look->topic, i);
        status = fanout_many(look->core, look->part.slots, format_slot_send, format_slot_done, look,
                             err);
    }
    return status;
}

/* A member that consumes several groups counts for each. */
static bool format_on_share(const smq_fleet_share *share, void *user)
{
    struct format_look *look = user;

    if (share->format < TOPIC_FORMAT_NEWEST && topic_has_part(&look->topic, share->topic)) {
        look->out->members++;
    }
    return true;
}

smq_status admin_topic_older(smq_topic_older *out, struct core *core, const char *topic,
                             smq_error *err)
{
    struct format_look look = {.core = core, .out = out};
    const smq_fleet_visitor visitor = SMQ_FLEET_VISITOR(.share = format_on_share, .user = &look);
    smq_status status = fanout_definition(&look.topic, core, topic, err);

    if (status == SMQ_OK && !look.topic.shared) {
        status = admin_fleet_describe(core, &visitor, err);
    }
    return status == SMQ_OK ? format_look_at_senders(&look, err) : status;
}
