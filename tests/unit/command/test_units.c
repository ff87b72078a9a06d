/* test_units.c - durations, ages and sizes as people read them. */
#include "cli/text/parse.h"
#include "cli/text/units.h"
#include "support/group.h"

static void test_durations_are_taken_back_as_they_are(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1ms"},
        {250, "250ms"},
        {1000, "1s"},
        {1500, "1500ms"},
        {90000, "90s"},
        {600000, "10m"},
        {3600000, "1h"},
        {86400000, "1d"},
        {90000000, "25h"},
        {INT64_MAX, "9223372036854775807ms"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[UNITS_MAX];
        int64_t back = -1;
        units_duration(text, rows[i].ms);
        assert_string_equal(text, rows[i].text);
        assert_true(parse_duration(&back, text));
        assert_int_equal(back, rows[i].ms);
    }
}

static void test_ages_have_two_units(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {
        {0, "0ms"},
        {40, "40ms"},
        {999, "999ms"},
        {1000, "1s"},
        {12999, "12s"},
        {60000, "1m"},
        {441000, "7m21s"},
        {3600000, "1h"},
        {3605000, "1h"},
        {11100000, "3h5m"},
        {86400000, "1d"},
        {187200000, "2d4h"},
        {INT64_MAX, "106751991167d7h"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[UNITS_MAX];
        units_age(text, rows[i].ms);
        assert_string_equal(text, rows[i].text);
    }
}

static void test_sizes_are_exact(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {1000, "1000"},
        {1024, "1KiB"},
        {65536, "64KiB"},
        {1048576, "1MiB"},
        {67108864, "64MiB"},
        {1048577, "1048577"},
        {INT64_C(1) << 40, "1024GiB"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[UNITS_MAX];
        units_size(text, rows[i].bytes);
        assert_string_equal(text, rows[i].text);
    }
}

static void test_numbers_in_a_text_are_durations(void **state)
{
    static const char *const rows[][2] = {{"none", "none"},
                                          {"fixed:200", "fixed:200ms"},
                                          {"exp:1000:600000", "exp:1s:10m"},
                                          {"ladder:0,1500,60000", "ladder:0,1500ms,1m"},
                                          {"", ""}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[128];
        units_in_text(text, sizeof(text), rows[i][0]);
        assert_string_equal(text, rows[i][1]);
    }
}

TEST_GROUP(units)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_durations_are_taken_back_as_they_are),
        cmocka_unit_test(test_ages_have_two_units),
        cmocka_unit_test(test_sizes_are_exact),
        cmocka_unit_test(test_numbers_in_a_text_are_durations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
