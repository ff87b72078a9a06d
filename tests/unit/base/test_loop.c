/* test_loop.c - a thread that runs a libuv loop, and the one door into it. */
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/thread.h"
#include "base/waiter.h"
#include "support/group.h"

static struct loop *loop_made(void)
{
    struct loop *loop = NULL;
    smq_error err = SMQ_ERROR_INIT;

    if (loop_new(&loop, "smq:test", &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
    return loop;
}

/* --- a task that says what it saw --- */

struct probe {
    struct loop_task task;
    struct loop *loop;
    struct waiter waiter;
    int runs;
    bool inside;
    char thread[32];
};

static void probe_run(struct loop_task *task)
{
    struct probe *probe = (struct probe *) task; /* its first member */

    probe->runs++;
    probe->inside = loop_inside(probe->loop);
    pthread_getname_np(pthread_self(), probe->thread, sizeof(probe->thread));
    waiter_done(&probe->waiter);
}

static void task_runs_on_the_thread_of_the_loop(void **state)
{
    struct loop *loop = loop_made();
    struct probe probe = {.task.run = probe_run, .loop = loop};

    waiter_init(&probe.waiter, 1);
    loop_post(loop, &probe.task);
    assert_true(waiter_wait(&probe.waiter, SMQ_FOREVER));
    assert_true(probe.inside);
    assert_string_equal(probe.thread, "smq:test");
    assert_false(loop_inside(loop));
    loop_free(loop);
    waiter_fini(&probe.waiter);
}

static void free_of_nothing_does_nothing(void **state)
{
    loop_free(NULL);
}

static void posted_tasks_run_before_the_loop_ends(void **state)
{
    enum { TASKS = 1000 };
    struct loop *loop = loop_made();
    struct probe *probes = calloc(TASKS, sizeof(*probes));

    assert_non_null(probes);
    for (int i = 0; i < TASKS; i++) {
        probes[i].task.run = probe_run;
        probes[i].loop = loop;
        waiter_init(&probes[i].waiter, 1);
        loop_post(loop, &probes[i].task);
    }
    loop_free(loop);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(probes[i].runs, 1);
        waiter_fini(&probes[i].waiter);
    }
    free(probes);
}

/* --- order, and posting twice --- */

enum { NOTES_MAX = 16 };

struct notes {
    struct loop *loop;
    char text[NOTES_MAX];
    struct waiter begun;
    struct waiter go;
};

struct note {
    struct loop_task task;
    struct notes *notes;
    char letter;
};

static void note_run(struct loop_task *task)
{
    struct note *note = (struct note *) task;

    note->notes->text[strlen(note->notes->text)] = note->letter;
}

/* Hold the loop until the test has posted what it wants. */
static void hold_run(struct loop_task *task)
{
    struct note *note = (struct note *) task;

    waiter_done(&note->notes->begun);
    (void) waiter_wait(&note->notes->go, SMQ_FOREVER);
}

static void queued_task_is_not_queued_again(void **state)
{
    struct notes notes = {.loop = loop_made(), .text = ""};
    struct note hold = {.task.run = hold_run, .notes = &notes};
    struct note a = {.task.run = note_run, .notes = &notes, .letter = 'a'};
    struct note b = {.task.run = note_run, .notes = &notes, .letter = 'b'};
    struct note c = {.task.run = note_run, .notes = &notes, .letter = 'c'};

    waiter_init(&notes.begun, 1);
    waiter_init(&notes.go, 1);
    loop_post(notes.loop, &hold.task);
    assert_true(waiter_wait(&notes.begun, SMQ_FOREVER));
    loop_post(notes.loop, &b.task);
    loop_post(notes.loop, &a.task);
    loop_post(notes.loop, &b.task);
    loop_post(notes.loop, &c.task);
    waiter_done(&notes.go);
    loop_free(notes.loop);
    assert_string_equal(notes.text, "bac");
    waiter_fini(&notes.begun);
    waiter_fini(&notes.go);
}

/* --- tasks that post --- */

struct countdown {
    struct loop_task task;
    struct loop *loop;
    int left;
};

static void countdown_run(struct loop_task *task)
{
    struct countdown *countdown = (struct countdown *) task;

    countdown->left--;
    if (countdown->left > 0) {
        loop_post(countdown->loop, task);
    }
}

static void task_may_post_itself_even_while_the_loop_ends(void **state)
{
    struct countdown countdown = {.task.run = countdown_run, .loop = loop_made(), .left = 1000};

    loop_post(countdown.loop, &countdown.task);
    loop_free(countdown.loop);
    assert_int_equal(countdown.left, 0);
}

static void suicide_run(struct loop_task *task)
{
    free(task);
}

static void task_may_free_itself(void **state)
{
    struct loop *loop = loop_made();

    for (int i = 0; i < 100; i++) {
        struct loop_task *task = calloc(1, sizeof(*task));

        assert_non_null(task);
        task->run = suicide_run;
        loop_post(loop, task);
    }
    loop_free(loop);
}

/* --- handles --- */

/* A timer whose last task is posted by its close callback, when the loop already ends. */
struct ticker {
    struct loop_task open;
    struct loop_task close;
    struct loop_task last;
    struct loop *loop;
    uv_timer_t timer;
    struct waiter ticked;
    bool last_ran;
};

static struct ticker *ticker_of(struct loop_task *task, size_t offset)
{
    return (struct ticker *) (void *) ((char *) task - offset);
}

static void ticker_on_tick(uv_timer_t *timer)
{
    struct ticker *ticker = timer->data;

    waiter_done(&ticker->ticked);
}

static void ticker_open(struct loop_task *task)
{
    struct ticker *ticker = ticker_of(task, offsetof(struct ticker, open));

    uv_timer_init(loop_uv(ticker->loop), &ticker->timer);
    ticker->timer.data = ticker;
    uv_timer_start(&ticker->timer, ticker_on_tick, 1, 0);
}

static void ticker_on_closed(uv_handle_t *handle)
{
    struct ticker *ticker = handle->data;

    loop_post(ticker->loop, &ticker->last);
}

static void ticker_close(struct loop_task *task)
{
    struct ticker *ticker = ticker_of(task, offsetof(struct ticker, close));

    uv_close((uv_handle_t *) &ticker->timer, ticker_on_closed);
}

static void ticker_last(struct loop_task *task)
{
    ticker_of(task, offsetof(struct ticker, last))->last_ran = true;
}

static void loop_ends_when_its_handles_are_closed(void **state)
{
    struct ticker ticker = {.open.run = ticker_open,
                            .close.run = ticker_close,
                            .last.run = ticker_last,
                            .loop = loop_made()};

    waiter_init(&ticker.ticked, 1);
    loop_post(ticker.loop, &ticker.open);
    assert_true(waiter_wait(&ticker.ticked, SMQ_FOREVER));
    loop_post(ticker.loop, &ticker.close);
    loop_free(ticker.loop);
    assert_true(ticker.last_ran);
    waiter_fini(&ticker.ticked);
}

/* --- many threads --- */

enum { POSTERS = 4, POSTS = 2000 };

struct poster {
    struct loop *loop;
    struct countdown tasks[POSTS];
    pthread_t thread;
};

static void *poster_main(void *arg)
{
    struct poster *poster = arg;

    for (int i = 0; i < POSTS; i++) {
        poster->tasks[i] = (struct countdown){.task.run = countdown_run, .left = 1};
        loop_post(poster->loop, &poster->tasks[i].task);
    }
    return NULL;
}

static void every_thread_may_post(void **state)
{
    struct loop *loop = loop_made();
    struct poster *posters = calloc(POSTERS, sizeof(*posters));

    assert_non_null(posters);
    for (int i = 0; i < POSTERS; i++) {
        posters[i].loop = loop;
        assert_int_equal(
            thread_start(&posters[i].thread, "smq:poster", poster_main, &posters[i], NULL), SMQ_OK);
    }
    for (int i = 0; i < POSTERS; i++) {
        pthread_join(posters[i].thread, NULL);
    }
    loop_free(loop);
    for (int i = 0; i < POSTERS; i++) {
        for (int j = 0; j < POSTS; j++) {
            assert_int_equal(posters[i].tasks[j].left, 0);
        }
    }
    free(posters);
}

/* The poster is still inside loop_post() when its task has already let the test continue. */
static void *probe_post(void *arg)
{
    struct probe *probe = arg;

    loop_post(probe->loop, &probe->task);
    return NULL;
}

static void loop_may_go_as_soon_as_the_last_task_has_run(void **state)
{
    for (int i = 0; i < 200; i++) {
        struct loop *loop = loop_made();
        struct probe probe = {.task.run = probe_run, .loop = loop};
        pthread_t thread;

        waiter_init(&probe.waiter, 1);
        assert_int_equal(thread_start(&thread, "smq:poster", probe_post, &probe, NULL), SMQ_OK);
        assert_true(waiter_wait(&probe.waiter, SMQ_FOREVER));
        loop_free(loop);
        pthread_join(thread, NULL);
        waiter_fini(&probe.waiter);
    }
}

TEST_GROUP(loop)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_runs_on_the_thread_of_the_loop),
        cmocka_unit_test(free_of_nothing_does_nothing),
        cmocka_unit_test(posted_tasks_run_before_the_loop_ends),
        cmocka_unit_test(queued_task_is_not_queued_again),
        cmocka_unit_test(task_may_post_itself_even_while_the_loop_ends),
        cmocka_unit_test(task_may_free_itself),
        cmocka_unit_test(loop_ends_when_its_handles_are_closed),
        cmocka_unit_test(every_thread_may_post),
        cmocka_unit_test(loop_may_go_as_soon_as_the_last_task_has_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
