/* test_check_bounds.c - what slotmq check finds beyond its bounds. */
#include <string.h>

#include "cli/doctor/check_bounds.h"
#include "support/group.h"

static void test_a_bound_is_one_number_or_two(void **state)
{
    static const struct {
        int number;
        const char *text;
        int code;
        int64_t warning, error;
    } rows[] = {
        {CHECK_DEAD, "0", EXIT_DONE, 0, 0},
        {CHECK_DEAD, "10", EXIT_DONE, 10, 10},
        {CHECK_DEAD, "10,100", EXIT_DONE, 10, 100},
        {CHECK_LAG, "90s", EXIT_DONE, 90000, 90000},
        {CHECK_LAG, "1m,1h", EXIT_DONE, 60000, 3600000},
        {CHECK_DEAD, "", EXIT_USAGE, 0, 0},
        {CHECK_DEAD, "-1", EXIT_USAGE, 0, 0},
        {CHECK_DEAD, "5m", EXIT_USAGE, 0, 0},
        {CHECK_DEAD, "100,10", EXIT_USAGE, 0, 0},
        {CHECK_DEAD, "1,2,3", EXIT_USAGE, 0, 0},
        {CHECK_DEAD, ",2", EXIT_USAGE, 0, 0},
        {CHECK_LAG, "1h,1m", EXIT_USAGE, 0, 0},
        {CHECK_WORK, "10m", EXIT_DONE, 600000, 600000},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct check_bound bounds[CHECK_BOUND_COUNT];
        const char *texts[CHECK_BOUND_COUNT] = {NULL};
        texts[rows[i].number] = rows[i].text;
        assert_int_equal(check_bounds_read(bounds, texts), rows[i].code);
        if (rows[i].code == EXIT_DONE) {
            assert_true(bounds[rows[i].number].given);
            assert_int_equal(bounds[rows[i].number].warning, rows[i].warning);
            assert_int_equal(bounds[rows[i].number].error, rows[i].error);
            assert_false(bounds[CHECK_WAITING].given);
        }
    }
}

static void test_what_is_beyond_a_bound_is_found(void **state)
{
    static const struct {
        const char *texts[CHECK_BOUND_COUNT];
        smq_stats stats;
        enum doctor_severity worst;
        const char *found; /* NULL: nothing */
        bool named;
    } rows[] = {
        {{[CHECK_DEAD] = "5"}, {.dead = 5}, DOCTOR_OK, NULL, false},
        {{[CHECK_DEAD] = "5"}, {.dead = 6}, DOCTOR_ERROR, "dead 6 is more than 5", false},
        {{[CHECK_DEAD] = "5,9"}, {.dead = 9}, DOCTOR_WARNING, "dead 9 is more than 5", false},
        {{[CHECK_DEAD] = "5,9"}, {.dead = 10}, DOCTOR_ERROR, "dead 10 is more than 9", false},
        {{[CHECK_WAITING] = "0"}, {.waiting = 1}, DOCTOR_ERROR, "waiting 1 is more than 0", false},
        {{[CHECK_RESTING] = "0"}, {.resting = 1}, DOCTOR_ERROR, "resting 1 is more than 0", false},
        {{[CHECK_DUE] = "0"}, {.due = 1, .waiting = 1}, DOCTOR_ERROR, "due 1 is", false},
        {{[CHECK_LAG] = "1s"}, {.oldest_due_age_ms = 1000}, DOCTOR_OK, NULL, false},
        {{[CHECK_LAG] = "1s"},
         {.oldest_due_age_ms = 441000},
         DOCTOR_ERROR,
         "lag 7m21s is more than 1s",
         false},
        {{[CHECK_LAG] = "1s"},
         {.oldest_due_age_ms = SMQ_AGE_UNKNOWN, .due = 1},
         DOCTOR_BLIND,
         "the lag is not known",
         true},
        {{[CHECK_LAG] = "1s"},
         {.oldest_due_age_ms = SMQ_AGE_UNKNOWN, .due = 1},
         DOCTOR_UNKNOWN,
         "the lag is not known",
         false},
        {{[CHECK_LAG] = "1s"},
         {.oldest_due_age_ms = SMQ_AGE_UNKNOWN},
         DOCTOR_UNKNOWN,
         "the lag is not known",
         true},
        {{[CHECK_WORK] = "10m"}, {.oldest_claim_age_ms = 600000}, DOCTOR_OK, NULL, false},
        {{[CHECK_WORK] = "10m,1h"},
         {.oldest_claim_age_ms = 720000},
         DOCTOR_WARNING,
         "work 12m is more than 10m",
         false},
        {{NULL}, {.dead = 1000, .waiting = 1000}, DOCTOR_OK, NULL, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct check_bound bounds[CHECK_BOUND_COUNT];
        struct doctor_report report = {.count = 0};
        assert_int_equal(check_bounds_read(bounds, rows[i].texts), EXIT_DONE);
        check_bounds_judge(&report, bounds,
                           &(struct doctor_topic){.name = "mail", .stats = rows[i].stats},
                           rows[i].named);
        assert_int_equal(report.worst, rows[i].worst);
        assert_int_equal(report.count, rows[i].found ? 1 : 0);
        if (rows[i].found && !strstr(report.finding[0].text, rows[i].found)) {
            fail_msg("row %zu: %s", i, report.finding[0].text);
        }
        doctor_report_fini(&report);
    }
}

TEST_GROUP(check_bounds)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bound_is_one_number_or_two),
        cmocka_unit_test(test_what_is_beyond_a_bound_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
