/* assigner.c - the loop of the assigner: read what may have changed, decide, write the assignments
 * that change.
 *
 * A round reads the lists of members and topics, the nodes whose watches have fired, and those that
 * it wrote, so it finds out whether a write with an unknown outcome was done.  From time to time a
 * round reads all nodes again, because no watch fires when access rights change.  One round runs at
 * a time; an event during a round causes another round.  Every write checks the epoch and the
 * version that was read.
 *
 * Thread: smq:coord. */
#include "coord/assigner/assigner.h"
#include "coord/node/topic_path.h"

#include <stdio.h>

#include "base/clock.h"

static void assigner_on_read(struct assigner *assigner, bool good);
static void assigner_round(struct assigner *assigner);
static void assigner_write(struct assigner *assigner);

static void assigner_on_timer(uv_timer_t *timer)
{
    assigner_wake(timer->data);
}

void assigner_init(struct assigner *assigner, const struct zookeeper_env *env,
                   const struct assigner_ports *ports)
{
    assigner->env = env;
    assigner->ports = *ports;
    assigner->read = assigner_on_read;
    LIST_INIT(&assigner->topics);
    uv_timer_init(loop_uv(env->loop), &assigner->timer);
    assigner->timer.data = assigner;
}

/* --- begin and end --- */

/* A round of an earlier term as the assigner may still be in progress; it ends first, then another
 * begins. */
void assigner_begin(struct assigner *assigner, int64_t epoch)
{
    assigner->epoch = epoch;
    assigner->active = true;
    assigner_wake(assigner);
}

void assigner_end(struct assigner *assigner)
{
    assigner->active = assigner->again = false;
    assigner_doubt(assigner, NULL);
    uv_timer_stop(&assigner->timer);
    if (session_is_closed(assigner->ports.session)) {
        assigner->busy = false; /* the session is closed, so no reply will come */
    }
    if (!assigner->busy) {
        assigner_forget(assigner);
    }
}

void assigner_stop(struct assigner *assigner)
{
    if (assigner->timer.data != NULL) {
        uv_close((uv_handle_t *) &assigner->timer, NULL);
    }
}

void assigner_fini(struct assigner *assigner)
{
    assigner_forget(assigner);
    buf_fini(&assigner->text);
}

void assigner_wake(struct assigner *assigner)
{
    if (!assigner->active) {
        return;
    }
    if (assigner->busy) {
        assigner->again = true;
        return;
    }
    assigner_round(assigner);
}

void assigner_changed(struct assigner *assigner, const char *path)
{
    assigner_doubt(assigner, path);
    assigner_wake(assigner);
}

/* The round has ended, completely or not. */
static void assigner_over(struct assigner *assigner, int64_t delay_ms)
{
    assigner->busy = false;
    if (!assigner->active) {
        assigner_forget(assigner);
        return;
    }
    if (assigner->again) {
        delay_ms = delay_ms < 0 || delay_ms > 1 ? 1 : delay_ms;
    }
    if (delay_ms >= 0) {
        uv_timer_start(&assigner->timer, assigner_on_timer, (uint64_t) delay_ms, 0);
    }
}

/* May the round continue?  Without a connection the next connection wakes the assigner. */
static bool assigner_may_continue(struct assigner *assigner, enum session_status status)
{
    const struct zookeeper_timings *timings = &assigner->env->timings;

    if (assigner->active && (status == SESSION_OK || status == SESSION_NO_NODE)) {
        return true;
    }
    assigner->again = false;
    assigner_over(assigner, assigner->hidden ? timings->hidden : timings->retry);
    return false;
}

/* Everything was read (`good`), or the connection was lost, or this member is no longer the
 * assigner. */
static void assigner_on_read(struct assigner *assigner, bool good)
{
    if (!good || assigner->reign != assigner->ports.session->reign) {
        (void) assigner_may_continue(assigner, SESSION_AWAY);
        return;
    }
    assigner->away_ms = clock_now_ms() - session_clock_ms(assigner->ports.session);
    assigner_decide(assigner, clock_now_ms());
    assigner_log_mismatch(assigner, clock_now_ms());
    assigner_write(assigner);
}

static void assigner_round(struct assigner *assigner)
{
    uv_timer_stop(&assigner->timer);
    assigner->busy = true;
    assigner->again = false;
    assigner->wake_at = 0;
    assigner_read(assigner);
}

/* --- writing --- */

static void assigner_on_written(void *user, const struct session_reply *reply)
{
    struct assigner *assigner = user;

    if (assigner->active &&
        (reply->status == SESSION_CHANGED || reply->status == SESSION_NO_NODE) &&
        /* another member has a newer epoch, or the node of the epoch is missing */
        reply->errors[0] == reply->status) {
        assigner_over(assigner, -1);
        assigner->ports.superseded(assigner->ports.user);
        return;
    }
    if (assigner->active && reply->status == SESSION_DENIED) {
        assigner->hidden = assigner->current->unwritable = true;
        assigner_deny_topic(assigner, assigner->current);
        assigner_write(assigner);
        return;
    }
    if (!assigner_may_continue(assigner, reply->status == SESSION_NO_NODE ? SESSION_CHANGED
                                                                          : reply->status)) {
        return;
    }
    assigner->again = true; /* to read back the revocations that were written */
    assigner->current->unwritable = false;
    assignment_fini(&assigner->current->old);
    assigner->current->old = assigner->current->next;
    assigner->current->next = (struct assignment){0};
    assigner_write(assigner);
}

/* No member has asked for this topic for a while: a deletion has left its nodes behind.  A member
 * that asks for the topic later creates them again. */
static void assigner_remove(struct assigner *assigner, struct assigner_topic *topic)
{
    char path[MEMBER_WORD_MAX + 16];
    char assignment[MEMBER_WORD_MAX + 32];
    struct session_op ops[3] = {
        {.kind = SESSION_CHECK, .path = "leader_epoch", .version = assigner->epoch},
        {.kind = SESSION_DELETE, .path = assignment, .version = topic->version},
        {.kind = SESSION_DELETE, .path = path, .version = topic->node_version}};
    const size_t count = topic->bare ? 2 : 3;

    topic_path(path, sizeof(path), topic->name, "");
    topic_path(assignment, sizeof(assignment), topic->name, "/assignment");
    topic->remove = topic->write = false;
    assigner_doubt(assigner, path);
    assigner_doubt(assigner, assignment);
    if (topic->bare) {
        ops[1] = ops[2];
    }
    session_write(assigner->ports.session, ops, count, assigner_on_written, assigner);
}

/* Encode the next assignment; false: it is too large for a node, and the stored one stays. */
static bool assigner_encode(struct assigner *assigner, struct assigner_topic *topic)
{
    topic->write = false;
    topic->next.epoch = (int32_t) assigner->epoch;
    buf_clear(&assigner->text);
    assignment_encode(&assigner->text, &topic->next);
    if (assigner->text.len <= ASSIGNMENT_SIZE_MAX) {
        topic->oversized = false;
        return true;
    }
    if (!topic->oversized) {
        topic->oversized = true;
        events_log(assigner->env->events, SMQ_LEVEL_ERROR,
                   "topic %s: %zu members with their names do not fit in its assignment; nothing "
                   "moves until there are fewer, or shorter names",
                   topic->name, topic->next.member_count);
    }
    return false;
}

/* Everything is written: after how many milliseconds the next round begins at the latest; -1: with
 * the next event. */
static int64_t assigner_delay(const struct assigner *assigner, int64_t now_ms)
{
    int64_t at = assigner->wake_at;
    int64_t hidden = now_ms + assigner->env->timings.hidden;

    if (assigner->hidden && (at == 0 || hidden < at)) {
        at = hidden;
    }
    if (at == 0) {
        return -1;
    }
    return at - now_ms < 1 ? 1 : at - now_ms;
}

/* Write the next assignment that changed, until there is none. */
static void assigner_write(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;
    char path[MEMBER_WORD_MAX + 32];
    struct session_op ops[2] = {
        {.kind = SESSION_CHECK, .path = "leader_epoch", .version = assigner->epoch},
        {.kind = SESSION_SET, .path = path}};

    if (assigner->reign != assigner->ports.session->reign) { /* what was read counts no more */
        (void) assigner_may_continue(assigner, SESSION_AWAY);
        return;
    }
    LIST_FOREACH(topic, &assigner->topics, link)
    {
        if (topic->remove || (topic->read && topic->write && assigner_encode(assigner, topic))) {
            break;
        }
    }
    assigner->current = topic;
    if (topic == NULL) {
        assigner_over(assigner, assigner_delay(assigner, clock_now_ms()));
        return;
    }
    if (topic->remove) {
        assigner_remove(assigner, topic);
        return;
    }
    topic_path(path, sizeof(path), topic->name, "/assignment");
    ops[1].data = assigner->text.data;
    ops[1].len = assigner->text.len;
    ops[1].version = topic->version;
    assigner_doubt(assigner, path);
    session_write(assigner->ports.session, ops, 2, assigner_on_written, assigner);
}
