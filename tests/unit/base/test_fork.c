/* test_fork.c - a child of fork() has another number than its parent. */
#include <stdlib.h>

#include <sys/wait.h>
#include <unistd.h>

#include "base/fork.h"
#include "support/group.h"

static int exit_status_of(pid_t child)
{
    int status = 0;

    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void a_process_keeps_its_number(void **state)
{
    unsigned number = fork_count();
    pid_t child = fork();

    if (child == 0) {
        _exit(0);
    }
    assert_int_equal(exit_status_of(child), 0);
    assert_int_equal(fork_count(), number);
}

static void a_child_and_a_grandchild_have_others(void **state)
{
    unsigned number = fork_count();
    pid_t child = fork();

    if (child == 0) {
        unsigned child_number = fork_count();
        pid_t grandchild = fork();

        if (grandchild == 0) {
            _exit(fork_count() != child_number && fork_count() != number ? 0 : 1);
        }
        _exit(child_number != number ? exit_status_of(grandchild) : 1);
    }
    assert_int_equal(exit_status_of(child), 0);
}

TEST_GROUP(fork)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_keeps_its_number),
        cmocka_unit_test(a_child_and_a_grandchild_have_others),
    };

    return cmocka_run_group_tests_name("fork", tests, NULL, NULL);
}
