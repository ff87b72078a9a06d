/* election.c - who is the assigner: the creator of /leader, in the epoch it raised by the same
 * write.
 *
 * Thread: smq:coord. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "coord/zookeeper.h"

enum { ELECTION_SPREAD_MS = 200 };

static void election_try(struct zookeeper *zookeeper);

static void election_on_delay(uv_timer_t *timer)
{
    election_try(timer->data);
}

static void election_delay(struct zookeeper *zookeeper, int64_t delay_ms)
{
    uv_timer_start(&zookeeper->election.delay, election_on_delay, (uint64_t) delay_ms, 0);
}

void election_init(struct zookeeper *zookeeper)
{
    uv_timer_init(loop_uv(zookeeper->coord->loop), &zookeeper->election.delay);
    zookeeper->election.delay.data = zookeeper;
}

void election_stop(struct zookeeper *zookeeper)
{
    if (zookeeper->election.delay.data != NULL) {
        uv_close((uv_handle_t *) &zookeeper->election.delay, NULL);
    }
}

static void election_failed(struct zookeeper *zookeeper)
{
    zookeeper->election.busy = false;
    election_delay(zookeeper, zookeeper->timings.retry);
}

static void election_won(struct zookeeper *zookeeper, int32_t epoch)
{
    zookeeper->election.busy = false;
    zookeeper->election.state = ELECTION_WON;
    zookeeper->election.epoch = epoch;
    assigner_begin(zookeeper);
}

/* /leader is ours, of an attempt whose answer was lost or of a reign that ended: begin anew. */
static void election_on_removed(void *user, const struct zk_reply *reply)
{
    (void) reply;
    election_failed(user);
}

static void election_on_leader(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;
    struct zk_op op = {.kind = ZK_DELETE, .path = "leader", .version = reply->stat.version};

    if (reply->rc == ZNONODE) {
        zookeeper->election.busy = false;
        election_delay(zookeeper, (int64_t) (random_u64() % ELECTION_SPREAD_MS));
    } else if (reply->rc != ZOK) {
        election_failed(zookeeper);
    } else if (reply->stat.ephemeralOwner == zk_session_id(&zookeeper->session)) {
        zk_write(&zookeeper->session, &op, 1, election_on_removed, zookeeper);
    } else {
        zookeeper->election.busy = false;
        zookeeper->election.state = ELECTION_WATCHING;
    }
}

void election_resign(struct zookeeper *zookeeper)
{
    assigner_end(zookeeper);
    zookeeper->election.state = ELECTION_TRYING;
    election_delay(zookeeper, (int64_t) (random_u64() % ELECTION_SPREAD_MS));
}

static void election_on_still(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;
    bool mine =
        reply->rc == ZOK && reply->stat.ephemeralOwner == zk_session_id(&zookeeper->session);

    if (zookeeper->election.state == ELECTION_WON && !mine &&
        (reply->rc == ZOK || reply->rc == ZNONODE)) {
        election_resign(zookeeper);
    }
}

static void election_on_write(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (reply->rc == ZOK) {
        election_won(zookeeper, reply->stats[1].version);
        zk_exists(&zookeeper->session, "leader", true, election_on_still, zookeeper);
        return;
    }
    zk_exists(&zookeeper->session, "leader", true, election_on_leader, zookeeper);
}

/* The node of the epoch was missing.  Its version begins anew; an assigner of before is still held
 * off by the versions of the assignments. */
static void election_on_made(void *user, const struct zk_reply *reply)
{
    (void) reply;
    election_failed(user);
}

static void election_on_epoch(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;
    const struct member *member = &zookeeper->member;
    struct zk_op ops[2] = {
        {.kind = ZK_CREATE_EPHEMERAL, .path = "leader"},
        {.kind = ZK_SET, .path = "leader_epoch", .version = reply->stat.version}};
    struct buf text = {0};

    if (reply->rc == ZNONODE) {
        struct zk_op op = {.kind = ZK_CREATE, .path = "leader_epoch", .data = ""};

        zk_write(&zookeeper->session, &op, 1, election_on_made, zookeeper);
        return;
    }
    if (reply->rc != ZOK) {
        election_failed(zookeeper);
        return;
    }
    buf_printf(&text, "member %s\nincarnation %" PRId64 "\nhost %s\npid %" PRId64 "\n",
               zookeeper->coord->options.name, member->incarnation, member->info.host,
               member->info.pid);
    ops[0].data = ops[1].data = text.data;
    ops[0].len = ops[1].len = text.len;
    zk_write(&zookeeper->session, ops, 2, election_on_write, zookeeper);
    buf_fini(&text);
}

static void election_on_seen(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (reply->rc != ZNONODE) {
        election_on_leader(zookeeper, reply);
        return;
    }
    zk_get(&zookeeper->session, "leader_epoch", false, election_on_epoch, zookeeper);
}

static void election_try(struct zookeeper *zookeeper)
{
    struct election *election = &zookeeper->election;

    if (election->busy || election->state == ELECTION_WON || zookeeper->member.state != MEMBER_IN ||
        !zookeeper->session.connected) {
        return;
    }
    uv_timer_stop(&election->delay);
    election->busy = true;
    election->state = ELECTION_TRYING;
    zk_exists(&zookeeper->session, "leader", true, election_on_seen, zookeeper);
}

void election_begin(struct zookeeper *zookeeper)
{
    election_try(zookeeper);
}

void election_again(struct zookeeper *zookeeper)
{
    if (zookeeper->election.state == ELECTION_WON) {
        zk_exists(&zookeeper->session, "leader", true, election_on_still, zookeeper);
    } else if (!zookeeper->election.busy) {
        election_delay(zookeeper, (int64_t) (random_u64() % ELECTION_SPREAD_MS));
    }
}

void election_expired(struct zookeeper *zookeeper)
{
    uv_timer_stop(&zookeeper->election.delay);
    zookeeper->election.state = ELECTION_OUT;
    zookeeper->election.busy = false;
}
