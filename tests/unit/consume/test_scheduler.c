/* test_scheduler.c - queues of deliveries, handler threads, and answers that wait to be taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/thread.h"
#include "consume/run/answer.h"
#include "consume/run/scheduler.h"
#include "support/group.h"

enum { LOG_MAX = 64, THREADS_MAX = 4 };

/* What the handlers did; a handler waits at its gate. */
struct stage {
    struct scheduler *scheduler;
    struct loop *loop;
    struct loop_task task;
    pthread_t threads[THREADS_MAX];
    int thread_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char log[LOG_MAX];         /* the first byte of each body whose handler began */
    int begun, returned, open; /* `open` handlers may return */
    int posted;
    smq_verdict verdict;
    smq_delivery *last;
};

static void on_task(struct loop_task *task)
{
    struct stage *stage = (struct stage *) ((char *) task - offsetof(struct stage, task));

    pthread_mutex_lock(&stage->lock);
    stage->posted++;
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->lock);
}

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    struct stage *stage = user;
    smq_verdict verdict;

    pthread_mutex_lock(&stage->lock);
    stage->last = delivery;
    stage->log[stage->begun++] = *(const char *) delivery->info.body.data;
    pthread_cond_broadcast(&stage->changed);
    while (stage->open == 0) {
        pthread_cond_wait(&stage->changed, &stage->lock);
    }
    stage->open--;
    stage->returned++;
    verdict = stage->verdict;
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->lock);
    return verdict;
}

static void *work(void *arg)
{
    scheduler_work(arg);
    return NULL;
}

static void stage_init(struct stage *stage, int threads, int32_t turn)
{
    struct scheduler_options options = {.topic = "t",
                                        .handler = handle,
                                        .user = stage,
                                        .turn = turn,
                                        .timed = true,
                                        .task = &stage->task};

    *stage = (struct stage){.thread_count = threads, .task.run = on_task};
    pthread_mutex_init(&stage->lock, NULL);
    pthread_cond_init(&stage->changed, NULL);
    assert_int_equal(loop_new(&stage->loop, "smq:io", NULL), SMQ_OK);
    options.io = stage->loop;
    stage->scheduler = scheduler_new(&options);
    for (int i = 0; i < threads; i++) {
        assert_int_equal(thread_start(&stage->threads[i], "smq:work", work, stage->scheduler, NULL),
                         SMQ_OK);
    }
}

static void stage_open(struct stage *stage, int count)
{
    pthread_mutex_lock(&stage->lock);
    stage->open += count;
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->lock);
}

static void stage_fini(struct stage *stage)
{
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    smq_delivery *delivery;

    stage_open(stage, LOG_MAX);
    scheduler_end(stage->scheduler);
    for (int i = 0; i < stage->thread_count; i++) {
        pthread_join(stage->threads[i], NULL);
    }
    scheduler_close(stage->scheduler);
    scheduler_take_answers(stage->scheduler, &answers);
    while ((delivery = STAILQ_FIRST(&answers)) != NULL) {
        STAILQ_REMOVE_HEAD(&answers, link);
        delivery_unref(delivery); /* its answerer's */
        delivery_unref(delivery); /* the slot's */
    }
    loop_free(stage->loop);
    scheduler_unref(stage->scheduler);
    pthread_mutex_destroy(&stage->lock);
    pthread_cond_destroy(&stage->changed);
}

static void stage_says(struct stage *stage, smq_verdict verdict)
{
    pthread_mutex_lock(&stage->lock);
    stage->verdict = verdict;
    pthread_mutex_unlock(&stage->lock);
}

/* Wait until a count of the stage is reached. */
static void stage_await(struct stage *stage, const int *count, int least)
{
    pthread_mutex_lock(&stage->lock);
    while (*count < least) {
        pthread_cond_wait(&stage->changed, &stage->lock);
    }
    pthread_mutex_unlock(&stage->lock);
}

/* All have the key k. */
static smq_delivery *add(struct stage *stage, struct run_queue *queue, const char *body)
{
    struct topic topic = {
        .name = "t", .type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_INLINE, .max_retries = 16};
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    char entry[64];
    int len = snprintf(entry, sizeof(entry), "20c17:%c1:k%s", '\0', body);
    smq_delivery *delivery;

    delivery =
        delivery_new(NULL, scheduler_origin(stage->scheduler), queue, &topic, 3, "",
                     &(struct store_claimed){
                         .entry = entry, .entry_len = (size_t) len, .attempts = {.retries = 2}});
    assert_non_null(delivery);
    STAILQ_INSERT_TAIL(&list, delivery, link);
    scheduler_add(stage->scheduler, queue, &list);
    scheduler_wake_threads(stage->scheduler);
    return delivery;
}

/* A stage of one thread whose handler has begun with one delivery, and will say `verdict`. */
static smq_delivery *begin_one(struct stage *stage, struct run_queue *queue, smq_verdict verdict)
{
    smq_delivery *delivery;

    run_queue_init(queue);
    stage_init(stage, 1, 100);
    stage_says(stage, verdict);
    delivery = add(stage, queue, "a");
    stage_await(stage, &stage->begun, 1);
    return delivery;
}

static void queue_runs_one_after_another_in_order(void **state)
{
    struct run_queue queue;
    struct stage stage;

    run_queue_init(&queue);
    stage_init(&stage, 4, 100);
    add(&stage, &queue, "a");
    add(&stage, &queue, "b");
    add(&stage, &queue, "c");
    for (int i = 1; i <= 3; i++) {
        stage_await(&stage, &stage.begun, i);
        assert_int_equal(stage.begun, i); /* nobody else begins while the gate is shut */
        stage_open(&stage, 1);
        stage_await(&stage, &stage.returned, i);
    }
    stage_fini(&stage);
    assert_string_equal(stage.log, "abc");
}

static void queues_run_beside_each_other(void **state)
{
    struct run_queue queues[2];
    struct stage stage;

    run_queue_init(&queues[0]);
    run_queue_init(&queues[1]);
    stage_init(&stage, 2, 100);
    add(&stage, &queues[0], "a");
    add(&stage, &queues[1], "b");
    stage_await(&stage, &stage.begun, 2); /* both inside, none has returned */
    assert_int_equal(stage.returned, 0);
    stage_open(&stage, 2);
    stage_await(&stage, &stage.returned, 2);
    stage_fini(&stage);
}

static void queue_gives_way_after_its_turn(void **state)
{
    struct run_queue queues[2];
    struct stage stage;

    run_queue_init(&queues[0]);
    run_queue_init(&queues[1]);
    stage_init(&stage, 1, 2);
    add(&stage, &queues[0], "a");
    add(&stage, &queues[0], "b");
    add(&stage, &queues[0], "c");
    stage_await(&stage, &stage.begun, 1);
    add(&stage, &queues[1], "x");
    stage_open(&stage, 4);
    stage_await(&stage, &stage.returned, 4);
    stage_fini(&stage);
    assert_string_equal(stage.log, "abxc");
}

/* One thread; the handler of "a" has returned and will answer later, "b" is behind it. */
static smq_delivery *stage_init_later(struct stage *stage, struct run_queue *queue)
{
    smq_delivery *first;

    run_queue_init(queue);
    stage_init(stage, 1, 100);
    scheduler_watch(stage->scheduler, true);
    stage_says(stage, SMQ_LATER);
    first = add(stage, queue, "a");
    add(stage, queue, "b");
    stage_await(stage, &stage->begun, 1);
    stage_open(stage, 1);
    stage_await(stage, &stage->posted, 1);
    return first;
}

static void later_holds_the_key_until_the_answer(void **state)
{
    struct run_queue queue;
    struct stage stage;
    smq_delivery *first;

    first = stage_init_later(&stage, &queue);
    assert_false(scheduler_is_quiet(stage.scheduler, &queue));
    assert_int_equal(stage.begun, 1);
    stage_says(&stage, SMQ_DONE);
    assert_int_equal(answer_give(first, STORE_DONE, 0, NULL, NULL), SMQ_OK);
    stage_await(&stage, &stage.begun, 2);
    stage_open(&stage, 1);
    stage_await(&stage, &stage.returned, 2);
    stage_fini(&stage);
}

static void call_inside_the_handler_wins_over_its_verdict(void **state)
{
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);
    struct run_queue queue;
    struct stage stage;
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    delivery = begin_one(&stage, &queue, SMQ_DONE);
    assert_int_equal(answer_give(delivery, STORE_REJECT, 0, "why", NULL), SMQ_OK);
    assert_int_equal(answer_give(delivery, STORE_DONE, 0, NULL, &err), SMQ_INVALID);
    stage_open(&stage, 1);
    stage_await(&stage, &stage.returned, 1);
    scheduler_end(stage.scheduler);
    pthread_join(stage.threads[0], NULL);
    stage.thread_count = 0;
    scheduler_take_answers(stage.scheduler, &answers);
    assert_ptr_equal(STAILQ_FIRST(&answers), delivery);
    assert_null(STAILQ_NEXT(delivery, link));
    assert_int_equal(delivery->answer.op, STORE_REJECT);
    assert_string_equal(delivery->answer.reason, "why");
    delivery_unref(delivery);
    delivery_unref(delivery);
    stage_fini(&stage);
}

/* Does the scheduler take the answer that the delivery holds? */
static bool passes(struct scheduler *scheduler, smq_delivery *delivery)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);

    STAILQ_INSERT_TAIL(&list, delivery, link);
    return scheduler_answer(scheduler, &list);
}

static void verdicts_answer_as_they_say(void **state)
{
    static const struct {
        smq_verdict verdict;
        enum store_answer_op op;
        int64_t delay_ms;
    } rows[] = {
        {SMQ_DONE, STORE_DONE, 0},
        {SMQ_RETRY, STORE_RETRY, SMQ_BACKOFF},
        {SMQ_REJECT, STORE_REJECT, 0},
        {SMQ_RELEASE, STORE_RELEASE, 0},
        {SMQ_ANSWERED, STORE_RETRY, SMQ_BACKOFF},    /* though it was not answered */
        {(smq_verdict) 0, STORE_RETRY, SMQ_BACKOFF}, /* as returned by mistake */
        {(smq_verdict) 77, STORE_RETRY, SMQ_BACKOFF},
        {(smq_verdict) -1, STORE_RETRY, SMQ_BACKOFF},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
        struct run_queue queue;
        struct stage stage;
        smq_delivery *delivery;

        run_queue_init(&queue);
        stage_init(&stage, 0, 100);
        delivery = add(&stage, &queue, "a");
        scheduler_recall(stage.scheduler, &queue, &list);
        assert_ptr_equal(STAILQ_FIRST(&list), delivery);
        assert_int_equal(answer_by_verdict(delivery, rows[i].verdict), ANSWER_GIVEN);
        assert_int_equal(delivery->answer.op, rows[i].op);
        assert_int_equal(delivery->answer.delay_ms, rows[i].delay_ms);
        assert_int_equal(answer_by_verdict(delivery, rows[i].verdict), ANSWER_LEFT);
        assert_true(passes(stage.scheduler, delivery));
        stage_fini(&stage);
    }
}

static void recall_takes_what_no_handler_has_begun(void **state)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    struct run_queue queue;
    struct stage stage;
    smq_delivery *second, *third;

    run_queue_init(&queue);
    stage_init(&stage, 1, 100);
    add(&stage, &queue, "a");
    second = add(&stage, &queue, "b");
    third = add(&stage, &queue, "c");
    stage_await(&stage, &stage.begun, 1);
    scheduler_recall(stage.scheduler, &queue, &list);
    assert_ptr_equal(STAILQ_FIRST(&list), second);
    assert_ptr_equal(STAILQ_NEXT(second, link), third);
    assert_null(STAILQ_NEXT(third, link));
    delivery_unref(second);
    delivery_unref(second);
    delivery_unref(third);
    delivery_unref(third);
    stage_open(&stage, 1);
    stage_await(&stage, &stage.returned, 1);
    stage_fini(&stage);
    assert_string_equal(stage.log, "a");
}

static void forgotten_later_lets_the_queue_go_on(void **state)
{
    struct run_queue queue;
    struct stage stage;
    smq_delivery *first;

    first = stage_init_later(&stage, &queue);
    stage_says(&stage, SMQ_DONE);
    delivery_set_validity(first, SMQ_LEASE_LOST);
    assert_false(scheduler_forget(stage.scheduler, first));
    stage_await(&stage, &stage.begun, 2);
    assert_int_equal(answer_give(first, STORE_DONE, 0, NULL, NULL), SMQ_LEASE_LOST);
    delivery_unref(first); /* the slot's */
    stage_open(&stage, 1);
    stage_await(&stage, &stage.returned, 2);
    stage_fini(&stage);
}

/* Take what is overdue now: it must be one delivery, this one. */
static void overdue(struct stage *stage, smq_delivery *delivery)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);

    (void) scheduler_overdue(stage->scheduler, clock_now_ms(), &list);
    assert_ptr_equal(STAILQ_FIRST(&list), delivery);
    assert_null(STAILQ_NEXT(delivery, link));
}

static void queue_goes_on_without_an_overdue_handler(void **state)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    struct run_queue queue;
    struct stage stage;
    smq_delivery *first;

    run_queue_init(&queue);
    stage_init(&stage, 2, 100);
    first = add(&stage, &queue, "a");
    add(&stage, &queue, "b");
    stage_await(&stage, &stage.begun, 1);
    assert_true(scheduler_overdue(stage.scheduler, 0, &list) > 0);
    assert_true(STAILQ_EMPTY(&list));
    overdue(&stage, first);
    stage_await(&stage, &stage.begun, 2);
    assert_int_equal(stage.returned, 0); /* both are inside */
    assert_false(scheduler_is_quiet(stage.scheduler, &queue));
    stage_open(&stage, 2);
    stage_await(&stage, &stage.returned, 2);
    (void) scheduler_forget(stage.scheduler, first);
    delivery_unref(first); /* the slot's */
    stage_fini(&stage);
    assert_string_equal(stage.log, "ab");
}

static void late_answer_of_an_overdue_delivery_is_refused(void **state)
{
    struct run_queue queue;
    struct stage stage;
    smq_delivery *first;

    run_queue_init(&queue);
    stage_init(&stage, 1, 100);
    scheduler_watch(stage.scheduler, true);
    stage_says(&stage, SMQ_LATER);
    first = add(&stage, &queue, "a");
    stage_open(&stage, 1);
    stage_await(&stage, &stage.posted, 1);
    overdue(&stage, first);
    assert_true(scheduler_is_quiet(stage.scheduler, &queue));
    assert_int_equal(answer_give(first, STORE_DONE, 0, NULL, NULL), SMQ_LEASE_LOST);
    (void) scheduler_forget(stage.scheduler, first);
    delivery_unref(first); /* the slot's */
    stage_fini(&stage);
}

/* In a strict scheduler nothing passes a delivery that is returned. */
static void strict_queue_is_held_until_the_answer_is_stored(void **state)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    struct run_queue queue;
    struct stage stage;
    smq_delivery *first, *second, *third;

    run_queue_init(&queue);
    stage_init(&stage, 1, 100);
    scheduler_set_strict(stage.scheduler, true);
    stage_says(&stage, SMQ_RETRY);
    first = add(&stage, &queue, "a");
    second = add(&stage, &queue, "b");
    stage_await(&stage, &stage.begun, 1);
    stage_open(&stage, 1);
    stage_await(&stage, &stage.posted, 1);
    third = add(&stage, &queue, "c"); /* brought by a claim that was in flight */
    scheduler_recall_held(stage.scheduler, first, &list);
    assert_ptr_equal(STAILQ_FIRST(&list), second);
    assert_ptr_equal(STAILQ_NEXT(second, link), third);
    scheduler_recall_held(stage.scheduler, first, &list);  /* nothing waits any more */
    scheduler_forget_answered(stage.scheduler, &first, 1); /* its answer is stored */
    stage_says(&stage, SMQ_REJECT);
    scheduler_add(stage.scheduler, &queue, &list);
    scheduler_wake_threads(stage.scheduler);
    stage_open(&stage, 2);
    stage_await(&stage, &stage.returned, 3);
    stage_fini(&stage);
    assert_string_equal(stage.log, "abc");
}

static void delivery_outlives_the_queue_of_its_consumer(void **state)
{
    struct run_queue queue;
    struct stage stage;
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    delivery = begin_one(&stage, &queue, SMQ_LATER);
    stage_open(&stage, 1);
    stage_fini(&stage);
    (void) scheduler_forget(scheduler_of(delivery), delivery);
    delivery_unref(delivery); /* the slot's */
    assert_string_equal(delivery->info.topic, "t");
    assert_int_equal(delivery->info.attempt, 3);
    assert_int_equal(delivery->info.retries_left, 14);
    assert_int_equal(answer_give(delivery, STORE_DONE, 0, NULL, &err), SMQ_CLOSED);
    assert_non_null(strstr(err.text, "delivered again"));
}

/* Nobody but the running call has it then. */
static void late_answer_inside_the_handler_leaves_it_to_the_call(void **state)
{
    struct run_queue queue;
    struct stage stage;
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    delivery = begin_one(&stage, &queue, SMQ_DONE);
    delivery_set_validity(delivery, SMQ_FENCED);
    assert_false(scheduler_forget(stage.scheduler, delivery));
    delivery_unref(delivery); /* the slot's */
    assert_int_equal(answer_give(delivery, STORE_DONE, 0, NULL, &err), SMQ_FENCED);
    assert_int_equal(answer_give(delivery, STORE_DONE, 0, NULL, NULL), SMQ_INVALID);
    stage_open(&stage, 1);
    stage_await(&stage, &stage.returned, 1);
    stage_fini(&stage);
    assert_non_null(strstr(err.text, "newer owner"));
}

static void late_verdict_ends_the_delivery(void **state)
{
    struct run_queue queue;
    struct stage stage;
    smq_delivery *delivery;

    delivery = begin_one(&stage, &queue, SMQ_DONE);
    delivery_set_validity(delivery, SMQ_LEASE_LOST);
    assert_false(scheduler_forget(stage.scheduler, delivery));
    delivery_unref(delivery); /* the slot's */
    stage_open(&stage, 1);
    stage_await(&stage, &stage.returned, 1);
    stage_fini(&stage);
}

/* Nothing of what it was before stays. */
static void ended_delivery_is_used_again(void **state)
{
    struct topic topic = {
        .name = "t", .type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_INLINE, .max_retries = 16};
    static const char first_entry[] = "20c17:first", second_entry[] = "21c18:2", large[4096];
    struct delivery_pool pool;
    struct run_queue queue;
    struct stage stage;
    smq_delivery *first, *second;
    smq_error err = SMQ_ERROR_INIT;
    struct store_claimed claimed = {.entry = first_entry, .entry_len = strlen(first_entry)};

    delivery_pool_init(&pool);
    run_queue_init(&queue);
    stage_init(&stage, 0, 100);
    first = delivery_new(&pool, scheduler_origin(stage.scheduler), &queue, &topic, 3, "token",
                         &claimed);
    delivery_set_validity(first, SMQ_LEASE_LOST);
    assert_int_equal(answer_give(first, STORE_DONE, 0, "why", &err), SMQ_LEASE_LOST);
    assert_non_null(strstr(err.text, "the lease of this message"));
    delivery_leave_flight(first, &pool);
    assert_int_equal(pool.count, 1);
    claimed = (struct store_claimed){.entry = large, .entry_len = sizeof(large)};
    assert_null(
        delivery_new(&pool, scheduler_origin(stage.scheduler), &queue, &topic, 3, "", &claimed));
    assert_int_equal(pool.count, 1); /* too large for it */
    claimed = (struct store_claimed){.entry = second_entry, .entry_len = strlen(second_entry)};
    second =
        delivery_new(&pool, scheduler_origin(stage.scheduler), &queue, &topic, 4, "", &claimed);
    assert_ptr_equal(second, first);
    assert_int_equal(pool.count, 0);
    assert_int_equal(delivery_validity(second), SMQ_OK);
    assert_string_equal(second->info.body.data, "2");
    assert_string_equal(second->info.token, "");
    assert_null(second->answer.reason);
    second->held++; /* its answerer's */
    delivery_leave_flight(second, &pool);
    assert_int_equal(pool.count, 1);
    delivery_pool_fini(&pool);
    stage_fini(&stage);
}

/* --- confirmations --- */

enum { LONG_MS = 600000 };

/* A stage of one thread whose deliveries have to be confirmed. */
static struct membership *stage_guard(struct stage *stage, struct run_queue *queue)
{
    struct membership *membership = membership_new();

    run_queue_init(queue);
    stage_init(stage, 1, 100);
    atomic_store(&membership->valid_ms, LONG_MS);
    scheduler_guard(stage->scheduler, membership, LONG_MS);
    return membership;
}

/* What was added is put back, for smq:io to take. */
static void expect_doubt(struct stage *stage, struct run_queue *queue)
{
    stage_await(stage, &stage->posted, 1);
    assert_int_equal(stage->begun, 0);
    assert_ptr_equal(scheduler_take_unconfirmed(stage->scheduler), queue);
    assert_null(scheduler_take_unconfirmed(stage->scheduler));
}

static void recall_one(struct stage *stage, struct run_queue *queue, smq_delivery *delivery)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);

    scheduler_recall(stage->scheduler, queue, &list);
    assert_ptr_equal(STAILQ_FIRST(&list), delivery);
    delivery_unref(delivery);
    delivery_unref(delivery);
}

static void old_confirmation_lets_nothing_begin_until_it_is_renewed(void **state)
{
    struct run_queue queue, other;
    struct stage stage;
    struct membership *membership = stage_guard(&stage, &queue);

    add(&stage, &queue, "a");
    expect_doubt(&stage, &queue);
    add(&stage, &queue, "b");
    run_queue_init(&other);
    run_queue_confirm(&other, clock_now_ms());
    add(&stage, &other, "x");
    stage_open(&stage, 1);
    stage_await(&stage, &stage.returned, 1); /* other queues continue */
    run_queue_confirm(&queue, clock_now_ms());
    scheduler_set_confirmed(stage.scheduler, &queue);
    stage_open(&stage, 2);
    stage_await(&stage, &stage.returned, 3);
    stage_fini(&stage);
    membership_unref(membership);
    assert_string_equal(stage.log, "xab"); /* in their order */
}

/* Batches: how many were in each, and the first bytes of their bodies. */
static smq_verdict handle_batch(smq_delivery *const *deliveries, size_t count, void *user)
{
    struct stage *stage = user;

    pthread_mutex_lock(&stage->lock);
    for (size_t i = 0; i < count; i++) {
        stage->log[stage->begun++] = *(const char *) deliveries[i]->info.body.data;
    }
    stage->returned++;
    pthread_cond_broadcast(&stage->changed);
    pthread_mutex_unlock(&stage->lock);
    return SMQ_DONE;
}

static void batch_is_put_back_in_its_order(void **state)
{
    struct scheduler_options options = {
        .topic = "t", .batch = handle_batch, .turn = 3, .timed = true};
    struct membership *membership = membership_new();
    struct run_queue queue;
    struct stage stage = {.task.run = on_task};

    pthread_mutex_init(&stage.lock, NULL);
    pthread_cond_init(&stage.changed, NULL);
    assert_int_equal(loop_new(&stage.loop, "smq:io", NULL), SMQ_OK);
    options.user = &stage;
    options.io = stage.loop;
    options.task = &stage.task;
    stage.scheduler = scheduler_new(&options);
    scheduler_guard(stage.scheduler, membership, LONG_MS);
    run_queue_init(&queue);
    for (const char *body = "abcde"; *body != '\0'; body++) {
        add(&stage, &queue, (const char[]){*body, '\0'});
    }
    stage.thread_count = 1;
    assert_int_equal(thread_start(&stage.threads[0], "smq:work", work, stage.scheduler, NULL),
                     SMQ_OK);
    expect_doubt(&stage, &queue);
    run_queue_confirm(&queue, clock_now_ms());
    scheduler_set_confirmed(stage.scheduler, &queue);
    stage_await(&stage, &stage.returned, 2);
    stage_fini(&stage);
    membership_unref(membership);
    assert_string_equal(stage.log, "abcde");
}

static void trust_too_early_asks_again(void **state)
{
    struct run_queue queue;
    struct stage stage;
    struct membership *membership = stage_guard(&stage, &queue);
    smq_delivery *delivery = add(&stage, &queue, "a");

    expect_doubt(&stage, &queue);
    scheduler_set_confirmed(stage.scheduler, &queue);
    stage_await(&stage, &stage.posted, 2);
    assert_int_equal(stage.begun, 0);
    recall_one(&stage, &queue, delivery);
    assert_null(scheduler_take_unconfirmed(stage.scheduler));
    stage_fini(&stage);
    membership_unref(membership);
}

static void doubt_of_the_membership_holds_for_every_queue(void **state)
{
    struct run_queue queue;
    struct stage stage;
    struct membership *membership = stage_guard(&stage, &queue);
    smq_delivery *delivery;

    run_queue_confirm(&queue, clock_now_ms());
    membership_invalidate(membership, clock_now_ms());
    delivery = add(&stage, &queue, "a");
    expect_doubt(&stage, &queue);
    recall_one(&stage, &queue, delivery);
    stage_fini(&stage);
    membership_unref(membership);
}

static void nothing_begins_when_the_membership_is_over(void **state)
{
    struct run_queue queue;
    struct stage stage;
    struct membership *membership = stage_guard(&stage, &queue);
    smq_delivery *delivery;

    run_queue_confirm(&queue, clock_now_ms());
    atomic_store(&membership->until_ms, clock_now_ms());
    delivery = add(&stage, &queue, "a");
    assert_int_equal(answer_check(delivery), SMQ_LEASE_LOST);
    expect_doubt(&stage, &queue);
    atomic_store(&membership->until_ms, INT64_MAX);
    assert_int_equal(answer_check(delivery), SMQ_OK);
    recall_one(&stage, &queue, delivery);
    stage_fini(&stage);
    membership_unref(membership);
}

static void each_claim_of_a_shared_topic_counts_for_itself(void **state)
{
    struct run_queue queue;
    struct stage stage;
    smq_delivery *delivery;

    run_queue_init(&queue);
    stage_init(&stage, 1, 100);
    scheduler_guard(stage.scheduler, NULL, LONG_MS);
    run_queue_confirm(&queue, clock_now_ms());
    delivery = add(&stage, &queue, "a");
    expect_doubt(&stage, &queue);
    delivery_leased(delivery, clock_now_ms(), LONG_MS);
    scheduler_set_confirmed(stage.scheduler, &queue);
    stage_open(&stage, 1);
    stage_await(&stage, &stage.returned, 1);
    stage_fini(&stage);
}

static void ids_are_escaped_and_cut(void **state)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    struct run_queue queue;
    struct stage stage;
    smq_delivery *delivery;
    char id[DELIVERY_ID_MAX];

    run_queue_init(&queue);
    stage_init(&stage, 0, 100);
    delivery = add(&stage, &queue, "a\x01\\b");
    scheduler_recall(stage.scheduler, &queue, &list);
    delivery_id(id, delivery);
    assert_string_equal(id, "a\\x01\\x5cb");
    assert_int_equal(answer_by_verdict(delivery, SMQ_DONE), ANSWER_GIVEN);
    assert_true(passes(stage.scheduler, delivery));
    stage_fini(&stage);
}

TEST_GROUP(scheduler)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_runs_one_after_another_in_order),
        cmocka_unit_test(queues_run_beside_each_other),
        cmocka_unit_test(queue_gives_way_after_its_turn),
        cmocka_unit_test(later_holds_the_key_until_the_answer),
        cmocka_unit_test(call_inside_the_handler_wins_over_its_verdict),
        cmocka_unit_test(verdicts_answer_as_they_say),
        cmocka_unit_test(recall_takes_what_no_handler_has_begun),
        cmocka_unit_test(forgotten_later_lets_the_queue_go_on),
        cmocka_unit_test(queue_goes_on_without_an_overdue_handler),
        cmocka_unit_test(late_answer_of_an_overdue_delivery_is_refused),
        cmocka_unit_test(strict_queue_is_held_until_the_answer_is_stored),
        cmocka_unit_test(delivery_outlives_the_queue_of_its_consumer),
        cmocka_unit_test(late_answer_inside_the_handler_leaves_it_to_the_call),
        cmocka_unit_test(late_verdict_ends_the_delivery),
        cmocka_unit_test(ended_delivery_is_used_again),
        cmocka_unit_test(old_confirmation_lets_nothing_begin_until_it_is_renewed),
        cmocka_unit_test(batch_is_put_back_in_its_order),
        cmocka_unit_test(trust_too_early_asks_again),
        cmocka_unit_test(doubt_of_the_membership_holds_for_every_queue),
        cmocka_unit_test(nothing_begins_when_the_membership_is_over),
        cmocka_unit_test(each_claim_of_a_shared_topic_counts_for_itself),
        cmocka_unit_test(ids_are_escaped_and_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
