/* member.c - entering the fleet, the heartbeat, and writing the node of this member.
 *
 * Thread: smq:coord. */
#include "coord/member/member.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "coord/member/process.h"

enum {
    MEMBER_BACKOFF_MAX_MS = 5000,
    MEMBER_BEATS = 6 /* heartbeats in a session time-out */
};

static void member_begin_entry(struct member *member);
static void member_look(struct member *member);

static void member_on_beat(uv_timer_t *timer);
static void member_on_batch(uv_timer_t *timer);

static void member_on_retry(uv_timer_t *timer)
{
    struct member *member = timer->data;

    if (session_is_connected(member->session)) {
        member_begin_entry(member);
    }
}

static void member_timer_init(struct member *member, uv_timer_t *timer)
{
    uv_timer_init(loop_uv(member->env->loop), timer);
    timer->data = member;
}

static void member_check(const struct member *member)
{
    assert((member->incarnation != 0) == (member->state == MEMBER_IN));
}

/* The one place where the state changes. */
static void member_enter(struct member *member, enum member_state state)
{
    assert(member_state_may(member->state, state));
    member->state = state;
    if (state != MEMBER_IN) {
        member->incarnation = 0;
    }
    CHECK(member_check(member));
}

void member_init(struct member *member, const struct zookeeper_env *env, struct session *session,
                 struct root *root, const struct member_listener *listener)
{
    size_t size = strlen(env->name) + sizeof("members/");

    member->env = env;
    member->session = session;
    member->root = root;
    member->listener = *listener;
    random_hex(member->info.uuid, 33);
    process_describe(&member->info);
    member->path = memory_new(size);
    (void) snprintf(member->path, size, "members/%s", env->name);
    member_timer_init(member, &member->beat);
    member_timer_init(member, &member->batch);
    member_timer_init(member, &member->retry);
}

void member_stop(struct member *member)
{
    if (member->path != NULL) {
        uv_close((uv_handle_t *) &member->beat, NULL);
        uv_close((uv_handle_t *) &member->batch, NULL);
        uv_close((uv_handle_t *) &member->retry, NULL);
    }
}

void member_fini(struct member *member)
{
    free(member->path);
}

bool member_lease_valid(const struct member *member)
{
    return clock_now_ms() < member->lease_until;
}

void member_end_lease(struct member *member)
{
    member->lease_until = 0;
    member->listener.leased(member->listener.user, 0, 0);
}

bool member_is_in(const struct member *member)
{
    return member->state == MEMBER_IN;
}

bool member_follows_root(const struct member *member)
{
    return member->state == MEMBER_IN || member->state == MEMBER_READY;
}

int64_t member_incarnation(const struct member *member)
{
    return member->incarnation;
}

const struct member_info *member_self(const struct member *member)
{
    return &member->info;
}

void member_know(const struct member *member, struct no_slot_facts *facts)
{
    bool entering = member->state == MEMBER_ENTERING;
    int64_t waited_ms = entering || member->beating
                            ? clock_now_ms() - (entering ? member->entry_at : member->beat_at)
                            : 0;

    facts->silent |= waited_ms >= session_timeout(member->session) / MEMBER_BEATS;
    facts->named = member->state == MEMBER_WAITING || member->name_until != 0;
    facts->outside = member->state != MEMBER_IN;
    facts->unreachable = !member_info_is_reachable(&member->info);
}

smq_status member_refusal(const struct member *member, const char **text)
{
    if (member->state != MEMBER_REFUSED) {
        return SMQ_OK;
    }
    *text = member->refusal_text;
    return member->refusal;
}

static void member_renew_lease(struct member *member, int64_t issued_ms)
{
    int64_t lease_ms = session_timeout(member->session) * 2 / 3;

    if (issued_ms + lease_ms > member->lease_until) {
        member->lease_until = issued_ms + lease_ms;
        member->listener.leased(member->listener.user, member->lease_until, lease_ms);
    }
}

/* --- entering --- */

static void member_retry_in(struct member *member, enum member_state state)
{
    member_enter(member, state);
    uv_timer_start(&member->retry, member_on_retry, (uint64_t) member->env->timings.retry, 0);
}

void member_later(struct member *member)
{
    member_retry_in(member, MEMBER_OUT);
}

void member_refuse(struct member *member, smq_status status, const char *text)
{
    member_enter(member, MEMBER_REFUSED);
    member->refusal = status;
    member->refusal_text = text;
    uv_timer_stop(&member->retry);
    member->listener.refused(member->listener.user, status, text);
}

static void member_begin_entry(struct member *member)
{
    if (member->state != MEMBER_OUT && member->state != MEMBER_WAITING) {
        return;
    }
    uv_timer_stop(&member->retry);
    member->entry_at = clock_now_ms();
    member_enter(member, MEMBER_ENTERING);
    root_enter(member->root);
}

static void member_encode(struct member *member, struct buf *out)
{
    member->fingerprint_changed = false;
    member_text_head(out, &member->info);
    member->listener.encode(member->listener.user, out);
}

/* The fingerprint has changed: write the node again, but not after every change of a cluster that
 * changes often; a heartbeat checks again. */
static void member_write_fingerprint(struct member *member)
{
    int64_t now = clock_now_ms();

    if (member->fingerprint_changed && member->state == MEMBER_IN &&
        (member->fingerprint_at == 0 ||
         now - member->fingerprint_at >= member->env->timings.fingerprint)) {
        member->fingerprint_at = now;
        member_write_soon(member);
    }
}

void member_set_fingerprint(struct member *member, const struct fingerprint *fingerprint)
{
    if (!fingerprint_equal(&member->info.fingerprint, fingerprint)) {
        member->info.fingerprint = *fingerprint;
        member->fingerprint_changed = true;
        member_write_fingerprint(member);
    }
}

void member_set_reachable(struct member *member, bool reachable)
{
    if (member_info_is_reachable(&member->info) == reachable) {
        return;
    }
    member_info_set_reachable(&member->info, reachable);
    if (reachable) {
        events_log(member->env->events, SMQ_LEVEL_INFO,
                   "Redis answers this member again: it gets slots again after a while");
    } else {
        events_log(member->env->events, SMQ_LEVEL_ERROR,
                   "no Redis node has answered this member for 10 s: its slots move to members "
                   "that reach Redis, if there are any; check that Redis runs, and the network "
                   "between this host and all its nodes");
    }
    member_write_soon(member);
}

/* The node was read: write it again if it is out of date. */
static void member_compare(struct member *member, const struct session_reply *reply)
{
    struct buf text = {0};

    member_encode(member, &text);
    member->dirty = text.len != reply->len || memcmp(text.data, reply->data, text.len) != 0;
    buf_fini(&text);
    if (member->dirty) {
        member_write_soon(member);
    }
}

static void member_entered(struct member *member, const struct session_reply *reply)
{
    const uint64_t interval_ms = (uint64_t) session_timeout(member->session) / MEMBER_BEATS;

    member->incarnation = reply->stat.czxid;
    member_enter(member, MEMBER_IN);
    member->version = reply->stat.version;
    member->name_until = 0;
    member->hidden_logged = member->unreadable = member->denied_logged = false;
    member->backoff_ms = 0;
    member_renew_lease(member, member->beat_at);
    member_on_beat(&member->beat);
    uv_timer_start(&member->beat, member_on_beat, member_phase_ms(interval_ms, random_u64()),
                   interval_ms);
    member_compare(member, reply);
    member->listener.entered(member->listener.user);
}

/* May the node with this content be replaced?  It may if it is of an earlier session of this
 * process, or of a process that is certainly dead.  A name is not replaced twice within four
 * session time-outs, so that two processes do not fight for it if the proof was wrong. */
static bool member_may_replace(struct member *member, const struct member_info *info)
{
    int64_t now = clock_now_ms();

    if (strcmp(info->uuid, member->info.uuid) == 0) {
        return true;
    }
    if (!process_is_dead(&member->info, info) ||
        (member->replaced_at != 0 &&
         now - member->replaced_at < 4 * session_timeout(member->session))) {
        return false;
    }
    member->replaced_at = now;
    return true;
}

/* The reply to the read that was sent after the creation follows, and ends this entry unless the
 * member is refused here.  Until then no other entry begins, whose state that reply would change.
 */
static void member_on_created(void *user, const struct session_reply *reply)
{
    struct member *member = user;

    if (member->state != MEMBER_ENTERING) {
        return;
    }
    if (reply->status == SESSION_DENIED) {
        member_refuse(member, SMQ_DENIED,
                      "ZooKeeper refused to create the node of this member: check zookeeper_auth");
        return;
    }
    if (reply->status == SESSION_NO_NODE) {
        root_mend(member->root);
    }
}

/* The reply to the read that was sent after this call shows whether the node was replaced. */
static void member_on_replaced(void *user, const struct session_reply *reply)
{
    (void) user;
    (void) reply;
}

static void member_replace(struct member *member, int64_t version)
{
    struct buf text = {0};
    struct session_op ops[2] = {{.kind = SESSION_DELETE, .path = member->path, .version = version},
                                {.kind = SESSION_CREATE_EPHEMERAL, .path = member->path}};

    member_encode(member, &text);
    ops[1].data = text.data;
    ops[1].len = text.len;
    session_write(member->session, ops, 2, member_on_replaced, member);
    buf_fini(&text);
    member_look(member);
}

/* Wait until the process that has the name of this member ends.  If it does not end in time it is
 * alive, and this member is refused with `text`. */
static void member_await_name(struct member *member, const char *text)
{
    if (member->name_until == 0) { /* a tick is half a session at most */
        member->name_until =
            session_clock_ms(member->session) + 2 * session_timeout(member->session);
    }
    if (session_clock_ms(member->session) >= member->name_until) {
        member_refuse(member, SMQ_NAME_TAKEN, text);
        return;
    }
    member_retry_in(member, MEMBER_WAITING);
}

/* The node of another session has the name of this member: replace it if that is allowed, else wait
 * until it is gone. */
static void member_meet_other(struct member *member, const struct session_reply *reply)
{
    struct member_info info;
    bool replace = false;

    if (member_text_parse(&info, reply->data, reply->len)) {
        replace = member_may_replace(member, &info);
        member_info_fini(&info);
    }
    if (replace) {
        member_replace(member, reply->stat.version);
        return;
    }
    member_await_name(member, "another live process of the fleet has the name of this member; "
                              "give each process a name of its own");
}

/* As member_meet_other(), for a node that may not be read: nothing can prove that its process is
 * dead. */
static void member_meet_hidden(struct member *member)
{
    if (!member->hidden_logged) {
        member->hidden_logged = true;
        events_log(member->env->events, SMQ_LEVEL_WARN,
                   "the node %s/%s in ZooKeeper has the name of this member, and this member may "
                   "not read it: a process with another zookeeper_auth has the name, or had it a "
                   "moment ago; waiting for the end of its session; give all members the same "
                   "zookeeper_auth, and each a name of its own",
                   member->env->root, member->path);
    }
    member_await_name(member,
                      "another live process, whose node in ZooKeeper this member may not read, has "
                      "the name of this member; give all members the same zookeeper_auth, and each "
                      "a name of its own");
}

static void member_on_look(void *user, const struct session_reply *reply)
{
    struct member *member = user;

    if (member->state != MEMBER_ENTERING) {
        return;
    }
    if (reply->status == SESSION_DENIED) { /* this member may read nodes that it creates */
        member_meet_hidden(member);
    } else if (reply->status != SESSION_OK) {
        member_later(member);
    } else if (reply->stat.owner == session_id(member->session)) {
        member_entered(member, reply);
    } else {
        member_meet_other(member, reply);
    }
}

static void member_look(struct member *member)
{
    member->beat_at = clock_now_ms();
    session_get(member->session, member->path, true, member_on_look, member);
}

static void member_create(struct member *member)
{
    struct buf text = {0};
    struct session_op op = {.kind = SESSION_CREATE_EPHEMERAL, .path = member->path};

    member->entry_at = clock_now_ms();
    member_enter(member, MEMBER_ENTERING);
    member_encode(member, &text);
    op.data = text.data;
    op.len = text.len;
    session_write(member->session, &op, 1, member_on_created, member);
    buf_fini(&text);
    member_look(member);
}

void member_ready(struct member *member, bool asked)
{
    member_enter(member, MEMBER_READY);
    if (asked) {
        member_create(member);
    }
}

void member_joined(struct member *member)
{
    if (member->state == MEMBER_READY && session_is_connected(member->session)) {
        member_create(member);
    } else {
        member_write_soon(member);
    }
}

/* --- access to the own node --- */

/* The access rights of this member's node were changed, so that it may not `what` it. */
static void member_log_denied(struct member *member, const char *what)
{
    if (!member->denied_logged) {
        member->denied_logged = true;
        events_log(member->env->events, SMQ_LEVEL_ERROR,
                   "ZooKeeper does not let this member %s its node %s/%s: its access rights were "
                   "changed; give the member all access again, or restart it; until then slots "
                   "that are revoked from it may move only after its drain_timeout",
                   what, member->env->root, member->path);
    }
}

static void member_log_allowed(struct member *member)
{
    if (member->denied_logged && !member->unreadable && member->backoff_ms == 0) {
        member->denied_logged = false;
        events_log(member->env->events, SMQ_LEVEL_INFO,
                   "the node of this member in ZooKeeper, %s/%s, can be read and written again",
                   member->env->root, member->path);
    }
}

/* --- heartbeat --- */

/* The heartbeat has read the node. */
static void member_beat_seen(struct member *member, const struct session_reply *reply)
{
    member->unreadable = false;
    member_log_allowed(member);
    if (!member->writing) { /* content that another process has written is overwritten */
        member->dirty = member->dirty || member->version != reply->stat.version;
        member->version = reply->stat.version;
        member->stale = false;
    }
}

/* A heartbeat that may not read the node shows that the session lives and that the node is there:
 * the member keeps its slots. */
static void member_on_beat_reply(void *user, const struct session_reply *reply)
{
    struct member *member = user;
    bool lapsed = !member_lease_valid(member);

    member->beating = false;
    if (member->state != MEMBER_IN ||
        (reply->status != SESSION_OK && reply->status != SESSION_NO_NODE &&
         reply->status != SESSION_DENIED)) {
        return;
    }
    if (reply->status == SESSION_DENIED) {
        member->unreadable = true;
        member_log_denied(member, "read");
    } else if (reply->status == SESSION_NO_NODE ||
               reply->stat.owner != session_id(member->session)) {
        session_renew(member->session);
        return;
    } else {
        member_beat_seen(member, reply);
    }
    if (member->dirty) {
        member_write_soon(member);
    }
    member_write_fingerprint(member);
    member_renew_lease(member, member->beat_at);
    if (lapsed) {
        member->listener.resumed(member->listener.user);
    }
}

static void member_on_beat(uv_timer_t *timer)
{
    struct member *member = timer->data;

    if (member->state != MEMBER_IN || member->beating || !session_is_connected(member->session)) {
        return;
    }
    member->beating = true;
    member->beat_at = clock_now_ms();
    session_get(member->session, member->path, true, member_on_beat_reply, member);
}

void member_node_changed(struct member *member, const char *path)
{
    if (strcmp(path, member->path) != 0) {
        return;
    }
    if (member->state == MEMBER_WAITING) {
        member_begin_entry(member);
    } else {
        member_on_beat(&member->beat);
    }
}

/* --- keeping the node up to date --- */

/* Nothing was written, so `version` is still right.  The write is repeated after a while, which
 * doubles each time. */
static void member_write_denied(struct member *member)
{
    int64_t delay_ms = member->backoff_ms != 0 ? member->backoff_ms : member->env->timings.retry;

    member_log_denied(member, "write");
    member->dirty = true;
    member->backoff_ms =
        2 * delay_ms < MEMBER_BACKOFF_MAX_MS ? 2 * delay_ms : MEMBER_BACKOFF_MAX_MS;
    uv_timer_start(&member->batch, member_on_batch, (uint64_t) delay_ms, 0);
}

static void member_on_written(void *user, const struct session_reply *reply)
{
    struct member *member = user;

    member->writing = false;
    if (reply->status == SESSION_OK) {
        member->version = reply->stats[0].version;
        member->backoff_ms = 0;
        member_log_allowed(member);
        member->listener.written(member->listener.user);
    } else if (reply->status == SESSION_DENIED) {
        member_write_denied(member);
        return;
    } else {
        member->dirty = member->stale = true;
        member_on_beat(&member->beat);
        return;
    }
    if (member->dirty) {
        member_write_soon(member);
    }
}

static void member_on_batch(uv_timer_t *timer)
{
    struct member *member = timer->data;
    struct buf text = {0};
    struct session_op op = {.kind = SESSION_SET, .path = member->path, .version = member->version};

    if (member->state != MEMBER_IN || member->writing || member->stale ||
        !session_is_connected(member->session)) {
        return;
    }
    member->dirty = false;
    member->writing = true;
    member_encode(member, &text);
    op.data = text.data;
    op.len = text.len;
    session_write(member->session, &op, 1, member_on_written, member);
    buf_fini(&text);
}

void member_write_soon(struct member *member)
{
    member->dirty = true;
    if (member->state == MEMBER_IN && !member->writing && !member->stale &&
        !uv_is_active((uv_handle_t *) &member->batch)) {
        uv_timer_start(&member->batch, member_on_batch, (uint64_t) member->env->timings.ack, 0);
    }
}

/* --- the session --- */

bool member_connected(struct member *member)
{
    if (member->state == MEMBER_READY) { /* the root may have changed in the meantime */
        member_enter(member, MEMBER_OUT);
    }
    if (member->state != MEMBER_IN) {
        member_begin_entry(member);
        return false;
    }
    member_on_beat(&member->beat);
    if (member->dirty) {
        member_write_soon(member);
    }
    return true;
}

void member_expired(struct member *member)
{
    uv_timer_stop(&member->beat);
    uv_timer_stop(&member->batch);
    uv_timer_stop(&member->retry);
    if (member->state != MEMBER_REFUSED) {
        member_enter(member, MEMBER_OUT);
    }
    member->beating = member->writing = member->dirty = member->stale = false;
    member->name_until = 0;
}
