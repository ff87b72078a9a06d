/* test_episode.c - a trouble is reported once, until it has ended. */
#include "base/episode.h"
#include "support/group.h"

static void once_until_all_went_well_for_a_while(void **state)
{
    static const struct {
        int64_t at_ms;
        bool good, reported;
    } rows[] = {
        {1000, false, true},                           /* the first one */
        {1100, false, false},  {900000, false, false}, /* nothing went well since */
        {900100, true, false}, {900200, false, false}, /* it went well, but not for long */
        {910100, true, false}, {910200, false, true},  {910300, false, false},
    };
    struct episode episode = {0};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].good) {
            episode_good(&episode);
        } else {
            assert_int_equal(episode_trouble(&episode, rows[i].at_ms), rows[i].reported);
        }
    }
}

TEST_GROUP(episode)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_until_all_went_well_for_a_while),
    };

    return cmocka_run_group_tests_name("episode", tests, NULL, NULL);
}
