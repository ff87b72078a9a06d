/* test_descriptor.c - the standard descriptors of a process that was started without them. */
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>

#include "base/descriptor.h"
#include "support/group.h"

/* Which of the descriptors 0 and 1 are open in a child that closes both: 1, 2, or both. */
static int opened(bool leave)
{
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        (void) close(0);
        (void) close(1);
        descriptors_leave(leave);
        descriptors_reserve();
        _exit((fcntl(0, F_GETFD) >= 0 ? 1 : 0) + (fcntl(1, F_GETFD) >= 0 ? 2 : 0));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void closed_descriptors_are_opened_unless_they_shall_be_left(void **state)
{
    assert_int_equal(opened(false), 3);
    assert_int_equal(opened(true), 0);
}

TEST_GROUP(descriptor)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closed_descriptors_are_opened_unless_they_shall_be_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
