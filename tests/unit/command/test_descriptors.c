/* test_descriptors.c - which descriptors are closed, on a kernel that does it by one call, on one
 * that lacks it, and without /proc, too.  The linker replaces close_range() and open(). */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "cli/consume/descriptors.h"
#include "support/group.h"

/* Above all that the test has open. */
enum { FIRST = 300 };

static bool refuse_range, refuse_open;

int __real_close_range(unsigned first, unsigned last, int flags);
int __wrap_close_range(unsigned first, unsigned last, int flags);
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int __wrap_close_range(unsigned first, unsigned last, int flags)
{
    errno = ENOSYS;
    return refuse_range ? -1 : __real_close_range(first, last, flags);
}

/* Nobody here makes a file, so there is no third argument. */
int __wrap_open64(const char *path, int flags, ...)
{
    errno = ENOENT;
    return refuse_open ? -1 : __real_open64(path, flags);
}

static int flags_of(int descriptor)
{
    return fcntl(descriptor, F_GETFD);
}

static void assert_all(void)
{
    static const int numbers[] = {FIRST - 1, FIRST, FIRST + 1, FIRST + 400};

    for (int i = 0; i < 4; i++) {
        assert_int_equal(dup2(STDERR_FILENO, numbers[i]), numbers[i]);
    }
    descriptors_close_on_exec(FIRST);
    assert_int_equal(flags_of(FIRST - 1), 0);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(flags_of(numbers[i]), FD_CLOEXEC);
    }
    assert_int_equal(flags_of(FIRST + 2), -1);
    descriptors_close(FIRST);
    assert_int_equal(flags_of(FIRST - 1), 0);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(flags_of(numbers[i]), -1);
    }
    assert_int_equal(close(FIRST - 1), 0);
    assert_int_equal(flags_of(STDERR_FILENO), 0);
}

static void test_by_one_call(void **state)
{
    assert_all();
}

static void test_by_the_list_of_proc(void **state)
{
    refuse_range = true;
    assert_all();
}

static void test_up_to_the_limit(void **state)
{
    refuse_range = refuse_open = true;
    assert_all();
    refuse_range = refuse_open = false;
}

TEST_GROUP(descriptors)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_one_call),
        cmocka_unit_test(test_by_the_list_of_proc),
        cmocka_unit_test(test_up_to_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
