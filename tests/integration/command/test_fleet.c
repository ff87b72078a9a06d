/* test_fleet.c - fleet raise-fence. */
#include "command.h"
#include "support/group.h"

static void test_a_fence_is_raised(void **state)
{
    const char *zookeeper = servers_zookeeper(command_servers());
    json_t *first = NULL;
    json_t *second = NULL;

    (void) state;
    first = command_json(NULL, ARGS("fleet", "raise-fence", "--yes", "-z", zookeeper, "--json"));
    second = command_json(NULL, ARGS("fleet", "raise-fence", "--yes", "-z", zookeeper, "--json"));
    assert_int_equal(json_number(first, "topics"), 0);
    assert_int_equal(json_number(first, "rebound"), 0);
    assert_int_equal(json_number(second, "generation"), json_number(first, "generation") + 1);
    json_decref(first);
    json_decref(second);
}

static void test_it_asks_first(void **state)
{
    const char *zookeeper = servers_zookeeper(command_servers());

    (void) state;
    command_refused(64, "give --yes", NULL, ARGS("fleet", "raise-fence", "-z", zookeeper));
    assert_int_equal(command_at_terminal("n\n", ARGS("fleet", "raise-fence", "-z", zookeeper)), 1);
    assert_int_equal(command_at_terminal("y\n", ARGS("fleet", "raise-fence", "-z", zookeeper)), 0);
}

static void test_it_needs_a_zookeeper(void **state)
{
    (void) state;
    command_refused(64, "no ZooKeeper given", NULL, ARGS("fleet", "raise-fence", "--yes"));
    command_refused(64, "raise-fence", NULL, ARGS("fleet"));
}

TEST_GROUP(fleet)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fence_is_raised),
        cmocka_unit_test(test_it_asks_first),
        cmocka_unit_test(test_it_needs_a_zookeeper),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
