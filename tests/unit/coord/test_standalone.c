/* test_standalone.c - one process owns a topic by a lease; the functions that keep the lease are
 * the test's. */
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include "base/event.h"
#include "base/memory.h"
#include "coord/coord.h"
#include "support/group.h"
#include "support/wait.h"

/* A lease of RENEWED_MS is renewed in time on a slow machine, too; one of SHORT_MS is meant to end.
 */
enum {
    RENEWED_MS = 4500,
    SLOTS = 8,
    WAIT_MS = 60000,
    LONG_MS = 600000,
    SHORT_MS = 300,
    DRAIN_MS = 100
};

/* The lease as a server would keep it, and the queue side of one process.
 * Invariant: `lock` guards all but the pointers. */
struct stage {
    pthread_mutex_t lock;
    struct coord *coord;
    struct loop *call;
    struct events *events;
    enum coord_lease_op last_op;
    struct coord_lease_reply reply; /* to every call */
    bool silent;                    /* calls are never answered */
    int acquires, renews, releases;
    struct token tokens[SLOTS];
    bool held[SLOTS];
    int held_count, granted, revoked, lost, left, failed;
    smq_status status; /* of the last failure */
    bool drains;       /* revoked slots are released at once */
};

static void on_lease(void *user, enum coord_lease_op op, const char *topic, const char *owner,
                     uint64_t cookie)
{
    struct stage *stage = user;
    struct coord_lease_reply reply;
    bool silent = false;

    assert_string_equal(topic, "orders");
    assert_int_equal(strncmp(owner, "me-", 3), 0);
    pthread_mutex_lock(&stage->lock);
    stage->acquires += op == COORD_LEASE_ACQUIRE;
    stage->renews += op == COORD_LEASE_RENEW;
    stage->releases += op == COORD_LEASE_RELEASE;
    if (op == COORD_LEASE_ACQUIRE && stage->reply.status == SMQ_OK) {
        stage->reply.token.epoch++;
    }
    reply = stage->reply;
    silent = stage->silent;
    pthread_mutex_unlock(&stage->lock);
    if (!silent) {
        coord_lease_replied(stage->coord, cookie, &reply);
    }
}

static void on_granted(void *user, const char *topic, const struct coord_grant *grants,
                       size_t count)
{
    struct stage *stage = user;

    (void) topic;
    pthread_mutex_lock(&stage->lock);
    for (size_t i = 0; i < count; i++) {
        assert_false(stage->held[grants[i].slot]);
        stage->held[grants[i].slot] = true;
        stage->tokens[grants[i].slot] = grants[i].token;
    }
    stage->held_count += (int) count;
    stage->granted += (int) count;
    pthread_mutex_unlock(&stage->lock);
}

static void drop(struct stage *stage, const int32_t *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_true(stage->held[slots[i]]);
        stage->held[slots[i]] = false;
    }
    stage->held_count -= (int) count;
}

static void on_revoked(void *user, const char *topic, const int32_t *slots, size_t count)
{
    struct stage *stage = user;

    pthread_mutex_lock(&stage->lock);
    stage->revoked += (int) count;
    for (size_t i = 0; stage->drains && i < count; i++) {
        coord_answer(stage->coord, COORD_RELEASED, topic, slots[i], stage->tokens[slots[i]]);
    }
    if (stage->drains) {
        drop(stage, slots, count);
    }
    pthread_mutex_unlock(&stage->lock);
}

static void on_lost(void *user, const char *topic, const int32_t *slots, size_t count)
{
    struct stage *stage = user;

    (void) topic;
    pthread_mutex_lock(&stage->lock);
    drop(stage, slots, count);
    stage->lost += (int) count;
    pthread_mutex_unlock(&stage->lock);
}

static void on_failed(void *user, const char *topic, smq_status status, const char *text)
{
    struct stage *stage = user;

    (void) topic;
    assert_true(strlen(text) > 0);
    pthread_mutex_lock(&stage->lock);
    stage->failed++;
    stage->status = status;
    pthread_mutex_unlock(&stage->lock);
}

static void on_left(void *user, const char *topic)
{
    struct stage *stage = user;

    (void) topic;
    pthread_mutex_lock(&stage->lock);
    stage->left++;
    pthread_mutex_unlock(&stage->lock);
}

/* What every call to the lease is answered from now on. */
static void answer(struct stage *stage, smq_status status, int64_t remaining_ms)
{
    pthread_mutex_lock(&stage->lock);
    stage->reply.status = status;
    stage->reply.remaining_ms = remaining_ms;
    stage->silent = false;
    pthread_mutex_unlock(&stage->lock);
}

static void be_silent(struct stage *stage)
{
    pthread_mutex_lock(&stage->lock);
    stage->silent = true;
    pthread_mutex_unlock(&stage->lock);
}

static int set_up(void **state)
{
    struct stage *stage = memory_new(sizeof(*stage));
    struct coord_options options = {.name = "me",
                                    .listener = {.granted = on_granted,
                                                 .revoked = on_revoked,
                                                 .lost = on_lost,
                                                 .failed = on_failed,
                                                 .left = on_left,
                                                 .user = stage}};

    pthread_mutex_init(&stage->lock, NULL);
    stage->drains = true;
    stage->reply = (struct coord_lease_reply){.token = {.generation = 3, .epoch = 40}};
    assert_int_equal(loop_new(&stage->call, "smq:call", NULL), SMQ_OK);
    stage->events = events_new(stage->call, NULL, SMQ_LEVEL_INFO, NULL);
    options.events = stage->events;
    assert_int_equal(coord_standalone_new(&stage->coord, &options, on_lease, stage, NULL), SMQ_OK);
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    coord_free(stage->coord);
    loop_free(stage->call);
    events_free(stage->events);
    pthread_mutex_destroy(&stage->lock);
    free(stage);
    return 0;
}

static void join_draining(struct stage *stage, int64_t drain_timeout_ms)
{
    coord_join(stage->coord, &(struct coord_topic){.name = "orders",
                                                   .nonce = "n1",
                                                   .generation = 1,
                                                   .slots = SLOTS,
                                                   .weight = 1,
                                                   .drain_timeout_ms = drain_timeout_ms});
}

static void join(struct stage *stage)
{
    join_draining(stage, DRAIN_MS);
}

/* Wait for *number == wanted. */
struct expectation {
    struct stage *stage;
    const int *number;
    int wanted;
};

static bool is_so(void *arg)
{
    const struct expectation *expectation = arg;
    bool so = false;

    pthread_mutex_lock(&expectation->stage->lock);
    so = *expectation->number >= expectation->wanted;
    pthread_mutex_unlock(&expectation->stage->lock);
    return so;
}

static void await(struct stage *stage, const int *number, int wanted)
{
    struct expectation expectation = {.stage = stage, .number = number, .wanted = wanted};

    if (!wait_until(is_so, &expectation, WAIT_MS)) {
        fail_msg("%d granted, %d revoked, %d lost, %d left, %d failed, %d acquires, %d renews, %d "
                 "releases",
                 stage->granted, stage->revoked, stage->lost, stage->left, stage->failed,
                 stage->acquires, stage->renews, stage->releases);
    }
}

static int look(struct stage *stage, const int *number)
{
    int value = 0;

    pthread_mutex_lock(&stage->lock);
    value = *number;
    pthread_mutex_unlock(&stage->lock);
    return value;
}

/* The number of the acquire: the upper half of the epoch. */
static uint64_t acquire_of(struct token token)
{
    return token.epoch >> 32;
}

static void the_lease_gives_every_slot_with_its_token(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_OK, LONG_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    assert_int_equal(look(stage, &stage->acquires), 1);
    for (int slot = 0; slot < SLOTS; slot++) {
        assert_int_equal(stage->tokens[slot].generation, 3);
        assert_int_equal(acquire_of(stage->tokens[slot]), 41);
    }
}

/* Redis may have lost the first acquire, and then counts the second one with the same number. */
static void two_owners_never_share_a_token(void **state)
{
    struct stage *stage = *state;
    void *other_state = NULL;
    struct stage *other;

    set_up(&other_state);
    other = other_state;
    answer(stage, SMQ_OK, LONG_MS);
    answer(other, SMQ_OK, LONG_MS);
    join(stage);
    join(other);
    await(stage, &stage->granted, SLOTS);
    await(other, &other->granted, SLOTS);
    assert_int_equal(stage->reply.token.epoch, other->reply.token.epoch);
    assert_int_not_equal(token_compare(stage->tokens[0], other->tokens[0]), 0);
    tear_down(&other_state);
}

static void the_lease_is_renewed_before_it_ends(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_OK, RENEWED_MS);
    join(stage);
    await(stage, &stage->renews, 2);
    assert_int_equal(look(stage, &stage->acquires), 1);
    assert_int_equal(look(stage, &stage->lost), 0);
    assert_int_equal(look(stage, &stage->granted), SLOTS);
}

static void a_standby_takes_over_when_the_lease_is_free(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_IN_WORK, SHORT_MS);
    join(stage);
    await(stage, &stage->acquires, 2);
    assert_int_equal(look(stage, &stage->granted), 0);
    answer(stage, SMQ_OK, LONG_MS);
    await(stage, &stage->granted, SLOTS);
}

static void a_renewal_that_is_refused_loses_every_slot(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_OK, RENEWED_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    answer(stage, SMQ_IN_WORK, SHORT_MS);
    await(stage, &stage->lost, SLOTS);
    answer(stage, SMQ_OK, LONG_MS);
    await(stage, &stage->granted, 2 * SLOTS);
    assert_int_equal(acquire_of(stage->tokens[0]), 42);
}

static void a_lease_that_nobody_renews_ends_by_our_clock(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_OK, SHORT_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    be_silent(stage);
    await(stage, &stage->lost, SLOTS);
    answer(stage, SMQ_OK, LONG_MS);
    await(stage, &stage->granted, 2 * SLOTS);
}

/* Also when one slot was refused and the lease is being acquired anew. */
static void a_refused_slot_does_not_keep_the_others_past_the_lease(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_OK, SHORT_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    be_silent(stage);
    pthread_mutex_lock(&stage->lock);
    stage->held[3] = false;
    stage->held_count--;
    pthread_mutex_unlock(&stage->lock);
    coord_answer(stage->coord, COORD_REFUSED, "orders", 3, stage->tokens[3]);
    await(stage, &stage->lost, SLOTS - 1);
}

static void refused_slots_come_again_with_a_larger_token(void **state)
{
    struct stage *stage = *state;
    struct token first;

    answer(stage, SMQ_OK, LONG_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    first = stage->tokens[0];
    pthread_mutex_lock(&stage->lock);
    stage->held[0] = false;
    stage->held_count--;
    pthread_mutex_unlock(&stage->lock);
    coord_answer(stage->coord, COORD_REFUSED, "orders", 0, first);
    await(stage, &stage->granted, 2 * SLOTS);
    assert_true(token_compare(stage->tokens[0], first) > 0);
}

static void an_answer_with_an_old_token_is_ignored(void **state)
{
    struct stage *stage = *state;
    struct token old = {.generation = 3, .epoch = 40};

    answer(stage, SMQ_OK, LONG_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    coord_answer(stage->coord, COORD_REFUSED, "orders", 0, old);
    coord_answer(stage->coord, COORD_RELEASED, "orders", 1, old);
    coord_answer(stage->coord, COORD_RELEASED, "orders", SLOTS, stage->tokens[0]);
    coord_answer(stage->coord, COORD_RELEASED, "orders", -1, stage->tokens[0]);
    coord_leave(stage->coord, "orders");
    await(stage, &stage->left, 1);
    assert_int_equal(look(stage, &stage->revoked), SLOTS);
    assert_int_equal(look(stage, &stage->granted), SLOTS);
}

static void a_leave_drains_and_releases(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_OK, LONG_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    coord_leave(stage->coord, "orders");
    await(stage, &stage->left, 1);
    assert_int_equal(look(stage, &stage->revoked), SLOTS);
    assert_int_equal(look(stage, &stage->lost), 0);
    assert_int_equal(look(stage, &stage->releases), 1);
    assert_int_equal(look(stage, &stage->acquires), 1);
}

/* Draining keeps the lease; it never acquires, which would raise the epoch. */
static void a_slow_drain_keeps_the_lease(void **state)
{
    struct stage *stage = *state;

    stage->drains = false;
    answer(stage, SMQ_OK, RENEWED_MS);
    join_draining(stage, LONG_MS);
    await(stage, &stage->granted, SLOTS);
    coord_leave(stage->coord, "orders");
    await(stage, &stage->revoked, SLOTS);
    await(stage, &stage->renews, look(stage, &stage->renews) + 2);
    assert_int_equal(look(stage, &stage->left), 0);
    for (int slot = 0; slot < SLOTS; slot++) {
        pthread_mutex_lock(&stage->lock);
        stage->held[slot] = false;
        stage->held_count--;
        pthread_mutex_unlock(&stage->lock);
        coord_answer(stage->coord, COORD_RELEASED, "orders", slot, stage->tokens[slot]);
    }
    await(stage, &stage->left, 1);
    assert_int_equal(look(stage, &stage->acquires), 1);
    assert_int_equal(look(stage, &stage->lost), 0);
}

static void a_drain_that_hangs_ends_the_leave(void **state)
{
    struct stage *stage = *state;

    stage->drains = false;
    answer(stage, SMQ_OK, LONG_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    coord_leave(stage->coord, "orders");
    await(stage, &stage->left, 1);
    assert_int_equal(look(stage, &stage->lost), SLOTS);
    assert_int_equal(look(stage, &stage->releases), 1);
}

/* A leave whose release is never answered ends, too. */
static void a_silent_server_does_not_hold_a_leave(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_OK, LONG_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    be_silent(stage);
    coord_leave(stage->coord, "orders");
    await(stage, &stage->left, 1);
}

/* The acquire that is out when the leave comes may succeed: it is released. */
static void a_leave_releases_what_is_being_acquired(void **state)
{
    struct stage *stage = *state;

    be_silent(stage);
    join(stage);
    await(stage, &stage->acquires, 1);
    coord_leave(stage->coord, "orders");
    await(stage, &stage->left, 1);
    assert_int_equal(look(stage, &stage->releases), 1);
}

static void a_topic_that_is_gone_fails(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_OK, RENEWED_MS);
    join(stage);
    await(stage, &stage->granted, SLOTS);
    answer(stage, SMQ_NO_TOPIC, 0);
    await(stage, &stage->failed, 1);
    assert_int_equal(stage->status, SMQ_NO_TOPIC);
    assert_int_equal(look(stage, &stage->lost), SLOTS);
    answer(stage, SMQ_OK, LONG_MS); /* it may be joined again */
    join(stage);
    await(stage, &stage->granted, 2 * SLOTS);
}

static void an_unknown_outcome_is_asked_again(void **state)
{
    struct stage *stage = *state;

    answer(stage, SMQ_UNKNOWN, 0);
    join(stage);
    await(stage, &stage->acquires, 2);
    answer(stage, SMQ_OK, LONG_MS);
    await(stage, &stage->granted, SLOTS);
    assert_int_equal(look(stage, &stage->failed), 0);
}

TEST_GROUP(standalone)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STAGED(the_lease_gives_every_slot_with_its_token),
        STAGED(two_owners_never_share_a_token),
        STAGED(the_lease_is_renewed_before_it_ends),
        STAGED(a_standby_takes_over_when_the_lease_is_free),
        STAGED(a_renewal_that_is_refused_loses_every_slot),
        STAGED(a_lease_that_nobody_renews_ends_by_our_clock),
        STAGED(a_refused_slot_does_not_keep_the_others_past_the_lease),
        STAGED(refused_slots_come_again_with_a_larger_token),
        STAGED(an_answer_with_an_old_token_is_ignored),
        STAGED(a_leave_drains_and_releases),
        STAGED(a_slow_drain_keeps_the_lease),
        STAGED(a_drain_that_hangs_ends_the_leave),
        STAGED(a_silent_server_does_not_hold_a_leave),
        STAGED(a_leave_releases_what_is_being_acquired),
        STAGED(a_topic_that_is_gone_fails),
        STAGED(an_unknown_outcome_is_asked_again),
    };

    return cmocka_run_group_tests_name("standalone", tests, NULL, NULL);
}
