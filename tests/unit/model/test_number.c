/* test_number.c - decimal numbers in text that is not trusted. */
#include "model/number.h"
#include "support/group.h"

#define TEXT(literal) (literal), sizeof(literal) - 1

static void number_reads_what_is_printed(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        int64_t max, value;
    } cases[] = {
        {TEXT("0"), 0, 0},
        {TEXT("7"), 7, 7},
        {TEXT("10"), 100, 10},
        {TEXT("65536"), 65536, 65536},
        {TEXT("9223372036854775807"), INT64_MAX, INT64_MAX},
        {"12 and more", 2, 99, 12},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = -1;

        assert_true(number_parse(&value, cases[i].text, cases[i].len, cases[i].max));
        assert_int_equal(value, cases[i].value);
    }
}

static void number_refuses_everything_else(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        int64_t max;
    } cases[] = {
        {TEXT(""), 9},
        {TEXT("00"), 9},
        {TEXT("01"), 9},
        {TEXT("-0"), 9},
        {TEXT("-1"), 9},
        {TEXT("+1"), 9},
        {TEXT(" 1"), 9},
        {TEXT("1 "), 9},
        {TEXT("1\0"), 9},
        {TEXT("1.0"), 9},
        {TEXT("0x1"), 9},
        {TEXT("1e1"), 99},
        {TEXT("10"), 9},
        {TEXT("65537"), 65536},
        {TEXT("/"), 9},
        {TEXT(":"), 9},
        {TEXT("\xb9"), 9},
        {TEXT("9223372036854775808"), INT64_MAX},
        {TEXT("18446744073709551617"), INT64_MAX},
        {TEXT("99999999999999999999999"), INT64_MAX},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = -1;

        assert_false(number_parse(&value, cases[i].text, cases[i].len, cases[i].max));
        assert_int_equal(value, -1);
    }
}

static void duration_takes_units(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        int64_t max, value;
    } good[] = {
        {TEXT("0"), 9, 0},
        {TEXT("250"), 250, 250},
        {TEXT("500ms"), 500, 500},
        {TEXT("30s"), 30000, 30000},
        {TEXT("5m"), 300000, 300000},
        {TEXT("1h"), 3600000, 3600000},
        {TEXT("1d"), INT64_MAX, 86400000},
        {"7days", 2, INT64_MAX, 604800000},
        {TEXT("7m21s"), 441000, 441000},
        {TEXT("1d2h3m4s5ms"), INT64_MAX, 93784005},
    };
    static const struct {
        const char *text;
        size_t len;
        int64_t max;
    } bad[] = {
        {TEXT(""), 9},
        {TEXT("s"), 9},
        {TEXT("1 s"), INT64_MAX},
        {TEXT("1S"), INT64_MAX},
        {TEXT("-1s"), 9},
        {TEXT("01s"), INT64_MAX},
        {TEXT("1.5s"), 9999},
        {TEXT("31s"), 30000},
        {TEXT("1w"), INT64_MAX},
        {TEXT("1sm"), INT64_MAX},
        {TEXT("106751991168d"), INT64_MAX},
        {TEXT("1s\0"), INT64_MAX},
        {TEXT("7m22s"), 441999},
        {TEXT("7m21"), INT64_MAX},
        {TEXT("21s7m"), INT64_MAX},
        {TEXT("1s1s"), INT64_MAX},
        {TEXT("1s1"), INT64_MAX},
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        int64_t value = -1;

        assert_true(number_parse_duration(&value, good[i].text, good[i].len, good[i].max));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t value = -1;

        assert_false(number_parse_duration(&value, bad[i].text, bad[i].len, bad[i].max));
        assert_int_equal(value, -1);
    }
}

static void size_takes_units(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        int64_t max, value; /* value -1: refused */
    } rows[] = {
        {TEXT("0"), 9, 0},
        {TEXT("1000"), 1000, 1000},
        {TEXT("1K"), 1024, 1024},
        {TEXT("64KiB"), 65536, 65536},
        {TEXT("1M"), INT64_MAX, 1048576},
        {TEXT("2MiB"), INT64_MAX, 2097152},
        {TEXT("1G"), INT64_MAX, 1073741824},
        {TEXT("1024GiB"), INT64_MAX, INT64_C(1) << 40},
        {TEXT("65KiB"), 65536, -1},
        {TEXT("9223372036854775807K"), INT64_MAX, -1},
        {TEXT("1k"), INT64_MAX, -1},
        {TEXT("1MB"), INT64_MAX, -1},
        {TEXT("1M1K"), INT64_MAX, -1},
        {TEXT("1 M"), INT64_MAX, -1},
        {TEXT("M"), INT64_MAX, -1},
        {TEXT("-1M"), INT64_MAX, -1},
        {TEXT(""), INT64_MAX, -1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t value = -1;

        assert_int_equal(number_parse_size(&value, rows[i].text, rows[i].len, rows[i].max),
                         rows[i].value >= 0);
        assert_int_equal(value, rows[i].value);
    }
}

TEST_GROUP(number)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_reads_what_is_printed),
        cmocka_unit_test(number_refuses_everything_else),
        cmocka_unit_test(duration_takes_units),
        cmocka_unit_test(size_takes_units),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
