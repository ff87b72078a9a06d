/* test_top_table.c - the order of the topics of slotmq top, and their table as files of text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libsmartcols.h>

#include "cli/output.h"
#include "cli/top_table.h"

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

    (void) state;
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

    (void) state;
    for (int i = 0; i < TOP_ORDERS; i++) {
        assert_true(top_order_of_key(&order, top_order_name((enum top_order) i)[0]));
        assert_int_equal(order, i);
    }
    assert_false(top_order_of_key(&order, 'x'));
    assert_false(top_order_of_key(&order, 0));
}

/* What the table is on a terminal of this many columns. */
static void draw(char *out, size_t size, size_t columns)
{
    struct libscols_table *table = top_table(samples, COUNT, columns, false);
    char *text = NULL;

    assert_int_equal(scols_print_table_to_string(table, &text), 0);
    snprintf(out, size, "%s\n", text);
    output_table_free(table);
    free(text);
}

static void read_screen(char *out, size_t size, size_t columns)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/top-%zu.txt", getenv("SLOTMQ_SCREENS"), columns);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
}

static void test_the_table_is_as_in_the_file(void **state)
{
    static const size_t widths[] = {80, 120, 200};

    (void) state;
    for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
        char wanted[4096];
        char text[4096];
        read_screen(wanted, sizeof(wanted), widths[i]);
        draw(text, sizeof(text), widths[i]);
        if (strcmp(text, wanted) != 0) {
            fail_msg("screens/top-%zu.txt is not:\n%s", widths[i], text);
        }
        for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
            assert_true(strcspn(line, "\n") <= widths[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_busiest_comes_first),
        cmocka_unit_test(test_keys_choose_the_order),
        cmocka_unit_test(test_the_table_is_as_in_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
