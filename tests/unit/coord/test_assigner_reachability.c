/* test_assigner_reachability.c - when a member that no Redis node answers gives its slots up, and
 * when it gets slots again. */
#include "coord/assigner/assigner.h"
#include "support/group.h"

enum { MISSED_MS = 5000, HOLD_MS = 5000, HOLD_MOST_MS = 300000, FORGET_MS = 600000 };

static const struct zookeeper_timings timings = {
    .missed = MISSED_MS, .hold = HOLD_MS, .hold_most = HOLD_MOST_MS, .forget = FORGET_MS};

static void which_state_may_follow(void **state)
{
    static const char *const rows[ASSIGNER_PRESENCES] = {
        [ASSIGNER_PRESENT] = ".xx.",
        [ASSIGNER_MISSED] = "x.x.",
        [ASSIGNER_AWAY] = "...x",
        [ASSIGNER_RETURNED] = "x.x.",
    };

    for (int from = 0; from < ASSIGNER_PRESENCES; from++) {
        for (int to = 0; to < ASSIGNER_PRESENCES; to++) {
            assert_int_equal(
                assigner_presence_may((enum assigner_presence) from, (enum assigner_presence) to),
                rows[from][to] == 'x');
        }
    }
}

/* What a member says of itself, whether others reach Redis, and what follows. */
struct moment {
    int64_t now_ms;
    bool reachable, others;
    enum assigner_presence state;
    int64_t again_ms;
};

struct story {
    const char *name;
    struct moment moments[16]; /* until now_ms is 0 */
};

#define YES true
#define NO  false

/* clang-format off */
static const struct story stories[] = {
    {"all is well",
     {{1000, YES, YES, ASSIGNER_PRESENT, 0},
      {9000, YES, NO, ASSIGNER_PRESENT, 0}}},
    {"it is lost for less than that",
     {{1000, NO, YES, ASSIGNER_MISSED, 6000},
      {5999, NO, YES, ASSIGNER_MISSED, 6000},
      {6000, YES, YES, ASSIGNER_PRESENT, 0}}},
    {"it is lost for longer, and holds before it gets slots",
     {{1000, NO, YES, ASSIGNER_MISSED, 6000},
      {6000, NO, YES, ASSIGNER_AWAY, 0},
      {60000, NO, YES, ASSIGNER_AWAY, 0},
      {70000, YES, YES, ASSIGNER_RETURNED, 75000},
      {74999, YES, YES, ASSIGNER_RETURNED, 75000},
      {75000, YES, YES, ASSIGNER_PRESENT, 0}}},
    {"Redis is lost for all: nothing, however long it lasts",
     {{1000, NO, NO, ASSIGNER_MISSED, 0},
      {90000, NO, NO, ASSIGNER_MISSED, 0},
      {90001, YES, NO, ASSIGNER_PRESENT, 0}}},
    {"Redis is lost for all, and one notices it later than this",
     {{1000, NO, YES, ASSIGNER_MISSED, 6000},
      {3000, NO, NO, ASSIGNER_MISSED, 0},
      {90000, NO, NO, ASSIGNER_MISSED, 0},
      {90001, NO, YES, ASSIGNER_MISSED, 95001},
      {92000, YES, YES, ASSIGNER_PRESENT, 0}}},
    {"Redis comes back for another alone",
     {{1000, NO, NO, ASSIGNER_MISSED, 0},
      {90000, NO, YES, ASSIGNER_MISSED, 95000},
      {95000, NO, YES, ASSIGNER_AWAY, 0}}},
    {"lost again while it holds: the same hold from the start",
     {{1000, NO, YES, ASSIGNER_MISSED, 6000},
      {6000, NO, YES, ASSIGNER_AWAY, 0},
      {7000, YES, YES, ASSIGNER_RETURNED, 12000},
      {9000, NO, YES, ASSIGNER_AWAY, 0},
      {9500, YES, YES, ASSIGNER_RETURNED, 14500},
      {14500, YES, YES, ASSIGNER_PRESENT, 0}}},
    {"the second time it holds twice as long",
     {{1000, NO, YES, ASSIGNER_MISSED, 6000},
      {6000, NO, YES, ASSIGNER_AWAY, 0},
      {7000, YES, YES, ASSIGNER_RETURNED, 12000},
      {12000, YES, YES, ASSIGNER_PRESENT, 0},
      {20000, NO, YES, ASSIGNER_MISSED, 25000},
      {25000, NO, YES, ASSIGNER_AWAY, 0},
      {26000, YES, YES, ASSIGNER_RETURNED, 36000},
      {36000, YES, YES, ASSIGNER_PRESENT, 0}}},
    {"when it was well for long enough it begins anew",
     {{1000, NO, YES, ASSIGNER_MISSED, 6000},
      {6000, NO, YES, ASSIGNER_AWAY, 0},
      {7000, YES, YES, ASSIGNER_RETURNED, 12000},
      {12000, YES, YES, ASSIGNER_PRESENT, 0},
      {612000, YES, YES, ASSIGNER_PRESENT, 0},
      {700000, NO, YES, ASSIGNER_MISSED, 705000},
      {705000, NO, YES, ASSIGNER_AWAY, 0},
      {706000, YES, YES, ASSIGNER_RETURNED, 711000}}},
};
/* clang-format on */

static void it_moves_when_it_lasts_and_comes_back_when_that_lasts(void **state)
{
    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
        struct assigner_reachability reachability = {.incarnation = 1};

        print_message("%s\n", stories[i].name);
        for (const struct moment *at = stories[i].moments; at->now_ms != 0; at++) {
            assert_int_equal(assigner_reachability_note(&reachability, &timings, at->reachable,
                                                        at->others, at->now_ms),
                             at->again_ms);
            assert_int_equal(reachability.state, at->state);
        }
    }
}

/* How often a member loses its slots in a day when its connection is lost for `down_ms` and well
 * for `up_ms` in turn; a lost one is in its node 10 s later. */
static int moves_in_a_day(int64_t up_ms, int64_t down_ms)
{
    enum { STEP_MS = 500, DAY_MS = 24 * 3600 * 1000, LOST_MS = 10000 };
    struct assigner_reachability reachability = {.incarnation = 1};
    int moves = 0;

    for (int64_t now = STEP_MS; now < DAY_MS; now += STEP_MS) {
        int64_t at = now % (up_ms + down_ms);
        bool was_well =
            reachability.state == ASSIGNER_PRESENT || reachability.state == ASSIGNER_MISSED;

        (void) assigner_reachability_note(&reachability, &timings, at < up_ms + LOST_MS, true, now);
        moves += was_well && reachability.state == ASSIGNER_AWAY ? 1 : 0;
    }
    return moves;
}

static void a_connection_that_comes_and_goes_causes_few_moves(void **state)
{
    static const struct {
        int64_t up_ms, down_ms;
        int most;
    } cases[] = {{11000, 11000, 0},    /* never missed for long enough */
                 {11000, 20000, 4},    /* never well for the fourth hold */
                 {60000, 16000, 5},    /* never for the fifth */
                 {310000, 20000, 262}, /* the largest hold fits, so each time */
                 {3600000, 60000, 24}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int moves = moves_in_a_day(cases[i].up_ms, cases[i].down_ms);

        print_message("%lld s up, %lld s down: %d moves in a day\n",
                      (long long) cases[i].up_ms / 1000, (long long) cases[i].down_ms / 1000,
                      moves);
        assert_in_range(moves, 0, cases[i].most);
    }
}

TEST_GROUP(assigner_reachability)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_state_may_follow),
        cmocka_unit_test(it_moves_when_it_lasts_and_comes_back_when_that_lasts),
        cmocka_unit_test(a_connection_that_comes_and_goes_causes_few_moves),
    };

    return cmocka_run_group_tests_name("assigner_reachability", tests, NULL, NULL);
}
