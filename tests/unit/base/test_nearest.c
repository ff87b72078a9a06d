/* test_nearest.c - a near miss finds its name, anything else finds none. */
#include "base/nearest.h"
#include "support/group.h"

static const char *nearest_of(const char *typed)
{
    static const char *const names[] = {"max_retries", "max_waiting", "lease_ms", "delay_ms",
                                        "topic",       "send",        "consume",  "stat",
                                        "dead",        "help"};
    struct nearest nearest = nearest_to(typed);

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        nearest_offer(&nearest, names[i]);
    }
    return nearest.best;
}

static void a_near_miss_finds_its_name(void **state)
{
    assert_string_equal(nearest_of("max_retrys"), "max_retries");
    assert_string_equal(nearest_of("max-waiting"), "max_waiting");
    assert_string_equal(nearest_of("lease"), "lease_ms");
    assert_string_equal(nearest_of("retries"), "max_retries");
    assert_string_equal(nearest_of("ralease_ms"), "lease_ms");
    assert_string_equal(nearest_of("delayms"), "delay_ms");
    assert_string_equal(nearest_of("topics"), "topic");
    assert_string_equal(nearest_of("tpoic"), "topic");
    assert_string_equal(nearest_of("snd"), "send");
    assert_string_equal(nearest_of("con"), "consume");
    assert_string_equal(nearest_of("state"), "stat");
}

static void what_is_like_none_finds_none(void **state)
{
    assert_null(nearest_of(""));
    assert_null(nearest_of("slots"));
    assert_null(nearest_of("publish"));
    assert_null(nearest_of("a-name-longer-than-any-of-ours-could-ever-be-anywhere"));
    assert_null(nearest_of("a name longer than any of ours could be, if it were one at all"));
}

static void a_name_that_is_too_long_is_never_proposed(void **state)
{
    static const char name[] = "an_option_that_has_a_name_of_more_than_40_letters";
    struct nearest same = nearest_to(name);
    struct nearest shorter = nearest_to("an_opt");

    nearest_offer(&same, name);
    assert_null(same.best);
    nearest_offer(&shorter, name);
    assert_null(shorter.best);
}

TEST_GROUP(nearest)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_near_miss_finds_its_name),
        cmocka_unit_test(what_is_like_none_finds_none),
        cmocka_unit_test(a_name_that_is_too_long_is_never_proposed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
