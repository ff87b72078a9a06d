/* test_waiter.c - how a blocking call waits for another thread. */
#include <stdlib.h>

#include "base/thread.h"
#include "base/waiter.h"
#include "support/group.h"

static void *finish_one(void *arg)
{
    waiter_done(arg);
    return NULL;
}

static void nothing_pending_does_not_wait(void **state)
{
    struct waiter waiter;

    waiter_init(&waiter, 0);
    assert_true(waiter_wait(&waiter, 0));
    assert_true(waiter_wait(&waiter, SMQ_FOREVER));
    assert_true(waiter_wait(&waiter, INT64_MAX));
    waiter_fini(&waiter);
}

static void time_out_says_false(void **state)
{
    struct waiter waiter;

    waiter_init(&waiter, 2);
    assert_false(waiter_wait(&waiter, 0));
    waiter_done(&waiter);
    assert_false(waiter_wait(&waiter, 1));
    waiter_done(&waiter);
    assert_true(waiter_wait(&waiter, 0));
    waiter_fini(&waiter);
}

static void every_thread_is_waited_for(void **state)
{
    enum { THREADS = 8 };
    static const int64_t timeouts[] = {SMQ_FOREVER, INT64_C(600000), INT64_MAX};

    for (size_t i = 0; i < sizeof(timeouts) / sizeof(timeouts[0]); i++) {
        struct waiter waiter;
        pthread_t threads[THREADS];

        waiter_init(&waiter, THREADS);
        for (int t = 0; t < THREADS; t++) {
            assert_int_equal(thread_start(&threads[t], "smq:test", finish_one, &waiter, NULL),
                             SMQ_OK);
        }
        assert_true(waiter_wait(&waiter, timeouts[i]));
        for (int t = 0; t < THREADS; t++) {
            pthread_join(threads[t], NULL);
        }
        waiter_fini(&waiter);
    }
}

/* The waiter's memory is given back at once; a late touch is seen under the address sanitizer. */
static void waiter_may_go_as_soon_as_nothing_is_pending(void **state)
{
    for (int i = 0; i < 500; i++) {
        struct waiter *waiter = malloc(sizeof(*waiter));
        pthread_t thread;

        assert_non_null(waiter);
        waiter_init(waiter, 1);
        assert_int_equal(thread_start(&thread, "smq:test", finish_one, waiter, NULL), SMQ_OK);
        assert_true(waiter_wait(waiter, SMQ_FOREVER));
        waiter_fini(waiter);
        free(waiter);
        pthread_join(thread, NULL);
    }
}

TEST_GROUP(waiter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_pending_does_not_wait),
        cmocka_unit_test(time_out_says_false),
        cmocka_unit_test(every_thread_is_waited_for),
        cmocka_unit_test(waiter_may_go_as_soon_as_nothing_is_pending),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
