/* test_hash.c - tables of uthash take their memory from memory_new(). */
#include <stdlib.h>

#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"

enum { NO_MEMORY = 77 };

static int left; /* allocations that succeed */

/* Takes the place of memory_new(): where that would abort, the process ends with NO_MEMORY. */
static void *scarce_new(size_t size)
{
    if (left-- == 0) {
        _exit(NO_MEMORY);
    }
    return calloc(1, size);
}

#define memory_new scarce_new
#include "base/hash.h"
#include "support/group.h"

struct item {
    UT_hash_handle hh;
    int number;
};

/* Fill a table that has room for `room` allocations; how the process ends. */
static int fill(int room)
{
    static struct item items[1000];
    pid_t pid = fork();
    int status = 0;

    assert_true(pid >= 0);
    if (pid == 0) {
        struct item *table = NULL;

        left = room;
        for (int i = 0; i < 1000; i++) {
            items[i].number = i;
            HASH_ADD_INT(table, number, &items[i]);
        }
        _exit(HASH_COUNT(table) == 1000 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The table itself, its buckets, and the larger ones that it grows into. */
static void a_table_without_memory_never_calls_exit(void **state)
{
    assert_int_equal(fill(0), NO_MEMORY);
    assert_int_equal(fill(1), NO_MEMORY);
    assert_int_equal(fill(2), NO_MEMORY);
    assert_int_equal(fill(100), 0);
}

TEST_GROUP(hash)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_without_memory_never_calls_exit),
    };

    return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
