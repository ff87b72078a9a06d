/* test_thread.c - named threads with every signal blocked. */
#include <signal.h>

#include "base/thread.h"
#include "support/group.h"

/* What a thread found out about itself. */
struct seen {
    char name[32];
    int open_signals; /* of those that can be blocked */
};

static void *look(void *arg)
{
    struct seen *seen = arg;
    sigset_t blocked;

    pthread_getname_np(pthread_self(), seen->name, sizeof(seen->name));
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < SIGRTMAX; number++) {
        /* The two below SIGRTMIN belong to the C library. */
        bool blockable =
            number != SIGKILL && number != SIGSTOP && (number < 32 || number >= SIGRTMIN);

        seen->open_signals += blockable && sigismember(&blocked, number) == 0;
    }
    return seen;
}

static void run(struct seen *seen, const char *name)
{
    pthread_t thread;
    void *result = NULL;

    assert_int_equal(thread_start(&thread, name, look, seen, NULL), SMQ_OK);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true(result == seen);
}

static void thread_has_its_name_and_no_signals(void **state)
{
    struct seen seen = {.name = ""};

    run(&seen, "smq:test");
    assert_string_equal(seen.name, "smq:test");
    assert_int_equal(seen.open_signals, 0);
}

static void long_name_is_cut(void **state)
{
    struct seen seen = {.name = ""};

    run(&seen, "smq:0123456789abcdef");
    assert_string_equal(seen.name, "smq:0123456789a");
}

static void mask_of_the_maker_is_restored(void **state)
{
    struct seen seen = {.name = ""};
    sigset_t mine;
    sigset_t after;

    sigemptyset(&mine);
    sigaddset(&mine, SIGUSR1);
    pthread_sigmask(SIG_SETMASK, &mine, NULL);
    run(&seen, "smq:test");
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&after, SIGUSR1), 1);
    assert_int_equal(sigismember(&after, SIGUSR2), 0);
    assert_int_equal(sigismember(&after, SIGTERM), 0);
}

TEST_GROUP(thread)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thread_has_its_name_and_no_signals),
        cmocka_unit_test(long_name_is_cut),
        cmocka_unit_test(mask_of_the_maker_is_restored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
