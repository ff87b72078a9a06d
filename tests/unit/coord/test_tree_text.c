/* test_tree_text.c - the words of the tree's script, and of what it publishes. */
#include <string.h>

#include "coord/tree/tree_text.h"
#include "support/group.h"

#define CHANGE_1 "0cf0a1b2abc00001"
#define CHANGE_2 "0cf0a1b2abc00002"

static const int64_t first = 0xabc00001;
static const int64_t era = (int64_t) 0x0cf0a1b2 << 32;

static struct coord_word word(const char *text)
{
    return (struct coord_word){.data = text, .len = strlen(text)};
}

static void changes_are_hex_digits(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int64_t change;
    } cases[] = {
        {"0000000000000000", true, 0},   {"7fffffffffffffff", true, INT64_MAX},
        {"8000000000000000", false, 0}, /* no signed number */
        {"00000000000000A0", false, 0},  {"000000000000001", false, 0},
        {"00000000000000001", false, 0}, {"", false, 0},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[TREE_CHANGE_LEN + 1];
        int64_t change = 0;

        assert_int_equal(tree_change_parse(&change, cases[i].text, strlen(cases[i].text)),
                         cases[i].good);
        if (cases[i].good) {
            assert_true(change == cases[i].change);
            tree_change_format(text, change);
            assert_string_equal(text, cases[i].text);
        }
    }
}

static void heads_are_read_or_refused(void **state)
{
    static const struct {
        const char *words[TREE_HEAD_WORDS];
        bool good;
        enum tree_verdict verdict;
        int64_t grace_ms;
    } cases[] = {
        {{"OK", CHANGE_1, CHANGE_2, "0", "0"}, true, TREE_OK, 0},
        {{"REIGN", CHANGE_1, CHANGE_2, "10000", "0"}, true, TREE_REIGN, 10000},
        {{"GONE", CHANGE_1, CHANGE_2, "7", "1"}, true, TREE_GONE, 7},
        {{"REFUSED", CHANGE_1, CHANGE_2, "0", "0"}, true, TREE_REFUSED, 0},
        {{"HIDDEN", "", "", "0", "0"}, true, TREE_HIDDEN, 0},
        {{"LATER", "", "", "0", "0"}, true, TREE_LATER, 0},
        {{"FULL", "", "", "0", "0"}, true, TREE_FULL, 0},
        {{"OKAY", CHANGE_1, CHANGE_2, "0", "0"}, false, TREE_OK, 0},
        {{"OK", "1", CHANGE_2, "0", "0"}, false, TREE_OK, 0},
        {{"OK", CHANGE_1, "", "0", "0"}, false, TREE_OK, 0},
        {{"OK", CHANGE_1, CHANGE_2, "", "0"}, false, TREE_OK, 0},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct coord_word words[TREE_HEAD_WORDS];
        struct tree_head head;

        for (int w = 0; w < TREE_HEAD_WORDS; w++) {
            words[w] = word(cases[i].words[w]);
        }
        assert_int_equal(tree_head_parse(&head, words, TREE_HEAD_WORDS), cases[i].good);
        assert_false(tree_head_parse(&head, words, TREE_HEAD_WORDS - 1));
        if (cases[i].good) {
            assert_true(tree_head_parse(&head, words, TREE_HEAD_WORDS));
            assert_int_equal(head.verdict, cases[i].verdict);
            assert_int_equal(head.grace_ms, cases[i].grace_ms);
            assert_int_equal(head.young, strcmp(cases[i].words[4], "1") == 0);
            assert_true(head.verdict >= TREE_HIDDEN || head.last == era + first + 1);
        }
    }
}

static void nodes_are_read_or_refused(void **state)
{
    static const struct {
        const char *text;
        const char *data; /* NULL: refused */
    } cases[] = {
        {CHANGE_1 " " CHANGE_2 " 0000000000000005 17 18 3\ndata\nmore", "data\nmore"},
        {CHANGE_1 " " CHANGE_2 " 0000000000000005 17 18 3\n", ""},
        {CHANGE_1 " " CHANGE_2 " 0000000000000005 17 18 3", ""},
        {CHANGE_1 " " CHANGE_2 " 0000000000000005 17 18\ndata", NULL},
        {CHANGE_1 " " CHANGE_2 " 17 18 3\ndata", NULL},
        {"x", NULL},
        {"", NULL},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct coord_word node = word(cases[i].text);
        struct session_stat stat;
        struct coord_word data;

        assert_int_equal(tree_node_parse(&stat, &data, &node), cases[i].data != NULL);
        if (cases[i].data != NULL) {
            assert_true(stat.czxid == era + first && stat.mzxid == era + first + 1);
            assert_true(stat.version == stat.mzxid && stat.owner == 5);
            assert_true(stat.ctime == 17 && stat.mtime == 18 && stat.writes == 3);
            assert_int_equal(data.len, strlen(cases[i].data));
            assert_memory_equal(data.data, cases[i].data, data.len);
        }
    }
}

static void hints_are_read_or_refused(void **state)
{
    static const struct {
        const char *text;
        const char *path; /* NULL: refused */
        bool listed;
    } cases[] = {
        {CHANGE_1 " " CHANGE_2 " +members/a", "members/a", true},
        {CHANGE_1 " " CHANGE_2 " =topics/t/assignment", "topics/t/assignment", false},
        {CHANGE_1 " " CHANGE_2 " =", "", false},
        {CHANGE_1 " " CHANGE_2 " members/a", NULL, false},
        {CHANGE_1 " +members/a", NULL, false},
        {"", NULL, false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tree_hint hint;

        assert_int_equal(tree_hint_parse(&hint, cases[i].text, strlen(cases[i].text)),
                         cases[i].path != NULL);
        if (cases[i].path != NULL) {
            assert_int_equal(hint.path_len, strlen(cases[i].path));
            assert_memory_equal(hint.path, cases[i].path, hint.path_len);
            assert_int_equal(hint.listed, cases[i].listed);
            assert_true(hint.change == hint.before + 1);
        }
    }
}

/* What members of all topics watch, what consumers of one topic watch, and what the assigner
 * alone watches are published apart. */
static void nodes_have_channels(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"leader", ""},
        {"leader_epoch", "members"},
        {"members", "members"},
        {"members/topics/t", "members"},
        {"topics", "members"},
        {"topics/t", "topics/t"},
        {"topics/t/assignment", "topics/t"},
        {"topics/t:g/assignment", "topics/t:g"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char channel[TREE_CHANNEL_MAX];

        tree_channel_of(channel, cases[i][0]);
        assert_string_equal(channel, cases[i][1]);
    }
}

static void operations_have_statuses(void **state)
{
    static const struct {
        const char *text;
        enum session_status status;
    } cases[] = {{"OK", SESSION_OK},           {"NO_NODE", SESSION_NO_NODE},
                 {"EXISTS", SESSION_EXISTS},   {"CHANGED", SESSION_CHANGED},
                 {"GRACE", SESSION_AWAY},      {"NOT_EMPTY", SESSION_NOT_EMPTY},
                 {"SOMETHING", SESSION_FAILED}};

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct coord_word status = word(cases[i].text);

        assert_int_equal(tree_status_parse(&status), cases[i].status);
    }
}

TEST_GROUP(tree_text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_are_hex_digits),    cmocka_unit_test(heads_are_read_or_refused),
        cmocka_unit_test(nodes_are_read_or_refused), cmocka_unit_test(hints_are_read_or_refused),
        cmocka_unit_test(nodes_have_channels),       cmocka_unit_test(operations_have_statuses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
