/* test_scheduler_keys.c - a scheduler by key: which deliveries of a queue may be with a handler or
 * poll at the same time. */
#include <stdio.h>
#include <string.h>

#include <semaphore.h>

#include "base/hash.h"
#include "base/loop.h"
#include "base/thread.h"
#include "consume/run/answer.h"
#include "consume/run/scheduler.h"
#include "support/group.h"

enum { MOST = 8 };

/* A scheduler with one queue, and everything that was ever added: the test has the slot's part. */
struct stage {
    struct scheduler *scheduler;
    struct loop *loop;
    struct loop_task task;
    struct run_queue queue;
    smq_delivery *added[MOST];
    int count;
    char log[MOST + 1]; /* the bodies whose handler began */
    int begun;
    sem_t returned;
};

static void on_task(struct loop_task *task)
{
    (void) task;
}

/* per_slot 0: with handlers. */
static void stage_init(struct stage *stage, int32_t per_slot, smq_handler_fn *handler)
{
    struct scheduler_options options = {.topic = "t",
                                        .handler = handler,
                                        .user = stage,
                                        .turn = 100,
                                        .per_slot = per_slot,
                                        .task = &stage->task};

    *stage = (struct stage){.task.run = on_task};
    sem_init(&stage->returned, 0, 0);
    assert_int_equal(loop_new(&stage->loop, "smq:io", NULL), SMQ_OK);
    options.io = stage->loop;
    stage->scheduler = scheduler_new(&options);
    run_queue_init(&stage->queue);
}

/* All deliveries were begun and answered. */
static void stage_fini(struct stage *stage)
{
    struct delivery_list answers = STAILQ_HEAD_INITIALIZER(answers);

    scheduler_close(stage->scheduler);
    scheduler_take_answers(stage->scheduler, &answers);
    assert_true(scheduler_is_quiet(stage->scheduler, &stage->queue));
    scheduler_forget_answered(stage->scheduler, stage->added, (size_t) stage->count);
    for (int i = 0; i < stage->count; i++) {
        delivery_unref(stage->added[i]); /* its answerer's */
        delivery_unref(stage->added[i]); /* the slot's */
    }
    loop_free(stage->loop);
    scheduler_unref(stage->scheduler);
    sem_destroy(&stage->returned);
}

/* A message without a key has its body as key. */
static void add_bodies(struct stage *stage, const char *const *bodies, size_t count)
{
    struct topic topic = {.name = "t", .type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_INLINE};
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);

    for (size_t i = 0; i < count; i++) {
        char entry[16];
        smq_delivery *delivery;

        snprintf(entry, sizeof(entry), "20c17:%s", bodies[i]);
        delivery =
            delivery_new(NULL, scheduler_origin(stage->scheduler), &stage->queue, &topic, 3, "",
                         &(struct store_claimed){.entry = entry, .entry_len = strlen(entry)});
        assert_non_null(delivery);
        stage->added[stage->count++] = delivery;
        STAILQ_INSERT_TAIL(&list, delivery, link);
    }
    scheduler_add(stage->scheduler, &stage->queue, &list);
    scheduler_wake_threads(stage->scheduler);
}

/* One for each letter. */
static void add(struct stage *stage, const char *letters)
{
    char texts[MOST][2] = {""};
    const char *bodies[MOST];
    size_t count = strlen(letters);

    for (size_t i = 0; i < count; i++) {
        texts[i][0] = letters[i];
        bodies[i] = texts[i];
    }
    add_bodies(stage, bodies, count);
}

static char letter_of(const smq_delivery *delivery)
{
    return *(const char *) delivery->info.body.data;
}

/* Poll all that may be polled now, into `out`. */
static void polls(struct stage *stage, smq_delivery **out, const char *letters)
{
    smq_delivery *polled[MOST] = {NULL};
    size_t count = 0;

    assert_true(scheduler_poll(stage->scheduler, polled, &count, MOST, 0));
    assert_int_equal(count, strlen(letters));
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(letter_of(polled[i]), letters[i]);
        out[i] = polled[i];
    }
}

static void done(smq_delivery *delivery)
{
    assert_int_equal(answer_give(delivery, STORE_DONE, 0, NULL, NULL), SMQ_OK);
}

static void polls_take_one_of_each_key(void **state)
{
    smq_delivery *first[MOST] = {NULL}, *next[MOST];
    struct stage stage;

    stage_init(&stage, 1000, NULL);
    add(&stage, "aabab");
    polls(&stage, first, "ab");
    polls(&stage, next, "");
    done(first[1]);
    polls(&stage, first + 1, "b");
    done(first[0]);
    polls(&stage, first, "a");
    assert_ptr_equal(first[0], stage.added[1]); /* in the order in which they were added */
    done(first[1]);
    done(first[0]);
    polls(&stage, first, "a");
    done(first[0]);
    stage_fini(&stage);
}

/* These were chosen for it; what a producer may choose must not hold up the others. */
static void keys_of_one_hash_are_two_keys(void **state)
{
    static const char *const bodies[] = {"a58058", "b63961", "a58058", "b63961"};
    smq_delivery *out[MOST] = {NULL};
    struct stage stage;
    unsigned hashes[2];

    HASH_JEN(bodies[0], strlen(bodies[0]), hashes[0]);
    HASH_JEN(bodies[1], strlen(bodies[1]), hashes[1]);
    assert_int_equal(hashes[0], hashes[1]);
    stage_init(&stage, 1000, NULL);
    add_bodies(&stage, bodies, 4);
    polls(&stage, out, "ab");
    done(out[1]);
    polls(&stage, out + 1, "b");
    done(out[0]);
    polls(&stage, out, "a");
    done(out[0]);
    done(out[1]);
    stage_fini(&stage);
}

static void a_queue_has_no_more_than_it_may(void **state)
{
    smq_delivery *out[MOST] = {NULL};
    struct stage stage;

    stage_init(&stage, 2, NULL);
    add(&stage, "abca");
    polls(&stage, out, "ab");
    done(out[0]);
    polls(&stage, out, "c");
    done(out[0]);
    polls(&stage, out, "a");
    done(out[0]);
    done(out[1] = stage.added[1]);
    stage_fini(&stage);
}

static void a_recall_takes_all_keys_each_in_its_order(void **state)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    smq_delivery *out[MOST] = {NULL}, *delivery;
    struct stage stage;
    char letters[MOST + 1] = "";
    size_t count = 0;

    stage_init(&stage, 1000, NULL);
    add(&stage, "abab");
    polls(&stage, out, "ab");
    add(&stage, "c");
    scheduler_recall(stage.scheduler, &stage.queue, &list);
    while ((delivery = STAILQ_FIRST(&list)) != NULL) {
        STAILQ_REMOVE_HEAD(&list, link);
        letters[count++] = letter_of(delivery);
    }
    assert_string_equal(letters, "abc");
    done(out[0]);
    done(out[1]);
    polls(&stage, out, "");
    stage_fini(&stage);
}

static void keys_that_wait_for_their_own_are_named(void **state)
{
    smq_delivery *out[MOST] = {NULL};
    struct buf blocked = {0};
    struct stage stage;

    stage_init(&stage, 1, NULL);
    add(&stage, "aabc");
    polls(&stage, out, "a"); /* b and c wait only because of the queue */
    assert_false(scheduler_lacks_keys(stage.scheduler, &stage.queue, 3));
    assert_false(
        scheduler_lacks_keys(stage.scheduler, &stage.queue, 4)); /* b and c can be polled */
    scheduler_append_blocked(stage.scheduler, &stage.queue, &blocked);
    assert_int_equal(blocked.len, 3);
    assert_memory_equal(blocked.data, "1:a", 3);
    buf_fini(&blocked);
    done(out[0]);
    polls(&stage, out, "a");
    done(out[0]);
    polls(&stage, out, "b");
    done(out[0]);
    polls(&stage, out, "c");
    assert_true(scheduler_lacks_keys(stage.scheduler, &stage.queue, 2));
    done(out[0]);
    assert_false(scheduler_lacks_keys(stage.scheduler, &stage.queue, 1)); /* all are answered */
    stage_fini(&stage);
}

/* One at a time, so nothing waits for its key. */
static void deliveries_begin_in_the_order_in_which_they_were_added(void **state)
{
    static const char letters[] = "aabbaca";
    smq_delivery *out[MOST] = {NULL};
    struct stage stage;

    stage_init(&stage, 1, NULL);
    add(&stage, letters);
    for (int i = 0; letters[i] != '\0'; i++) {
        polls(&stage, out, (const char[]){letters[i], '\0'});
        assert_ptr_equal(out[0], stage.added[i]);
        done(out[0]);
    }
    stage_fini(&stage);
}

/* In a strict scheduler a message that is returned holds its key until that is stored, and no
 * other. */
static void a_failure_holds_its_key_only(void **state)
{
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    smq_delivery *out[MOST] = {NULL};
    struct stage stage;

    stage_init(&stage, 1000, NULL);
    scheduler_set_strict(stage.scheduler, true);
    add(&stage, "aabb");
    polls(&stage, out, "ab");
    assert_int_equal(answer_give(out[0], STORE_RETRY, 0, NULL, NULL), SMQ_OK);
    done(out[1]);
    polls(&stage, out, "b");
    scheduler_recall_held(stage.scheduler, stage.added[2], &list); /* it is not answered */
    assert_true(STAILQ_EMPTY(&list));
    scheduler_recall_held(stage.scheduler, stage.added[0], &list);
    assert_ptr_equal(STAILQ_FIRST(&list), stage.added[1]);
    assert_null(STAILQ_NEXT(stage.added[1], link));
    scheduler_hold(stage.scheduler, &stage.queue, stage.added[1]);
    assert_true(scheduler_is_held(stage.scheduler, &stage.queue, stage.added[0]));
    assert_false(scheduler_is_held(stage.scheduler, &stage.queue, stage.added[2]));
    scheduler_forget_answered(stage.scheduler, &stage.added[0], 1);
    assert_true(scheduler_is_held(stage.scheduler, &stage.queue, stage.added[0]));
    scheduler_forget_answered(stage.scheduler, &stage.added[1], 1);
    assert_false(scheduler_is_held(stage.scheduler, &stage.queue, stage.added[0]));
    done(out[0]);
    add(&stage, "a");
    polls(&stage, out, "a");
    done(out[0]);
    stage_fini(&stage);
}

/* The first one is answered later. */
static smq_verdict handle(smq_delivery *delivery, void *user)
{
    struct stage *stage = user;

    stage->log[stage->begun++] = letter_of(delivery);
    sem_post(&stage->returned);
    return stage->begun == 1 ? SMQ_LATER : SMQ_DONE;
}

static void *work(void *arg)
{
    scheduler_work(arg);
    return NULL;
}

static void later_holds_its_key_only(void **state)
{
    struct stage stage;
    pthread_t thread;

    stage_init(&stage, 0, handle);
    assert_int_equal(thread_start(&thread, "smq:work", work, stage.scheduler, NULL), SMQ_OK);
    add(&stage, "aab");
    (void) sem_wait(&stage.returned);
    (void) sem_wait(&stage.returned);
    assert_string_equal(stage.log, "ab");
    done(stage.added[0]);
    (void) sem_wait(&stage.returned);
    scheduler_end(stage.scheduler);
    pthread_join(thread, NULL);
    assert_string_equal(stage.log, "aba");
    stage_fini(&stage);
}

TEST_GROUP(scheduler_keys)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(polls_take_one_of_each_key),
        cmocka_unit_test(keys_of_one_hash_are_two_keys),
        cmocka_unit_test(a_queue_has_no_more_than_it_may),
        cmocka_unit_test(deliveries_begin_in_the_order_in_which_they_were_added),
        cmocka_unit_test(a_recall_takes_all_keys_each_in_its_order),
        cmocka_unit_test(keys_that_wait_for_their_own_are_named),
        cmocka_unit_test(a_failure_holds_its_key_only),
        cmocka_unit_test(later_holds_its_key_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
