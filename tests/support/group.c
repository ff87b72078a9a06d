/* group.c - main() of the programs of tests.
 *
 * Thread: main. */
#include <stdio.h>
#include <string.h>

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include "support/group.h"

enum { USAGE = 64, FRAMES_MAX = 64 };

/* Of the sanitizers: with names of static functions and lines. */
__attribute__((weak)) void __sanitizer_print_stack_trace(void);

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

/* meson ends a test by SIGTERM when its time is over.  It gives half a second, and names take time,
 * so addresses come first.  The process ends here, whatever these calls do to it. */
/* NOLINTBEGIN(bugprone-signal-handler,cert-sig30-c) */
static void say_where(int number)
{
    static const char text[] = "\nended by SIGTERM, as when the time is over; main() was at\n";
    void *frames[FRAMES_MAX];

    (void) !write(STDERR_FILENO, text, sizeof(text) - 1);
    backtrace_symbols_fd(frames, backtrace(frames, FRAMES_MAX), STDERR_FILENO);
    if (__sanitizer_print_stack_trace != NULL) {
        __sanitizer_print_stack_trace();
    }
    (void) signal(number, SIG_DFL);
    (void) raise(number);
}
/* NOLINTEND(bugprone-signal-handler,cert-sig30-c) */

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
    (void) backtrace(&(void *){NULL}, 1); /* loads what the handler must not */
    (void) signal(SIGTERM, say_where);
    return group->run();
}
