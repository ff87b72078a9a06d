/* test_call_wait.c - for what messages wait until the call leaves that claims them. */
#include "model/call_wait.h"
#include "support/group.h"

enum { STEPS = 6 };

enum what { END, TOLD, CLAIMED, CLAIMED_SOME, DECIDED };

struct step {
    enum what what;
    int64_t at_us;
    enum next_call_why why; /* DECIDED */
};

static void take(struct call_wait *wait, const struct step *step)
{
    switch (step->what) {
    case TOLD:
        call_wait_told(wait, step->at_us);
        break;
    case CLAIMED:
    case CLAIMED_SOME:
        call_wait_claimed(wait, step->what == CLAIMED_SOME, step->at_us);
        break;
    case DECIDED:
        call_wait_decided(wait, step->why, step->at_us);
        break;
    case END:
        break;
    }
}

/* The call leaves at 1000. */
static void each_reason_has_its_time(void **state)
{
    static const struct {
        const char *what;
        struct step steps[STEPS];
        int64_t slot, pace, room;
    } rows[] = {
        {"nothing waits", {{DECIDED, 100, NEXT_CALL_TOGETHER}}, 0, 0, 0},
        {"at once", {{TOLD, 1000, 0}, {DECIDED, 1000, NEXT_CALL_NOW}}, 0, 0, 0},
        {"a call in progress", {{TOLD, 400, 0}, {DECIDED, 1000, NEXT_CALL_NOW}}, 600, 0, 0},
        {"with others", {{TOLD, 400, 0}, {DECIDED, 400, NEXT_CALL_TOGETHER}}, 0, 600, 0},
        {"idle", {{TOLD, 400, 0}, {DECIDED, 500, NEXT_CALL_IDLE}}, 100, 500, 0},
        {"no room", {{TOLD, 400, 0}, {DECIDED, 400, NEXT_CALL_ROOM}}, 0, 0, 600},
        {"a rate", {{TOLD, 400, 0}, {DECIDED, 400, NEXT_CALL_RATE}}, 0, 0, 600},
        {"in doubt", {{TOLD, 400, 0}, {DECIDED, 400, NEXT_CALL_MEMBER}}, 0, 0, 600},
        {"answers", {{TOLD, 400, 0}, {DECIDED, 400, NEXT_CALL_ANSWERS}}, 600, 0, 0},
        {"one after the other",
         {{TOLD, 100, 0},
          {DECIDED, 200, NEXT_CALL_ROOM},
          {DECIDED, 500, NEXT_CALL_TOGETHER},
          {DECIDED, 600, NEXT_CALL_TIME}},
         500,
         100,
         300},
        {"it was told once more", {{TOLD, 400, 0}, {TOLD, 700, 0}}, 600, 0, 0},
        {"more was left", {{CLAIMED_SOME, 400, 0}, {TOLD, 700, 0}}, 600, 0, 0},
        {"not told: half of the time", {{CLAIMED, 400, 0}}, 300, 0, 0},
        {"not told, with others",
         {{CLAIMED, 400, 0}, {DECIDED, 600, NEXT_CALL_TOGETHER}},
         100,
         200,
         0},
        {"told in the end", {{CLAIMED, 400, 0}, {TOLD, 900, 0}}, 100, 0, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct call_wait wait = {.since_us = 0};
        int64_t us[CALL_WAITS];

        for (int step = 0; step < STEPS; step++) {
            take(&wait, &rows[i].steps[step]);
        }
        call_wait_end(&wait, us, 1000);
        if (us[CALL_WAIT_SLOT] != rows[i].slot || us[CALL_WAIT_PACE] != rows[i].pace ||
            us[CALL_WAIT_ROOM] != rows[i].room) {
            fail_msg("%s: slot %d, pace %d, room %d", rows[i].what, (int) us[CALL_WAIT_SLOT],
                     (int) us[CALL_WAIT_PACE], (int) us[CALL_WAIT_ROOM]);
        }
        call_wait_end(&wait, us, 2000);
        assert_int_equal(us[CALL_WAIT_SLOT] + us[CALL_WAIT_PACE] + us[CALL_WAIT_ROOM], 0);
    }
}

static void a_clock_that_stands_counts_nothing(void **state)
{
    struct call_wait wait = {.since_us = 0};
    int64_t us[CALL_WAITS];

    call_wait_told(&wait, 500);
    call_wait_end(&wait, us, 400); /* the time of a turn that began before */
    assert_int_equal(us[CALL_WAIT_SLOT], 0);
}

TEST_GROUP(call_wait)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_has_its_time),
        cmocka_unit_test(a_clock_that_stands_counts_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
