/* expire.c - topics that expire: they are marked when they are created or altered, and deleted when
 * nobody uses them any more.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>

#include "admin/admin.h"
#include "admin/topic_change.h"
#include "store/expiring.h"

/* --- marks --- */

/* What is said or asked about the use of a topic. */
struct expire_use {
    const struct topic_change *change;
    bool mark;       /* it is used now */
    int64_t left_ms; /* for how long it is still to be left, or not to be looked at */
};

static void expire_used_send(struct store_call *call, void *user)
{
    const struct expire_use *use = user;
    const struct topic *topic = &use->change->topic;

    store_topic_used(call, use->change->core->redis, topic->name, topic->nonce, topic->expires_ms,
                     use->mark, 0);
}

/* A deletion that has begun refuses what the mark is for, so the answer is left to that. */
static bool expire_may_lack(const struct expire_use *use, const struct store_result *result)
{
    return use->mark && (result->status == SMQ_DENIED || result->status == SMQ_NO_TOPIC);
}

static enum fanout_next expire_used_done(const struct store_result *result, void *user,
                                         smq_error *err)
{
    struct expire_use *use = user;

    return store_topic_used_read(&use->left_ms, result) || expire_may_lack(use, result)
               ? FANOUT_DONE
               : topic_change_stop(err, use->change, result, "look whether anybody uses");
}

smq_status expire_mark(const struct topic_change *change, smq_error *err)
{
    struct expire_use use = {.change = change, .mark = true};

    return change->topic.expires_ms != 0
               ? fanout_one(change->core, expire_used_send, expire_used_done, &use, err)
               : SMQ_OK;
}

/* --- the list --- */

static enum fanout_next expire_listed_done(const struct store_result *result, void *user,
                                           smq_error *err)
{
    const struct expire_use *use = user;

    return result->outcome == STORE_OK || result->status == SMQ_DENIED
               ? FANOUT_DONE
               : topic_change_stop(err, use->change, result, "note the end of");
}

static void expire_list_send(struct store_call *call, void *user)
{
    const struct expire_use *use = user;
    const struct topic_change *change = use->change;

    disuse_watch(change->core->disuse, change->topic.expires_ms);
    store_expiring_note(call, change->core->redis, change->topic.name, use->left_ms, 0);
}

static smq_status expire_list_for(const struct topic_change *change, int64_t left_ms,
                                  smq_error *err)
{
    struct expire_use use = {.change = change, .left_ms = left_ms};

    return fanout_one(change->core, expire_list_send, expire_listed_done, &use, err);
}

smq_status expire_list(const struct topic_change *change, smq_error *err)
{
    const int64_t expires_ms = change->topic.expires_ms;

    return expires_ms != 0 ? expire_list_for(change, store_unused_ms(expires_ms), err) : SMQ_OK;
}

static void expire_unlist_send(struct store_call *call, void *user)
{
    const struct topic_change *change = ((const struct expire_use *) user)->change;

    store_expiring_remove(call, change->core->redis, change->topic.name, 0);
}

static void expire_unlist(const struct topic_change *change)
{
    struct expire_use use = {.change = change};

    (void) fanout_one(change->core, expire_unlist_send, expire_listed_done, &use, NULL);
}

/* --- a topic that is due --- */

/* An interrupted deletion for this reason is completed, whatever was said about the topic since. */
static smq_status expire_ask(int64_t *left_ms, const struct topic_change *change)
{
    struct expire_use use = {.change = change};
    smq_status status = SMQ_OK;

    use.left_ms = change->topic.disused ? 0 : store_unused_ms(change->topic.expires_ms);
    if (change->state == STORE_TOPIC_READY) {
        status = fanout_one(change->core, expire_used_send, expire_used_done, &use, NULL);
    }
    *left_ms = use.left_ms;
    return status;
}

static void expire_delete(struct topic_change *change)
{
    smq_error err = SMQ_ERROR_INIT;
    smq_status status = delete_disused(change, &err);

    if (status == SMQ_OK && !change->changed) {
        expire_unlist(change);
        events_log(change->core->events, SMQ_LEVEL_INFO,
                   "topic %s is deleted: it was not used for its expires_ms, %" PRId64,
                   change->topic.name, change->topic.expires_ms);
    } else if (status == SMQ_NOT_EMPTY) {
        (void) expire_list(change, NULL);
    } else if (status != SMQ_OK) {
        events_log(change->core->events, SMQ_LEVEL_WARN,
                   "topic %s was not used for its expires_ms, but cannot be deleted: %s",
                   change->topic.name, err.text);
    }
}

/* What cannot be asked or done now is left to the next client that gets the topic from the list. */
void admin_topic_expire(struct core *core, const char *topic)
{
    struct topic_change change = {.core = core};
    int64_t left_ms = 0;
    smq_status status = topic_change_read_named(&change, topic, NULL);

    if ((status == SMQ_NO_TOPIC && change.state == STORE_TOPIC_MISSING) ||
        (status == SMQ_OK && change.topic.expires_ms == 0)) {
        expire_unlist(&change);
        return;
    }
    if (status != SMQ_OK || expire_ask(&left_ms, &change) != SMQ_OK) {
        return;
    }
    if (left_ms > 0) {
        (void) expire_list_for(&change, left_ms, NULL);
    } else {
        expire_delete(&change);
    }
}
