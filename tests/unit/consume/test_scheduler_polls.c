/* test_scheduler_polls.c - a scheduler that is polled: what a poll takes, when its descriptor is
 * readable, what a flush waits for, and rests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/waiter.h"
#include "consume/run/answer.h"
#include "consume/run/scheduler.h"
#include "support/group.h"

enum { QUEUES = 3, HAND_MAX = 16 };

/* A scheduler, its queues, and everything that was ever added: the test has the slot's part. */
struct stage {
    struct scheduler *scheduler;
    struct loop *loop;
    struct loop_task answered, back;
    struct waiter came_back;
    int descriptor;
    struct run_queue queues[QUEUES];
    smq_delivery *hand[HAND_MAX];
    int count;
};

static void on_answered(struct loop_task *task)
{
    (void) task;
}

static void on_back(struct loop_task *task)
{
    struct stage *stage = (struct stage *) ((char *) task - offsetof(struct stage, back));

    waiter_done(&stage->came_back);
}

static void stage_init(struct stage *stage, int32_t per_slot)
{
    struct scheduler_options options = {.topic = "t",
                                        .per_slot = per_slot,
                                        .task = &stage->answered,
                                        .back = &stage->back,
                                        .extended = &stage->answered};

    *stage = (struct stage){.answered.run = on_answered, .back.run = on_back};
    waiter_init(&stage->came_back, 1);
    assert_int_equal(loop_new(&stage->loop, "smq:io", NULL), SMQ_OK);
    options.io = stage->loop;
    stage->scheduler = scheduler_new(&options);
    stage->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(stage->descriptor >= 0);
    scheduler_set_descriptor(stage->scheduler, stage->descriptor);
    for (int i = 0; i < QUEUES; i++) {
        run_queue_init(&stage->queues[i]);
    }
}

/* What is in the scheduler's list of answers, and what was never begun, gives its reference back.
 */
static void stage_fini(struct stage *stage)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    smq_delivery *delivery;

    for (int i = 0; i < QUEUES; i++) {
        scheduler_recall(stage->scheduler, &stage->queues[i], &list);
    }
    scheduler_take_answers(stage->scheduler, &list);
    while ((delivery = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        delivery_unref(delivery);
    }
    scheduler_close(stage->scheduler);
    for (int i = 0; i < stage->count; i++) {
        (void) scheduler_forget(stage->scheduler, stage->hand[i]);
        delivery_unref(stage->hand[i]);
    }
    loop_free(stage->loop);
    scheduler_unref(stage->scheduler);
    close(stage->descriptor);
    waiter_fini(&stage->came_back);
}

/* `key` stands before the body in its entry; "": the body is the key. */
static smq_delivery *add_with(struct stage *stage, int queue, const char *key, const char *body)
{
    struct topic topic = {
        .name = "t", .type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_INLINE, .max_retries = 16};
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    char entry[64];
    int len = key[0] == '\0' ? snprintf(entry, sizeof(entry), "20c17:%s", body)
                             : snprintf(entry, sizeof(entry), "20c17:%c1:%s%s", '\0', key, body);
    smq_delivery *delivery;

    delivery =
        delivery_new(NULL, scheduler_origin(stage->scheduler), &stage->queues[queue], &topic, queue,
                     "", &(struct store_claimed){.entry = entry, .entry_len = (size_t) len});
    assert_non_null(delivery);
    stage->hand[stage->count++] = delivery;
    STAILQ_INSERT_TAIL(&list, delivery, link);
    scheduler_add(stage->scheduler, &stage->queues[queue], &list);
    scheduler_wake_threads(stage->scheduler);
    return delivery;
}

static smq_delivery *add(struct stage *stage, int queue, const char *body)
{
    return add_with(stage, queue, "", body);
}

/* The first bytes of what a poll gives that does not wait. */
static const char *take(struct stage *stage, size_t capacity)
{
    static char bodies[HAND_MAX + 1];
    smq_delivery *out[HAND_MAX];
    size_t count = 0;

    assert_true(scheduler_poll(stage->scheduler, out, &count, capacity, 0));
    for (size_t i = 0; i < count; i++) {
        bodies[i] = *(const char *) out[i]->info.body.data;
    }
    bodies[count] = '\0';
    return bodies;
}

static void answer(smq_delivery *delivery)
{
    assert_int_equal(answer_give(delivery, STORE_DONE, 0, NULL, NULL), SMQ_OK);
}

static bool is_readable(const struct stage *stage)
{
    struct pollfd wait = {.fd = stage->descriptor, .events = POLLIN};

    return poll(&wait, 1, 0) == 1;
}

static void poll_takes_of_each_queue_what_may_be_begun(void **state)
{
    struct stage stage;
    smq_delivery *first, *second, *third;

    stage_init(&stage, 2);
    first = add(&stage, 0, "a");
    second = add(&stage, 0, "b");
    add(&stage, 0, "c");
    third = add(&stage, 1, "x");
    assert_string_equal(take(&stage, HAND_MAX), "abx");
    assert_string_equal(take(&stage, HAND_MAX), "");
    answer(second);
    assert_string_equal(take(&stage, HAND_MAX), "c");
    answer(first);
    answer(third);
    answer(stage.hand[2]);
    stage_fini(&stage);
}

static void small_polls_go_around_the_queues(void **state)
{
    struct stage stage;

    stage_init(&stage, 8);
    add(&stage, 0, "a");
    add(&stage, 0, "b");
    add(&stage, 1, "x");
    add(&stage, 1, "y");
    assert_string_equal(take(&stage, 1), "a");
    assert_string_equal(take(&stage, 1), "x");
    assert_string_equal(take(&stage, 1), "b");
    assert_string_equal(take(&stage, 1), "y");
    for (int i = 0; i < stage.count; i++) {
        answer(stage.hand[i]);
    }
    stage_fini(&stage);
}

static void descriptor_follows_what_a_poll_would_give(void **state)
{
    struct stage stage;
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    smq_delivery *first, *second;
    size_t count = 7;

    stage_init(&stage, 1);
    assert_false(is_readable(&stage));
    first = add(&stage, 0, "a");
    second = add(&stage, 0, "b");
    assert_true(is_readable(&stage));
    assert_string_equal(take(&stage, HAND_MAX), "a");
    assert_false(is_readable(&stage)); /* "b" waits for the answer */
    answer(first);
    assert_true(is_readable(&stage));
    scheduler_recall(stage.scheduler, &stage.queues[0], &list);
    assert_ptr_equal(STAILQ_FIRST(&list), second);
    assert_false(is_readable(&stage));
    delivery_unref(second);
    scheduler_close(stage.scheduler);
    assert_true(is_readable(&stage));
    assert_false(scheduler_poll(stage.scheduler, &second, &count, 1, SMQ_FOREVER));
    assert_int_equal(count, 7);
    stage_fini(&stage);
}

static void flush_waits_for_each_answer_before_it(void **state)
{
    struct stage stage;
    smq_delivery *first, *second;
    smq_status late = SMQ_INTERNAL;

    stage_init(&stage, 1);
    assert_true(scheduler_flush(stage.scheduler, &late, 0));
    assert_int_equal(late, SMQ_OK);
    first = add(&stage, 0, "a");
    second = add(&stage, 1, "x");
    assert_string_equal(take(&stage, HAND_MAX), "ax");
    assert_true(scheduler_flush(stage.scheduler, &late, 0)); /* nothing is answered */
    answer(first);
    answer(second);
    assert_false(scheduler_flush(stage.scheduler, &late, 0));
    (void) scheduler_forget(stage.scheduler, second); /* stored */
    assert_false(scheduler_flush(stage.scheduler, &late, 0));
    (void) scheduler_forget(stage.scheduler, first);
    assert_true(scheduler_flush(stage.scheduler, &late, 0));
    assert_int_equal(late, SMQ_OK);
    stage_fini(&stage);
}

static void flush_tells_once_of_late_answers(void **state)
{
    struct stage stage;
    smq_delivery *first, *second;
    smq_status late = SMQ_OK;

    stage_init(&stage, 1);
    first = add(&stage, 0, "a");
    second = add(&stage, 1, "x");
    assert_string_equal(take(&stage, HAND_MAX), "ax");
    answer(first);
    delivery_set_validity(first, SMQ_FENCED);
    (void) scheduler_forget(stage.scheduler, first); /* dropped although it was answered */
    assert_true(scheduler_flush(stage.scheduler, &late, 0));
    assert_int_equal(late, SMQ_FENCED);
    delivery_set_validity(second, SMQ_LEASE_LOST);
    assert_int_equal(answer_give(second, STORE_DONE, 0, NULL, NULL), SMQ_LEASE_LOST);
    assert_true(scheduler_flush(stage.scheduler, &late, 0));
    assert_int_equal(late, SMQ_LEASE_LOST);
    assert_true(scheduler_flush(stage.scheduler, &late, 0));
    assert_int_equal(late, SMQ_OK);
    stage_fini(&stage);
}

/* In a strict scheduler a poll passes no delivery of its key that is returned. */
static void poll_takes_nothing_of_a_held_key(void **state)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    struct stage stage;
    smq_delivery *first, *second;

    stage_init(&stage, 2);
    scheduler_set_strict(stage.scheduler, true);
    first = add_with(&stage, 0, "k", "a");
    second = add_with(&stage, 0, "k", "b");
    assert_string_equal(take(&stage, 1), "a");
    assert_int_equal(answer_give(first, STORE_RETRY, 0, NULL, NULL), SMQ_OK);
    assert_string_equal(take(&stage, 1), "");
    assert_false(is_readable(&stage));
    scheduler_recall_held(stage.scheduler, first, &list);
    assert_ptr_equal(STAILQ_FIRST(&list), second);
    (void) scheduler_forget(stage.scheduler, first);
    delivery_unref(second); /* its answerer's */
    stage_fini(&stage);
}

/* The slot drops what was answered before it has seen the answer: nobody will recall the rest. */
static void key_goes_on_when_what_holds_it_is_dropped(void **state)
{
    struct stage stage;
    smq_delivery *first, *second;

    stage_init(&stage, 2);
    scheduler_set_strict(stage.scheduler, true);
    first = add_with(&stage, 0, "k", "a");
    second = add_with(&stage, 0, "k", "b");
    assert_string_equal(take(&stage, HAND_MAX), "a");
    assert_int_equal(answer_give(first, STORE_RETRY, 0, NULL, NULL), SMQ_OK);
    assert_string_equal(take(&stage, HAND_MAX), "");
    (void) scheduler_forget(stage.scheduler, first);
    assert_string_equal(take(&stage, HAND_MAX), "b");
    answer(second);
    stage_fini(&stage);
}

static void first_poll_of_a_rest_says_so(void **state)
{
    struct stage stage;

    stage_init(&stage, 1);
    assert_string_equal(take(&stage, 1), "");
    assert_false(scheduler_suspend(stage.scheduler, 600000));
    scheduler_wake_poller(stage.scheduler);
    assert_true(is_readable(&stage));
    assert_string_equal(take(&stage, 1), "");
    assert_false(is_readable(&stage));
    assert_true(scheduler_suspend(stage.scheduler, 0));
    assert_true(is_readable(&stage)); /* a thread may wait on it */
    assert_string_equal(take(&stage, 1), "");
    assert_false(is_readable(&stage));
    assert_true(waiter_wait(&stage.came_back, SMQ_FOREVER));
    assert_string_equal(take(&stage, 1), ""); /* it would end the waiter once too often */
    stage_fini(&stage);
}

static void poll_takes_nothing_that_is_not_confirmed(void **state)
{
    struct membership *membership = membership_new();
    struct stage stage;

    stage_init(&stage, 2);
    scheduler_guard(stage.scheduler, membership, 600000);
    add(&stage, 0, "a");
    add(&stage, 0, "b");
    run_queue_confirm(&stage.queues[1], clock_now_ms());
    add(&stage, 1, "x");
    assert_string_equal(take(&stage, HAND_MAX), "x");
    assert_ptr_equal(scheduler_take_unconfirmed(stage.scheduler), &stage.queues[0]);
    assert_string_equal(take(&stage, HAND_MAX), "");
    run_queue_confirm(&stage.queues[0], clock_now_ms());
    scheduler_set_confirmed(stage.scheduler, &stage.queues[0]);
    assert_string_equal(take(&stage, HAND_MAX), "ab");
    for (int i = 0; i < stage.count; i++) {
        assert_int_equal(answer_give(stage.hand[i], STORE_DONE, 0, NULL, NULL), SMQ_OK);
    }
    stage_fini(&stage);
    membership_unref(membership);
}

TEST_GROUP(scheduler_polls)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poll_takes_of_each_queue_what_may_be_begun),
        cmocka_unit_test(small_polls_go_around_the_queues),
        cmocka_unit_test(descriptor_follows_what_a_poll_would_give),
        cmocka_unit_test(flush_waits_for_each_answer_before_it),
        cmocka_unit_test(flush_tells_once_of_late_answers),
        cmocka_unit_test(poll_takes_nothing_of_a_held_key),
        cmocka_unit_test(key_goes_on_when_what_holds_it_is_dropped),
        cmocka_unit_test(first_poll_of_a_rest_says_so),
        cmocka_unit_test(poll_takes_nothing_that_is_not_confirmed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
