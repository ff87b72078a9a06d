/* test_alarms.c - what rings when, and in which order. */
#include <string.h>

#include "base/alarms.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/owner_of.h"
#include "base/waiter.h"
#include "support/group.h"

enum {
    BELLS = 4,
    MANY = 300,
    SOON_US = 300,
    LATER_US = 900,
    SPREAD_US = 2000,
    NEVER_US = 600000000
};

struct bell {
    struct alarm alarm;
    int64_t at_us;
    char name;
};

/* On the thread of the loop, until the waiter is done. */
static struct bells {
    struct loop_task task;
    struct loop *loop;
    struct bell bell[BELLS];
    char rung[BELLS + 1];
    size_t count, last; /* how many have rung, and will */
    struct waiter waiter;
} bells;

static void ring(struct alarm *alarm)
{
    struct bell *bell = OWNER_OF(alarm, struct bell, alarm);

    assert_true(clock_now_us() >= bell->at_us);
    assert_int_equal(alarm->at_us, 0);
    bells.rung[bells.count++] = bell->name;
    if (bells.count == bells.last) {
        waiter_done(&bells.waiter);
    }
}

static void set(int i, int64_t at_us)
{
    bells.bell[i].at_us = at_us;
    alarm_set(loop_alarms(bells.loop), &bells.bell[i].alarm, at_us);
}

static void run(void (*begin)(struct loop_task *task), size_t last)
{
    smq_error err = SMQ_ERROR_INIT;

    memset(&bells, 0, sizeof(bells));
    for (int i = 0; i < BELLS; i++) {
        bells.bell[i].alarm.ring = ring;
        bells.bell[i].name = (char) ('a' + i);
    }
    bells.last = last;
    bells.task.run = begin;
    waiter_init(&bells.waiter, 1);
    assert_int_equal(loop_new(&bells.loop, "smq:test", &err), SMQ_OK);
    loop_post(bells.loop, &bells.task);
    assert_true(waiter_wait(&bells.waiter, SMQ_FOREVER));
    loop_free(bells.loop); /* alarms that are still set do not keep it */
    waiter_fini(&bells.waiter);
}

static void set_in_disorder(struct loop_task *task)
{
    int64_t now_us = clock_now_us();

    (void) task;
    set(1, now_us + LATER_US);
    set(0, now_us + SOON_US);
    set(2, now_us + LATER_US);
    set(3, now_us - LATER_US);
}

static void alarms_ring_in_the_order_of_their_times(void **state)
{
    run(set_in_disorder, 4);
    assert_string_equal(bells.rung, "dabc");
}

static void change_and_clear(struct loop_task *task)
{
    struct alarms *alarms = loop_alarms(bells.loop);
    int64_t now_us = clock_now_us();

    (void) task;
    set(0, now_us + SOON_US);
    set(1, now_us + NEVER_US);
    set(2, now_us + SOON_US);
    set(0, now_us + LATER_US); /* later than it was */
    set(1, now_us + SOON_US);  /* earlier */
    alarm_clear(alarms, &bells.bell[2].alarm);
    alarm_clear(alarms, &bells.bell[2].alarm);
    set(3, now_us + NEVER_US);
}

static void last_time_that_was_set_counts(void **state)
{
    run(change_and_clear, 2);
    assert_string_equal(bells.rung, "ba");
}

/* --- many --- */

static struct many {
    struct alarm alarm[MANY];
    int64_t at_us[MANY];
    int64_t rung_us; /* the time of the last one that has rung */
    size_t last, count;
} many;

static void ring_one(struct alarm *alarm)
{
    int64_t at_us = many.at_us[alarm - many.alarm];

    assert_true(at_us >= many.rung_us);
    many.rung_us = at_us;
    if (++many.count == many.last) {
        waiter_done(&bells.waiter);
    }
}

/* Each third is cleared, and each other third is set once more. */
static void set_many(struct loop_task *task)
{
    struct alarms *alarms = loop_alarms(bells.loop);
    int64_t now_us = clock_now_us();

    (void) task;
    memset(&many, 0, sizeof(many));
    many.last = MANY - (MANY + 2) / 3;
    for (int i = 0; i < MANY; i++) {
        many.alarm[i].ring = ring_one;
        many.at_us[i] = now_us + i * 7919 % SPREAD_US;
        alarm_set(alarms, &many.alarm[i], many.at_us[i]);
    }
    for (int i = 0; i < MANY; i++) {
        if (i % 3 == 0) {
            alarm_clear(alarms, &many.alarm[i]);
        } else if (i % 3 == 1) {
            many.at_us[i] = now_us + i * 104729 % SPREAD_US;
            alarm_set(alarms, &many.alarm[i], many.at_us[i]);
        }
    }
}

static void many_ring_in_the_order_of_their_times(void **state)
{
    run(set_many, BELLS);
    assert_int_equal(many.count, many.last);
}

/* --- a time that has passed --- */

static void ring_again(struct alarm *alarm)
{
    bells.count++;
    if (bells.count < bells.last) {
        alarm_set(loop_alarms(bells.loop), alarm, 0);
        return;
    }
    waiter_done(&bells.waiter);
}

static void set_in_the_past(struct loop_task *task)
{
    (void) task;
    bells.bell[0].alarm.ring = ring_again;
    alarm_set(loop_alarms(bells.loop), &bells.bell[0].alarm, 0);
}

static void one_that_is_set_for_the_past_rings_each_time(void **state)
{
    run(set_in_the_past, BELLS);
    assert_int_equal(bells.count, BELLS);
}

TEST_GROUP(alarms)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alarms_ring_in_the_order_of_their_times),
        cmocka_unit_test(last_time_that_was_set_counts),
        cmocka_unit_test(many_ring_in_the_order_of_their_times),
        cmocka_unit_test(one_that_is_set_for_the_past_rings_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
