/* group.h - one program holds the tests of a folder, one group for each file test_GROUP.c:
 *
 *   TEST_GROUP(retry)
 *   {
 *       const struct CMUnitTest tests[] = {...};
 *
 *       return cmocka_run_group_tests(tests, setup, teardown);
 *   }
 *
 * `PROGRAM GROUP` runs a group, `PROGRAM GROUP TEST` those of its tests whose names match TEST, in
 * which * and ? stand for any characters and any character; `PROGRAM` lists the groups.  main() is
 * in group.c.
 *
 * Thread: main. */
#ifndef SUPPORT_GROUP_H
#define SUPPORT_GROUP_H

#include "support/testing.h"

/* Lives as long as the process; `next` is set when the group is added. */
struct test_group {
    const char *name;
    int (*run)(void); /* how many tests failed */
    struct test_group *next;
};

/* Called before main(). */
void test_group_add(struct test_group *group);

/* The head of the function that runs the group, which is added to the program. */
#define TEST_GROUP(group_name)                                                                     \
    static int test_group_run(void);                                                               \
    static __attribute__((constructor)) void test_group_add_this(void)                             \
    {                                                                                              \
        static struct test_group group = {#group_name, test_group_run, NULL};                      \
        test_group_add(&group);                                                                    \
    }                                                                                              \
    static int test_group_run(void)

#endif
