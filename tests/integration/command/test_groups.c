/* test_groups.c - topics with groups: topic create --groups, and what names a group. */
#include "command.h"
#include "support/group.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_each_group_has_all(void **state)
{
    command_refused(64, "groups is empty: name one at least", NULL,
                    ARGS("topic", "create", "orders", "--groups", ""));
    command_done(NULL, ARGS("topic", "create", "orders", "--groups", "search,billing", "--slots",
                            "4", "--quiet"));
    command_done("one\ntwo\n", ARGS("send", "orders"));
    char *out = command_out(NULL, ARGS("consume", "orders/billing", "--exit-when-empty"));
    assert_int_equal(strlen(out), strlen("one\ntwo\n"));
    assert_non_null(strstr(out, "one\n"));
    free(out);
    assert_int_equal(command_stat("orders/billing", "done"), 2);
    assert_int_equal(command_stat("orders/search", "waiting"), 2);
    command_done(NULL, ARGS("pause", "orders/search"));
    out = command_out(NULL, ARGS("peek", "orders/search"));
    assert_non_null(strstr(out, "two"));
    free(out);
}

static void test_stat_shows_a_line_per_group(void **state)
{
    command_done(NULL, ARGS("topic", "create", "lines", "--groups", "a,b", "--slots", "2"));
    char *out = command_out(NULL, ARGS("stat", "lines"));
    assert_non_null(strstr(out, "lines/a "));
    assert_non_null(strstr(out, "lines/b "));
    free(out);
    json_t *stat = command_json(NULL, ARGS("stat", "lines", "--json"));
    assert_int_equal(json_array_size(json_object_get(stat, "topics")), 2);
    json_decref(stat);
    out = command_out(NULL, ARGS("stat", "lines", "--prometheus"));
    assert_non_null(strstr(out, "{topic=\"lines/b\"}"));
    free(out);
    out = command_out(NULL, ARGS("topic", "list"));
    assert_non_null(strstr(out, "lines/a "));
    free(out);
    json_t *topic = command_json(NULL, ARGS("topic", "show", "lines", "--json"));
    assert_int_equal(json_array_size(json_object_get(topic, "groups")), 2);
    json_decref(topic);
    out = command_out(NULL, ARGS("topic", "show", "lines"));
    assert_non_null(strstr(out, "a,b"));
    free(out);
}

/* A topic in the lines of JSON that stat and top print. */
static json_t *topic_named(const json_t *document, const char *name)
{
    const json_t *topics = json_object_get(document, "topics");

    for (size_t i = 0; i < json_array_size(topics); i++) {
        json_t *topic = json_array_get(topics, i);
        if (strcmp(json_text(topic, "topic"), name) == 0) {
            return topic;
        }
    }
    return NULL;
}

static void test_top_shows_a_line_per_group(void **state)
{
    command_done(NULL, ARGS("topic", "create", "tops", "--groups", "a,b", "--slots", "2"));
    command_done("one\n", ARGS("send", "tops"));
    command_done(NULL, ARGS("consume", "tops/a", "--exit-when-empty"));
    char *out = command_out(NULL, ARGS("top", "tops", "--count", "1"));
    assert_non_null(strstr(out, "tops/a "));
    assert_non_null(strstr(out, "tops/b "));
    free(out);
    json_t *top = command_json(NULL, ARGS("top", "tops", "--json", "--count", "1"));
    assert_int_equal(json_array_size(json_object_get(top, "topics")), 2);
    assert_int_equal(json_number(topic_named(top, "tops/a"), "waiting"), 0);
    assert_int_equal(json_number(topic_named(top, "tops/b"), "waiting"), 1);
    json_decref(top);
    top = command_json(NULL, ARGS("top", "tops/b", "--json", "--count", "1"));
    assert_int_equal(json_array_size(json_object_get(top, "topics")), 1);
    assert_non_null(topic_named(top, "tops/b"));
    json_decref(top);
    top = command_json(NULL, ARGS("top", "--json", "--count", "1"));
    assert_non_null(topic_named(top, "tops/a"));
    assert_null(topic_named(top, "tops"));
    json_decref(top);
    command_refused(1, "topic tops has no group c; its groups are tops/a, tops/b", NULL,
                    ARGS("top", "tops/c", "--count", "1"));
    command_refused(1, "topic tops has no group c; its groups are tops/a, tops/b", NULL,
                    ARGS("stat", "tops/c"));
}

/* Groups come into the picture of their topic, and leave it. */
static void test_top_follows_the_groups_of_its_topic(void **state)
{
    struct run run;

    command_done(NULL, ARGS("topic", "create", "moves", "--groups", "a,b", "--slots", "2"));
    command_start(&run, NULL, ARGS("top", "moves", "--json", "--interval", "100ms"));
    assert_true(run_wait_out(&run, "\"moves/b\"", TIMEOUT_MS));
    command_done(NULL, ARGS("topic", "alter", "moves", "groups=b,c"));
    assert_true(run_wait_out(&run, "\"moves/c\"", TIMEOUT_MS));
    run_signal(&run, SIGINT);
    command_end(&run);
    run_fini(&run);
}

/* One group whose definition is lost hides none of the others. */
static void test_a_lost_group_is_named_beside_the_others(void **state)
{
    command_done(NULL, ARGS("topic", "create", "loses", "--groups", "a,b", "--slots", "2"));
    command_redis(servers_node(command_servers(), 0), ARGS("-c", "DEL", "topic.a{loses}"));
    char *out = command_partly(1, "topic loses/a", ARGS("stat", "loses"));
    assert_non_null(strstr(out, "loses/b "));
    free(out);
    out = command_partly(1, "topic loses/a", ARGS("top", "loses", "--count", "1"));
    assert_non_null(strstr(out, "loses/b "));
    free(out);
    command_done(NULL, ARGS("topic", "repair", "loses/a"));
    command_done(NULL, ARGS("stat", "loses"));
}

static void test_groups_come_and_go(void **state)
{
    command_done(NULL, ARGS("topic", "create", "comes", "--groups", "a", "--slots", "2"));
    command_done(NULL, ARGS("topic", "alter", "comes", "groups=a,b"));
    command_done("one\n", ARGS("send", "comes"));
    assert_int_equal(command_stat("comes/b", "waiting"), 1);
    command_refused(1, "comes/b still holds 1 messages", NULL,
                    ARGS("topic", "alter", "comes", "groups=a"));
    command_done(NULL, ARGS("topic", "delete", "comes/b", "--force", "--yes"));
    assert_int_equal(command_stat("comes/a", "waiting"), 1);
    command_refused(64, "last group", NULL, ARGS("topic", "delete", "comes/a", "--force", "--yes"));
    command_done(NULL, ARGS("topic", "delete", "comes", "--force", "--yes"));
    command_refused(1, "no topic comes", NULL, ARGS("topic", "show", "comes"));
}

static void test_wrong_names_are_told(void **state)
{
    static const char has_groups[] = "topic wrong has groups; name one of them: wrong/a, wrong/b";
    static const char has_no_c[] = "topic wrong has no group c; its groups are wrong/a, wrong/b";
    static const char has_none[] = "topic bare has no groups: name it without /a";
    static const char is_no_name[] = "a group is named TOPIC/GROUP, as in orders/billing";
    static const struct {
        int code;
        const char *told;
        const char *words[8];
    } rows[] = {
        {64, has_groups, {"consume", "wrong", "--exit-when-empty"}},
        {64, has_groups, {"pause", "wrong"}},
        {64, has_groups, {"peek", "wrong"}},
        {64, has_groups, {"get", "wrong", "id"}},
        {64, has_groups, {"dead", "list", "wrong"}},
        {64, has_groups, {"purge", "wrong", "--state", "waiting", "--yes"}},
        {64, has_groups, {"topic", "rebind", "wrong"}},
        {1, has_no_c, {"consume", "wrong/c", "--exit-when-empty"}},
        {1, has_no_c, {"stat", "wrong/c"}},
        {1, has_no_c, {"topic", "show", "wrong/c"}},
        {1, has_no_c, {"topic", "delete", "wrong/c"}},
        {1, has_none, {"consume", "bare/a", "--exit-when-empty"}},
        {1, has_none, {"stat", "bare/a"}},
        {1, has_none, {"topic", "delete", "bare/a"}},
        {1, "no topic nowhere; create it first", {"consume", "nowhere/a", "--exit-when-empty"}},
        {64, is_no_name, {"consume", "wrong/", "--exit-when-empty"}},
        {64, is_no_name, {"stat", "/a"}},
        {64, is_no_name, {"stat", "wrong/a/b"}},
        {64, "send to the topic", {"send", "wrong/a", "one"}},
        {64, "alter the topic", {"topic", "alter", "wrong/a", "max_retries=3"}},
        {64, "create the topic", {"topic", "create", "wrong/d"}},
    };

    command_done(NULL, ARGS("topic", "create", "wrong", "--groups", "a,b", "--slots", "2"));
    command_done(NULL, ARGS("topic", "create", "bare", "--slots", "2"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(rows[i].code, rows[i].told, NULL, rows[i].words);
    }
}

static void test_wrong_lists_are_told(void **state)
{
    static const struct {
        const char *list, *told;
    } rows[] = {
        {"a, b", "the name of a group must be letters, digits, '.', '_', '-', not \" b\"; separate "
                 "names by commas"},
        {"a/b", "the name of a group must be letters, digits, '.', '_', '-', not \"a/b\""},
        {"a,,b", "the name of a group must be letters, digits, '.', '_', '-', not \"\""},
        {"a,b,a", "group a is named twice: name each group once"},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", "a topic has at most 16 groups: name fewer"},
    };
    char pair[64];

    command_done(NULL, ARGS("topic", "create", "lists", "--groups", "a,b", "--slots", "2"));
    command_done(NULL, ARGS("topic", "create", "listless", "--slots", "2"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(64, rows[i].told, NULL,
                        ARGS("topic", "create", "new", "--groups", rows[i].list));
        snprintf(pair, sizeof(pair), "groups=%s", rows[i].list);
        command_refused(64, rows[i].told, NULL, ARGS("topic", "alter", "lists", pair));
    }
    command_refused(64, "name one at least, or delete the topic", NULL,
                    ARGS("topic", "alter", "lists", "groups="));
    command_refused(64, "topic listless was created without groups", NULL,
                    ARGS("topic", "alter", "listless", "groups=a"));
    command_refused(1, "no topic new", NULL, ARGS("topic", "show", "new"));
    json_t *topic = command_json(NULL, ARGS("topic", "show", "lists", "--json"));
    assert_int_equal(json_array_size(json_object_get(topic, "groups")), 2);
    json_decref(topic);
}

TEST_GROUP(groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_group_has_all),
        cmocka_unit_test(test_stat_shows_a_line_per_group),
        cmocka_unit_test(test_top_shows_a_line_per_group),
        cmocka_unit_test(test_top_follows_the_groups_of_its_topic),
        cmocka_unit_test(test_a_lost_group_is_named_beside_the_others),
        cmocka_unit_test(test_groups_come_and_go),
        cmocka_unit_test(test_wrong_names_are_told),
        cmocka_unit_test(test_wrong_lists_are_told),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
