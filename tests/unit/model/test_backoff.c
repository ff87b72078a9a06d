/* test_backoff.c - how long a failed message rests. */
#include <string.h>

#include "model/backoff.h"
#include "support/group.h"

static struct backoff parsed(const char *text)
{
    struct backoff backoff;
    smq_error err = SMQ_ERROR_INIT;

    if (backoff_parse(&backoff, text, &err) != SMQ_OK) {
        fail_msg("\"%s\": %s", text, err.text);
    }
    return backoff;
}

static const char ladder_of_16[] =
    "ladder:1099511627776,1099511627776,1099511627776,1099511627776,1099511627776,"
    "1099511627776,1099511627776,1099511627776,1099511627776,1099511627776,1099511627776,"
    "1099511627776,1099511627776,1099511627776,1099511627776,1099511627776";

static void backoff_text_reads_back(void **state)
{
    static const char *const texts[] = {
        "none",    "fixed:0", "fixed:200", "fixed:1099511627776",    "exp:1000:600000",
        "exp:0:0", "exp:5:5", "ladder:1",  "ladder:1000,5000,60000", ladder_of_16,
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct backoff backoff = parsed(texts[i]);
        char text[BACKOFF_TEXT_MAX];

        backoff_format(text, &backoff);
        assert_string_equal(text, texts[i]);
    }
}

static void backoff_refuses_other_text(void **state)
{
    static const char *const texts[] = {
        "",
        "None",
        "none:",
        "none:1",
        "fixed",
        "fixed:",
        "fixed:1:2",
        "fixed:1,2",
        "fixed:-1",
        "fixed:01",
        "fixed: 1",
        "fixed:1w",
        "fixed:1099511627777",
        "fixed:99999999999999999999",
        "exp",
        "exp:1",
        "exp:1:",
        "exp::1",
        "exp:1:2:3",
        "exp:1,2",
        "exp:2:1",
        "ladder",
        "ladder:",
        "ladder:1,",
        "ladder:,1",
        "ladder:1:2",
        "ladder:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
        "linear:1",
        ":1",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct backoff backoff = {.count = 77};
        smq_error err = SMQ_ERROR_INIT;

        if (backoff_parse(&backoff, texts[i], &err) != SMQ_INVALID) {
            fail_msg("\"%s\" was taken", texts[i]);
        }
        assert_int_equal(err.status, SMQ_INVALID);
        assert_non_null(strstr(err.text, "backoff"));
        assert_non_null(strstr(err.text, texts[i]));
        assert_int_equal(backoff.count, 77);
    }
}

static void delays_follow_the_text(void **state)
{
    static const struct {
        const char *text;
        int retries;
        uint64_t random;
        int64_t delay;
    } cases[] = {
        {"none", 0, 5, 0},
        {"none", 63, UINT64_MAX, 0},
        {"fixed:200", 0, 5, 200},
        {"fixed:200", 63, UINT64_MAX, 200},
        {"ladder:10,20,30", -1, 0, 10},
        {"ladder:10,20,30", 0, 0, 10},
        {"ladder:10,20,30", 1, 9, 20},
        {"ladder:10,20,30", 2, 0, 30},
        {"ladder:10,20,30", 3, 0, 30},
        {"ladder:10,20,30", 63, 0, 30},
        {"exp:1000:600000", 0, 0, 0},
        {"exp:1000:600000", 0, 1000, 1000},
        {"exp:1000:600000", 0, 1001, 0},
        {"exp:1000:600000", -1, 1000, 1000},
        {"exp:1000:600000", 1, 2000, 2000},
        {"exp:1000:600000", 9, 512000, 512000},
        {"exp:1000:600000", 9, 512001, 0},
        {"exp:1000:600000", 10, 600000, 600000}, /* 1,024,000 is above the cap */
        {"exp:1000:600000", 10, 600001, 0},
        {"exp:1000:600000", 62, 600000, 600000},
        {"exp:1000:600000", 63, 600000, 600000},
        {"exp:1000:600000", INT32_MAX, 600000, 600000},
        {"exp:1:1099511627776", 40, UINT64_C(1) << 40, INT64_C(1) << 40},
        {"exp:1:1099511627776", 41, UINT64_C(1) << 40, INT64_C(1) << 40},
        {"exp:0:600000", 63, UINT64_MAX, 0},
        {"exp:0:0", 5, UINT64_MAX, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct backoff backoff = parsed(cases[i].text);

        assert_int_equal(backoff_delay(&backoff, cases[i].retries, cases[i].random),
                         cases[i].delay);
    }
}

TEST_GROUP(backoff)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backoff_text_reads_back),
        cmocka_unit_test(backoff_refuses_other_text),
        cmocka_unit_test(delays_follow_the_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
