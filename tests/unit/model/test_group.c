/* test_group.c - groups of a topic: their names, lists of them, and the parts of a definition. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "model/group.h"
#include "model/option.h"
#include "model/topic.h"
#include "support/group.h"

static void a_name_is_taken_apart(void **state)
{
    assert_null(group_in("orders"));
    assert_string_equal(group_in("orders/billing"), "billing");
    assert_int_equal(group_topic_len("orders"), 6);
    assert_int_equal(group_topic_len("orders/billing"), 6);
}

static void lists_are_sorted_and_checked(void **state)
{
    static const struct {
        const char *text, *list, *refused;
    } rows[] = {
        {NULL, "", NULL},
        {"", "", NULL},
        {"billing", "billing", NULL},
        {"search,billing", "billing,search", NULL},
        {"b,ab,a,abc", "a,ab,abc,b", NULL},
        {"a.b,a-b,A_9", "A_9,a-b,a.b", NULL},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", NULL},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q", NULL, "a topic has at most 16 groups: name fewer"},
        {"a,b,a", NULL, "group a is named twice: name each group once"},
        {",", NULL,
         "the name of a group must be letters, digits, '.', '_', '-', not \"\"; separate names by "
         "commas"},
        {"a, b", NULL,
         "the name of a group must be letters, digits, '.', '_', '-', not \" b\"; separate names "
         "by commas"},
        {"a/b", NULL,
         "the name of a group must be letters, digits, '.', '_', '-', not \"a/b\"; separate names "
         "by commas"},
        {"a:b", NULL,
         "the name of a group must be letters, digits, '.', '_', '-', not \"a:b\"; separate names "
         "by commas"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char list[GROUP_LIST_MAX];
        smq_error err = SMQ_ERROR_INIT;
        smq_status status = group_list_parse(list, "orders", rows[i].text, &err);

        if (rows[i].list != NULL) {
            assert_int_equal(status, SMQ_OK);
            assert_string_equal(list, rows[i].list);
        } else {
            assert_int_equal(status, SMQ_INVALID);
            assert_string_equal(err.text, rows[i].refused);
        }
    }
}

static void names_have_room(void **state)
{
    char list[GROUP_LIST_MAX];
    char group[GROUP_NAME_MAX];
    char text[2048] = "";
    char name[GROUP_NAME_MAX + 1];
    smq_error err = SMQ_ERROR_INIT;

    memset(group, 'g', sizeof(group));
    group[GROUP_NAME_MAX - 2] = '\0'; /* with "t/" as long as may be */
    assert_int_equal(group_list_parse(list, "t", group, &err), SMQ_OK);
    group_list_name(name, "t", list, 0);
    assert_int_equal(strlen(name), GROUP_NAME_MAX);
    assert_int_equal(group_list_parse(list, "to", group, &err), SMQ_INVALID);
    for (int i = 0; i < GROUP_MOST; i++) {
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.100s%d", i > 0 ? "," : "",
                 group, i);
    }
    assert_int_equal(group_list_parse(list, "t", text, &err), SMQ_INVALID);
    assert_string_equal(err.text, "the names of all groups together are longer than 1023 bytes: "
                                  "shorten them");
}

static void lists_are_read(void **state)
{
    char name[GROUP_NAME_MAX + 1];
    char shown[64];

    assert_int_equal(group_list_count(""), 0);
    assert_int_equal(group_list_count("a"), 1);
    assert_int_equal(group_list_count("a,bc,d"), 3);
    assert_true(group_list_has("a,bc,d", "bc"));
    assert_true(group_list_has("a,bc,d", "d"));
    assert_false(group_list_has("a,bc,d", "b"));
    assert_false(group_list_has("a,bc,d", "c"));
    assert_false(group_list_has("", "a"));
    group_list_name(name, "t", "a,bc,d", 1);
    assert_string_equal(name, "t/bc");
    group_list_show(shown, sizeof(shown), "t", "a,bc");
    assert_string_equal(shown, "t/a, t/bc");
    group_list_show(shown, 5, "t", "a,bc");
    assert_string_equal(shown, "t/a,");
}

/* --- definitions --- */

static struct topic topic_of(const char *groups)
{
    struct topic topic;
    smq_error err = SMQ_ERROR_INIT;

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = "orders", .groups = groups);
    assert_int_equal(topic_from_options(&topic, &options, &err), SMQ_OK);
    topic.generation = 7;
    return topic;
}

/* It would be a topic that can never get any. */
static void an_empty_list_is_refused(void **state)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = "orders", .groups = "");
    smq_error err = SMQ_ERROR_INIT;
    struct topic topic;

    assert_int_equal(topic_from_options(&topic, &options, &err), SMQ_INVALID);
    assert_string_equal(err.text, "groups is empty: name one at least, or leave it out; a topic "
                                  "that is created without groups cannot get any");
}

static void a_definition_without_groups_is_as_before(void **state)
{
    struct topic topic = topic_of(NULL);
    struct topic part;
    struct buf text = {0};

    topic_format(&text, &topic);
    assert_null(strstr(text.data, "groups"));
    assert_int_equal(topic_parts(&topic), 1);
    topic_part(&part, &topic, 0);
    assert_string_equal(part.name, "orders");
    assert_int_equal(part.generation, 7);
    assert_true(topic_has_part(&topic, "orders"));
    assert_int_equal(topic_check_holds(&topic, NULL), SMQ_OK);
    buf_fini(&text);
}

static void a_definition_with_groups_has_parts(void **state)
{
    struct topic topic = topic_of("search,billing");
    struct topic part, read;
    struct buf text = {0};
    smq_error err = SMQ_ERROR_INIT;

    topic_format(&text, &topic);
    assert_non_null(strstr(text.data, " groups=billing,search"));
    assert_int_equal(topic_parse(&read, "orders", text.data, text.len, &err), SMQ_OK);
    assert_string_equal(read.groups, "billing,search");
    assert_int_equal(topic_parse(&read, "orders/billing", text.data, text.len, &err), SMQ_INTERNAL);
    assert_int_equal(topic_parts(&topic), 2);
    topic_part(&part, &topic, 1);
    assert_string_equal(part.name, "orders/search");
    assert_string_equal(part.groups, "");
    assert_int_equal(part.generation, 0);
    assert_true(topic_has_part(&topic, "orders/search"));
    assert_false(topic_has_part(&topic, "orders"));
    buf_clear(&text);
    topic_format(&text, &part);
    assert_int_equal(topic_parse(&read, "orders/search", text.data, text.len, &err), SMQ_OK);
    assert_int_equal(topic_check_holds(&topic, &err), SMQ_INVALID);
    assert_string_equal(err.text, "topic orders has groups; name one of them: orders/billing, "
                                  "orders/search");
    buf_fini(&text);
}

static void stored_groups_are_in_order(void **state)
{
    static const char *const bad[] = {"groups=", "groups=b,a", "groups=a,,b", "groups=a/b",
                                      "groups=a groups=b"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct topic topic = topic_of(NULL);
        struct buf text = {0};

        topic_format(&text, &topic);
        buf_printf(&text, " %s", bad[i]);
        assert_int_equal(topic_parse(&topic, "orders", text.data, text.len, NULL), SMQ_INTERNAL);
        buf_fini(&text);
    }
}

static void groups_differ(void **state)
{
    struct topic with = topic_of("a,b");
    struct topic others = topic_of("a");
    struct topic none = topic_of(NULL);
    char text[160];

    assert_true(topic_difference(text, sizeof(text), &with, &others));
    assert_string_equal(text, "groups is a,b, not a");
    assert_false(topic_fixed_difference(text, sizeof(text), &with, &others));
    assert_true(topic_fixed_difference(text, sizeof(text), &with, &none));
    assert_string_equal(text, "groups is a,b, not none");
    assert_true(topic_fixed_difference(text, sizeof(text), &none, &with));
    assert_string_equal(text, "groups is none, not a,b");
}

static smq_status alter(struct topic *topic, const char *option, const char *value, smq_error *err)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    smq_status status = option_parse(&options, SMQ_OPTION_SET_TOPIC, option, value, err);

    return status == SMQ_OK ? topic_alter(topic, &options, option, err) : status;
}

static void groups_are_altered(void **state)
{
    struct topic topic = topic_of("a");
    struct topic none = topic_of(NULL);
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(alter(&topic, "groups", "c,b", &err), SMQ_OK);
    assert_string_equal(topic.groups, "b,c");
    assert_int_equal(alter(&topic, "max_retries", "3", &err), SMQ_OK);
    assert_string_equal(topic.groups, "b,c");
    assert_int_equal(alter(&topic, "groups", "", &err), SMQ_INVALID);
    assert_int_equal(alter(&topic, "groups", "a b", &err), SMQ_INVALID);
    assert_string_equal(topic.groups, "b,c");
    assert_int_equal(alter(&none, "groups", "a", &err), SMQ_INVALID);
}

TEST_GROUP(group)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_taken_apart),
        cmocka_unit_test(lists_are_sorted_and_checked),
        cmocka_unit_test(names_have_room),
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(an_empty_list_is_refused),
        cmocka_unit_test(a_definition_without_groups_is_as_before),
        cmocka_unit_test(a_definition_with_groups_has_parts),
        cmocka_unit_test(stored_groups_are_in_order),
        cmocka_unit_test(groups_differ),
        cmocka_unit_test(groups_are_altered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
