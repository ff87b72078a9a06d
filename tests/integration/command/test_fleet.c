/* test_fleet.c - fleet raise-fence, and the nodes that verbs leave in ZooKeeper. */
#include "command.h"

#include <stdio.h>
#include <string.h>

#include "integration/coord/raw.h"
#include "support/group.h"

static void test_a_fence_is_raised(void **state)
{
    const char *zookeeper = servers_zookeeper(command_servers());
    json_t *first = NULL;
    json_t *second = NULL;

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

    command_refused(64, "give --yes", NULL, ARGS("fleet", "raise-fence", "-z", zookeeper));
    assert_int_equal(command_at_terminal("n\n", ARGS("fleet", "raise-fence", "-z", zookeeper)), 1);
    assert_int_equal(command_at_terminal("y\n", ARGS("fleet", "raise-fence", "-z", zookeeper)), 0);
}

static void test_it_needs_a_verb(void **state)
{
    command_refused(64, "raise-fence", NULL, ARGS("fleet"));
}

/* === What verbs leave in ZooKeeper ====================================== */

static int nodes(void)
{
    zhandle_t *raw = raw_connect(servers_zookeeper(command_servers()), NULL);
    const int count = raw_count(raw, "/counted");

    zookeeper_close(raw);
    return count;
}

/* How a verb ends, and how many nodes the fleet has afterwards: a session that is closed takes its
 * nodes with it. */
static void test_verbs_leave_no_nodes(void **state)
{
    enum { FLEET = 4, CONSUMED = FLEET + 2 };
    const struct {
        const char *words[8];
        int code, nodes;
        const char *said; /* "": nothing in particular */
    } rows[] = {
        {{"topic", "create", "jobs", "--type", "priority"}, 0, 0, ""},
        {{"fleet", "show"}, 1, 0, ""},
        {{"fleet", "raise-fence", "--yes"}, 0, 1, ""}, /* the root, and nothing below it */
        {{"topic", "repair", "--all"}, 0, 1, ""},
        {{"send", "jobs", "a"}, 0, 1, ""},
        {{"topic", "rebind", "jobs"}, 0, 1, ""},
        {{"consume", "jobs", "--exit-when-empty"}, 0, CONSUMED, ""},
        {{"send", "jobs", "b"}, 0, CONSUMED, ""},
        {{"consume", "jobs", "--exit-when-empty"}, 0, CONSUMED, ""},
        {{"fleet", "show", "--slots"}, 0, CONSUMED, ""},
        {{"fleet", "evict", "nobody", "--yes"}, 1, CONSUMED, ""},
        {{"fleet", "raise-fence", "--yes"}, 0, CONSUMED, ""},
        {{"topic", "rebind", "jobs"}, 0, CONSUMED, ""},
        {{"doctor"}, 1, CONSUMED, ""},
        {{"check", "jobs"}, 0, CONSUMED, ""},
        {{"stat"}, 0, CONSUMED, ""},
        {{"topic", "list"}, 0, CONSUMED, ""},
        {{"peek", "jobs"}, 0, CONSUMED, ""},
        {{"topic", "repair", "--all"}, 0, CONSUMED, ""},
        {{"topic", "repair", "jobs"}, 0, CONSUMED, ""},
        {{"topic", "delete", "jobs", "--yes"}, 0, CONSUMED, ""},
        {{"doctor"}, 1, CONSUMED, "ZooKeeper has nodes of 1 deleted topic"},
        {{"topic", "repair", "--all"}, 0, FLEET, "nodes of 1 deleted topic are removed"},
        {{"topic", "create", "jobs", "--type", "priority"}, 0, FLEET, ""},
    };
    char root[128];
    int wrong = 0;

    snprintf(root, sizeof(root), "%s/counted", servers_zookeeper(command_servers()));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *words[12] = {"-z", root};
        struct run run;
        int found;

        for (size_t w = 0; rows[i].words[w] != NULL; w++) {
            words[w + 2] = rows[i].words[w];
        }
        command_run(&run, NULL, words);
        found = nodes();
        if (run.exit_code != rows[i].code || found != rows[i].nodes ||
            (!strstr(run.out, rows[i].said) && !strstr(run.err, rows[i].said))) {
            wrong++;
            print_error("%zu: %s %s: exit %d, not %d; %d nodes, not %d: %s%s\n", i, words[2],
                        words[3], run.exit_code, rows[i].code, found, rows[i].nodes, run.out,
                        run.err);
        }
        run_fini(&run);
    }
    assert_int_equal(wrong, 0);
}

/* === A fleet in Redis alone ============================================= */

static void test_verbs_of_a_fleet_in_redis(void **state)
{
    static const struct {
        const char *words[6];
        int code;
        const char *said;
        bool elsewhere; /* at the default root */
    } rows[] = {
        {{"topic", "create", "trees"}, 0, "", false},
        {{"fleet", "show"}, 1, "there is no fleet at /verbs", false},
        {{"fleet", "evict", "nobody", "--yes"}, 1, "no member nobody", false},
        {{"consume", "trees", "--exit-when-empty"}, 0, "", false},
        {{"fleet", "show"}, 0, "reign of the tree in Redis", false},
        {{"fleet", "show"}, 0, "Redis, at 127.0.0.1:", false},
        {{"fleet", "show", "--json"}, 0, "\"server\":\"127.0.0.1:", false},
        {{"doctor"}, 1, "its tree is in Redis at 127.0.0.1:", false},
        {{"fleet", "raise-fence", "--yes"}, 0, "", false},
        {{"consume", "trees", "--exit-when-empty"}, 0, "", false},
        {{"check", "trees"}, 0, "", false},
        {{"consume", "trees"}, 73, "with the root /verbs: give this process that root", true},
        {{"topic", "rebind", "trees"}, 0, "", true},
        {{"consume", "trees"}, 73, "with the root /slotmq: give this process that root", false},
        {{"consume", "trees", "--exit-when-empty"}, 0, "", true},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *words[16] = {"-X", "root=/verbs", "-X", "session_timeout_ms=1000"};
        const char **from = rows[i].elsewhere ? words + 2 : words;
        struct run run;

        for (size_t w = 0; w < 6 && rows[i].words[w] != NULL; w++) {
            words[w + 4] = rows[i].words[w];
        }
        command_run(&run, NULL, from);
        if (run.exit_code != rows[i].code ||
            (!strstr(run.out, rows[i].said) && !strstr(run.err, rows[i].said))) {
            fail_msg("row %zu: exit %d, not %d: %s%s", i + 1, run.exit_code, rows[i].code, run.out,
                     run.err);
        }
        run_fini(&run);
    }
}

TEST_GROUP(fleet)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fence_is_raised),
        cmocka_unit_test(test_it_asks_first),
        cmocka_unit_test(test_it_needs_a_verb),
        cmocka_unit_test(test_verbs_leave_no_nodes),
        cmocka_unit_test(test_verbs_of_a_fleet_in_redis),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
