/* test_run_queue.c - the places of a run queue, and its invariants, which builds with a sanitizer
 * check. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/loop.h"
#include "consume/run/run_queues.h"
#include "support/group.h"

static smq_verdict handle(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

/* A scheduler without threads, one queue of which is queued with a delivery. */
static struct scheduler *new_queue(struct loop *loop, struct run_queue *queue)
{
    struct scheduler_options options = {.topic = "t", .handler = handle, .turn = 1, .io = loop};
    struct topic topic = {.name = "t", .type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_INLINE};
    struct delivery_list list = STAILQ_HEAD_INITIALIZER(list);
    struct scheduler *scheduler = scheduler_new(&options);
    const char entry[] = "20c17:body";
    smq_delivery *delivery =
        delivery_new(NULL, scheduler_origin(scheduler), queue, &topic, 3, "",
                     &(struct store_claimed){.entry = entry, .entry_len = strlen(entry)});

    assert_non_null(delivery);
    run_queue_init(queue);
    STAILQ_INSERT_TAIL(&list, delivery, link);
    scheduler_add(scheduler, queue, &list);
    return scheduler;
}

/* Makes a scheduler, and breaks its invariant.  In a process of its own: it is to end. */
static void break_a_queue(void)
{
    struct run_queue queue;
    struct scheduler *scheduler;
    struct loop *loop;

    if (loop_new(&loop, "smq:io", NULL) == SMQ_OK) {
        scheduler = new_queue(loop, &queue);
        TAILQ_FIRST(&queue.ready)->held = 1;
        scheduler_wake_threads(scheduler);
    }
    _exit(0);
}

/* The threads of a loop would be missing in a child that is made while they run, and their locks
 * held for ever. */
static void a_queued_queue_that_is_held_ends_the_process(void **state)
{
    int status = 0;
    pid_t child;

    if (!CHECK_RUNS) {
        skip();
    }
    child = fork();
    if (child == 0) {
        break_a_queue();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* A row is the place before, a column the place after; 'x': it may follow. */
static void queues_are_asked_about_only_when_unconfirmed(void **state)
{
    static const char *const rows[RUN_PLACES] = {
        [RUN_OUT] = ".xx.",
        [RUN_QUEUED] = "x.x.",
        [RUN_UNCONFIRMED] = "x..x",
        [RUN_ASKED] = "x...",
    };

    for (int from = 0; from < RUN_PLACES; from++) {
        for (int to = 0; to < RUN_PLACES; to++) {
            assert_int_equal(run_queue_may((enum run_queue_place) from, (enum run_queue_place) to),
                             rows[from][to] == 'x');
        }
    }
}

/* Only the first delivery that waits, and only while no other of its key is with a handler. */
static void a_key_begins_when_none_of_it_is_with_a_handler(void **state)
{
    static const struct {
        bool waits;
        size_t called, begun, held;
        bool may;
    } rows[] = {
        {false, 0, 0, 0, false}, {true, 0, 0, 0, true},
        {true, 1, 1, 0, false}, /* a handler has one */
        {true, 1, 0, 0, false}, /* it was answered by a call, but the handler has not returned */
        {true, 0, 1, 0, false}, /* the answer was left for later */
        {true, 0, 0, 1, false}, /* one failed, and that is not stored yet */
    };
    struct run_queue queue;
    struct smq_delivery delivery;
    struct run_key key;

    run_queue_init(&queue);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        key = (struct run_key){.queue = &queue};
        STAILQ_INIT(&key.waiting);
        if (rows[i].waits) {
            STAILQ_INSERT_TAIL(&key.waiting, &delivery, link);
        }
        key.called = rows[i].called;
        key.begun = rows[i].begun;
        key.held = rows[i].held;
        assert_int_equal(run_key_may_begin(&key), rows[i].may);
    }
}

TEST_GROUP(run_queue)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_are_asked_about_only_when_unconfirmed),
        cmocka_unit_test(a_key_begins_when_none_of_it_is_with_a_handler),
        cmocka_unit_test(a_queued_queue_that_is_held_ends_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
