/* test_left_out.c - topics that cannot be looked at, because permission is refused or their node is
 * away: they are named with the reason, and all others are shown.
 *
 * Topics: still can be read whole; of near the definition, but none of its slots; of far nothing.
 */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the keys lie decides the names: node 0 has topic{far} and the slot near_0, and nothing of
 * the others, nor the list of topics. */
static int set_up(void **state)
{
    static const char *const config[] = {"cluster-require-full-coverage no", NULL};
    static const char *const names[] = {"far", "near", "still"};

    if (command_setup_with(
            &(struct servers_options){.redis = REDIS_CLUSTER, .redis_config = config}) != 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        command_done(NULL, ARGS("topic", "create", names[i], "--type", "priority", "--slots", "1"));
    }
    return 0;
}

/* Run it with these servers: it ends with this code, names far, and, if it looked at slots, near.
 * Its standard output, to be freed. */
static char *shown(int code, bool slots, const char *redis, const char *const *words)
{
    const char *arguments[8] = {"-r", redis};
    struct run run;

    for (size_t i = 0; words[i] != NULL; i++) {
        assert_true(i + 3 < sizeof(arguments) / sizeof(arguments[0]));
        arguments[i + 2] = words[i];
    }
    command_run(&run, NULL, arguments);
    if (run.exit_code != code || strstr(run.err, "topic far: ") == NULL ||
        (strstr(run.err, "topic near: ") != NULL) != slots) {
        fail_msg("%s: wanted exit %d; exit %d, error \"%s\"", words[0], code, run.exit_code,
                 run.err);
    }
    char *out = strdup(run.out);
    assert_non_null(out);
    run_fini(&run);
    return out;
}

static void assert_row(const char *out, const char *row, bool there)
{
    if ((strstr(out, row) != NULL) != there) {
        fail_msg("\"%s\" in: %s", row + 1, out);
    }
}

/* `code` is that of the reason for which far and near cannot be read. */
static void all_others_are_shown(int code, const char *redis)
{
    char *out = shown(code, false, redis, ARGS("topic", "list"));

    assert_row(out, "\nstill ", true);
    assert_row(out, "\nnear ", true);
    assert_row(out, "\nfar ", false);
    free(out);
    out = shown(code, true, redis, ARGS("stat"));
    assert_row(out, "\nstill ", true);
    assert_row(out, "\nnear ", false);
    assert_row(out, "\nfar ", false);
    free(out);
    out = shown(1, true, redis, ARGS("top", "--count", "1", "--json"));
    json_t *document = json_loads(out, 0, NULL);
    json_t *topics = json_object_get(document, "topics");
    assert_int_equal(json_array_size(topics), 1);
    assert_string_equal(json_text(json_array_get(topics, 0), "topic"), "still");
    json_decref(document);
    free(out);
    out = shown(code, true, redis, ARGS("stat", "--prometheus"));
    assert_row(out, "\nslotmq_topic_unreadable{topic=\"far\"} 1\n", true);
    assert_row(out, "\nslotmq_topic_messages_waiting{topic=\"far\"}", false);
    assert_row(out, "\nslotmq_topic_unreadable{topic=\"still\"} 0\n", true);
    assert_row(out, "\nslotmq_topic_messages_waiting{topic=\"still\"} 0\n", true);
    assert_row(out, "\nslotmq_topic_unreadable{topic=\"near\"} 1\n", code == 77);
    assert_row(out, "\nslotmq_topic_slots_silent{topic=\"near\"} 1\n", code != 77);
    free(out);
}

static void topics_that_may_not_be_read_are_named(void **state)
{
    const struct servers *servers = command_servers();
    char redis[512];

    for (size_t i = 0; i < servers_count(servers); i++) {
        command_redis(servers_node(servers, i),
                      ARGS("ACL", "SETUSER", "some", "on", ">secret", "+@all", "&*",
                           "~slotmq{topics}", "~topic{still}", "~still_*", "~*{still_*}",
                           "~topic{near}"));
    }
    snprintf(redis, sizeof(redis), "redis://some:secret@%s", servers_redis(servers));
    all_others_are_shown(77, redis);
    command_refused(77, "topic far", NULL, ARGS("-r", redis, "stat", "far"));
    command_refused(77, "topic near", NULL, ARGS("-r", redis, "stat", "near"));
}

/* All definitions can be read, and nothing else is wrong. */
static void topic_whose_slots_may_not_be_read_is_named(void **state)
{
    const struct servers *servers = command_servers();
    const char *const *const calls[] = {ARGS("stat"), ARGS("stat", "--prometheus")};
    char redis[512];

    for (size_t i = 0; i < servers_count(servers); i++) {
        command_redis(servers_node(servers, i),
                      ARGS("ACL", "SETUSER", "part", "on", ">secret", "+@all", "&*",
                           "~slotmq{topics}", "~topic{*}", "~still_*", "~*{still_*}", "~far_*",
                           "~*{far_*}"));
    }
    snprintf(redis, sizeof(redis), "redis://part:secret@%s", servers_redis(servers));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        struct run run;
        const char *const *words = calls[i];

        command_run(&run, NULL, ARGS("-r", redis, words[0], words[1]));
        assert_int_equal(run.exit_code, 77);
        assert_non_null(strstr(run.err, "topic near: "));
        assert_null(strstr(run.err, "topic far"));
        assert_null(strstr(run.err, "topic still"));
        assert_non_null(strstr(run.out, "still"));
        run_fini(&run);
    }
}

/* The last test: the node stays away. */
static void topics_whose_node_is_away_are_named(void **state)
{
    const struct servers *servers = command_servers();
    struct server *away = servers_node(servers, 0);

    assert_ptr_equal(servers_node_of(servers, "topic{far}"), away);
    assert_ptr_equal(servers_node_of(servers, "near_0"), away);
    server_kill(away);
    all_others_are_shown(69, servers_redis(servers));
}

TEST_GROUP(left_out)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topics_that_may_not_be_read_are_named),
        cmocka_unit_test(topic_whose_slots_may_not_be_read_is_named),
        cmocka_unit_test(topics_whose_node_is_away_are_named),
    };

    return cmocka_run_group_tests_name("left_out", tests, set_up, command_teardown);
}
