/* test_report.c - what benchmarks keep of their runs: medians, what is void, what does not count.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "support/group.h"

struct kept {
    char folder[32], path[48], text[8192];
};

static void read_kept(struct kept *kept)
{
    FILE *file = fopen(kept->path, "re");

    assert_non_null(file);
    size_t len = fread(kept->text, 1, sizeof(kept->text) - 1, file);
    kept->text[len] = '\0';
    fclose(file);
}

static int setup(void **state)
{
    static struct kept place;
    struct kept *kept = &place;

    snprintf(kept->folder, sizeof(kept->folder), "/tmp/slotmq-report-XXXXXX");
    if (mkdtemp(kept->folder) == NULL) {
        return -1;
    }
    snprintf(kept->path, sizeof(kept->path), "%.31s/jump.json", kept->folder);
    *state = kept;
    return 0;
}

static int teardown(void **state)
{
    struct kept *kept = *state;

    unlink(kept->path);
    rmdir(kept->folder);
    return 0;
}

static void run(struct report *report, double value, uint64_t lost)
{
    report_run(report);
    report_tally(report, "frog", (struct tally_counts){.sent = 10, .lost = lost}, 1);
    report_value(report, "height", "cm", value);
}

static struct report *begin(const struct kept *kept)
{
    struct report *report = report_new(false, kept->folder);

    report_begin(report, "jump", "how high");
    return report;
}

static void median_of_the_runs(void **state)
{
    struct kept *kept = *state;
    struct report *report = begin(kept);

    run(report, 3, 0);
    run(report, 1, 0);
    run(report, 2, 0);
    report_note(report, "on %s", "grass");
    assert_true(report_end(report, true, 12.34));
    assert_true(report_kept(report, "jump"));
    report_free(report);
    read_kept(kept);
    assert_non_null(strstr(kept->text, "{\"bench\":\"jump\",\"about\":\"how high\",\"day\":\""));
    assert_non_null(strstr(kept->text, "{\"bench\":\"jump\",\"figure\":\"height\",\"value\":2,"
                                       "\"min\":1,\"max\":3,\"unit\":\"cm\",\"runs\":3}"));
    assert_non_null(strstr(kept->text, "{\"bench\":\"jump\",\"note\":\"on grass\"}"));
    assert_non_null(strstr(kept->text, "{\"bench\":\"jump\",\"took_s\":12.3,\"voids\":0}"));
}

static void void_run_counts_for_nothing(void **state)
{
    struct kept *kept = *state;
    struct report *report = begin(kept);

    run(report, 1, 0);
    run(report, 100, 1);
    assert_false(report_end(report, true, 1));
    assert_false(report_kept(report, "jump"));
    report_free(report);
}

static void void_for_another_reason(void **state)
{
    struct kept *kept = *state;
    struct report *report = begin(kept);

    run(report, 1, 0);
    run(report, 100, 0);
    report_void(report, "jumped from a %s", "chair");
    run(report, 1, 0);
    assert_false(report_end(report, true, 1));
    assert_false(report_kept(report, "jump"));
    report_free(report);
}

static void unfinished_is_not_kept(void **state)
{
    struct kept *kept = *state;
    struct report *report = begin(kept);

    run(report, 1, 0);
    assert_false(report_end(report, false, 1));
    assert_false(report_kept(report, "jump"));
    report_free(report);
}

static void runs_that_do_not_count_are_told(void **state)
{
    struct kept *kept = *state;
    struct report *report = begin(kept);

    run(report, 1, 0);
    report_uncounted(report, "raw/streams", "ratio", "too short");
    report_uncounted(report, "jump/raw", "ratio", "too short");
    run(report, 1, 0);
    report_ratio(report, "raw/streams", 9, 10);
    assert_true(report_end(report, true, 1));
    report_free(report);
    read_kept(kept);
    assert_non_null(strstr(kept->text, "\"figure\":\"raw/streams\",\"value\":0.9,"));
    assert_non_null(strstr(kept->text, "\"runs\":1,\"uncounted\":1,\"why\":\"too short\","
                                       "\"goal\":1,\"limit\":0.85,\"verdict\":\"accepted\"}"));
    assert_non_null(strstr(kept->text, "\"figure\":\"jump/raw\",\"value\":null,\"unit\":\"ratio\","
                                       "\"runs\":0,\"uncounted\":1,\"why\":\"too short\"}"));
}

/* Of a figure whose limit is 0.965. */
static void beyond_its_limit_is_kept_and_no_success(void **state)
{
    struct kept *kept = *state;
    struct report *report = begin(kept);

    run(report, 1, 0);
    report_ratio(report, "drain-inline/raw", 1, 2);
    assert_false(report_end(report, true, 1));
    assert_true(report_kept(report, "jump"));
    report_free(report);
    read_kept(kept);
    assert_non_null(strstr(kept->text, "\"limit\":0.965,\"verdict\":\"MISSED\"}"));
}

/* They are 3 % worse, and compared to three digits. */
static void limits_are_those_of_the_first_version(void **state)
{
    static const struct {
        const char *figure;
        double good, bad;
    } rows[] = {
        {"send-inline/raw", 1.029, 1.028},
        {"drain-inline/raw", 0.965, 0.964},
        {"drain-inline/streams", 0.894, 0.893},
        {"memory-inline/zadd", 1.029, 1.03},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int good = 0; good < 2; good++) {
            struct report *report = begin(*state);

            run(report, 1, 0);
            report_ratio(report, rows[i].figure, good ? rows[i].good : rows[i].bad, 1);
            assert_int_equal(report_end(report, true, 1), good);
            report_free(report);
        }
    }
}

/* Its limit is 1.1, or 1.2 times that of its rival. */
static bool ends_well_beside(const struct kept *kept, double value, double rival)
{
    struct report *report = begin(kept);

    run(report, 1, 0);
    report_ratio(report, "steady-1k-redis-cpu/streams", value, 1);
    if (rival > 0) {
        report_ratio(report, "two-scripts-1k-redis-cpu/streams", rival, 1);
    }
    bool well = report_end(report, true, 1);
    report_free(report);
    return well;
}

static void limit_may_follow_a_rival(void **state)
{
    struct kept *kept = *state;

    assert_false(ends_well_beside(kept, 1.3, 0));
    assert_false(ends_well_beside(kept, 1.3, 0.9));
    assert_true(ends_well_beside(kept, 1.3, 1.1));
    read_kept(kept);
    assert_non_null(strstr(kept->text, "\"goal\":0.9,\"limit\":1.32,\"verdict\":\"accepted\"}"));
    assert_false(ends_well_beside(kept, 1.4, 1.1));
}

TEST_GROUP(report)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(median_of_the_runs, setup, teardown),
        cmocka_unit_test_setup_teardown(void_run_counts_for_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(void_for_another_reason, setup, teardown),
        cmocka_unit_test_setup_teardown(unfinished_is_not_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(runs_that_do_not_count_are_told, setup, teardown),
        cmocka_unit_test_setup_teardown(beyond_its_limit_is_kept_and_no_success, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_are_those_of_the_first_version, setup, teardown),
        cmocka_unit_test_setup_teardown(limit_may_follow_a_rival, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
