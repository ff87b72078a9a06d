/* test_groups.c - topics with groups: topic create --groups, and what names a group. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

static void test_each_group_has_all(void **state)
{
    (void) state;
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
    (void) state;
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

static void test_groups_come_and_go(void **state)
{
    (void) state;
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

    (void) state;
    command_done(NULL, ARGS("topic", "create", "wrong", "--groups", "a,b", "--slots", "2"));
    command_refused(64, has_groups, NULL, ARGS("consume", "wrong", "--exit-when-empty"));
    command_refused(64, has_groups, NULL, ARGS("pause", "wrong"));
    command_refused(64, has_groups, NULL, ARGS("peek", "wrong"));
    command_refused(1, "topic wrong has no group c; its groups are wrong/a, wrong/b", NULL,
                    ARGS("consume", "wrong/c", "--exit-when-empty"));
    command_refused(64, "wrong/a is a group of topic wrong: send to the topic", "one\n",
                    ARGS("send", "wrong/a"));
    command_refused(64, "the name of a group must be letters", NULL,
                    ARGS("topic", "create", "spaces", "--groups", "a, b"));
    command_refused(
        64, "at most 16 groups", NULL,
        ARGS("topic", "create", "many", "--groups", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_group_has_all),
        cmocka_unit_test(test_stat_shows_a_line_per_group),
        cmocka_unit_test(test_groups_come_and_go),
        cmocka_unit_test(test_wrong_names_are_told),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
