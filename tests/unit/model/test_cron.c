/* test_cron.c - cron expressions without a zone. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/civil.h"
#include "model/cron.h"
#include "support/group.h"

/* "2026-03-29 02:30:00" as seconds. */
static int64_t seconds_of(const char *text)
{
    int64_t year, hour, minute, second;
    int month, day;

    assert_int_equal(sscanf(text, "%" SCNd64 "-%d-%d %" SCNd64 ":%" SCNd64 ":%" SCNd64, &year,
                            &month, &day, &hour, &minute, &second),
                     6);
    return civil_to_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

static void text_of(char *out, size_t size, int64_t seconds)
{
    int64_t rest;
    const struct civil date = civil_of_days(civil_divide(seconds, 86400, &rest));

    (void) snprintf(out, size, "%" PRId64 "-%02d-%02d %02d:%02d:%02d", date.year, date.month,
                    date.day, (int) (rest / 3600), (int) (rest / 60 % 60), (int) (rest % 60));
}

/* clang-format off */
static const struct {
    const char *cron, *after, *next, *second;
} TIMES[] = {
    {"* * * * *", "2026-11-29 19:04:00", "2026-11-29 19:05:00", "2026-11-29 19:06:00"},
    {"*/15 * * * *", "2026-11-29 19:04:59", "2026-11-29 19:15:00", "2026-11-29 19:30:00"},
    {"5/20 * * * *", "2026-11-29 19:04:59", "2026-11-29 19:05:00", "2026-11-29 19:25:00"},
    {"10-40/10 3 * * *", "2026-11-29 03:20:00", "2026-11-29 03:30:00", "2026-11-29 03:40:00"},
    {"0 8,12,18 * * *", "2026-12-31 18:00:00", "2027-01-01 08:00:00", "2027-01-01 12:00:00"},
    {"0 0 29 2 *", "2026-11-29 00:00:00", "2028-02-29 00:00:00", "2032-02-29 00:00:00"},
    {"0 0 29 2 *", "2097-01-01 00:00:00", "2104-02-29 00:00:00", "2108-02-29 00:00:00"},
    {"30 6 * jan-mar mon-fri", "2026-11-29 00:00:00", "2027-01-01 06:30:00", "2027-01-04 06:30:00"},
    {"0 0 * * FRI-SUN", "2026-11-29 00:00:00", "2026-12-04 00:00:00", "2026-12-05 00:00:00"},
    {"0 0 * * 7", "2026-11-29 00:00:00", "2026-12-06 00:00:00", "2026-12-13 00:00:00"},
    {"0 0 * * 0", "2026-11-28 00:00:00", "2026-11-29 00:00:00", "2026-12-06 00:00:00"},
    {"0 0 * * 0-0", "2026-11-29 00:00:00", "2026-12-06 00:00:00", "2026-12-13 00:00:00"},
    {"0 0 * * SUN-SUN", "2026-11-29 00:00:00", "2026-12-06 00:00:00", "2026-12-13 00:00:00"},
    {"0 0 * * SUN-0", "2026-11-29 00:00:00", "2026-12-06 00:00:00", "2026-12-13 00:00:00"},
    {"0 0 * * 0-0/2", "2026-11-29 00:00:00", "2026-12-06 00:00:00", "2026-12-13 00:00:00"},
    {"0 0 * * 7-7", "2026-11-29 00:00:00", "2026-12-06 00:00:00", "2026-12-13 00:00:00"},
    {"0 0 * * 7-SUN", "2026-11-29 00:00:00", "2026-12-06 00:00:00", "2026-12-13 00:00:00"},
    {"0 0 * * SUN-SAT", "2026-11-29 00:00:00", "2026-11-30 00:00:00", "2026-12-01 00:00:00"},
    {"0 0 * * MON-0/3", "2026-11-29 00:00:00", "2026-11-30 00:00:00", "2026-12-03 00:00:00"},
    {"0 0 13 * 5", "2026-11-01 00:00:00", "2026-11-06 00:00:00", "2026-11-13 00:00:00"},
    {"0 0 */10 * 0", "2026-11-01 00:00:00", "2027-01-31 00:00:00", "2027-02-21 00:00:00"},
    {"30 0 12 * * *", "2026-11-29 12:00:30", "2026-11-30 12:00:30", "2026-12-01 12:00:30"},
    {"*/20 59 23 31 12 *", "2026-12-31 23:59:20", "2026-12-31 23:59:40", "2027-12-31 23:59:00"},
    {"\t5   4 * *\t* ", "2026-11-29 19:04:00", "2026-11-30 04:05:00", "2026-12-01 04:05:00"},
    {"007 08 * * *", "2026-11-29 19:04:00", "2026-11-30 08:07:00", "2026-12-01 08:07:00"},
    {"@yearly", "2026-11-29 19:04:00", "2027-01-01 00:00:00", "2028-01-01 00:00:00"},
    {"@monthly", "2026-11-29 19:04:00", "2026-12-01 00:00:00", "2027-01-01 00:00:00"},
    {"@weekly", "2026-11-29 00:00:00", "2026-12-06 00:00:00", "2026-12-13 00:00:00"},
    {"@Daily", "2026-11-29 00:00:00", "2026-11-30 00:00:00", "2026-12-01 00:00:00"},
    {"@hourly", "2026-11-29 00:00:00", "2026-11-29 01:00:00", "2026-11-29 02:00:00"},
    {"* * * * *", "1969-12-31 23:58:59", "1969-12-31 23:59:00", "1970-01-01 00:00:00"},
};

static const struct {
    const char *cron, *says; /* a part of the text */
} REFUSED[] = {
    {"", "has not 5 fields"},
    {"* * * *", "has not 5 fields"},
    {"* * * * * * *", "has not 5 fields"},
    {"@reboot", "has not 5 fields"},
    {"0 25 * * *", "\"0 >>>25<<< * * *\": the hour is * or 0 to 23"},
    {"60 * * * *", ">>>60<<< * * * *\": the minute is * or 0 to 59"},
    {"60 * * * * *", ">>>60<<< * * * * *\": the second is"},
    {"* * 0 * *", "the day of month is * or 1 to 31"},
    {"* * * 13 *", "the month is * or 1 to 12 or a name"},
    {"* * * foo *", "* * * >>>foo<<< *"},
    {"* * * january *", "the month"},
    {"* * * * 8", "the day of week is * or 0 to 7"},
    {"* * * * MON-", ">>>MON-<<<"},
    {"5-1 * * * *", "the minute"},
    {"*/0 * * * *", "the minute"},
    {"*/60 * * * *", "the minute"},
    {"*/-1 * * * *", "the minute"},
    {"1,,2 * * * *", "the minute"},
    {"1, * * * *", "the minute"},
    {"-1 * * * *", "the minute"},
    {"1000 * * * *", "the minute"},
    {"* * L * *", "the day of month"},
    {"* * ? * *", "the day of month"},
    {"* * * * 5#2", "the day of week"},
    {"0 0 30 2 *", "never fires"},
    {"0 0 31 2,4,6,9,11 *", "never fires"},
};
/* clang-format on */

static void each_expression_has_its_times(void **state)
{
    for (size_t i = 0; i < sizeof(TIMES) / sizeof(TIMES[0]); i++) {
        smq_error err;
        struct cron cron;
        char next[64], second[64];
        int64_t at;

        assert_int_equal(cron_parse(&cron, TIMES[i].cron, &err), SMQ_OK);
        at = cron_after(&cron, seconds_of(TIMES[i].after));
        text_of(next, sizeof(next), at);
        text_of(second, sizeof(second), cron_after(&cron, at));
        assert_string_equal(next, TIMES[i].next);
        assert_string_equal(second, TIMES[i].second);
    }
}

static void what_is_no_expression_is_refused_with_its_field(void **state)
{
    char text[CRON_TEXT_MAX + 2];
    smq_error err;
    struct cron cron;

    for (size_t i = 0; i < sizeof(REFUSED) / sizeof(REFUSED[0]); i++) {
        assert_int_equal(cron_parse(&cron, REFUSED[i].cron, &err), SMQ_INVALID);
        if (strstr(err.text, REFUSED[i].says) == NULL) {
            fail_msg("%s: %s", REFUSED[i].cron, err.text);
        }
    }
    memset(text, '*', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(cron_parse(&cron, text, &err), SMQ_INVALID);
}

/* Vixie's rules for summer time ask. */
static void hours_and_minutes_with_stars_or_steps_are_intervals(void **state)
{
    static const struct {
        const char *cron;
        bool is_interval;
    } rows[] = {
        {"30 2 * * *", false},    {"0,30 2-4 * * *", false}, {"* 30 2 * * *", false},
        {"* 2 * * *", true},      {"30 * * * *", true},      {"*/5 2 * * *", true},
        {"30 1-5/2 * * *", true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cron cron;

        assert_int_equal(cron_parse(&cron, rows[i].cron, NULL), SMQ_OK);
        assert_int_equal(cron.is_interval, rows[i].is_interval);
    }
}

TEST_GROUP(cron)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_expression_has_its_times),
        cmocka_unit_test(what_is_no_expression_is_refused_with_its_field),
        cmocka_unit_test(hours_and_minutes_with_stars_or_steps_are_intervals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
