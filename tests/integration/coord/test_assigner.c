/* test_assigner.c - what the assigner does with nodes that it may not read or cannot understand,
 * with members that join again under their name, and with members
 * that no Redis node answers. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fleet.h"
#include "raw.h"
#include "support/group.h"
#include "support/servers.h"

enum { SESSION_MS = 4000, SLOTS = 64 };

/* Invariant: `where` is "host:port/root" with a root of its own for each test. */
struct stage {
    struct fleet fleet;
    char root[32];
    char where[128];
    zhandle_t *raw; /* with the credentials "other:secret" */
};

static int set_up(void **state)
{
    static struct stage stage;
    static int number;

    (void) snprintf(stage.root, sizeof(stage.root), "/assigner-%d", ++number);
    (void) snprintf(stage.where, sizeof(stage.where), "%s%s", servers_zookeeper(fleet_servers),
                    stage.root);
    fleet_init(&stage.fleet, stage.where, SESSION_MS);
    stage.raw = raw_connect(servers_zookeeper(fleet_servers), "other:secret");
    *state = &stage;
    return 0;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    fleet_fini(&stage->fleet);
    zookeeper_close(stage->raw);
    return 0;
}

static const char *node_path(const struct stage *stage, const char *node)
{
    static char path[128];

    (void) snprintf(path, sizeof(path), "%s%s", stage->root, node);
    return path;
}

/* One more member of "orders". */
static int start(struct stage *stage, const char *name)
{
    int member = fleet_start(&stage->fleet, name);

    fleet_join(&stage->fleet, member, "orders", "n1", SLOTS);
    return member;
}

/* The first is the assigner. */
static void start_two(struct stage *stage)
{
    assert_int_equal(start(stage, "first"), 0);
    assert_true(fleet_wait_even(&stage->fleet, "orders", (int[]){0, -1}));
    assert_int_equal(start(stage, "second"), 1);
    assert_true(fleet_wait_even(&stage->fleet, "orders", (int[]){0, 1, -1}));
}

static void assert_nobody_was_passed_over(struct stage *stage)
{
    struct board *board = fleet_board(&stage->fleet, "orders");

    assert_int_equal(board->overlaps, 0);
    assert_int_equal(board->backwards, 0);
}

/* A member with credentials that the others lack: joins and failovers of the others do not end. */
static void a_member_that_may_not_be_read_stops_nobody(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;

    start_two(stage);
    assert_int_equal(zoo_create(stage->raw, node_path(stage, "/members/hidden"), "?", 1,
                                &ZOO_CREATOR_ALL_ACL, ZOO_EPHEMERAL, NULL, 0),
                     ZOK);
    assert_int_equal(start(stage, "third"), 2);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, 2, -1}));
    fleet_kill(fleet, 1);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 2, -1}));
    assert_int_equal(fleet->members[0].errors_logged, 1);
    assert_nobody_was_passed_over(stage);
}

static void set_acl(struct stage *stage, const char *node, struct ACL_vector *acl)
{
    assert_int_equal(zoo_set_acl(stage->raw, node_path(stage, node), -1, acl), ZOK);
}

/* Waiting for a member to hold this many slots of "orders". */
struct holding {
    int member;
    int32_t slots;
};

static bool holds(struct fleet *fleet, void *arg)
{
    const struct holding *wanted = arg;

    return fleet_held(fleet, wanted->member, "orders") == wanted->slots;
}

static void assert_third_gets_its_share_of_the_first(struct stage *stage)
{
    struct fleet *fleet = &stage->fleet;
    struct holding wanted = {.member = start(stage, "third"), .slots = SLOTS / 4};

    assert_true(fleet_wait(fleet, holds, &wanted));
    assert_int_equal(fleet_held(fleet, 0, "orders"), SLOTS / 4);
    assert_int_equal(fleet_held(fleet, 1, "orders"), SLOTS / 2);
    assert_nobody_was_passed_over(stage);
}

/* It keeps what it has while it lives, the others share the rest evenly; once it can be read it
 * takes part again, and when it dies its slots move. */
static void a_member_that_becomes_unreadable_keeps_its_slots(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;

    start_two(stage);
    set_acl(stage, "/members/second", &ZOO_CREATOR_ALL_ACL);
    assert_third_gets_its_share_of_the_first(stage);
    set_acl(stage, "/members/second", &ZOO_OPEN_ACL_UNSAFE);
    assert_int_equal(start(stage, "fourth"), 3);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, 2, 3, -1}));
    set_acl(stage, "/members/second", &ZOO_CREATOR_ALL_ACL);
    fleet_kill(fleet, 1);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 2, 3, -1}));
    assert_nobody_was_passed_over(stage);
}

static void a_topic_that_may_not_be_read_stops_no_other(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;

    start_two(stage);
    assert_int_equal(zoo_create(stage->raw, node_path(stage, "/topics/hidden"), "?", 1,
                                &ZOO_CREATOR_ALL_ACL, ZOO_PERSISTENT, NULL, 0),
                     ZOK);
    assert_int_equal(start(stage, "third"), 2);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, 2, -1}));
    assert_int_equal(fleet->members[0].errors_logged, 1);
    assert_nobody_was_passed_over(stage);
}

/* Three members; which slots the second of them holds. */
static int32_t start_three(struct stage *stage, bool *its)
{
    struct board *board = NULL;
    int32_t count = 0;

    start_two(stage);
    assert_int_equal(start(stage, "third"), 2);
    assert_true(fleet_wait_even(&stage->fleet, "orders", (int[]){0, 1, 2, -1}));
    board = fleet_board(&stage->fleet, "orders");
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        its[slot] = board->holder[slot] == 1;
        count += its[slot];
    }
    return count;
}

/* The second is started again, and what it holds then are its slots and no others. */
static void assert_second_has_its_slots_back(struct stage *stage, const bool *its, int32_t count)
{
    struct board *board = fleet_board(&stage->fleet, "orders");
    int second = start(stage, "second");
    int32_t kept = 0;

    assert_true(fleet_wait_even(&stage->fleet, "orders", (int[]){0, second, 2, -1}));
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        kept += its[slot] && board->holder[slot] == second;
    }
    print_message("%d of %d slots came back to their member\n", (int) kept, (int) count);
    assert_int_equal(kept, fleet_held(&stage->fleet, second, "orders"));
    assert_nobody_was_passed_over(stage);
}

/* Its node is replaced by that of the new process, and nothing moves to others in between. */
static void a_killed_member_that_is_restarted_gets_its_slots_back(void **state)
{
    struct stage *stage = *state;
    bool its[SLOTS];
    int32_t count = start_three(stage, its);
    int granted = 0;

    fleet_kill(&stage->fleet, 1);
    granted = fleet_board(&stage->fleet, "orders")->granted;
    assert_second_has_its_slots_back(stage, its, count);
    assert_int_equal(fleet_board(&stage->fleet, "orders")->granted, granted + count);
}

/* In between its slots are with others. */
static void a_member_that_leaves_and_comes_back_gets_its_slots_back(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    bool its[SLOTS];
    int32_t count = start_three(stage, its);

    fleet_tell(fleet, 1, "leave orders");
    assert_true(fleet_wait_count(fleet, &fleet->members[1].left, 1));
    assert_int_equal(fleet_quit(fleet, 1), 0);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 2, -1}));
    assert_second_has_its_slots_back(stage, its, count);
}

static void tell_reachable(struct stage *stage, const char *reachable, const int *members)
{
    for (; *members >= 0; members++) {
        fleet_tell(&stage->fleet, *members, "reachable %s", reachable);
    }
}

/* Others have its slots until Redis answers it again. */
static void a_member_without_redis_gives_its_slots_up_and_gets_them_back(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    struct board *board = NULL;
    bool its[SLOTS];
    int32_t count = start_three(stage, its);
    int32_t kept = 0;

    tell_reachable(stage, "0", (int[]){1, -1});
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 2, -1}));
    tell_reachable(stage, "1", (int[]){1, -1});
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, 2, -1}));
    board = fleet_board(fleet, "orders");
    for (int32_t slot = 0; slot < SLOTS; slot++) {
        kept += its[slot] && board->holder[slot] == 1;
    }
    print_message("%d of %d slots came back to their member\n", (int) kept, (int) count);
    assert_int_equal(kept, fleet_held(fleet, 1, "orders"));
    assert_int_equal(board->lost, 0);
    assert_nobody_was_passed_over(stage);
}

/* A member that joins shows that the assigner works, and gets what it would get otherwise. */
static void nothing_moves_when_redis_is_away_for_all(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;
    int granted = 0;

    start_two(stage);
    granted = fleet_board(fleet, "orders")->granted;
    tell_reachable(stage, "0", (int[]){0, 1, -1});
    tell_reachable(stage, "1", (int[]){1, 0, -1});
    assert_int_equal(start(stage, "third"), 2);
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, 2, -1}));
    assert_int_equal(fleet_board(fleet, "orders")->granted, granted + SLOTS / 3);
    assert_nobody_was_passed_over(stage);
}

static void the_only_member_that_reaches_redis_gets_all(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;

    start_two(stage);
    tell_reachable(stage, "0", (int[]){0, 1, -1});
    tell_reachable(stage, "1", (int[]){1, -1});
    assert_true(fleet_wait_even(fleet, "orders", (int[]){1, -1}));
    tell_reachable(stage, "1", (int[]){0, -1});
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, 1, -1}));
    assert_nobody_was_passed_over(stage);
}

/* A member that no Redis node answers leaves as every other does. */
static void a_member_without_redis_leaves(void **state)
{
    struct stage *stage = *state;
    struct fleet *fleet = &stage->fleet;

    start_two(stage);
    tell_reachable(stage, "0", (int[]){1, -1});
    fleet_tell(fleet, 1, "leave orders");
    assert_true(fleet_wait_count(fleet, &fleet->members[1].left, 1));
    assert_true(fleet_wait_even(fleet, "orders", (int[]){0, -1}));
    assert_nobody_was_passed_over(stage);
}

TEST_GROUP(assigner)
{
#define STAGED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STAGED(a_member_that_may_not_be_read_stops_nobody),
        STAGED(a_member_that_becomes_unreadable_keeps_its_slots),
        STAGED(a_killed_member_that_is_restarted_gets_its_slots_back),
        STAGED(a_member_that_leaves_and_comes_back_gets_its_slots_back),
        STAGED(a_topic_that_may_not_be_read_stops_no_other),
        STAGED(a_member_without_redis_gives_its_slots_up_and_gets_them_back),
        STAGED(nothing_moves_when_redis_is_away_for_all),
        STAGED(the_only_member_that_reaches_redis_gets_all),
        STAGED(a_member_without_redis_leaves),
    };

    return cmocka_run_group_tests_name("assigner", tests, fleet_servers_start, fleet_servers_stop);
}
