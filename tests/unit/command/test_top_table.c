/* test_top_table.c - the order of the topics of slotmq top, and their table as files of text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/top_table.h"
#include "screen.h"
#include "support/group.h"

#define COUNTS(...)                                                                                \
    {                                                                                              \
        .struct_size = sizeof(smq_stats), __VA_ARGS__                                              \
    }

static const struct sample samples[] = {
    {.name = "calls",
     .stats = COUNTS(.waiting = 12, .due = 12, .oldest_due_age_ms = SMQ_AGE_UNKNOWN),
     .has_rates = true,
     .rates = {.sent = 0.5, .done = 0.4}},
    {.name = "mail-to-customers-of-the-northern-region",
     .stats = COUNTS(.waiting = 1234567, .due = 20500, .claimed = 1000, .resting = 32, .dead = 7,
                     .oldest_due_age_ms = 441000),
     .has_rates = true,
     .rates = {.sent = 1250.25, .merged = 3, .done = 980.5, .retried = 12, .rejected = 0.1}},
    {.name = "orders",
     .stats = COUNTS(.waiting = 90, .oldest_due_age_ms = 0, .slots_paused = 64),
     .has_rates = true,
     .rates = {.sent = 2}},
    {.name = "reports",
     .stats = COUNTS(.waiting = 5, .due = 5, .oldest_due_age_ms = 90000, .slots_damaged = 1)},
};
enum { COUNT = sizeof(samples) / sizeof(samples[0]) };

static void test_the_busiest_comes_first(void **state)
{
    static const struct {
        enum top_order order;
        const char *names[COUNT]; /* by their first letter */
    } rows[] = {
        {TOP_BY_ACTIVITY, {"m", "o", "c", "r"}}, {TOP_BY_NAME, {"c", "m", "o", "r"}},
        {TOP_BY_WAITING, {"m", "o", "c", "r"}},  {TOP_BY_LAG, {"m", "r", "o", "c"}},
        {TOP_BY_DEAD, {"m", "c", "o", "r"}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sample sorted[COUNT];
        memcpy(sorted, samples, sizeof(samples));
        top_sort(sorted, COUNT, rows[i].order);
        for (size_t j = 0; j < COUNT; j++) {
            assert_int_equal(sorted[j].name[0], rows[i].names[j][0]);
        }
    }
}

static void test_keys_choose_the_order(void **state)
{
    enum top_order order = TOP_BY_NAME;

    for (int i = 0; i < TOP_ORDERS; i++) {
        assert_true(top_order_of_key(&order, top_order_name((enum top_order) i)[0]));
        assert_int_equal(order, i);
    }
    assert_false(top_order_of_key(&order, 'x'));
    assert_false(top_order_of_key(&order, 0));
}

/* slotmq top of a topic with groups; their names stay apart where they are shortened. */
static void test_groups_are_as_in_the_file(void **state)
{
    static const struct sample groups[] = {
        {.name = "orders-of-the-northern-region/billing",
         .stats = COUNTS(.waiting = 12, .due = 12, .claimed = 4, .oldest_due_age_ms = 90000),
         .has_rates = true,
         .rates = {.sent = 20.5, .done = 18}},
        {.name = "orders-of-the-northern-region/search",
         .stats = COUNTS(.waiting = 90, .slots_paused = 64),
         .has_rates = true,
         .rates = {.sent = 20.5}},
    };

    for (size_t i = 0; i < sizeof(screen_widths) / sizeof(screen_widths[0]); i++) {
        struct table *table = top_table(groups, 2);
        assert_screen("top-groups", screen_widths[i], &table, 1);
    }
}

static void test_the_table_is_as_in_the_file(void **state)
{
    for (size_t i = 0; i < sizeof(screen_widths) / sizeof(screen_widths[0]); i++) {
        struct table *table = top_table(samples, COUNT);
        assert_screen("top", screen_widths[i], &table, 1);
    }
}

TEST_GROUP(top_table)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_busiest_comes_first),
        cmocka_unit_test(test_keys_choose_the_order),
        cmocka_unit_test(test_the_table_is_as_in_the_file),
        cmocka_unit_test(test_groups_are_as_in_the_file),
    };

    return cmocka_run_group_tests(tests, screen_setup, NULL);
}
