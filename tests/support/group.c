/* group.c - main() of the programs of tests.
 *
 * Thread: main. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/group.h"

enum { USAGE = 64 };

static struct test_group *groups;

void test_group_add(struct test_group *group)
{
    struct test_group **place = &groups;

    while (*place != NULL && strcmp((*place)->name, group->name) < 0) {
        place = &(*place)->next;
    }
    group->next = *place;
    *place = group;
}

static int usage(const char *program)
{
    (void) fprintf(stderr, "usage: %s GROUP [TEST]\nGROUP is one of:\n", program);
    for (const struct test_group *group = groups; group != NULL; group = group->next) {
        (void) fprintf(stderr, "  %s\n", group->name);
    }
    return USAGE;
}

int main(int argc, char **argv)
{
    const struct test_group *group = groups;

    if (argc != 2 && argc != 3) {
        return usage(argv[0]);
    }
    while (group != NULL && strcmp(group->name, argv[1]) != 0) {
        group = group->next;
    }
    if (group == NULL) {
        return usage(argv[0]);
    }
    if (argc == 3) {
        cmocka_set_test_filter(argv[2]);
    }
    return group->run();
}
