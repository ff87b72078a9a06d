/* election.c - trying to become the assigner, and watching the present one.
 *
 * Thread: smq:coord. */
#include "coord/assigner/election.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/random.h"
#include "base/steps.h"

enum { ELECTION_SPREAD_MS = 200 };

static void election_on_delay(uv_timer_t *timer)
{
    election_begin(timer->data);
}

static void election_delay(struct election *election, int64_t delay_ms)
{
    uv_timer_start(&election->delay, election_on_delay, (uint64_t) delay_ms, 0);
}

/* --- the state --- */

bool election_may(enum election_state from, enum election_state to)
{
    static const unsigned steps[ELECTION_STATES] = {
        [ELECTION_OUT] = STEP(ELECTION_TRYING) | STEP(ELECTION_OUT),
        [ELECTION_TRYING] = STEP(ELECTION_OUT) | STEP(ELECTION_TRYING) | STEP(ELECTION_WATCHING) |
                            STEP(ELECTION_WON),
        [ELECTION_WATCHING] = STEP(ELECTION_TRYING) | STEP(ELECTION_OUT),
        [ELECTION_WON] = STEP(ELECTION_TRYING) | STEP(ELECTION_OUT),
    };

    return steps_allow(steps, from, to);
}

/* The one place where the state changes. */
static void election_enter(struct election *election, enum election_state state)
{
    assert(election_may(election->state, state));
    election->state = state;
}

/* --- the calls --- */

void election_init(struct election *election, const struct zookeeper_env *env,
                   struct session *session, const struct member *member,
                   const struct election_listener *listener)
{
    election->env = env;
    election->session = session;
    election->member = member;
    election->listener = *listener;
    uv_timer_init(loop_uv(env->loop), &election->delay);
    election->delay.data = election;
}

void election_stop(struct election *election)
{
    if (election->delay.data != NULL) {
        uv_close((uv_handle_t *) &election->delay, NULL);
    }
}

static void election_failed(struct election *election)
{
    election->busy = false;
    election_delay(election, election->env->timings.retry);
}

static void election_watch(struct election *election)
{
    election->busy = false;
    election_enter(election, ELECTION_WATCHING);
}

static void election_won(struct election *election, int64_t epoch)
{
    election->busy = false;
    election_enter(election, ELECTION_WON);
    election->listener.won(election->listener.user, epoch);
}

/* This member has created /leader, in an attempt whose reply was lost or in an earlier term: remove
 * it and begin again. */
static void election_on_removed(void *user, const struct session_reply *reply)
{
    (void) reply;
    election_failed(user);
}

static void election_on_assigner(void *user, const struct session_reply *reply)
{
    struct election *election = user;
    struct session_op op = {
        .kind = SESSION_DELETE, .path = "leader", .version = reply->stat.version};

    if (reply->status == SESSION_NO_NODE) {
        election->busy = false;
        election_delay(election, (int64_t) (random_u64() % ELECTION_SPREAD_MS));
    } else if (reply->status == SESSION_DENIED) {
        election_watch(election);
        election_delay(election, election->env->timings.hidden); /* there is no watch */
    } else if (reply->status != SESSION_OK) {
        election_failed(election);
    } else if (reply->stat.owner == session_id(election->session)) {
        session_write(election->session, &op, 1, election_on_removed, election);
    } else {
        election_watch(election);
    }
}

void election_resign(struct election *election)
{
    election->listener.over(election->listener.user);
    election_enter(election, ELECTION_TRYING);
    election_delay(election, (int64_t) (random_u64() % ELECTION_SPREAD_MS));
}

static void election_on_still(void *user, const struct session_reply *reply)
{
    struct election *election = user;
    bool mine = reply->status == SESSION_OK && reply->stat.owner == session_id(election->session);

    if (election->state == ELECTION_WON && !mine &&
        (reply->status == SESSION_OK || reply->status == SESSION_NO_NODE)) {
        election_resign(election);
    }
}

static void election_on_write(void *user, const struct session_reply *reply)
{
    struct election *election = user;

    if (reply->status == SESSION_OK) {
        election_won(election, reply->stats[1].version);
        session_get(election->session, "leader", true, election_on_still, election);
        return;
    }
    session_get(election->session, "leader", true, election_on_assigner, election);
}

/* The node of the epoch was missing, so its version begins at 0 again.  Earlier assigners are still
 * kept out by the versions of the assignments. */
static void election_on_made(void *user, const struct session_reply *reply)
{
    (void) reply;
    election_failed(user);
}

static void election_on_epoch(void *user, const struct session_reply *reply)
{
    struct election *election = user;
    const struct member_info *self = member_self(election->member);
    struct session_op ops[2] = {
        {.kind = SESSION_CREATE_EPHEMERAL, .path = "leader"},
        {.kind = SESSION_SET, .path = "leader_epoch", .version = reply->stat.version}};
    struct buf text = {0};

    if (reply->status == SESSION_NO_NODE) {
        struct session_op op = {.kind = SESSION_CREATE, .path = "leader_epoch", .data = ""};

        session_write(election->session, &op, 1, election_on_made, election);
        return;
    }
    if (reply->status != SESSION_OK) {
        election_failed(election);
        return;
    }
    buf_printf(&text, "member %s\nincarnation %" PRId64 "\nhost %s\npid %" PRId64 "\n",
               election->env->name, member_incarnation(election->member), self->host, self->pid);
    ops[0].data = ops[1].data = text.data;
    ops[0].len = ops[1].len = text.len;
    session_write(election->session, ops, 2, election_on_write, election);
    buf_fini(&text);
}

static void election_on_seen(void *user, const struct session_reply *reply)
{
    struct election *election = user;

    if (reply->status != SESSION_NO_NODE) {
        election_on_assigner(election, reply);
        return;
    }
    session_get(election->session, "leader_epoch", false, election_on_epoch, election);
}

void election_begin(struct election *election)
{
    if (election->busy || election->state == ELECTION_WON || !member_is_in(election->member) ||
        !session_is_connected(election->session)) {
        return;
    }
    uv_timer_stop(&election->delay);
    election->busy = true;
    election_enter(election, ELECTION_TRYING);
    session_get(election->session, "leader", true, election_on_seen, election);
}

void election_again(struct election *election)
{
    if (election->state == ELECTION_WON) {
        session_get(election->session, "leader", true, election_on_still, election);
    } else if (!election->busy) {
        election_delay(election, (int64_t) (random_u64() % ELECTION_SPREAD_MS));
    }
}

void election_expired(struct election *election)
{
    uv_timer_stop(&election->delay);
    election_enter(election, ELECTION_OUT);
    election->busy = false;
}
