/* test_assigner_decide.c - from what an assigner has read to what it writes, and when it looks
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coord/assigner/assigner.h"
#include "support/group.h"

enum {
    SLOTS = 8,
    MEMBERS_MAX = 64,
    JOIN_MS = 150,
    JOIN_MAX_MS = 20 * JOIN_MS,
    COLD_MS = 3000,
    QUIET_MS = 500
};
enum { DRAIN_MS = 1000, EXTRA_MS = 100, MISSED_MS = 5000, HOLD_MS = 5000 };

/* One topic with SLOTS slots, and members "0", "1", ... with the incarnations 1, 2, ... */
struct stage {
    struct zookeeper_env env;
    struct session session;
    struct assigner assigner;
    struct assigner_topic topic;
    size_t not_released;
};

static void on_not_released(void *user, size_t slots)
{
    struct stage *stage = user;

    stage->not_released += slots;
}

static int64_t session_time(const struct session *session)
{
    return session->options.timeout_ms;
}

static int set_up(void **state)
{
    static const struct session_kind kind = {.timeout = session_time};
    struct stage *stage = memory_new(sizeof(*stage));
    struct assigner_topic *topic = &stage->topic;

    stage->env.timings = (struct zookeeper_timings){.join = JOIN_MS,
                                                    .cold = COLD_MS,
                                                    .quiet = QUIET_MS,
                                                    .idle = 1,
                                                    .revoke_extra = EXTRA_MS,
                                                    .missed = MISSED_MS,
                                                    .hold = HOLD_MS,
                                                    .hold_most = HOLD_MS,
                                                    .forget = 1};
    stage->session.kind = &kind;
    stage->session.options.timeout_ms = 60000;
    stage->assigner.env = &stage->env;
    stage->assigner.ports = (struct assigner_ports){
        .session = &stage->session, .not_released = on_not_released, .user = stage};
    stage->assigner.members = memory_new(MEMBERS_MAX * sizeof(*stage->assigner.members));
    LIST_INIT(&stage->assigner.topics);
    LIST_INSERT_HEAD(&stage->assigner.topics, topic, link);
    topic->name = memory_string("orders");
    (void) snprintf(topic->nonce, sizeof(topic->nonce), "n1");
    topic->slots = SLOTS;
    topic->listed = topic->read = true;
    topic->revocations = memory_new(SLOTS * sizeof(*topic->revocations));
    topic->previous = memory_new(SLOTS * sizeof(*topic->previous));
    *state = stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    for (size_t i = 0; i < stage->assigner.member_count; i++) {
        free(stage->assigner.members[i].id);
        member_info_fini(&stage->assigner.members[i].info);
    }
    free(stage->assigner.members);
    assignment_fini(&stage->topic.old);
    assignment_fini(&stage->topic.next);
    free(stage->topic.revocations);
    free(stage->topic.previous);
    free(stage->topic.reachability);
    free(stage->topic.name);
    free(stage);
    return 0;
}

/* One more member that asks for the topic. */
static void join(struct stage *stage)
{
    size_t number = stage->assigner.member_count++;
    struct assigner_member *member = &stage->assigner.members[number];
    struct member_topic *line = memory_new(sizeof(*line));
    char id[16];

    assert_in_range(number, 0, MEMBERS_MAX - 1);
    (void) snprintf(id, sizeof(id), "%zu", number);
    *line = (struct member_topic){
        .name = "orders", .nonce = "n1", .weight = 1, .drain_timeout_ms = DRAIN_MS};
    *member = (struct assigner_member){.id = memory_string(id),
                                       .incarnation = (int64_t) number + 1,
                                       .info = {.topics = line, .topic_count = 1}};
}

/* How many members the next assignment names. */
static size_t decide(struct stage *stage, int64_t now_ms)
{
    assignment_fini(&stage->topic.next);
    stage->topic.write = false;
    stage->assigner.wake_at = 0;
    assigner_decide(&stage->assigner, now_ms);
    return stage->topic.next.member_count;
}

/* What was decided is now what is read. */
static void take(struct stage *stage)
{
    assignment_fini(&stage->topic.old);
    stage->topic.old = stage->topic.next;
    stage->topic.next = (struct assignment){0};
    stage->topic.mzxid++;
}

/* Member 0 owns everything; the time. */
static int64_t start_one(struct stage *stage)
{
    join(stage);
    (void) decide(stage, 1000);
    assert_int_equal(decide(stage, 1000 + COLD_MS), 1);
    take(stage);
    (void) decide(stage, 1000 + COLD_MS);
    return 1000 + COLD_MS;
}

/* --- another reign of the store --- */

enum { REIGN = 1000, NOBODY = -1 };

/* What the tree says of a slot, and what members say: by their indexes. */
struct adopted {
    int entry;
    int owns, owns_too, holds;
    int expected;
    bool revoking;
    bool older; /* the token of the one that came last */
};

static void state_slot(struct stage *stage, int member, int32_t slot, bool held, uint64_t epoch)
{
    if (member != NOBODY) {
        struct member_topic *line = &stage->assigner.members[member].info.topics[0];

        line->stated = REIGN;
        member_slots_add_token(held ? &line->held : &line->owned, slot,
                               (struct token){.epoch = epoch});
    }
}

/* Three members, the third of which came after what the tree still knows. */
static void begin_reign(struct stage *stage, const struct adopted *cases, size_t count)
{
    struct assignment *old = &stage->topic.old;

    for (int i = 0; i < 3; i++) {
        join(stage);
    }
    stage->session.reign = stage->assigner.reign = REIGN;
    stage->topic.mzxid = REIGN - 1;
    old->slot_count = SLOTS;
    old->slots = memory_new(SLOTS * sizeof(*old->slots));
    old->members = memory_new(2 * sizeof(*old->members));
    for (old->member_count = 0; old->member_count < 2; old->member_count++) {
        old->members[old->member_count] = (struct assignment_member){
            .incarnation = (int64_t) old->member_count + 1, .weight = 1, .id = memory_string("m")};
    }
    for (size_t i = 0; i < count; i++) {
        old->slots[i] =
            (uint16_t) ((cases[i].entry + 1) | (cases[i].revoking ? ASSIGNMENT_REVOKING : 0));
        state_slot(stage, cases[i].owns, (int32_t) i, false, 2);
        state_slot(stage, cases[i].owns_too, (int32_t) i, false, cases[i].older ? 1 : 3);
        state_slot(stage, cases[i].holds, (int32_t) i, true, cases[i].older ? 1 : 3);
    }
}

static void what_members_own_counts_in_another_reign(void **state)
{
    static const struct adopted cases[] = {
        {0, 0, NOBODY, NOBODY, 0, false, false},
        {0, 2, NOBODY, NOBODY, 2, false, false}, /* a grant that was lost */
        {0, NOBODY, NOBODY, NOBODY, 0, false, false},
        {NOBODY, 1, NOBODY, NOBODY, 1, false, false},
        {0, 0, 2, NOBODY, 2, false, false}, /* the first was passed over, and does not know it */
        {1, NOBODY, NOBODY, NOBODY, 1, true, false},
        {0, NOBODY, NOBODY, 1, 1, true, false},
        {1, 0, 2, NOBODY, 0, false, true}, /* it was away when the slot was taken over */
    };
    const size_t count = sizeof(cases) / sizeof(cases[0]);
    struct stage *stage = *state;
    const struct assignment *old = &stage->topic.old;

    begin_reign(stage, cases, count);
    assigner_adopt(&stage->assigner);
    assert_true(stage->topic.write && stage->topic.read);
    assert_int_equal(stage->topic.mzxid, REIGN); /* earlier acknowledgements do not count */
    for (size_t i = 0; i < count; i++) {
        const uint16_t entry = old->slots[i];

        assert_int_equal(old->members[(entry & ASSIGNMENT_MEMBER) - 1].incarnation,
                         cases[i].expected + 1);
        assert_int_equal((entry & ASSIGNMENT_REVOKING) != 0, cases[i].revoking);
    }
}

/* A member that came after the store had lost the topic made its nodes again, without owners. */
static void what_members_own_counts_when_nobody_knows_of_it(void **state)
{
    struct stage *stage = *state;

    begin_reign(stage, NULL, 0);
    assignment_fini(&stage->topic.old);
    stage->topic.mzxid = REIGN + 1;
    stage->topic.write = false;
    assigner_adopt(&stage->assigner);
    assert_false(stage->topic.write);
    state_slot(stage, 1, 0, false, 1);
    assigner_adopt(&stage->assigner);
    assert_true(stage->topic.write);
    assert_int_equal(stage->topic.old.members[stage->topic.old.slots[0] - 1].incarnation, 2);
}

/* While members may be missing only a topic that never had an owner is decided. */
static void nothing_is_decided_while_members_may_be_missing(void **state)
{
    struct stage *stage = *state;

    begin_reign(stage, NULL, 0);
    stage->assigner.unsettled = true; /* also if the grace ends while it reads */
    assigner_adopt(&stage->assigner);
    assert_false(stage->topic.read || stage->topic.write);
    assert_int_equal(stage->topic.mzxid, REIGN - 1);
    stage->topic.read = stage->topic.fresh = true;
    stage->topic.mzxid = REIGN + 1;
    assigner_adopt(&stage->assigner);
    assert_true(stage->topic.read);
    assert_false(stage->topic.write);
}

static void a_join_waits_for_others(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_one(stage);

    join(stage);
    assert_int_equal(decide(stage, now), 1);
    assert_int_equal(stage->assigner.wake_at, now + JOIN_MS);
    join(stage);
    assert_int_equal(decide(stage, now + 100), 1);
    assert_int_equal(stage->assigner.wake_at, now + 100 + JOIN_MS);
    assert_int_equal(decide(stage, now + 100 + JOIN_MS), 3);
}

/* Members that keep coming do not put the first of them off for ever. */
static void a_join_does_not_wait_for_ever(void **state)
{
    struct stage *stage = *state;
    int64_t began = start_one(stage);

    for (int64_t now = began; now < began + JOIN_MAX_MS; now += JOIN_MS / 2) {
        join(stage);
        assert_int_equal(decide(stage, now), 1);
        assert_in_range(stage->assigner.wake_at, now + 1, began + JOIN_MAX_MS);
    }
    join(stage);
    assert_int_equal(decide(stage, began + JOIN_MAX_MS), stage->assigner.member_count);
}

/* A member that joins just after others got their shares does not get its own at once: in a large
 * fleet that starts slowly each round would find one more. */
static void the_next_join_waits_for_others_too(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_one(stage);

    for (size_t members = 1; members < 4; members++) {
        join(stage);
        assert_int_equal(decide(stage, now), members);
        assert_int_equal(stage->assigner.wake_at, now + JOIN_MS);
        now += JOIN_MS;
        assert_int_equal(decide(stage, now), members + 1);
        take(stage);
    }
}

/* A new process under the name of a dead one takes its place, and waits for nobody. */
static void a_restarted_member_takes_its_place(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_one(stage);

    stage->assigner.members[0].incarnation = 9;
    assert_int_equal(decide(stage, now), 1);
    assert_true(stage->topic.write);
    assert_int_equal(stage->topic.next.members[0].incarnation, 9);
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        assert_int_equal(stage->topic.next.slots[slot], 1);
    }
}

/* A fleet that lost all data of ZooKeeper learns of it after one and a half time-outs of its
 * session, and is to own its slots again before two have ended. */
static void a_cold_fleet_waits_for_a_part_of_the_session_at_most(void **state)
{
    static const struct {
        int64_t session_ms, wait_ms;
    } cases[] = {{600, 180},    {2000, 600},      {4000, 1200},        {8000, 2400},
                 {9999, 2999},  {10000, COLD_MS}, {10001, COLD_MS},    {12000, COLD_MS},
                 {30000, 3000}, {600000, 3000},   {INT32_MAX, COLD_MS}};
    struct stage *stage = *state;

    stage->env.timings.quiet = INT32_MAX; /* as if more members came all the time */
    join(stage);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        stage->topic.cold_until = stage->topic.cold_most = 0;
        stage->assigner.arrivals = (struct assigner_arrivals){0};
        stage->session.options.timeout_ms = cases[i].session_ms;
        assert_int_equal(decide(stage, 1000), 0);
        assert_int_equal(stage->assigner.wake_at, 1000 + cases[i].wait_ms);
        assert_int_equal(decide(stage, 1000 + cases[i].wait_ms), 1);
        assert_true(3 * cases[i].session_ms / 2 + cases[i].wait_ms < 2 * cases[i].session_ms);
    }
}

/* Also while more members keep coming. */
static void joins_do_not_put_off_a_cold_fleet(void **state)
{
    const int64_t began = 1000, session_ms = 4000, wait_ms = 1200;
    struct stage *stage = *state;

    stage->session.options.timeout_ms = session_ms;
    for (int64_t now = began; now < began + wait_ms; now += JOIN_MS / 2) {
        join(stage);
        assert_int_equal(decide(stage, now), 0);
    }
    join(stage);
    assert_int_equal(decide(stage, began + wait_ms), stage->assigner.member_count);
    take(stage);
    join(stage);
    assert_int_equal(decide(stage, began + wait_ms), stage->assigner.member_count - 1);
    assert_int_equal(stage->assigner.wake_at, began + wait_ms + JOIN_MS);
}

/* A start of one process does not wait as long as that of a fleet. */
static void a_cold_fleet_waits_until_nobody_comes(void **state)
{
    struct stage *stage = *state;

    join(stage);
    assert_int_equal(decide(stage, 1000), 0);
    assert_int_equal(stage->assigner.wake_at, 1000 + QUIET_MS);
    join(stage);
    assert_int_equal(decide(stage, 1400), 0);
    assert_int_equal(decide(stage, 1000 + QUIET_MS), 0);
    assert_int_equal(stage->assigner.wake_at, 1400 + QUIET_MS);
    assert_int_equal(decide(stage, 1400 + QUIET_MS), 2);
}

/* All slots of member 0 are free, because it left; the time. */
static int64_t leave_one(struct stage *stage)
{
    struct member_info *info = &stage->assigner.members[0].info;
    int64_t now = start_one(stage);

    free(info->topics);
    *info = (struct member_info){0};
    (void) decide(stage, now);
    assert_true(stage->topic.write);
    take(stage);
    return now;
}

static void the_last_member_of_a_topic_gets_it_back_at_once(void **state)
{
    struct stage *stage = *state;
    int64_t now = leave_one(stage);

    stage->assigner.arrivals = (struct assigner_arrivals){0}; /* a new assigner */
    stage->assigner.member_count = 0;
    free(stage->assigner.members[0].id);
    join(stage);
    stage->assigner.members[0].incarnation = 7;
    assert_int_equal(decide(stage, now + 100), 1);
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        assert_int_equal(stage->topic.next.slots[slot], 1);
    }
}

static void a_member_that_comes_alone_waits_for_nobody(void **state)
{
    struct stage *stage = *state;
    int64_t now = leave_one(stage);

    join(stage); /* under another name, and long after the last one came */
    assert_int_equal(decide(stage, now + COLD_MS), 1);
    assert_string_equal(stage->topic.next.members[0].id, "1");
    assignment_fini(&stage->topic.next);
    join(stage); /* and so does a third one: they do not come alone */
    stage->topic.cold_until = stage->topic.cold_most = 0;
    (void) decide(stage, now + COLD_MS + 1);
    assert_true(stage->topic.cold_until > now + COLD_MS + 1);
}

/* Half of the slots of member 0 are being revoked for a second member; the time since then. */
static int64_t start_revoking(struct stage *stage)
{
    int64_t now = start_one(stage);

    join(stage);
    (void) decide(stage, now);
    now += JOIN_MS;
    assert_int_equal(decide(stage, now), 2);
    take(stage);
    return now;
}

/* How many slots the next assignment grants to member 1, in any case. */
static int count_granted(const struct stage *stage)
{
    int count = 0;

    for (int32_t slot = 0; slot < SLOTS; slot++) {
        count += stage->topic.next.slots[slot] == 2;
    }
    return count;
}

static void a_slot_that_is_not_released_in_time_is_counted_once(void **state)
{
    struct stage *stage = *state;
    int64_t until = start_revoking(stage) + DRAIN_MS + EXTRA_MS;

    (void) decide(stage, until - DRAIN_MS - EXTRA_MS);
    assert_int_equal(stage->assigner.wake_at, until);
    (void) decide(stage, until - 1);
    assert_int_equal(count_granted(stage), 0);
    assert_int_equal(stage->not_released, 0);
    (void) decide(stage, until);
    assert_int_equal(count_granted(stage), SLOTS / 2);
    assert_int_equal(stage->not_released, SLOTS / 2);
    (void) decide(stage, until + 1); /* the write failed */
    assert_int_equal(count_granted(stage), SLOTS / 2);
    assert_int_equal(stage->not_released, SLOTS / 2);
    take(stage);
    (void) decide(stage, until + 2);
    assert_false(stage->topic.write);
    assert_int_equal(stage->not_released, SLOTS / 2);
}

/* A later revocation of the same slots has its own time, and counts again. */
static void each_revocation_has_its_own_time(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_revoking(stage) + DRAIN_MS + EXTRA_MS;

    (void) decide(stage, now - DRAIN_MS - EXTRA_MS);
    (void) decide(stage, now);
    take(stage);
    (void) decide(stage, now);
    stage->assigner.members[1].info.topics[0].leaving = true; /* all slots return to member 0 */
    (void) decide(stage, now);
    take(stage);
    now += DRAIN_MS;
    (void) decide(stage, now);
    assert_int_equal(stage->assigner.wake_at, now + DRAIN_MS + EXTRA_MS);
    assert_int_equal(stage->not_released, SLOTS / 2);
    (void) decide(stage, now + DRAIN_MS + EXTRA_MS);
    assert_int_equal(stage->not_released, SLOTS);
}

static void a_slot_that_is_released_in_time_is_not_counted(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_revoking(stage);

    (void) decide(stage, now);
    stage->assigner.members[0].info.topics[0].applied = stage->topic.mzxid;
    (void) decide(stage, now + 1);
    assert_int_equal(count_granted(stage), SLOTS / 2);
    (void) decide(stage, now + DRAIN_MS + EXTRA_MS);
    assert_int_equal(stage->not_released, 0);
}

static void note_event(const smq_event *event, void *user)
{
    char *text = user;

    assert_int_equal(text[0], '\0');
    (void) snprintf(text, 1024, "%s %d %s: %s", event->id, event->slot, event->topic, event->text);
}

/* What is not released is one line, with the member, the slots and what to do. */
static void a_member_that_does_not_release_is_named(void **state)
{
    struct stage *stage = *state;
    char text[1024] = "";
    struct loop *call = NULL;
    struct events *events = NULL;
    int64_t now = start_revoking(stage);

    assert_int_equal(loop_new(&call, "smq:call", NULL), SMQ_OK);
    stage->env.events = events = events_new(call, note_event, SMQ_LEVEL_WARN, text);
    (void) snprintf(stage->assigner.members[0].info.host, MEMBER_WORD_MAX, "host-a");
    (void) decide(stage, now);
    (void) decide(stage, now + DRAIN_MS + EXTRA_MS);
    (void) decide(stage, now + DRAIN_MS + EXTRA_MS + 1);
    loop_free(call);
    events_free(events);
    assert_string_equal(
        text,
        "not_released 4 orders: topic orders: member 0 at host host-a did not release 4 slots "
        "(4-7) within its drain_timeout of 1000 ms and 100 ms more; they are granted to other "
        "members, and its late calls are fenced: see what its handlers wait for, restart it if it "
        "hangs, or give it a longer drain_timeout");
}

/* --- members that no Redis node answers --- */

static struct member_info *info(struct stage *stage, size_t member)
{
    return &stage->assigner.members[member].info;
}

/* The slots that the next assignment grants to the member, as "0123"; then those that it revokes
 * from it, as "0123-45". */
static const char *granted(const struct stage *stage, size_t member)
{
    static char text[2 * SLOTS + 2];
    const struct assignment *next = &stage->topic.next;
    uint16_t me = assignment_find(next, (int64_t) member + 1);
    char revoking[SLOTS + 1] = "";
    size_t len = 0, count = 0;

    for (int32_t slot = 0; me != 0 && slot < SLOTS; slot++) {
        if (next->slots[slot] == me) {
            text[len++] = (char) ('0' + slot);
        } else if (next->slots[slot] == (me | ASSIGNMENT_REVOKING)) {
            revoking[count++] = (char) ('0' + slot);
        }
    }
    (void) snprintf(text + len, sizeof(text) - len, "%s%s", count > 0 ? "-" : "", revoking);
    return text;
}

/* Decide, as if it were written and each member acknowledged it at once, until nothing changes. */
static void settle(struct stage *stage, int64_t now_ms)
{
    do {
        take(stage);
        for (size_t i = 0; i < stage->assigner.member_count; i++) {
            info(stage, i)->topics[0].applied = stage->topic.mzxid;
        }
        (void) decide(stage, now_ms);
    } while (stage->topic.write);
}

/* Members 0 and 1, each with a half of the slots; the time. */
static int64_t start_two(struct stage *stage)
{
    int64_t now = start_one(stage);

    join(stage);
    (void) decide(stage, now);
    (void) decide(stage, now + JOIN_MS);
    settle(stage, now + JOIN_MS);
    assert_string_equal(granted(stage, 0), "0123");
    assert_string_equal(granted(stage, 1), "4567");
    return now + JOIN_MS;
}

static void slots_of_a_member_without_redis_move_to_others(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_two(stage);

    member_info_set_reachable(info(stage, 0), false);
    (void) decide(stage, now);
    assert_false(stage->topic.write);
    assert_int_equal(stage->assigner.wake_at, now + MISSED_MS);
    (void) decide(stage, now + MISSED_MS);
    assert_true(stage->topic.write);
    assert_string_equal(granted(stage, 0), "-0123");
    assert_string_equal(granted(stage, 1), "4567");
    settle(stage, now + MISSED_MS);
    assert_string_equal(granted(stage, 0), "");
    assert_string_equal(granted(stage, 1), "01234567");
}

/* Those that it had, after the hold. */
static void it_gets_its_slots_back(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_two(stage);

    member_info_set_reachable(info(stage, 0), false);
    (void) decide(stage, now);
    now += MISSED_MS;
    (void) decide(stage, now);
    settle(stage, now);
    member_info_set_reachable(info(stage, 0), true);
    (void) decide(stage, now);
    assert_false(stage->topic.write);
    assert_int_equal(stage->assigner.wake_at, now + HOLD_MS);
    now += HOLD_MS;
    (void) decide(stage, now);
    now += JOIN_MS;
    (void) decide(stage, now);
    assert_string_equal(granted(stage, 1), "4567-0123");
    settle(stage, now);
    assert_string_equal(granted(stage, 0), "0123");
    assert_string_equal(granted(stage, 1), "4567");
}

static void nothing_moves_while_no_member_reaches_redis(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_two(stage);

    member_info_set_reachable(info(stage, 0), false);
    (void) decide(stage, now);
    member_info_set_reachable(info(stage, 1), false);
    for (int i = 1; i < 10; i++) {
        (void) decide(stage, now + (int64_t) i * MISSED_MS);
        assert_false(stage->topic.write);
    }
    member_info_set_reachable(info(stage, 1), true); /* a moment before the other */
    (void) decide(stage, now + (int64_t) 10 * MISSED_MS);
    assert_false(stage->topic.write);
    member_info_set_reachable(info(stage, 0), true);
    (void) decide(stage, now + (int64_t) 11 * MISSED_MS);
    assert_false(stage->topic.write);
}

/* Also one that was without Redis until its slots had moved: it waits for nobody. */
static void the_only_member_that_reaches_redis_gets_all(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_two(stage);

    member_info_set_reachable(info(stage, 0), false);
    (void) decide(stage, now);
    now += MISSED_MS;
    (void) decide(stage, now);
    settle(stage, now);
    member_info_set_reachable(info(stage, 1), false);
    (void) decide(stage, now);
    member_info_set_reachable(info(stage, 0), true);
    (void) decide(stage, now);
    settle(stage, now);
    now += MISSED_MS;
    (void) decide(stage, now);
    settle(stage, now);
    assert_string_equal(granted(stage, 0), "01234567");
    assert_string_equal(granted(stage, 1), "");
}

/* A slot whose owner died stays without one until a member can take it over. */
static void slots_of_the_dead_wait_for_a_member_that_reaches_redis(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_two(stage);

    member_info_set_reachable(info(stage, 0), false);
    free(stage->assigner.members[1].id);
    member_info_fini(info(stage, 1));
    stage->assigner.member_count = 1;
    (void) decide(stage, now);
    settle(stage, now + MISSED_MS);
    assert_string_equal(granted(stage, 0), "0123");
    member_info_set_reachable(info(stage, 0), true);
    (void) decide(stage, now + MISSED_MS);
    assert_string_equal(granted(stage, 0), "01234567");
}

/* It has nothing that could move, so it gets nothing first, and no other join waits for it. */
static void a_member_that_joins_without_redis_gets_nothing(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_one(stage);

    join(stage);
    member_info_set_reachable(info(stage, 1), false);
    (void) decide(stage, now);
    (void) decide(stage, now + JOIN_MAX_MS);
    assert_false(stage->topic.write);
    join(stage);
    now += (int64_t) 10 * JOIN_MAX_MS;
    (void) decide(stage, now);
    assert_int_equal(stage->assigner.wake_at, now + JOIN_MS);
    now += JOIN_MS;
    (void) decide(stage, now);
    settle(stage, now);
    assert_string_equal(granted(stage, 1), "");
    assert_string_equal(granted(stage, 2), "4567");
}

/* Its slots move at once. */
static void a_member_without_redis_that_leaves_is_leaving(void **state)
{
    struct stage *stage = *state;
    int64_t now = start_two(stage);

    member_info_set_reachable(info(stage, 0), false);
    info(stage, 0)->topics[0].leaving = true;
    (void) decide(stage, now);
    assert_string_equal(granted(stage, 0), "-0123");
}

/* --- topics that nobody asks for --- */

static void ask_for(struct stage *stage, const char *name)
{
    struct member_topic *line = &stage->assigner.members[0].info.topics[0];

    (void) snprintf(line->name, sizeof(line->name), "%s", name);
}

static void a_topic_is_removed_when_nobody_has_asked_for_it_for_long(void **state)
{
    enum { IDLE_MS = 500 };
    struct stage *stage = *state;
    int64_t now = start_one(stage);

    stage->env.timings.idle = IDLE_MS;
    ask_for(stage, "others");
    (void) decide(stage, now);
    assert_false(stage->topic.remove);
    assert_int_equal(stage->assigner.wake_at, now + IDLE_MS);
    ask_for(stage, "orders");
    (void) decide(stage, now + IDLE_MS - 1);
    ask_for(stage, "others");
    now += IDLE_MS;
    (void) decide(stage, now);
    assert_false(stage->topic.remove);
    (void) decide(stage, now + IDLE_MS - 1);
    assert_false(stage->topic.remove);
    (void) decide(stage, now + IDLE_MS);
    assert_true(stage->topic.remove);
}

/* No member will mend its nodes.  Those that may not be read stay. */
static void so_is_one_whose_nodes_are_damaged(void **state)
{
    static const struct {
        bool read, denied, removed;
        int32_t slots;
    } cases[] = {{.removed = true, .slots = SLOTS},
                 {.read = true, .removed = true},
                 {.read = true, .denied = true, .slots = SLOTS}};
    struct stage *stage = *state;
    int64_t now = start_one(stage);

    ask_for(stage, "others");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        stage->topic.read = cases[i].read;
        stage->topic.denied = cases[i].denied;
        stage->topic.slots = cases[i].slots;
        stage->topic.remove = false;
        (void) decide(stage, now++);
        (void) decide(stage, now++);
        assert_int_equal(stage->topic.remove, cases[i].removed);
    }
    stage->topic.slots = SLOTS;
}

TEST_GROUP(assigner_decide)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STAGED(what_members_own_counts_in_another_reign),
        STAGED(what_members_own_counts_when_nobody_knows_of_it),
        STAGED(nothing_is_decided_while_members_may_be_missing),
        STAGED(a_join_waits_for_others),
        STAGED(a_join_does_not_wait_for_ever),
        STAGED(the_next_join_waits_for_others_too),
        STAGED(a_restarted_member_takes_its_place),
        STAGED(a_cold_fleet_waits_for_a_part_of_the_session_at_most),
        STAGED(joins_do_not_put_off_a_cold_fleet),
        STAGED(a_cold_fleet_waits_until_nobody_comes),
        STAGED(the_last_member_of_a_topic_gets_it_back_at_once),
        STAGED(a_member_that_comes_alone_waits_for_nobody),
        STAGED(a_slot_that_is_not_released_in_time_is_counted_once),
        STAGED(each_revocation_has_its_own_time),
        STAGED(a_slot_that_is_released_in_time_is_not_counted),
        STAGED(a_member_that_does_not_release_is_named),
        STAGED(slots_of_a_member_without_redis_move_to_others),
        STAGED(it_gets_its_slots_back),
        STAGED(nothing_moves_while_no_member_reaches_redis),
        STAGED(the_only_member_that_reaches_redis_gets_all),
        STAGED(slots_of_the_dead_wait_for_a_member_that_reaches_redis),
        STAGED(a_member_that_joins_without_redis_gets_nothing),
        STAGED(a_member_without_redis_that_leaves_is_leaving),
        STAGED(a_topic_is_removed_when_nobody_has_asked_for_it_for_long),
        STAGED(so_is_one_whose_nodes_are_damaged),
    };

    return cmocka_run_group_tests_name("assigner_decide", tests, NULL, NULL);
}
