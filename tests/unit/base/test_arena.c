/* test_arena.c - things that die together. */
#include <stdalign.h>
#include <string.h>

#include "base/arena.h"
#include "support/group.h"

enum { THINGS = 500 };

/* Things of all sizes, some larger than any block, keep what was written into them. */
static void test_things_are_apart(void **state)
{
    struct arena arena = {0};
    unsigned char *things[THINGS];

    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < THINGS; i++) {
            size_t size = i % 50 == 0 ? 70000 : i;
            things[i] = arena_alloc(&arena, size);
            assert_non_null(things[i]);
            assert_int_equal((uintptr_t) things[i] % alignof(max_align_t), 0);
            memset(things[i], (int) (i % 251), size);
        }
        for (size_t i = 0; i < THINGS; i++) {
            size_t size = i % 50 == 0 ? 70000 : i;
            for (size_t j = 0; j < size; j++) {
                assert_int_equal(things[i][j], i % 251);
            }
        }
        arena_clear(&arena);
    }
    arena_fini(&arena);
}

static void test_memory_is_used_again(void **state)
{
    struct arena arena = {0};
    void *first = arena_alloc(&arena, 100);

    arena_clear(&arena);
    assert_ptr_equal(arena_alloc(&arena, 100), first);
    arena_fini(&arena);
    arena_fini(&arena);
}

static void test_no_such_size(void **state)
{
    struct arena arena = {0};

    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX - 15));
    arena_fini(&arena);
}

TEST_GROUP(arena)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_things_are_apart),
        cmocka_unit_test(test_memory_is_used_again),
        cmocka_unit_test(test_no_such_size),
    };

    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
