/* test_states.c - which state of a connection, a node or its replicas, of a queue of requests or of
 * a channel may follow which. */
#include "redis/states.h"
#include "support/group.h"

/* A row is the state before, a column the state after; 'x': it may follow. */

static void connections_end_from_every_state(void **state)
{
    static const char *const rows[CONNECTION_STATES] = {
        [CONNECTION_RESOLVING] = ".x....x", [CONNECTION_CONNECTING] = "..xxx.x",
        [CONNECTION_SWITCHING] = ".x....x", [CONNECTION_SECURING] = "....x.x",
        [CONNECTION_GREETING] = ".....xx",  [CONNECTION_READY] = "......x",
        [CONNECTION_CLOSING] = ".......",
    };

    for (int from = 0; from < CONNECTION_STATES; from++) {
        for (int to = 0; to < CONNECTION_STATES; to++) {
            assert_int_equal(
                states_connection_may((enum connection_state) from, (enum connection_state) to),
                rows[from][to] == 'x');
        }
    }
}

static void nodes_come_up_by_connecting_only(void **state)
{
    static const char *const rows[NODE_STATES] = {
        [NODE_DOWN] = ".x..",
        [NODE_CONNECTING] = "x.xx",
        [NODE_UP] = "x..x",
        [NODE_BAD] = ".x..",
    };

    for (int from = 0; from < NODE_STATES; from++) {
        for (int to = 0; to < NODE_STATES; to++) {
            assert_int_equal(states_node_may((enum node_state) from, (enum node_state) to),
                             rows[from][to] == 'x');
        }
    }
}

static void replicas_are_asked_before_a_write_and_waited_for_after_it(void **state)
{
    static const char *const rows[REPLICAS_STATES] = {
        [REPLICAS_UNKNOWN] = "xx....", [REPLICAS_ASKED] = "x.xx..",   [REPLICAS_FEW] = "xx...x",
        [REPLICAS_OPEN] = "x...x.",    [REPLICAS_WRITTEN] = "x....x", [REPLICAS_WAITING] = "x.xx..",
    };

    for (int from = 0; from < REPLICAS_STATES; from++) {
        for (int to = 0; to < REPLICAS_STATES; to++) {
            assert_int_equal(
                states_replicas_may((enum replicas_state) from, (enum replicas_state) to),
                rows[from][to] == 'x');
        }
    }
}

static void queues_wait_or_are_sent_from_ready_only(void **state)
{
    static const char *const rows[HASH_QUEUE_PLACES] = {
        [HASH_QUEUE_READY] = "xxx.x",    [HASH_QUEUE_STALLED] = "x....",
        [HASH_QUEUE_UNROUTED] = "x....", [HASH_QUEUE_PAUSED] = "x....",
        [HASH_QUEUE_SENT] = "x..x.",
    };

    for (int from = 0; from < HASH_QUEUE_PLACES; from++) {
        for (int to = 0; to < HASH_QUEUE_PLACES; to++) {
            assert_int_equal(
                states_hash_queue_may((enum hash_queue_place) from, (enum hash_queue_place) to),
                rows[from][to] == 'x');
        }
    }
}

static void channels_are_confirmed_only_after_they_were_asked_for(void **state)
{
    static const char *const rows[CHANNEL_STATES] = {
        [CHANNEL_IDLE] = "xx.x",
        [CHANNEL_ASKED] = "x.xx",
        [CHANNEL_ON] = "x.xx",
        [CHANNEL_GONE] = "....",
    };

    for (int from = 0; from < CHANNEL_STATES; from++) {
        for (int to = 0; to < CHANNEL_STATES; to++) {
            assert_int_equal(states_channel_may((enum channel_state) from, (enum channel_state) to),
                             rows[from][to] == 'x');
        }
    }
}

TEST_GROUP(states)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_end_from_every_state),
        cmocka_unit_test(nodes_come_up_by_connecting_only),
        cmocka_unit_test(replicas_are_asked_before_a_write_and_waited_for_after_it),
        cmocka_unit_test(queues_wait_or_are_sent_from_ready_only),
        cmocka_unit_test(channels_are_confirmed_only_after_they_were_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
