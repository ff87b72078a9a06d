/* test_memory.c - allocation that cannot fail. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/memory.h"
#include "support/group.h"

static void new_memory_is_zero(void **state)
{
    unsigned char *memory = memory_new(100);
    void *nothing = memory_new(0);

    for (int i = 0; i < 100; i++) {
        assert_int_equal(memory[i], 0);
    }
    assert_non_null(nothing);
    free(memory);
    free(nothing);
}

static void memory_grows_and_keeps_its_bytes(void **state)
{
    int *items = memory_grow(NULL, 2, sizeof(*items));

    items[0] = 5;
    items[1] = 6;
    items = memory_grow(items, 1000, sizeof(*items));
    assert_int_equal(items[0], 5);
    assert_int_equal(items[1], 6);
    items = memory_grow(items, 0, sizeof(*items));
    assert_non_null(items);
    free(items);
}

static void copies_end_with_nul(void **state)
{
    char *string = memory_string("abc");
    char *bytes = memory_copy("a\0b", 3);
    char *nothing = memory_copy("", 0);

    assert_string_equal(string, "abc");
    assert_memory_equal(bytes, "a\0b\0", 4);
    assert_string_equal(nothing, "");
    assert_null(memory_string(NULL));
    assert_null(memory_copy(NULL, 0));
    free(string);
    free(bytes);
    free(nothing);
}

/* --- what must end the process --- */

static void grow_past_the_address_space(void)
{
    free(memory_grow(NULL, SIZE_MAX / 2 + 2, 2));
}

static void copy_without_room_for_the_nul(void)
{
    free(memory_copy("", SIZE_MAX));
}

static void room_past_the_address_space(void)
{
    struct buf buf = {0};

    buf_add(&buf, "abc", 3);
    buf_room(&buf, SIZE_MAX - 2);
    buf_fini(&buf);
}

static void overflow_aborts(void **state)
{
    void (*const overflows[])(void) = {grow_past_the_address_space, copy_without_room_for_the_nul,
                                       room_past_the_address_space};

    for (size_t i = 0; i < sizeof(overflows) / sizeof(overflows[0]); i++) {
        int status = 0;
        pid_t child = fork();

        assert_true(child >= 0);
        if (child == 0) {
            signal(SIGABRT, SIG_DFL);
            overflows[i]();
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
}

/* --- what the application may do about it --- */

enum { TIMES = 3 };

/* Memory comes at the third try; then it is ended by the application. */
static bool frees_some(size_t size, void *user)
{
    int *asked = user;

    assert_int_equal(size, 7);
    return ++*asked < TIMES;
}

static bool ends_in_its_own_way(size_t size, void *user)
{
    _exit(*(int *) user == 5 && size == 7 ? TIMES : 0);
}

static void the_application_decides_what_a_failure_does(void **state)
{
    int asked = 0, five = 5, status = 0;

    memory_on_lack(frees_some, &asked);
    memory_lacks(7);
    memory_lacks(7);
    assert_int_equal(asked, 2);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        memory_lacks(7);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    memory_on_lack(ends_in_its_own_way, &five);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        memory_lacks(7);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == TIMES);
    memory_on_lack(NULL, NULL);
}

TEST_GROUP(memory)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_memory_is_zero),
        cmocka_unit_test(memory_grows_and_keeps_its_bytes),
        cmocka_unit_test(copies_end_with_nul),
        cmocka_unit_test(overflow_aborts),
        cmocka_unit_test(the_application_decides_what_a_failure_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
