/* expire.c - topics that expire: they are marked when they are created or altered, and deleted when
 * nobody uses them any more.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>

#include "admin/admin.h"
#include "admin/topic_change.h"
#include "base/status.h"

/* --- marks --- */

static void expire_used_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_topic_used(call, change->core->redis, change->topic.name, change->topic.nonce,
                     change->topic.expires_ms, change->mark, 0);
}

/* A deletion that has begun refuses what the mark is for, so the answer is left to that. */
static bool expire_may_lack(const struct topic_change *change, const struct store_result *result)
{
    return change->mark && (result->status == SMQ_DENIED || result->status == SMQ_NO_TOPIC);
}

static enum fanout_next expire_used_done(const struct store_result *result, void *user,
                                         smq_error *err)
{
    struct topic_change *change = user;

    return store_topic_used_read(&change->left_ms, result) || expire_may_lack(change, result)
               ? FANOUT_DONE
               : topic_change_stop(err, change, result, "look whether anybody uses");
}

smq_status expire_mark(struct topic_change *change, smq_error *err)
{
    change->mark = true;
    return change->topic.expires_ms != 0
               ? topic_change_one(change, expire_used_send, expire_used_done, err)
               : SMQ_OK;
}

/* --- the list --- */

static enum fanout_next expire_listed_done(const struct store_result *result, void *user,
                                           smq_error *err)
{
    return result->outcome == STORE_OK || result->status == SMQ_DENIED
               ? FANOUT_DONE
               : topic_change_stop(err, user, result, "note the end of");
}

static void expire_list_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    disuse_watch(change->core->disuse, change->topic.expires_ms);
    store_expiring_note(call, change->core->redis, change->topic.name, change->left_ms, 0);
}

smq_status expire_list(struct topic_change *change, smq_error *err)
{
    change->left_ms = store_unused_ms(change->topic.expires_ms);
    return change->topic.expires_ms != 0
               ? topic_change_one(change, expire_list_send, expire_listed_done, err)
               : SMQ_OK;
}

static void expire_unlist_send(struct store_call *call, void *user)
{
    const struct topic_change *change = user;

    store_expiring_remove(call, change->core->redis, change->topic.name, 0);
}

static void expire_unlist(struct topic_change *change)
{
    (void) topic_change_one(change, expire_unlist_send, expire_listed_done, NULL);
}

/* --- a topic that is due --- */

/* An interrupted deletion for this reason is completed, whatever was said about the topic since. */
static smq_status expire_ask(struct topic_change *change, smq_error *err)
{
    change->mark = false;
    change->left_ms = store_unused_ms(change->topic.expires_ms);
    if (change->topic.disused) {
        change->left_ms = 0;
    }
    return change->state == STORE_TOPIC_READY
               ? topic_change_one(change, expire_used_send, expire_used_done, err)
               : SMQ_OK;
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
    smq_status status = topic_change_read_named(&change, topic, NULL);

    if ((status == SMQ_NO_TOPIC && change.state == STORE_TOPIC_MISSING) ||
        (status == SMQ_OK && change.topic.expires_ms == 0)) {
        expire_unlist(&change);
        return;
    }
    if (status != SMQ_OK || expire_ask(&change, NULL) != SMQ_OK) {
        return;
    }
    if (change.left_ms > 0) {
        (void) topic_change_one(&change, expire_list_send, expire_listed_done, NULL);
    } else {
        expire_delete(&change);
    }
}
