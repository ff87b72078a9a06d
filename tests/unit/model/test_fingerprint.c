/* test_fingerprint.c - what tells one cluster from another: hashes of nodes, their text, and which
 * sets of them belong together. */
#include <stdio.h>
#include <string.h>

#include "model/fingerprint.h"
#include "support/group.h"

/* The fingerprint of the nodes with these numbers. */
static struct fingerprint fingerprint_of(int first, int last)
{
    struct fingerprint fingerprint = {0};
    char id[41];

    for (int i = first; i <= last; i++) {
        int len = snprintf(id, sizeof(id), "%040d", i);

        fingerprint_add(&fingerprint, id, (size_t) len);
    }
    return fingerprint;
}

static void the_order_of_nodes_does_not_matter(void **state)
{
    struct fingerprint left = {0}, right = {0};

    fingerprint_add(&left, "a", 1);
    fingerprint_add(&left, "b", 1);
    fingerprint_add(&left, "a", 1);
    fingerprint_add(&right, "b", 1);
    fingerprint_add(&right, "a", 1);
    assert_int_equal(left.count, 2);
    assert_true(fingerprint_equal(&left, &right));
    fingerprint_add(&right, "c", 1);
    assert_false(fingerprint_equal(&left, &right));
}

static bool share_a_hash(const struct fingerprint *left, const struct fingerprint *right)
{
    const struct fingerprint *const sets[] = {left, right};
    size_t groups[2];

    return fingerprint_group(groups, sets, 2) == 1;
}

/* Of many nodes only some are kept, and these from the whole of them: also when they are counted
 * from the other end, and when many are replaced. */
static void many_nodes_keep_what_they_share(void **state)
{
    struct fingerprint all = fingerprint_of(1, 1000), backwards = {0};

    assert_int_equal(all.count, FINGERPRINT_MAX);
    for (int i = 1000; i >= 1; i--) {
        char id[41];

        (void) snprintf(id, sizeof(id), "%040d", i);
        fingerprint_add(&backwards, id, 40);
    }
    assert_true(fingerprint_equal(&all, &backwards));
    for (int replaced = 10; replaced <= 500; replaced += 10) {
        struct fingerprint later = fingerprint_of(1 + replaced, 1000 + replaced);

        assert_true(share_a_hash(&all, &later));
    }
}

static void text_comes_back(void **state)
{
    static const int counts[] = {1, 2, FINGERPRINT_MAX, FINGERPRINT_MAX + 1};
    char text[FINGERPRINT_TEXT_MAX];

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct fingerprint fingerprint = fingerprint_of(1, counts[i]), got;

        fingerprint_format(text, &fingerprint);
        assert_true(fingerprint_parse(&got, text));
        assert_true(fingerprint_equal(&fingerprint, &got));
    }
    fingerprint_format(text, &(struct fingerprint){0});
    assert_string_equal(text, "");
}

static void only_its_own_form_is_read(void **state)
{
    static const struct {
        const char *text;
        size_t count; /* 0: it is refused */
    } cases[] = {
        {"00000000", 1},
        {"0a1b2c3d,99aabbcc", 2},
        {"", 0},
        {",", 0},
        {"0a1b2c3", 0},
        {"0a1b2c3d0", 0},
        {"0A1B2C3D", 0},
        {"0x1b2c3d", 0},
        {"-a1b2c3d", 0},
        {" 0a1b2c3d", 0},
        {"0a1b2c3d ", 0},
        {"0a1b2c3d,", 0},
        {"0a1b2c3d;99aabbcc", 0},
        {"0a1b2c3d,,99aabbcc", 0},
        {"0a1b2c3d,0a1b2c3d", 0},
        {"99aabbcc,0a1b2c3d", 0},
        {"00000001,00000002,00000003,00000004,00000005,00000006,00000007,00000008,"
         "00000009,0000000a,0000000b,0000000c,0000000d,0000000e,0000000f,00000010",
         16},
        {"00000001,00000002,00000003,00000004,00000005,00000006,00000007,00000008,"
         "00000009,0000000a,0000000b,0000000c,0000000d,0000000e,0000000f,00000010,00000011",
         0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fingerprint got = {.count = 7};

        print_message("\"%s\"\n", cases[i].text);
        assert_int_equal(fingerprint_parse(&got, cases[i].text), cases[i].count > 0);
        assert_int_equal(got.count, cases[i].count);
    }
}

enum { SETS_MAX = 5 };

struct grouping {
    const char *name;
    int nodes[SETS_MAX][2]; /* the first and the last of each set; 0, -1: none; 0, 0: no more */
    size_t groups[SETS_MAX];
    size_t count;
};

static void sets_that_share_a_hash_belong_together(void **state)
{
    static const struct grouping cases[] = {
        {"nobody", {{0}}, {0}, 0},
        {"one that is not known", {{0, -1}}, {0}, 0},
        {"one", {{1, 3}}, {1}, 1},
        {"the same", {{1, 3}, {1, 3}}, {1, 1}, 1},
        {"of one node", {{1, 1}, {2, 2}}, {1, 2}, 2},
        {"all but one node replaced", {{1, 3}, {3, 5}}, {1, 1}, 1},
        {"different", {{1, 3}, {4, 6}}, {1, 2}, 2},
        {"different, and one that is not known", {{1, 3}, {0, -1}, {4, 6}}, {1, 0, 2}, 2},
        {"a third saw both", {{1, 3}, {4, 6}, {3, 4}}, {1, 1, 1}, 1},
        {"a chain", {{1, 2}, {7, 8}, {5, 7}, {2, 4}, {4, 5}}, {1, 1, 1, 1, 1}, 1},
        {"three clusters", {{1, 3}, {4, 6}, {7, 9}, {4, 5}, {9, 9}}, {1, 2, 3, 2, 3}, 3},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct grouping *it = &cases[i];
        struct fingerprint fingerprint[SETS_MAX];
        const struct fingerprint *sets[SETS_MAX];
        size_t groups[SETS_MAX] = {0};
        size_t count = 0;

        print_message("%s\n", it->name);
        for (; count < SETS_MAX && (it->nodes[count][0] != 0 || it->nodes[count][1] != 0);
             count++) {
            fingerprint[count] = fingerprint_of(it->nodes[count][0], it->nodes[count][1]);
            sets[count] = &fingerprint[count];
        }
        assert_int_equal(fingerprint_group(groups, sets, count), it->count);
        assert_memory_equal(groups, it->groups, sizeof(groups));
    }
}

TEST_GROUP(fingerprint)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_of_nodes_does_not_matter),
        cmocka_unit_test(many_nodes_keep_what_they_share),
        cmocka_unit_test(text_comes_back),
        cmocka_unit_test(only_its_own_form_is_read),
        cmocka_unit_test(sets_that_share_a_hash_belong_together),
    };

    return cmocka_run_group_tests_name("fingerprint", tests, NULL, NULL);
}
