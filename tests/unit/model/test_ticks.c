/* test_ticks.c - files of time zones, and when schedules are due in them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "model/civil.h"
#include "model/ticks.h"
#include "support/group.h"

static void add_number(struct buf *buf, int64_t number, int bytes)
{
    while (bytes-- > 0) {
        const unsigned char byte = (unsigned char) ((uint64_t) number >> (8 * bytes));

        buf_add(buf, &byte, 1);
    }
}

/* A block with one type of offset, and a change to it at each time. */
static void add_block(struct buf *buf, const int64_t *changes, size_t count, int32_t offset,
                      int width)
{
    static const char NONE[16] = "2";
    const int64_t counts[] = {0, 0, 0, (int64_t) count, 1, 4};

    buf_add(buf, "TZif", 4);
    buf_add(buf, NONE, sizeof(NONE));
    for (size_t i = 0; i < 6; i++) {
        add_number(buf, counts[i], 4);
    }
    for (size_t i = 0; i < count; i++) {
        add_number(buf, changes[i], width);
    }
    for (size_t i = 0; i < count; i++) {
        add_number(buf, 0, 1);
    }
    add_number(buf, offset, 4);
    buf_add(buf, "\0\0LMT", 6);
}

/* A file whose times all follow the rule. */
static bool zone_by_rule(struct zone *zone, const char *rule)
{
    struct buf file = {0};
    bool is_good;

    add_block(&file, NULL, 0, 0, 4);
    add_block(&file, (int64_t[]){-1000000000000}, 1, 0, 8);
    buf_printf(&file, "\n%s\n", rule);
    is_good = zone_parse(zone, (const unsigned char *) file.data, file.len);
    buf_fini(&file);
    return is_good;
}

/* "2026-03-29 02:30" as seconds. */
static int64_t seconds_of(const char *text)
{
    int64_t year, hour, minute;
    int month, day;

    assert_int_equal(
        sscanf(text, "%" SCNd64 "-%d-%d %" SCNd64 ":%" SCNd64, &year, &month, &day, &hour, &minute),
        5);
    return civil_to_days(year, month, day) * 86400 + hour * 3600 + minute * 60;
}

#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"

/* clang-format off */
/* Of a rule: the offset at a time of UTC. */
static const struct {
    const char *rule, *at;
    int32_t offset_s;
} OFFSETS[] = {
    {BERLIN, "2026-03-29 00:59", 3600},
    {BERLIN, "2026-03-29 01:00", 7200},
    {BERLIN, "2026-10-25 00:59", 7200},
    {BERLIN, "2026-10-25 01:00", 3600},
    {"EST5EDT,M3.2.0,M11.1.0", "2026-03-08 06:59", -18000},
    {"EST5EDT,M3.2.0,M11.1.0", "2026-03-08 07:00", -14400},
    {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-12-31 23:59", 39600},
    {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2026-07-01 00:00", 37800},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-12-01 00:00", 0},
    {"IST-1GMT0,M10.5.0,M3.5.0/1", "2026-07-01 00:00", 3600},
    {"XXX3EDT4,0/0,J365/23", "2026-01-01 03:00", -14400},
    {"XXX3EDT4,0/0,J365/23", "2026-12-31 23:30", -14400},
    {"IRST-3:30IRDT,J80/0,J264/0", "2024-03-20 20:29", 12600},
    {"IRST-3:30IRDT,J80/0,J264/0", "2024-03-20 20:30", 16200},
    {"EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-27 23:59", 7200},
    {"EET-2EEST,M3.4.4/50,M10.4.4/50", "2026-03-28 00:00", 10800},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29 01:00", -3600},
    {"<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2026-03-29 00:59", -7200},
    {"<+0545>-5:45", "2026-03-29 01:00", 20700},
};

/* Of a rule: when clocks show a local time, or are set forward over it.  The second zone has one
 * hour of summer time, two hours ahead, so clocks show some of what they passed over after it. */
#define SHORT "AAA0BBB-2,J100/0,J100/3"

static const struct {
    const char *rule, *local, *at;
} LOCALS[] = {
    {BERLIN, "2026-03-29 01:59", "2026-03-29 00:59"},
    {BERLIN, "2026-03-29 02:30", "2026-03-29 01:00"},
    {BERLIN, "2026-03-29 03:00", "2026-03-29 01:00"},
    {BERLIN, "2026-10-25 02:30", "2026-10-25 00:30"},
    {SHORT, "2026-04-10 00:30", "2026-04-10 00:00"},
    {SHORT, "2026-04-10 01:30", "2026-04-10 00:00"},
    {SHORT, "2026-04-10 02:30", "2026-04-10 00:30"},
};

static const char *const NO_RULES[] = {
    "CET", "CE-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
    "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J1",
    "CET-1CEST,366,1", "CET-1CEST,M3.5.0/168,M10.5.0", "CET-25", "<+05-5", "CET-1:60",
    "CET-1CEST,M3.5.0,M10.5.0/3 ", "CET-1CEST,M3.5.0;M10.5.0",
};

/* By the zone of Berlin: three times of UTC.  At 2026-03-29 01:00 clocks go from 2:00 to 3:00, and
 * at 2026-10-25 01:00 from 3:00 to 2:00. */
static const struct {
    const char *cron, *after, *next[3];
} SUMMER[] = {
    {"30 2 * * *", "2026-03-28 00:00", {"2026-03-28 01:30", "2026-03-29 01:00", "2026-03-30 00:30"}},
    {"0,15,45 2 * * *", "2026-03-28 01:45", {"2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 00:15"}},
    {"0 2,3 * * *", "2026-03-28 02:00", {"2026-03-29 01:00", "2026-03-30 00:00", "2026-03-30 01:00"}},
    {"30 2 * * *", "2026-10-24 00:30", {"2026-10-25 00:30", "2026-10-26 01:30", "2026-10-27 01:30"}},
    {"30 2 * * *", "2026-10-25 01:10", {"2026-10-26 01:30", "2026-10-27 01:30", "2026-10-28 01:30"}},
    {"0 3 * * *", "2026-10-24 01:00", {"2026-10-25 02:00", "2026-10-26 02:00", "2026-10-27 02:00"}},
    {"30 * * * *", "2026-03-29 00:00", {"2026-03-29 00:30", "2026-03-29 01:30", "2026-03-29 02:30"}},
    {"30 * * * *", "2026-10-24 23:30", {"2026-10-25 00:30", "2026-10-25 01:30", "2026-10-25 02:30"}},
    {"*/30 2 * * *", "2026-10-25 00:00", {"2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30"}},
    {"*/30 2 * * *", "2026-03-28 01:30", {"2026-03-30 00:00", "2026-03-30 00:30", "2026-03-31 00:00"}},
    {"0 0 1 * *", "2026-03-01 00:00", {"2026-03-31 22:00", "2026-04-30 22:00", "2026-05-31 22:00"}},
};
/* clang-format on */

static void rules_at_the_end_of_a_file_hold(void **state)
{
    for (size_t i = 0; i < sizeof(OFFSETS) / sizeof(OFFSETS[0]); i++) {
        struct zone zone;

        assert_true(zone_by_rule(&zone, OFFSETS[i].rule));
        if (zone_span_at(&zone, seconds_of(OFFSETS[i].at)).offset_s != OFFSETS[i].offset_s) {
            fail_msg("%s at %s", OFFSETS[i].rule, OFFSETS[i].at);
        }
        zone_fini(&zone);
    }
    for (size_t i = 0; i < sizeof(NO_RULES) / sizeof(NO_RULES[0]); i++) {
        struct zone zone;

        if (zone_by_rule(&zone, NO_RULES[i])) {
            fail_msg("%s is taken", NO_RULES[i]);
        }
    }
}

static void local_times_come_when_clocks_have_reached_them(void **state)
{
    for (size_t i = 0; i < sizeof(LOCALS) / sizeof(LOCALS[0]); i++) {
        struct zone zone;

        assert_true(zone_by_rule(&zone, LOCALS[i].rule));
        if (zone_time_of(&zone, seconds_of(LOCALS[i].local)) != seconds_of(LOCALS[i].at)) {
            fail_msg("%s at %s", LOCALS[i].rule, LOCALS[i].local);
        }
        zone_fini(&zone);
    }
}

/* Whatever is cut off, or is of another kind: no file is read beyond its end. */
static void other_files_are_refused(void **state)
{
    const int64_t changes[] = {100, 100};
    struct buf file = {0};
    struct zone zone;

    add_block(&file, NULL, 0, 0, 4);
    add_block(&file, changes, 1, 3600, 8);
    buf_printf(&file, "\nCET-1\n");
    for (size_t len = 0; len < file.len; len++) {
        assert_false(zone_parse(&zone, (const unsigned char *) file.data, len));
    }
    assert_true(zone_parse(&zone, (const unsigned char *) file.data, file.len));
    assert_int_equal(zone_span_at(&zone, 99).until_s, 100);
    assert_int_equal(zone_span_at(&zone, 100).offset_s, 3600);
    zone_fini(&zone);

    buf_clear(&file);
    add_block(&file, NULL, 0, 0, 4);
    add_block(&file, changes, 2, 3600, 8); /* two changes at one time */
    buf_printf(&file, "\n\n");
    assert_false(zone_parse(&zone, (const unsigned char *) file.data, file.len));
    buf_fini(&file);
}

static void summer_time_is_that_of_vixie(void **state)
{
    struct zone zone;

    assert_true(zone_by_rule(&zone, BERLIN));
    for (size_t i = 0; i < sizeof(SUMMER) / sizeof(SUMMER[0]); i++) {
        struct ticks ticks = {0};
        int64_t at_ms = seconds_of(SUMMER[i].after) * 1000;

        assert_int_equal(cron_parse(&ticks.cron, SUMMER[i].cron, NULL), SMQ_OK);
        for (size_t j = 0; j < 3; j++) {
            at_ms = ticks_after(&ticks, &zone, at_ms);
            if (at_ms != seconds_of(SUMMER[i].next[j]) * 1000) {
                fail_msg("%s: not %s but %" PRId64, SUMMER[i].cron, SUMMER[i].next[j], at_ms);
            }
        }
    }
    zone_fini(&zone);
}

static void intervals_count_from_the_start(void **state)
{
    static const struct {
        int64_t every_ms, start_ms, end_ms, after_ms, next_ms;
    } rows[] = {
        {1000, 0, 0, 0, 1000},
        {1000, 0, 0, 999, 1000},
        {1000, 0, 0, 1700000000999, 1700000001000},
        {1000, 250, 0, 0, 250},
        {1000, 250, 0, 250, 1250},
        {1000, 250, 1250, 250, 1250},
        {1000, 250, 1250, 1250, TICKS_NEVER},
        {86400000, 5, 0, 1700000000000, 1700006400005},
        {1000, INT64_C(1) << 43, 0, 1, INT64_C(1) << 43},
        {1000, INT64_C(1) << 43, 0, INT64_C(1) << 43, TICKS_NEVER},
        {1000, 250, 0, INT64_MAX, TICKS_NEVER},
        {INT64_C(1) << 43, 0, 0, INT64_MAX - 1, TICKS_NEVER},
        {1000, 250, 0, INT64_MIN, 250},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ticks ticks = {
            .every_ms = rows[i].every_ms, .start_ms = rows[i].start_ms, .end_ms = rows[i].end_ms};

        assert_int_equal(ticks_after(&ticks, &(struct zone){0}, rows[i].after_ms), rows[i].next_ms);
    }
}

static void expressions_keep_between_start_and_end(void **state)
{
    struct ticks ticks = {.start_ms = 7200000, .end_ms = 10800000};
    const struct zone utc = {0};

    assert_int_equal(cron_parse(&ticks.cron, "0 * * * *", NULL), SMQ_OK);
    assert_int_equal(ticks_after(&ticks, &utc, 0), 7200000);
    assert_int_equal(ticks_after(&ticks, &utc, 7200000), 10800000);
    assert_true(ticks_after(&ticks, &utc, 10800000) == TICKS_NEVER);
}

TEST_GROUP(ticks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_at_the_end_of_a_file_hold),
        cmocka_unit_test(local_times_come_when_clocks_have_reached_them),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(summer_time_is_that_of_vixie),
        cmocka_unit_test(intervals_count_from_the_start),
        cmocka_unit_test(expressions_keep_between_start_and_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
