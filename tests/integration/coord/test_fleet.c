/* test_fleet.c - members in processes of their own, with a real ZooKeeper: what moves, what stays,
 * and that no member is passed over when others die or pause. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet.h"
#include "raw.h"
#include "support/group.h"
#include "support/servers.h"
#include "support/wait.h"

enum { SESSION_MS = 4000, LONG_SESSION_MS = 30000 };

/* Invariant: `where` is "host:port/root" with a root of its own for each test. */
struct stage {
    struct fleet fleet;
    char root[32];
    char where[128];
};

static int set_up(void **state)
{
    static struct stage stage;
    static int number;

    (void) snprintf(stage.root, sizeof(stage.root), "/fleet-%d", ++number);
    (void) snprintf(stage.where, sizeof(stage.where), "%s%s", servers_zookeeper(fleet_servers),
                    stage.root);
    fleet_init(&stage.fleet, stage.where, SESSION_MS);
    *state = &stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    fleet_fini(&stage->fleet);
    return 0;
}

/* Whatever happened: nobody was passed over, no token went back, and every process ends well. */
static void assert_clean(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->board_count; i++) {
        assert_int_equal(fleet->boards[i].overlaps, 0);
        assert_int_equal(fleet->boards[i].backwards, 0);
    }
    for (size_t i = 0; i < fleet->member_count; i++) {
        assert_int_equal(fleet->members[i].failures, 0);
        if (!fleet->members[i].ended) {
            assert_int_equal(fleet_quit(fleet, (int) i), 0);
        }
    }
}

/* Members 0 .. count - 1 of topic "orders" with 64 slots. */
static void start_all(struct fleet *fleet, int count)
{
    int members[FLEET_MEMBERS + 1];

    for (int i = 0; i < count; i++) {
        char name[32];

        (void) snprintf(name, sizeof(name), "member-%d", i);
        members[i] = fleet_start(fleet, name);
    }
    for (int i = 0; i < count; i++) {
        fleet_join(fleet, members[i], "orders", "n1", 64);
    }
    members[count] = -1;
    assert_true(fleet_wait_even(fleet, "orders", members));
}

static char *node_path(const struct stage *stage, const char *node)
{
    static char path[128];

    (void) snprintf(path, sizeof(path), "%s%s", stage->root, node);
    return path;
}

/* Who is the assigner now? */
static int find_assigner(struct stage *stage)
{
    zhandle_t *handle = raw_connect(servers_zookeeper(fleet_servers), NULL);
    char text[1024];
    int found = -1;

    assert_true(raw_get(handle, node_path(stage, "/leader"), text, sizeof(text), NULL));
    zookeeper_close(handle);
    for (int i = 0; i < (int) stage->fleet.member_count; i++) {
        if (strstr(text, stage->fleet.members[i].name) != NULL) {
            found = i;
        }
    }
    assert_true(found >= 0);
    return found;
}

static void a_fleet_that_starts_together_moves_nothing(void **state)
{
    struct fleet *fleet = &((struct stage *) *state)->fleet;

    start_all(fleet, 4);
    assert_int_equal(fleet_board(fleet, "orders")->revoked, 0);
    assert_clean(fleet);
}

static void a_join_and_a_leave_move_only_their_share(void **state)
{
    struct fleet *fleet = &((struct stage *) *state)->fleet;
    struct board *board = NULL;
    int16_t before[64];
    int fifth = 0;
    int64_t began = 0;
    int moved = 0;

    start_all(fleet, 4);
    board = fleet_board(fleet, "orders");
    memcpy(before, board->holder, sizeof(before));
    fifth = fleet_start(fleet, "member-4");
    began = clock_now_ms();
    fleet_join(fleet, fifth, "orders", "n1", 64);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, 2, 3, 4, -1}));
    print_message("a join took %lld ms, with 200 ms in which joins are gathered\n",
                  (long long) (clock_now_ms() - began));
    assert_int_equal(board->revoked, 64 / 5);
    assert_int_equal(board->granted, 64 + 64 / 5);
    for (int32_t slot = 0; slot < 64; slot++) {
        moved += board->holder[slot] != before[slot];
        assert_true(board->holder[slot] == before[slot] || board->holder[slot] == fifth);
    }
    assert_int_equal(moved, 64 / 5);
    memcpy(before, board->holder, sizeof(before));
    fleet_tell(fleet, fifth, "leave orders");
    assert_true(fleet_wait_count(fleet, &fleet->members[fifth].left, 1));
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, 2, 3, -1}));
    for (int32_t slot = 0; slot < 64; slot++) {
        assert_true(before[slot] == fifth || board->holder[slot] == before[slot]);
    }
    assert_int_equal(board->revoked, 64 / 5 + 64 / 5);
    assert_int_equal(board->lost, 0);
    assert_clean(fleet);
}

/* A slot that is still drained by its owner is not granted to another. */
static void a_slot_moves_only_once_it_is_drained(void **state)
{
    struct fleet *fleet = &((struct stage *) *state)->fleet;
    struct board *board = NULL;
    int second = 0;

    start_all(fleet, 1);
    board = fleet_board(fleet, "orders");
    fleet_tell(fleet, 0, "hold");
    second = fleet_start(fleet, "second");
    fleet_join(fleet, second, "orders", "n1", 64);
    assert_true(fleet_wait_count(fleet, &board->revoked, 32));
    fleet_tell(fleet, 0, "release");
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, second, -1}));
    assert_int_equal(board->revoked, 32);
    assert_clean(fleet);
}

static void the_last_member_leaves_everything_to_nobody(void **state)
{
    struct fleet *fleet = &((struct stage *) *state)->fleet;
    struct board *board = NULL;

    start_all(fleet, 1);
    board = fleet_board(fleet, "orders");
    fleet_tell(fleet, 0, "leave orders");
    assert_true(fleet_wait_count(fleet, &fleet->members[0].left, 1));
    assert_int_equal(board->revoked, 64);
    assert_int_equal(fleet_held(fleet, 0, "orders"), 0);
    fleet_join(fleet, 0, "orders", "n1", 64);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, -1}));
    assert_int_equal(board->lost, 0);
    assert_clean(fleet);
}

static void a_member_that_quits_is_replaced_at_once(void **state)
{
    struct fleet *fleet = &((struct stage *) *state)->fleet;
    int64_t began = 0;

    start_all(fleet, 2);
    began = clock_now_ms();
    assert_int_equal(fleet_quit(fleet, 0), 0);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){1, -1}));
    print_message("slots of a member that quit were granted after %lld ms\n",
                  (long long) (clock_now_ms() - began));
    assert_clean(fleet);
}

/* Also one that is still waiting for answers of ZooKeeper. */
static void a_process_that_has_ended_is_no_member(void **state)
{
    enum { QUITS = 8, TOPICS = 20 };
    struct stage *stage = *state;
    zhandle_t *handle = raw_connect(servers_zookeeper(fleet_servers), NULL);
    char name[32], path[64], topic[32], text[1024];

    for (int i = 0; i < QUITS; i++) {
        (void) snprintf(name, sizeof(name), "member-%d", i);
        (void) snprintf(path, sizeof(path), "/members/%s", name);
        (void) fleet_start(&stage->fleet, name);
        for (int j = 0; j < TOPICS; j++) {
            (void) snprintf(topic, sizeof(topic), "topic-%d", j);
            fleet_join(&stage->fleet, i, topic, "n1", 4);
        }
        assert_int_equal(fleet_quit(&stage->fleet, i), 0);
        if (raw_get(handle, node_path(stage, path), text, sizeof(text), NULL)) {
            fail_msg("%s has ended, and is a member: %s", name, text);
        }
    }
    zookeeper_close(handle);
}

static void twenty_topics_are_shared_evenly(void **state)
{
    struct fleet *fleet = &((struct stage *) *state)->fleet;
    int32_t sums[3] = {0};

    for (int i = 0; i < 3; i++) {
        char name[32];

        (void) snprintf(name, sizeof(name), "member-%d", i);
        (void) fleet_start(fleet, name);
    }
    for (int topic = 0; topic < 20; topic++) {
        for (int i = 0; i < 3; i++) {
            char name[32];

            (void) snprintf(name, sizeof(name), "topic-%d", topic);
            fleet_join(fleet, i, name, "n1", 4);
        }
    }
    for (int topic = 0; topic < 20; topic++) {
        char name[32];

        (void) snprintf(name, sizeof(name), "topic-%d", topic);
        assert_true(fleet_wait_even(fleet, name, (int[]){0, 1, 2, -1}));
        for (int i = 0; i < 3; i++) {
            sums[i] += fleet_held(fleet, i, name);
        }
    }
    for (int i = 0; i < 3; i++) {
        assert_in_range(sums[i], 20, 40); /* each topic is even by itself: 1 or 2 of 4 */
    }
    assert_clean(fleet);
}

static void slots_of_a_killed_member_are_granted(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    struct board *board = NULL;
    int victim = 0;
    int rest[4];
    size_t count = 0;
    int64_t began = 0;

    start_all(fleet, 4);
    board = fleet_board(fleet, "orders");
    victim = find_assigner(stage) == 0 ? 1 : 0;
    for (int i = 0; i < 4; i++) {
        if (i != victim) {
            rest[count++] = i;
        }
    }
    rest[count] = -1;
    began = clock_now_ms();
    fleet_kill(fleet, victim);
    assert_true(fleet_wait_even(fleet, "orders", rest));
    print_message("slots of a killed member were granted after %lld ms (session %d ms)\n",
                  (long long) (clock_now_ms() - began), SESSION_MS);
    assert_int_equal(board->revoked, 0);
    assert_int_equal(board->lost, 0);
    assert_int_equal(board->granted, 64 + 16);
    assert_clean(fleet);
}

static void a_killed_assigner_is_replaced(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    int victim = 0;
    int64_t began = 0;

    start_all(fleet, 2);
    victim = find_assigner(stage);
    began = clock_now_ms();
    fleet_kill(fleet, victim);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){1 - victim, -1}));
    print_message("slots of a killed assigner were granted after %lld ms\n",
                  (long long) (clock_now_ms() - began));
    assert_int_equal(find_assigner(stage), 1 - victim);
    assert_clean(fleet);
}

static void a_paused_member_loses_and_begins_anew(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    struct board *board = NULL;

    start_all(fleet, 2);
    board = fleet_board(fleet, "orders");
    fleet_pause(fleet, 0);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){1, -1}));
    assert_int_equal(board->lost, 0);
    fleet_resume(fleet, 0);
    assert_true(fleet_wait_count(fleet, &board->lost, 32));
    assert_true(fleet_wait_count(fleet, &fleet->members[0].sessions_lost, 1));
    fleet->members[0].unclean = false;
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, -1}));
    assert_int_equal(board->lost, 32);
    assert_int_equal(board->revoked, 32);
    assert_clean(fleet);
}

/* The owner hangs in a revocation while the assigner that began it is killed: the successor finds
 * it and ends it. */
static void a_successor_finishes_what_it_finds(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    struct board *board = NULL;
    int assigner = 0;
    int owner = 0;
    int joiner = 0;
    int revoked = 0;

    start_all(fleet, 2);
    board = fleet_board(fleet, "orders");
    assigner = find_assigner(stage);
    owner = 1 - assigner;
    fleet_tell(fleet, owner, "hold");
    joiner = fleet_start(fleet, "joiner");
    fleet_join(fleet, joiner, "orders", "n1", 64);
    assert_true(fleet_wait_count(fleet, &board->revoked, 64 / 3));
    revoked = board->revoked;
    fleet_kill(fleet, assigner);
    fleet_tell(fleet, owner, "release");
    assert_true(fleet_wait_even(fleet, "orders", (int[]){owner, joiner, -1}));
    assert_true(find_assigner(stage) != assigner);
    assert_true(board->revoked >= revoked);
    assert_int_equal(board->lost, 0);
    assert_clean(fleet);
}

/* The servers end and start again within a session, also on a slow machine: who owned still owns,
 * and the fleet still works. */
static void a_restart_of_zookeeper_moves_nothing(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    struct server *server = servers_zookeeper_server(fleet_servers);
    struct board *board = NULL;
    int16_t before[64];

    fleet->session_ms = LONG_SESSION_MS;
    start_all(fleet, 3);
    board = fleet_board(fleet, "orders");
    memcpy(before, board->holder, sizeof(before));
    server_kill(server);
    for (int i = 0; i < 3; i++) {
        assert_true(fleet_wait_count(fleet, &fleet->members[i].disconnected, 1));
    }
    assert_true(server_restart(server));
    for (int i = 0; i < 3; i++) {
        assert_true(fleet_wait_count(fleet, &fleet->members[i].connected, 2));
    }
    fleet_join(fleet, 0, "after", "n1", 4); /* the assigner works again */
    assert_true(fleet_wait_even(fleet, "after", (int[]){0, -1}));
    assert_int_equal(board->lost, 0);
    assert_int_equal(board->revoked, 0);
    assert_memory_equal(before, board->holder, sizeof(before));
    assert_clean(fleet);
}

static void a_damaged_assignment_is_ignored_and_mended(void **state)
{
    static const char *const damage[] = {"", "x", "SMQA and then nothing that belongs there"};
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    struct board *board = NULL;
    zhandle_t *handle = NULL;
    int assigner = 0;

    start_all(fleet, 2);
    board = fleet_board(fleet, "orders");
    assigner = find_assigner(stage);
    handle = raw_connect(servers_zookeeper(fleet_servers), NULL);
    for (size_t i = 1; i < sizeof(damage) / sizeof(damage[0]); i++) {
        raw_set(handle, node_path(stage, "/topics/orders/assignment"), damage[i],
                (int) strlen(damage[i]));
    }
    assert_true(fleet_wait_count(fleet, &fleet->members[assigner].errors_logged, 1));
    zookeeper_close(handle);
    (void) fleet_start(fleet, "third");
    fleet_join(fleet, 2, "orders", "n1", 64);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, 2, -1}));
    assert_int_equal(board->lost, 0);
    assert_int_equal(board->revoked, 64 / 3);
    assert_clean(fleet);
}

/* The tree stays small, whatever the number of slots. */
static void the_tree_is_small(void **state)
{
    struct stage *stage = *state;
    zhandle_t *handle = NULL;

    start_all(&stage->fleet, 3);
    handle = raw_connect(servers_zookeeper(fleet_servers), NULL);
    assert_in_range(raw_count(handle, stage->root), 3 + 2, 3 + 2 * 1 + 5);
    zookeeper_close(handle);
    assert_clean(&stage->fleet);
}

struct node {
    zhandle_t *handle;
    const char *path;
};

static bool node_is_gone(void *arg)
{
    const struct node *node = arg;
    char text[1024];

    return !raw_get(node->handle, node->path, text, sizeof(text), NULL);
}

/* The nodes of a topic that nobody asks for any more go; who asks later gets larger tokens. */
static void a_forgotten_topic_is_removed(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    struct node node = {.path = node_path(stage, "/topics/orders")};

    start_all(fleet, 1);
    fleet_join(fleet, 0, "others", "n1", 4);
    assert_true(fleet_wait_even(fleet, "others", (int[]){0, -1}));
    fleet_tell(fleet, 0, "leave orders");
    assert_true(fleet_wait_count(fleet, &fleet->members[0].left, 1));
    node.handle = raw_connect(servers_zookeeper(fleet_servers), NULL);
    assert_true(wait_until(node_is_gone, &node, FLEET_TIMEOUT_MS));
    zookeeper_close(node.handle);
    fleet_join(fleet, 0, "orders", "n1", 64);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, -1}));
    assert_int_equal(fleet_held(fleet, 0, "others"), 4);
    assert_int_equal(fleet_board(fleet, "orders")->lost, 0);
    assert_clean(fleet);
}

/* A node deleted under a living member: it loses everything at once and begins anew. */
static void a_member_whose_node_is_deleted_begins_anew(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    zhandle_t *handle = NULL;

    start_all(fleet, 2);
    handle = raw_connect(servers_zookeeper(fleet_servers), NULL);
    fleet->members[0].unclean = true;
    assert_int_equal(zoo_delete(handle, node_path(stage, "/members/member-0"), -1), ZOK);
    zookeeper_close(handle);
    assert_true(fleet_wait_count(fleet, &fleet_board(fleet, "orders")->lost, 32));
    fleet->members[0].unclean = false;
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, -1}));
    assert_clean(fleet);
}

static void a_fleet_with_a_password_lets_nobody_else_in(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    int friend = fleet_start_with(fleet, "friend", "continue", "fleet:right");
    int unauthorized = 0;
    zhandle_t *handle = NULL;

    fleet_join(fleet, friend, "orders", "n1", 64);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){friend, -1}));
    unauthorized = fleet_start_with(fleet, "unauthorized", "continue", "fleet:wrong");
    assert_string_equal(fleet->members[unauthorized].refused, "SMQ_DENIED");
    handle = raw_connect(servers_zookeeper(fleet_servers), "fleet:right");
    assert_in_range(raw_count(handle, stage->root), 7, 8);
    zookeeper_close(handle);
    assert_int_equal(fleet_held(fleet, friend, "orders"), 64);
    assert_int_equal(fleet_quit(fleet, friend), 0);
}

TEST_GROUP(fleet)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STAGED(a_fleet_that_starts_together_moves_nothing),
        STAGED(a_join_and_a_leave_move_only_their_share),
        STAGED(a_slot_moves_only_once_it_is_drained),
        STAGED(the_last_member_leaves_everything_to_nobody),
        STAGED(a_member_that_quits_is_replaced_at_once),
        STAGED(a_process_that_has_ended_is_no_member),
        STAGED(twenty_topics_are_shared_evenly),
        STAGED(slots_of_a_killed_member_are_granted),
        STAGED(a_killed_assigner_is_replaced),
        STAGED(a_paused_member_loses_and_begins_anew),
        STAGED(a_successor_finishes_what_it_finds),
        STAGED(a_restart_of_zookeeper_moves_nothing),
        STAGED(a_damaged_assignment_is_ignored_and_mended),
        STAGED(the_tree_is_small),
        STAGED(a_forgotten_topic_is_removed),
        STAGED(a_member_whose_node_is_deleted_begins_anew),
        STAGED(a_fleet_with_a_password_lets_nobody_else_in),
    };

    return cmocka_run_group_tests_name("fleet", tests, fleet_servers_start, fleet_servers_stop);
}
