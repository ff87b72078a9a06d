/* test_top_view.c - what the keys of slotmq top choose to see. */
#include <stdlib.h>
#include <string.h>

#include "cli/stat/screen.h"
#include "cli/stat/top_view.h"
#include "support/group.h"

enum { PAGE = 10 };

static void take(struct top_view *view, const char *keys)
{
    for (; *keys != '\0'; keys++) {
        assert_true(top_view_take_key(view, PAGE, (unsigned char) *keys));
    }
}

static void test_keys_sort_and_scroll(void **state)
{
    struct top_view view = {.order = TOP_BY_ACTIVITY};

    assert_true(top_view_take_key(&view, PAGE, SCREEN_PAGE_DOWN));
    assert_true(top_view_take_key(&view, PAGE, SCREEN_DOWN));
    assert_int_equal(view.first, PAGE + 1);
    assert_true(top_view_take_key(&view, PAGE, SCREEN_UP));
    assert_true(top_view_take_key(&view, PAGE, SCREEN_PAGE_UP));
    assert_true(top_view_take_key(&view, PAGE, SCREEN_PAGE_UP));
    assert_int_equal(view.first, 0);
    view.first = 3;
    take(&view, "d");
    assert_int_equal(view.order, TOP_BY_DEAD);
    assert_int_equal(view.first, 0);
    assert_false(top_view_take_key(&view, PAGE, 'x'));
    assert_false(top_view_take_key(&view, PAGE, '\033'));
    view.first = 3;
    take(&view, "i"); /* what is in work, until it or an order is chosen */
    assert_true(view.work && view.first == 0);
    take(&view, "/x\n");
    assert_true(view.work);
    take(&view, "i");
    assert_false(view.work);
    take(&view, "in");
    assert_true(!view.work && view.order == TOP_BY_NAME);
}

/* Letters that are keys elsewhere belong to the filter. */
static void test_a_filter_is_typed(void **state)
{
    struct top_view view = {.order = TOP_BY_NAME, .first = 7};

    take(&view, "/quad?");
    assert_int_equal(view.state, TOP_TYPING);
    assert_string_equal(view.filter, "quad?");
    assert_int_equal(view.first, 0);
    assert_int_equal(view.order, TOP_BY_NAME);
    assert_false(top_view_take_key(&view, PAGE, SCREEN_UP));
    assert_false(top_view_take_key(&view, PAGE, ' '));
    take(&view, "\177\b\n");
    assert_int_equal(view.state, TOP_TABLE);
    assert_string_equal(view.filter, "qua");
    take(&view, "/\033");
    assert_int_equal(view.state, TOP_TABLE);
    assert_string_equal(view.filter, "");
    take(&view, "/\b\b");
    for (int i = 0; i < TOP_FILTER_MAX - 1; i++) {
        take(&view, "x");
    }
    assert_false(top_view_take_key(&view, PAGE, 'x'));
    assert_int_equal(strlen(view.filter), TOP_FILTER_MAX - 1);
}

static void test_any_key_leads_back_from_the_help(void **state)
{
    struct top_view view = {.order = TOP_BY_NAME};

    take(&view, "?");
    assert_int_equal(view.state, TOP_HELP);
    take(&view, "d");
    assert_int_equal(view.state, TOP_TABLE);
    assert_int_equal(view.order, TOP_BY_NAME);
    assert_non_null(strstr(top_view_help(0), "sort by"));
    for (size_t i = 0; top_view_help(i) != NULL; i++) {
        assert_true(strlen(top_view_help(i)) <= 60);
        assert_true(i < 6); /* it fits a screen of eight lines */
    }
}

static void test_names_have_the_filter(void **state)
{
    struct sample samples[] = {{.name = "a-jobs"}, {.name = "b"}, {.name = "JOBS"}, {.name = "c"}};
    struct top_view view = {.filter = "jobs"};

    assert_int_equal(top_view_filter(&view, samples, 4), 2);
    assert_string_equal(samples[0].name, "a-jobs");
    assert_string_equal(samples[1].name, "JOBS");
    assert_string_equal(samples[2].name, "b");
    assert_string_equal(samples[3].name, "c");
    view.filter[0] = '\0';
    assert_int_equal(top_view_filter(&view, samples, 4), 4);
    assert_int_equal(top_view_filter(&view, samples, 0), 0);
}

static void test_the_head_says_what_is_shown(void **state)
{
    static const struct {
        struct top_view view;
        size_t columns;
        const char *head;
    } cases[] = {
        {{.order = TOP_BY_LAG},
         71,
         "40 topics by lag, 2s; a n w l d sort, i work, / filters, ? keys, q ends"},
        {{.order = TOP_BY_LAG}, 70, "by lag, 2s; ? keys, q ends"},
        {{.order = TOP_BY_LAG}, 10, "by lag, 2s"},
        {{.filter = "mail"}, 80, "3 of 40 topics, those with mail, by activity; ? keys, q ends"},
        {{.work = true}, 80, "40 slots in work by age, 2s; i topics, / filters, ? keys, q ends"},
        {{.work = true}, 40, "by age, 2s; ? keys, q ends"},
        {{.filter = "mail", .work = true},
         80,
         "3 of 40 slots in work, those with mail, by age; ? keys, q ends"},
        {{.filter = "mail", .state = TOP_TYPING},
         80,
         "/mail_  3 of 40 topics; Enter keeps this, Esc shows all"},
        {{.filter = "mail", .state = TOP_TYPING}, 7, "/mail_ "},
    };
    char head[160];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const size_t shown = cases[i].view.filter[0] != '\0' ? 3 : 40;

        top_view_head(head, sizeof(head), &cases[i].view, shown, 40, 2000, cases[i].columns);
        assert_string_equal(head, cases[i].head);
    }
}

TEST_GROUP(top_view)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_sort_and_scroll),
        cmocka_unit_test(test_a_filter_is_typed),
        cmocka_unit_test(test_any_key_leads_back_from_the_help),
        cmocka_unit_test(test_names_have_the_filter),
        cmocka_unit_test(test_the_head_says_what_is_shown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
