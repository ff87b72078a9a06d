/* test_states.c - which state of a member, of its election, of its session and of the node of a
 * topic may follow which. */
#include "coord/assigner/election.h"
#include "coord/member/member_state.h"
#include "coord/member/topic_node.h"
#include "coord/tree/tree_session.h"
#include "coord/zk/zk_session.h"
#include "support/group.h"

static void a_member_enters_from_outside_or_after_it_waited(void **state)
{
    static const bool may[MEMBER_STATES][MEMBER_STATES] = {
        [MEMBER_OUT] = {[MEMBER_OUT] = true, [MEMBER_ENTERING] = true, [MEMBER_REFUSED] = true},
        [MEMBER_READY] = {[MEMBER_OUT] = true, [MEMBER_ENTERING] = true, [MEMBER_REFUSED] = true},
        [MEMBER_ENTERING] = {[MEMBER_OUT] = true,
                             [MEMBER_READY] = true,
                             [MEMBER_WAITING] = true,
                             [MEMBER_IN] = true,
                             [MEMBER_REFUSED] = true},
        [MEMBER_WAITING] = {[MEMBER_OUT] = true, [MEMBER_ENTERING] = true, [MEMBER_REFUSED] = true},
        [MEMBER_IN] = {[MEMBER_OUT] = true, [MEMBER_REFUSED] = true},
        [MEMBER_REFUSED] = {[MEMBER_OUT] = false, [MEMBER_REFUSED] = true},
    };

    for (int from = 0; from < MEMBER_STATES; from++) {
        for (int to = 0; to < MEMBER_STATES; to++) {
            assert_int_equal(member_state_may((enum member_state) from, (enum member_state) to),
                             may[from][to]);
        }
    }
}

static void members_beat_at_all_parts_of_their_interval(void **state)
{
    static const struct {
        uint64_t interval_ms, random, phase_ms;
    } rows[] = {{666, 0, 1}, {666, 332, 333},    {666, 665, 666},    {666, 666, 1},
                {1, 0, 1},   {1, UINT64_MAX, 1}, {10, UINT64_MAX, 6}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(member_phase_ms(rows[i].interval_ms, rows[i].random), rows[i].phase_ms);
    }
}

static void an_election_is_won_only_by_trying(void **state)
{
    static const bool may[ELECTION_STATES][ELECTION_STATES] = {
        [ELECTION_OUT] = {[ELECTION_OUT] = true, [ELECTION_TRYING] = true},
        [ELECTION_TRYING] = {[ELECTION_OUT] = true,
                             [ELECTION_TRYING] = true,
                             [ELECTION_WATCHING] = true,
                             [ELECTION_WON] = true},
        [ELECTION_WATCHING] = {[ELECTION_OUT] = true, [ELECTION_TRYING] = true},
        [ELECTION_WON] = {[ELECTION_OUT] = true, [ELECTION_TRYING] = true},
    };

    for (int from = 0; from < ELECTION_STATES; from++) {
        for (int to = 0; to < ELECTION_STATES; to++) {
            assert_int_equal(election_may((enum election_state) from, (enum election_state) to),
                             may[from][to]);
        }
    }
}

static void a_session_connects_only_with_a_handle(void **state)
{
    static const bool may[ZK_SESSION_STATES][ZK_SESSION_STATES] = {
        [ZK_SESSION_NEW] = {[ZK_SESSION_NONE] = true},
        [ZK_SESSION_NONE] =
            {[ZK_SESSION_NEW] = true, [ZK_SESSION_NONE] = true, [ZK_SESSION_CONNECTING] = true},
        [ZK_SESSION_CONNECTING] = {[ZK_SESSION_NONE] = true,
                                   [ZK_SESSION_CONNECTING] = true,
                                   [ZK_SESSION_CONNECTED] = true},
        [ZK_SESSION_CONNECTED] = {[ZK_SESSION_NONE] = true,
                                  [ZK_SESSION_CONNECTING] = true,
                                  [ZK_SESSION_CONNECTED] = true},
    };

    for (int from = 0; from < ZK_SESSION_STATES; from++) {
        for (int to = 0; to < ZK_SESSION_STATES; to++) {
            assert_int_equal(
                zk_session_may((enum zk_session_state) from, (enum zk_session_state) to),
                may[from][to]);
        }
    }
}

static void a_session_with_a_tree_is_away_and_comes_back(void **state)
{
    static const char *const rows[TREE_STATES] = {
        [TREE_NEW] = "..x..",       [TREE_NONE] = "x.x..", [TREE_OPENING] = "xx.x.",
        [TREE_CONNECTED] = "xx..x", [TREE_AWAY] = "xx.x.",
    };

    for (int from = 0; from < TREE_STATES; from++) {
        for (int to = 0; to < TREE_STATES; to++) {
            assert_int_equal(tree_state_may((enum tree_state) from, (enum tree_state) to),
                             rows[from][to] == 'x');
        }
    }
}

/* In the order of enum topic_node_state: UNREAD, READING, CHECKING, CHECKED, MAKING, FOREIGN,
 * ASKING, OURS. */
static void a_node_is_ours_only_after_it_was_read(void **state)
{
    static const char *const rows[TOPIC_NODE_STATES] = {
        [TOPIC_NODE_UNREAD] = "xx..x...",   [TOPIC_NODE_READING] = "x.x.xx.x",
        [TOPIC_NODE_CHECKING] = "x..x....", [TOPIC_NODE_CHECKED] = "x.x.xx.x",
        [TOPIC_NODE_MAKING] = "x.......",   [TOPIC_NODE_FOREIGN] = "x...x.x.",
        [TOPIC_NODE_ASKING] = "x.......",   [TOPIC_NODE_OURS] = "x...x...",
    };

    for (int from = 0; from < TOPIC_NODE_STATES; from++) {
        for (int to = 0; to < TOPIC_NODE_STATES; to++) {
            assert_int_equal(
                topic_node_may((enum topic_node_state) from, (enum topic_node_state) to),
                rows[from][to] == 'x');
        }
    }
}

TEST_GROUP(states)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_enters_from_outside_or_after_it_waited),
        cmocka_unit_test(members_beat_at_all_parts_of_their_interval),
        cmocka_unit_test(an_election_is_won_only_by_trying),
        cmocka_unit_test(a_session_connects_only_with_a_handle),
        cmocka_unit_test(a_session_with_a_tree_is_away_and_comes_back),
        cmocka_unit_test(a_node_is_ours_only_after_it_was_read),
    };

    return cmocka_run_group_tests_name("states", tests, NULL, NULL);
}
