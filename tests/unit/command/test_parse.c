/* test_parse.c - numbers, times and durations of the command line. */
#include "cli/text/parse.h"
#include "support/group.h"

static void test_numbers_are_strict(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"007", true, 7},
        {"-5", true, -5},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+5", false, 0},
        {" 5", false, 0},
        {"5 ", false, 0},
        {"5x", false, 0},
        {"0x10", false, 0},
        {"1.5", false, 0},
        {"1e3", false, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = 0;
        if (parse_number(&value, rows[i].text) != rows[i].good || value != rows[i].value) {
            fail_msg("\"%s\" became %lld", rows[i].text, (long long) value);
        }
    }
}

static void test_a_byte_is_a_character_or_an_escape(void **state)
{
    static const struct {
        const char *text;
        int value; /* -1: refused */
    } rows[] = {{";", ';'},    {"\\", '\\'},   {"\xff", 0xff}, {"\\n", '\n'},
                {"\\t", '\t'}, {"\\r", '\r'},  {"\\0", 0},     {"\\\\", '\\'},
                {"\\x1e", 30}, {"\\xFF", 255}, {"\\x1", -1},   {"\\x1g", -1},
                {"\\q", -1},   {"ab", -1},     {"", -1},       {"\\x001", -1}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int value = -1;
        assert_int_equal(parse_byte(&value, rows[i].text), rows[i].value >= 0);
        assert_int_equal(value, rows[i].value);
    }
}

static void test_times_are_numbers_or_rfc_3339(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } rows[] = {
        {"1000", true, 1000},
        {"-1", true, -1},
        {"999999999", true, 999999999},
        {"1000000000", false, 0}, /* seconds since 1970, from 2001 to 2286 */
        {"1764547200", false, 0},
        {"9999999999", false, 0},
        {"10000000000", true, 10000000000},
        {"1764547200000", true, 1764547200000},
        {"2016-12-31T23:59:60Z", true, 1483228800000}, /* a leap second */
        {"2016-12-31T15:59:60.5-08:00", true, 1483228800500},
        {"2016-12-31T23:59:61Z", false, 0},
        {"2016-12-31T22:59:60Z", false, 0},
        {"1970-01-01T00:00:00Z", true, 0},
        {"2026-12-01T00:00:00Z", true, 1796083200000},
        {"2026-12-01t00:00:00z", true, 1796083200000},
        {"2026-12-01 00:00:00Z", true, 1796083200000},
        {"2026-12-01T00:00:00.5Z", true, 1796083200500},
        {"2026-12-01T00:00:00.123999Z", true, 1796083200123},
        {"2026-12-01T01:30:00+01:30", true, 1796083200000},
        {"2026-11-30T19:00:00-0500", true, 1796083200000},
        {"1969-12-31T23:59:59.999Z", true, -1},
        {"2024-02-29T00:00:00Z", true, 1709164800000},
        {"2026-12-01", false, 0},
        {"2026-12-01T00:00:00", false, 0},
        {"2026-12-01T00:00Z", false, 0},
        {"2026-12-01T00:00:00.Z", false, 0},
        {"2026-12-01T00:00:00+1", false, 0},
        {"2026-12-01T00:00:00+24:00", false, 0},
        {"2026-12-01T00:00:00+01:60", false, 0},
        {"2026-12-01T00:00:00Zx", false, 0},
        {"2026-12-01T24:00:00Z", false, 0},
        {"2026-12-01T00:60:00Z", false, 0},
        {"2026-12-01T00:00:60Z", false, 0},
        {"2026-02-29T00:00:00Z", false, 0},
        {"2026-13-01T00:00:00Z", false, 0},
        {"2026-00-01T00:00:00Z", false, 0},
        {"2026-12-00T00:00:00Z", false, 0},
        {"26-12-01T00:00:00Z", false, 0},
        {" 2026-12-01T00:00:00Z", false, 0},
        {"tomorrow", false, 0},
        {"", false, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = 0;
        if (parse_time(&value, rows[i].text) != rows[i].good || value != rows[i].value) {
            fail_msg("\"%s\" became %lld", rows[i].text, (long long) value);
        }
    }
}

static void test_durations_have_units(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"250", true, 250},
        {"500ms", true, 500},
        {"30s", true, 30000},
        {"5m", true, 300000},
        {"2h", true, 7200000},
        {"1d", true, 86400000},
        {"7m21s", true, 441000},
        {"1d2h3m4s5ms", true, 93784005},
        {"7m21", false, 0},
        {"21s7m", false, 0},
        {"1s1s", false, 0},
        {"1s1", false, 0},
        {"7m-1s", false, 0},
        {"9223372036854775807ms", true, INT64_MAX},
        {"9223372036854775807s", false, 0},
        {"-1", false, 0},
        {"-1s", false, 0},
        {"s", false, 0},
        {"", false, 0},
        {"5 s", false, 0},
        {"5S", false, 0},
        {"5sec", false, 0},
        {"1.5s", false, 0},
        {"1m30s", true, 90000},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = 0;
        const bool good = parse_duration(&value, rows[i].text);
        if (good != rows[i].good || (good && value != rows[i].value)) {
            fail_msg("\"%s\" became %lld", rows[i].text, (long long) value);
        }
    }
}

TEST_GROUP(parse)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_strict),
        cmocka_unit_test(test_a_byte_is_a_character_or_an_escape),
        cmocka_unit_test(test_times_are_numbers_or_rfc_3339),
        cmocka_unit_test(test_durations_have_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
