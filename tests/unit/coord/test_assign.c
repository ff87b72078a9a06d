/* test_assign.c - who shall own which slot: properties over tables and random fleets.
 *
 * Random cases print their seed; SLOTMQ_SEED=N repeats one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "coord/assigner/assign.h"
#include "coord/node/assignment.h"
#include "model/topic.h"
#include "support/group.h"

enum { MEMBERS_MAX = 64, TOPICS_MAX = 128 };

static uint64_t seed;

/* splitmix64: the same numbers everywhere for one seed. */
static uint64_t draw(uint64_t below)
{
    uint64_t z = (seed += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static void seed_choose(void)
{
    const char *text = getenv("SLOTMQ_SEED");

    seed = text != NULL ? strtoull(text, NULL, 10) : random_u64() % 1000000000;
    print_message("SLOTMQ_SEED=%llu\n", (unsigned long long) seed);
}

/* Members that are known, and what they hold of some topics.  Entry 0 of an assignment's numbering
 * is nobody, so member i has number i + 1. */
struct fleet {
    size_t count;
    const char *ids[MEMBERS_MAX];
    int32_t weights[MEMBERS_MAX]; /* of every topic */
    int32_t quotas[TOPICS_MAX][MEMBERS_MAX];
    uint16_t *previous[TOPICS_MAX];
    char names[TOPICS_MAX][16];
    struct assign_topic topics[TOPICS_MAX];
    size_t topic_count;
};

static const char *fleet_id(size_t number)
{
    static char ids[1024][32];

    (void) snprintf(ids[number], sizeof(ids[number]), "host-%zu", number);
    return ids[number];
}

static struct fleet *fleet_make(size_t count, size_t topics, int32_t slots)
{
    struct fleet *fleet = memory_new(sizeof(*fleet));

    fleet->count = count;
    fleet->topic_count = topics;
    for (size_t i = 0; i < count; i++) {
        fleet->ids[i] = fleet_id(i);
        fleet->weights[i] = 1;
    }
    for (size_t i = 0; i < topics; i++) {
        (void) snprintf(fleet->names[i], sizeof(fleet->names[i]), "topic-%zu", i);
        fleet->previous[i] = memory_new(sizeof(uint16_t) * (size_t) slots);
        fleet->topics[i] =
            (struct assign_topic){.name = fleet->names[i],
                                  .weights = fleet->weights,
                                  .slots = memory_new(sizeof(uint16_t) * (size_t) slots),
                                  .previous = fleet->previous[i],
                                  .slot_count = slots,
                                  .quotas = fleet->quotas[i]};
    }
    return fleet;
}

static void fleet_drop(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->topic_count; i++) {
        free(fleet->topics[i].slots);
        free(fleet->previous[i]);
    }
    free(fleet);
}

static void fleet_assign(struct fleet *fleet)
{
    assign(fleet->topics, fleet->topic_count, fleet->ids, fleet->count);
}

/* Everything being revoked is given back.  Returns how many that were. */
static int32_t fleet_release(struct fleet *fleet)
{
    int32_t released = 0;

    for (size_t i = 0; i < fleet->topic_count; i++) {
        for (int32_t slot = 0; slot < fleet->topics[i].slot_count; slot++) {
            if ((fleet->topics[i].slots[slot] & ASSIGNMENT_REVOKING) != 0) {
                fleet->topics[i].slots[slot] = 0;
                released++;
            }
        }
    }
    return released;
}

/* Assign, let all owners give back at once, assign again: with one topic that is the end of it;
 * with several, what was moving may be shared out anew, but it comes to rest.  Returns the
 * number of slots taken from an owner. */
static int32_t fleet_settle(struct fleet *fleet)
{
    int32_t moved = 0;
    int32_t released = 1;

    for (int round = 0; released > 0; round++) {
        assert_true(round <= (fleet->topic_count == 1 ? 1 : 4));
        fleet_assign(fleet);
        released = fleet_release(fleet);
        moved += released;
    }
    return moved;
}

/* A member's process ended: its slots are nobody's. */
static void fleet_kill(struct fleet *fleet, size_t member)
{
    for (size_t i = 0; i < fleet->topic_count; i++) {
        for (int32_t slot = 0; slot < fleet->topics[i].slot_count; slot++) {
            if ((fleet->topics[i].slots[slot] & ASSIGNMENT_MEMBER) == member + 1) {
                fleet->topics[i].slots[slot] = 0;
            }
        }
    }
    fleet->weights[member] = 0;
}

static int32_t held(const struct assign_topic *topic, size_t member)
{
    int32_t count = 0;

    for (int32_t slot = 0; slot < topic->slot_count; slot++) {
        count += topic->slots[slot] == member + 1;
    }
    return count;
}

static int64_t weight_of(const struct fleet *fleet)
{
    int64_t sum = 0;

    for (size_t i = 0; i < fleet->count; i++) {
        sum += fleet->weights[i];
    }
    return sum;
}

/* Every slot has an owner that may own, and every owner the floor or the ceil of its share. */
static void assert_even(const struct fleet *fleet)
{
    int64_t sum = weight_of(fleet);

    for (size_t i = 0; i < fleet->topic_count; i++) {
        const struct assign_topic *topic = &fleet->topics[i];
        int32_t total = 0;

        for (size_t member = 0; member < fleet->count; member++) {
            int64_t share = (int64_t) topic->slot_count * fleet->weights[member];
            int32_t count = held(topic, member);

            total += count;
            assert_true(count >= share / sum);
            assert_true(count <= (share + sum - 1) / sum);
        }
        assert_int_equal(total, topic->slot_count);
    }
}

static void everything_is_given_to_the_only_member(void **state)
{
    struct fleet *fleet = fleet_make(1, 1, TOPIC_SLOTS_MAX);

    assert_int_equal(fleet_settle(fleet), 0);
    assert_even(fleet);
    fleet_drop(fleet);
}

static void nobody_left_means_no_owner(void **state)
{
    struct fleet *fleet = fleet_make(2, 1, 8);

    fleet_settle(fleet);
    fleet->weights[0] = 0;
    fleet->weights[1] = 0;
    assert_int_equal(fleet_settle(fleet), 8);
    for (int32_t slot = 0; slot < 8; slot++) {
        assert_int_equal(fleet->topics[0].slots[slot], 0);
    }
    fleet_drop(fleet);
}

static void a_join_moves_only_its_share(void **state)
{
    for (int32_t slots = 1; slots <= 4096; slots *= 4) {
        for (size_t count = 1; count <= 20; count++) {
            struct fleet *fleet = fleet_make(count + 1, 1, slots);

            fleet->weights[count] = 0;
            fleet_settle(fleet);
            assert_even(fleet);
            fleet->weights[count] = 1;
            assert_int_equal(fleet_settle(fleet), slots / (int32_t) (count + 1));
            assert_even(fleet);
            assert_int_equal(held(&fleet->topics[0], count), slots / (int32_t) (count + 1));
            fleet_drop(fleet);
        }
    }
}

/* Gracefully or not: what others hold stays where it is. */
static void a_leave_moves_only_the_slots_of_who_leaves(void **state)
{
    for (int graceful = 0; graceful <= 1; graceful++) {
        for (int32_t slots = 1; slots <= 4096; slots *= 4) {
            for (size_t count = 2; count <= 20; count++) {
                struct fleet *fleet = fleet_make(count, 1, slots);
                size_t leaver = count / 2;
                int32_t of_leaver = 0;

                fleet_settle(fleet);
                of_leaver = held(&fleet->topics[0], leaver);
                if (graceful) {
                    fleet->weights[leaver] = 0;
                    assert_int_equal(fleet_settle(fleet), of_leaver);
                } else {
                    fleet_kill(fleet, leaver);
                    assert_int_equal(fleet_settle(fleet), 0);
                }
                assert_even(fleet);
                fleet_drop(fleet);
            }
        }
    }
}

/* A member that left, or died, and joins again gets slots that it had, and no others. */
static void who_comes_back_gets_its_slots_back(void **state)
{
    for (int32_t slots = 1; slots <= 4096; slots *= 2) {
        for (size_t count = 2; count <= 20; count++) {
            struct fleet *fleet = fleet_make(count, 1, slots);
            size_t member = (size_t) slots % count;
            int32_t kept = 0;

            fleet_settle(fleet);
            for (int32_t slot = 0; slot < slots; slot++) {
                bool its = fleet->topics[0].slots[slot] == member + 1;

                fleet->previous[0][slot] = its ? (uint16_t) (member + 1) : 0;
            }
            fleet_kill(fleet, member);
            fleet_settle(fleet);
            fleet->weights[member] = 1;
            fleet_settle(fleet);
            assert_even(fleet);
            for (int32_t slot = 0; slot < slots; slot++) {
                kept += fleet->topics[0].slots[slot] == member + 1 &&
                        fleet->previous[0][slot] == member + 1;
            }
            assert_int_equal(kept, held(&fleet->topics[0], member));
            fleet_drop(fleet);
        }
    }
}

/* A random state: some slots held, some not, members of weight 0 .. 3, at least one above 0. */
static struct fleet *fleet_draw(size_t members, int32_t slots)
{
    struct fleet *fleet = fleet_make(members, 1, slots);

    for (size_t i = 0; i < members; i++) {
        fleet->weights[i] = (int32_t) draw(4);
    }
    fleet->weights[draw(members)] = 1;
    for (int32_t slot = 0; slot < slots; slot++) {
        fleet->topics[0].slots[slot] = (uint16_t) draw(members + 1);
        fleet->previous[0][slot] = (uint16_t) draw(members + 1);
    }
    return fleet;
}

static bool shares_are_even(const struct fleet *fleet, const int32_t *counts)
{
    int64_t sum = weight_of(fleet);

    for (size_t i = 0; i < fleet->count; i++) {
        int64_t share = (int64_t) fleet->topics[0].slot_count * fleet->weights[i];

        if (counts[i] < share / sum || counts[i] > (share + sum - 1) / sum) {
            return false;
        }
    }
    return true;
}

/* The fewest slots taken from an owner, over all ways to give every slot an owner. */
static int32_t fewest_moves(const struct fleet *fleet)
{
    const struct assign_topic *topic = &fleet->topics[0];
    int32_t best = INT32_MAX;
    uint32_t ways = 1;

    for (int32_t slot = 0; slot < topic->slot_count; slot++) {
        ways *= (uint32_t) fleet->count;
    }
    for (uint32_t way = 0; way < ways; way++) {
        int32_t counts[MEMBERS_MAX] = {0};
        int32_t moves = 0;
        uint32_t rest = way;

        for (int32_t slot = 0; slot < topic->slot_count; slot++) {
            uint32_t owner = rest % (uint32_t) fleet->count;

            rest /= (uint32_t) fleet->count;
            counts[owner]++;
            moves += topic->slots[slot] != 0 && topic->slots[slot] != owner + 1;
        }
        if (moves < best && shares_are_even(fleet, counts)) {
            best = moves;
        }
    }
    return best;
}

static void moves_are_the_fewest_possible(void **state)
{
    for (int i = 0; i < 150; i++) {
        struct fleet *fleet = fleet_draw(1 + draw(4), 1 + (int32_t) draw(8));
        int32_t best = fewest_moves(fleet);

        assert_int_equal(fleet_settle(fleet), best);
        assert_even(fleet);
        fleet_drop(fleet);
    }
}

static void an_even_state_is_left_alone(void **state)
{
    for (int i = 0; i < 500; i++) {
        struct fleet *fleet = fleet_draw(1 + draw(20), 1 + (int32_t) draw(300));
        uint16_t before[300];

        fleet_settle(fleet);
        memcpy(before, fleet->topics[0].slots,
               sizeof(*before) * (size_t) fleet->topics[0].slot_count);
        fleet_assign(fleet);
        assert_memory_equal(before, fleet->topics[0].slots,
                            sizeof(*before) * (size_t) fleet->topics[0].slot_count);
        fleet_drop(fleet);
    }
}

/* The same fleet with its members in another order gives every slot to the same id. */
static void the_order_of_members_is_of_no_account(void **state)
{
    for (int i = 0; i < 500; i++) {
        struct fleet *fleet = fleet_draw(2 + draw(10), 1 + (int32_t) draw(100));
        struct fleet *turned = fleet_make(fleet->count, 1, fleet->topics[0].slot_count);
        size_t shift = 1 + draw(fleet->count - 1);
        uint16_t entries[16] = {0}; /* of the members, where they stand now */

        for (size_t member = 0; member < fleet->count; member++) {
            size_t to = (member + shift) % fleet->count;

            entries[member + 1] = (uint16_t) (to + 1);
            turned->ids[to] = fleet->ids[member];
            turned->weights[to] = fleet->weights[member];
        }
        for (int32_t slot = 0; slot < fleet->topics[0].slot_count; slot++) {
            turned->topics[0].slots[slot] = entries[fleet->topics[0].slots[slot]];
            turned->previous[0][slot] = entries[fleet->previous[0][slot]];
        }
        assert_int_equal(fleet_settle(fleet), fleet_settle(turned));
        for (int32_t slot = 0; slot < fleet->topics[0].slot_count; slot++) {
            assert_string_equal(fleet->ids[fleet->topics[0].slots[slot] - 1],
                                turned->ids[turned->topics[0].slots[slot] - 1]);
        }
        fleet_drop(fleet);
        fleet_drop(turned);
    }
}

/* With any part of the revoked slots given back, nothing is granted over its owner's head. */
static void assert_no_owner_is_passed_over(const struct assign_topic *topic, const uint16_t *before)
{
    for (int32_t slot = 0; slot < topic->slot_count; slot++) {
        uint16_t now = topic->slots[slot];

        if (before[slot] == 0) {
            assert_int_equal(now & ASSIGNMENT_REVOKING, 0);
        } else if ((before[slot] & ASSIGNMENT_REVOKING) != 0) {
            assert_int_equal(now, before[slot]);
        } else {
            assert_int_equal(now & ASSIGNMENT_MEMBER, before[slot]);
        }
    }
}

static void a_thousand_joins_and_leaves(void **state)
{
    struct fleet *fleet = fleet_make(32, 1, 256);
    uint16_t before[256];

    for (size_t i = 1; i < fleet->count; i++) {
        fleet->weights[i] = 0;
    }
    for (int step = 0; step < 1000; step++) {
        struct assign_topic *topic = &fleet->topics[0];
        size_t member = draw(fleet->count);

        if (draw(4) == 0) {
            fleet_kill(fleet, member);
        } else {
            fleet->weights[member] = (int32_t) draw(4);
        }
        for (int32_t slot = 0; slot < topic->slot_count; slot++) {
            if ((topic->slots[slot] & ASSIGNMENT_REVOKING) != 0 && draw(2) == 0) {
                topic->slots[slot] = 0;
            }
        }
        memcpy(before, topic->slots, sizeof(before));
        fleet_assign(fleet);
        assert_no_owner_is_passed_over(topic, before);
        if (draw(8) == 0 && weight_of(fleet) > 0) {
            fleet_release(fleet);
            fleet_settle(fleet);
            assert_even(fleet);
        }
    }
    fleet_drop(fleet);
}

static int64_t total_of(const struct fleet *fleet, size_t member)
{
    int64_t sum = 0;

    for (size_t i = 0; i < fleet->topic_count; i++) {
        sum += held(&fleet->topics[i], member);
    }
    return sum;
}

/* Over all topics the members differ by one slot at most, in every step of a growing fleet. */
static void small_topics_are_even_together(void **state)
{
    static const int32_t sizes[] = {1, 2, 4, 16};

    for (size_t size = 0; size < sizeof(sizes) / sizeof(sizes[0]); size++) {
        struct fleet *fleet = fleet_make(50, 100, sizes[size]);

        for (size_t i = 1; i < fleet->count; i++) {
            fleet->weights[i] = 0;
        }
        for (size_t count = 1; count <= fleet->count; count++) {
            int64_t least = INT64_MAX;
            int64_t most = 0;

            fleet->weights[count - 1] = 1;
            fleet_settle(fleet);
            assert_even(fleet);
            for (size_t i = 0; i < count; i++) {
                int64_t total = total_of(fleet, i);

                least = total < least ? total : least;
                most = total > most ? total : most;
            }
            assert_true(most - least <= 1);
        }
        fleet_drop(fleet);
    }
}

static int choose_seed(void **state)
{
    seed_choose();
    return 0;
}

TEST_GROUP(assign)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_given_to_the_only_member),
        cmocka_unit_test(nobody_left_means_no_owner),
        cmocka_unit_test(a_join_moves_only_its_share),
        cmocka_unit_test(a_leave_moves_only_the_slots_of_who_leaves),
        cmocka_unit_test(who_comes_back_gets_its_slots_back),
        cmocka_unit_test_setup(moves_are_the_fewest_possible, choose_seed),
        cmocka_unit_test_setup(an_even_state_is_left_alone, choose_seed),
        cmocka_unit_test_setup(the_order_of_members_is_of_no_account, choose_seed),
        cmocka_unit_test_setup(a_thousand_joins_and_leaves, choose_seed),
        cmocka_unit_test(small_topics_are_even_together),
    };

    return cmocka_run_group_tests_name("assign", tests, NULL, NULL);
}
