/* member.c - our node in ZooKeeper: entering with it, keeping it up to date, and the heartbeat that
 * renews the lease of this member.
 *
 * To enter: read the root, or make it (root.c), wait for the first topic, create members/NAME with
 * the topics and look at it in one round trip.  A node without topics would tell the assigner that
 * its name needs no slots, and adding them would cost another write.  Any call of this chain that
 * fails ends it; it begins anew after a while or with the next connection.  Every step may be
 * repeated.
 *
 * Thread: smq:coord. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "coord/process.h"
#include "coord/zookeeper.h"

enum { MEMBER_BACKOFF_MAX_MS = 5000 };

static void member_enter(struct zookeeper *zookeeper);
static void member_look(struct zookeeper *zookeeper);

static void member_on_beat(uv_timer_t *timer);
static void member_on_batch(uv_timer_t *timer);

static void member_on_retry(uv_timer_t *timer)
{
    struct zookeeper *zookeeper = timer->data;

    if (zookeeper->session.connected) {
        member_enter(zookeeper);
    }
}

static void member_timer_init(struct zookeeper *zookeeper, uv_timer_t *timer)
{
    uv_timer_init(loop_uv(zookeeper->coord->loop), timer);
    timer->data = zookeeper;
}

void member_init(struct zookeeper *zookeeper)
{
    struct member *member = &zookeeper->member;
    size_t size = strlen(zookeeper->coord->options.name) + sizeof("members/");

    random_hex(member->info.uuid, 33);
    process_describe(&member->info);
    member->path = memory_new(size);
    (void) snprintf(member->path, size, "members/%s", zookeeper->coord->options.name);
    member_timer_init(zookeeper, &member->beat);
    member_timer_init(zookeeper, &member->batch);
    member_timer_init(zookeeper, &member->retry);
}

void member_stop(struct zookeeper *zookeeper)
{
    if (zookeeper->member.path != NULL) {
        uv_close((uv_handle_t *) &zookeeper->member.beat, NULL);
        uv_close((uv_handle_t *) &zookeeper->member.batch, NULL);
        uv_close((uv_handle_t *) &zookeeper->member.retry, NULL);
    }
}

void member_fini(struct zookeeper *zookeeper)
{
    free(zookeeper->member.path);
}

bool member_lease_valid(const struct zookeeper *zookeeper)
{
    return clock_now_ms() < zookeeper->lease_until;
}

static void member_renew_lease(struct zookeeper *zookeeper, int64_t issued_ms)
{
    int64_t lease_ms = zk_session_timeout(&zookeeper->session) * 2 / 3;

    if (issued_ms + lease_ms > zookeeper->lease_until) {
        zookeeper->lease_until = issued_ms + lease_ms;
        coord_call_leased(zookeeper->coord, zookeeper->lease_until, lease_ms);
    }
}

/* --- entering --- */

void member_later(struct zookeeper *zookeeper, enum member_state state, int64_t delay_ms)
{
    zookeeper->member.state = state;
    uv_timer_start(&zookeeper->member.retry, member_on_retry, (uint64_t) delay_ms, 0);
}

void member_refuse(struct zookeeper *zookeeper, smq_status status, const char *text)
{
    zookeeper->member.state = MEMBER_REFUSED;
    zookeeper->member.refusal = status;
    zookeeper->member.refusal_text = text;
    uv_timer_stop(&zookeeper->member.retry);
    zookeeper_answered(zookeeper, status, text);
    ownership_fail_all(zookeeper, status, text);
}

static void member_enter(struct zookeeper *zookeeper)
{
    struct member *member = &zookeeper->member;

    if (member->state != MEMBER_OUT && member->state != MEMBER_WAITING) {
        return;
    }
    uv_timer_stop(&member->retry);
    member->state = MEMBER_ENTERING;
    root_enter(zookeeper);
}

static void member_encode(struct zookeeper *zookeeper, struct buf *out)
{
    struct ownership *topic = NULL;

    zookeeper->member.marked = false;
    member_text_head(out, &zookeeper->member.info);
    LIST_FOREACH(topic, &zookeeper->topics, link)
    {
        ownership_encode(topic, out);
    }
}

/* The marks changed: the node is written again, but not for every change of a cluster that goes
 * through many; a heartbeat looks again. */
static void member_write_marks(struct zookeeper *zookeeper)
{
    struct member *member = &zookeeper->member;
    int64_t now = clock_now_ms();

    if (member->marked && member->state == MEMBER_IN &&
        (member->marked_at == 0 || now - member->marked_at >= zookeeper->timings.marks)) {
        member->marked_at = now;
        member_write_soon(zookeeper);
    }
}

void member_marked(struct zookeeper *zookeeper, const struct marks *marks)
{
    struct member *member = &zookeeper->member;

    if (!marks_equal(&member->info.marks, marks)) {
        member->info.marks = *marks;
        member->marked = true;
        member_write_marks(zookeeper);
    }
}

/* The node was read: write it again unless it says what it is to say. */
static void member_compare(struct zookeeper *zookeeper, const struct zk_reply *reply)
{
    struct buf text = {0};

    member_encode(zookeeper, &text);
    zookeeper->member.dirty =
        text.len != reply->len || memcmp(text.data, reply->data, text.len) != 0;
    buf_fini(&text);
    if (zookeeper->member.dirty) {
        member_write_soon(zookeeper);
    }
}

static void member_entered(struct zookeeper *zookeeper, const struct zk_reply *reply)
{
    struct member *member = &zookeeper->member;
    struct ownership *topic = NULL;

    member->state = MEMBER_IN;
    member->incarnation = reply->stat.czxid;
    member->version = reply->stat.version;
    member->name_until = 0;
    member->hidden_said = false;
    member->backoff_ms = 0;
    member_renew_lease(zookeeper, member->beat_at);
    uv_timer_start(&member->beat, member_on_beat, 1,
                   (uint64_t) zk_session_timeout(&zookeeper->session) / 6);
    member_compare(zookeeper, reply);
    LIST_FOREACH(topic, &zookeeper->topics, link)
    {
        ownership_read(topic);
    }
    election_begin(zookeeper);
}

/* May the node that says `info` be replaced?  It is of an earlier session of ourselves, or of a
 * process that is certainly dead.  A name is not taken twice within four time-outs of the session:
 * where the proof is wrong for once, two processes do not fight for it. */
static bool member_may_replace(struct zookeeper *zookeeper, const struct member_info *info)
{
    struct member *member = &zookeeper->member;
    int64_t now = clock_now_ms();

    if (strcmp(info->uuid, member->info.uuid) == 0) {
        return true;
    }
    if (!process_is_dead(&member->info, info) ||
        (member->replaced_at != 0 &&
         now - member->replaced_at < 4 * zk_session_timeout(&zookeeper->session))) {
        return false;
    }
    member->replaced_at = now;
    return true;
}

/* The reply to the look that was sent behind the creation follows, and counts unless this ends the
 * entry. */
static void member_on_created(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (zookeeper->member.state != MEMBER_ENTERING) {
        return;
    }
    if (reply->rc == ZNOAUTH) {
        member_refuse(zookeeper, SMQ_DENIED,
                      "ZooKeeper refused to create the node of this member: check zookeeper_auth");
        return;
    }
    if (reply->rc == ZNONODE) {
        root_mend(zookeeper);
        member_later(zookeeper, MEMBER_OUT, zookeeper->timings.retry);
    }
}

/* Whether it was replaced is in the reply to the look that was sent behind. */
static void member_on_replaced(void *user, const struct zk_reply *reply)
{
    (void) user;
    (void) reply;
}

static void member_replace(struct zookeeper *zookeeper, int32_t version)
{
    struct buf text = {0};
    struct zk_op ops[2] = {{.kind = ZK_DELETE, .path = zookeeper->member.path, .version = version},
                           {.kind = ZK_CREATE_EPHEMERAL, .path = zookeeper->member.path}};

    member_encode(zookeeper, &text);
    ops[1].data = text.data;
    ops[1].len = text.len;
    zk_write(&zookeeper->session, ops, 2, member_on_replaced, zookeeper);
    buf_fini(&text);
    member_look(zookeeper);
}

/* Wait for the end of the process that has our name.  When that has not come in time, it lives, and
 * we are refused with `text`. */
static void member_await_name(struct zookeeper *zookeeper, const char *text)
{
    struct member *member = &zookeeper->member;

    if (member->name_until == 0) { /* a tick is half a session at most */
        member->name_until = clock_now_ms() + 2 * zk_session_timeout(&zookeeper->session);
    }
    if (clock_now_ms() >= member->name_until) {
        member_refuse(zookeeper, SMQ_NAME_TAKEN, text);
        return;
    }
    member_later(zookeeper, MEMBER_WAITING, zookeeper->timings.retry);
}

/* Another session's node has our name: replace it if that may be, else wait for its end. */
static void member_meet_other(struct zookeeper *zookeeper, const struct zk_reply *reply)
{
    struct member_info info;
    bool replace = false;

    if (member_text_parse(&info, reply->data, reply->len)) {
        replace = member_may_replace(zookeeper, &info);
        member_info_fini(&info);
    }
    if (replace) {
        member_replace(zookeeper, reply->stat.version);
        return;
    }
    member_await_name(zookeeper, "another live process of the fleet has the name of this member; "
                                 "give each its own");
}

/* The same, and we may not read it: nothing can prove that its process is dead. */
static void member_meet_hidden(struct zookeeper *zookeeper)
{
    struct member *member = &zookeeper->member;

    if (!member->hidden_said) {
        member->hidden_said = true;
        events_log(zookeeper->coord->options.events, SMQ_LEVEL_WARN,
                   "the node %s/%s in ZooKeeper has the name of this member, and this member may "
                   "not read it: a process with another zookeeper_auth has the name, or had it a "
                   "moment ago; waiting for the end of its session; give all members the same "
                   "zookeeper_auth, and each a name of its own",
                   zookeeper->root.path, member->path);
    }
    member_await_name(zookeeper,
                      "another live process, whose node in ZooKeeper this member may not read, has "
                      "the name of this member; give all members the same zookeeper_auth, and each "
                      "a name of its own");
}

static void member_looked(struct zookeeper *zookeeper, const struct zk_reply *reply, bool shown)
{
    if (reply->rc != ZOK) {
        member_later(zookeeper, MEMBER_OUT, zookeeper->timings.retry);
    } else if (reply->stat.ephemeralOwner == zk_session_id(&zookeeper->session)) {
        member_entered(zookeeper, reply);
    } else if (shown) {
        member_meet_other(zookeeper, reply);
    } else {
        member_meet_hidden(zookeeper);
    }
}

/* A node that may not be read still shows whose it is, and when it goes. */
static void member_on_hidden(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (zookeeper->member.state == MEMBER_ENTERING) {
        member_looked(zookeeper, reply, false);
    }
}

static void member_on_look(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (zookeeper->member.state != MEMBER_ENTERING) {
        return;
    }
    if (reply->rc == ZNOAUTH) {
        zk_exists(&zookeeper->session, zookeeper->member.path, true, member_on_hidden, zookeeper);
    } else {
        member_looked(zookeeper, reply, true);
    }
}

static void member_look(struct zookeeper *zookeeper)
{
    zookeeper->member.beat_at = clock_now_ms();
    zk_get(&zookeeper->session, zookeeper->member.path, true, member_on_look, zookeeper);
}

static void member_create(struct zookeeper *zookeeper)
{
    struct buf text = {0};
    struct zk_op op = {.kind = ZK_CREATE_EPHEMERAL, .path = zookeeper->member.path};

    zookeeper->member.state = MEMBER_ENTERING;
    member_encode(zookeeper, &text);
    op.data = text.data;
    op.len = text.len;
    zk_write(&zookeeper->session, &op, 1, member_on_created, zookeeper);
    buf_fini(&text);
    member_look(zookeeper);
}

void member_ready(struct zookeeper *zookeeper)
{
    zookeeper->member.state = MEMBER_READY;
    if (!LIST_EMPTY(&zookeeper->topics)) {
        member_create(zookeeper);
    }
}

void member_joined(struct zookeeper *zookeeper)
{
    if (zookeeper->member.state == MEMBER_READY && zookeeper->session.connected) {
        member_create(zookeeper);
    } else {
        member_write_soon(zookeeper);
    }
}

/* --- heartbeat --- */

static void member_on_beat_reply(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;
    struct member *member = &zookeeper->member;
    bool lapsed = !member_lease_valid(zookeeper);
    struct ownership *topic = NULL;

    member->beating = false;
    if (member->state != MEMBER_IN || (reply->rc != ZOK && reply->rc != ZNONODE)) {
        return;
    }
    if (reply->rc == ZNONODE || reply->stat.ephemeralOwner != zk_session_id(&zookeeper->session)) {
        zk_session_renew(&zookeeper->session);
        return;
    }
    if (!member->writing) { /* what another has written there is written over */
        member->dirty = member->dirty || member->version != reply->stat.version;
        member->version = reply->stat.version;
        member->stale = false;
    }
    if (member->dirty) {
        member_write_soon(zookeeper);
    }
    member_write_marks(zookeeper);
    member_renew_lease(zookeeper, member->beat_at);
    if (lapsed) { /* grants that came meanwhile were put off */
        LIST_FOREACH(topic, &zookeeper->topics, link)
        {
            ownership_read(topic);
        }
    }
}

static void member_on_beat(uv_timer_t *timer)
{
    struct zookeeper *zookeeper = timer->data;
    struct member *member = &zookeeper->member;

    if (member->state != MEMBER_IN || member->beating || !zookeeper->session.connected) {
        return;
    }
    member->beating = true;
    member->beat_at = clock_now_ms();
    zk_exists(&zookeeper->session, member->path, true, member_on_beat_reply, zookeeper);
}

void member_node_changed(struct zookeeper *zookeeper)
{
    if (zookeeper->member.state == MEMBER_WAITING) {
        member_enter(zookeeper);
    } else {
        member_on_beat(&zookeeper->member.beat);
    }
}

/* --- keeping the node up to date --- */

/* Somebody changed the access rights of our node.  Nothing was written, so `version` is still
 * right.  What it is to say is written again after a while, twice as long each time. */
static void member_write_denied(struct zookeeper *zookeeper)
{
    struct member *member = &zookeeper->member;
    int64_t delay_ms = member->backoff_ms != 0 ? member->backoff_ms : zookeeper->timings.retry;

    if (member->backoff_ms == 0) {
        events_log(
            zookeeper->coord->options.events, SMQ_LEVEL_ERROR,
            "ZooKeeper does not let this member write its node %s/%s: its access "
            "rights were changed; give the member write access again, or start it anew; until "
            "then the slots that it is to give up move only after its drain_timeout",
            zookeeper->root.path, member->path);
    }
    member->dirty = true;
    member->backoff_ms =
        2 * delay_ms < MEMBER_BACKOFF_MAX_MS ? 2 * delay_ms : MEMBER_BACKOFF_MAX_MS;
    uv_timer_start(&member->batch, member_on_batch, (uint64_t) delay_ms, 0);
}

static void member_write_allowed(struct zookeeper *zookeeper)
{
    if (zookeeper->member.backoff_ms != 0) {
        zookeeper->member.backoff_ms = 0;
        events_log(zookeeper->coord->options.events, SMQ_LEVEL_INFO,
                   "the node of this member in ZooKeeper, %s/%s, can be written again",
                   zookeeper->root.path, zookeeper->member.path);
    }
}

static void member_on_written(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;
    struct member *member = &zookeeper->member;

    member->writing = false;
    if (reply->rc == ZOK) {
        member->version = reply->stats[0].version;
        member_write_allowed(zookeeper);
        ownership_written(zookeeper);
    } else if (reply->rc == ZNOAUTH) {
        member_write_denied(zookeeper);
        return;
    } else {
        member->dirty = member->stale = true;
        member_on_beat(&member->beat);
        return;
    }
    if (member->dirty) {
        member_write_soon(zookeeper);
    }
}

static void member_on_batch(uv_timer_t *timer)
{
    struct zookeeper *zookeeper = timer->data;
    struct member *member = &zookeeper->member;
    struct buf text = {0};
    struct zk_op op = {.kind = ZK_SET, .path = member->path, .version = member->version};

    if (member->state != MEMBER_IN || member->writing || member->stale ||
        !zookeeper->session.connected) {
        return;
    }
    member->dirty = false;
    member->writing = true;
    member_encode(zookeeper, &text);
    op.data = text.data;
    op.len = text.len;
    zk_write(&zookeeper->session, &op, 1, member_on_written, zookeeper);
    buf_fini(&text);
}

void member_write_soon(struct zookeeper *zookeeper)
{
    struct member *member = &zookeeper->member;

    member->dirty = true;
    if (member->state == MEMBER_IN && !member->writing && !member->stale &&
        !uv_is_active((uv_handle_t *) &member->batch)) {
        uv_timer_start(&member->batch, member_on_batch, (uint64_t) zookeeper->timings.ack, 0);
    }
}

/* --- the session --- */

void member_connected(struct zookeeper *zookeeper)
{
    struct ownership *topic = NULL;

    if (zookeeper->member.state == MEMBER_READY) { /* the root may be another by now */
        zookeeper->member.state = MEMBER_OUT;
    }
    if (zookeeper->member.state != MEMBER_IN) {
        member_enter(zookeeper);
        return;
    }
    member_on_beat(&zookeeper->member.beat);
    if (zookeeper->member.dirty) {
        member_write_soon(zookeeper);
    }
    LIST_FOREACH(topic, &zookeeper->topics, link)
    {
        ownership_read(topic);
    }
    election_again(zookeeper);
    assigner_wake(zookeeper);
}

void member_expired(struct zookeeper *zookeeper)
{
    struct member *member = &zookeeper->member;

    uv_timer_stop(&member->beat);
    uv_timer_stop(&member->batch);
    uv_timer_stop(&member->retry);
    if (member->state != MEMBER_REFUSED) {
        member->state = MEMBER_OUT;
    }
    member->incarnation = 0;
    member->beating = member->writing = member->dirty = member->stale = false;
    member->name_until = 0;
}
