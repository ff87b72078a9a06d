/* fuzz.h - what the targets share.  A target reads bytes as the library reads them from a server, a
 * znode or a user, and checks what the reader promises.
 *
 * One program holds all targets: `fuzz TARGET [OPTION...]` is linked with libFuzzer, which gives
 * the target inputs without end; `replay TARGET FILE_OR_FOLDER...` (replay.c) gives it those of
 * tests/fuzz/corpus.
 *
 * Thread: main. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>

/* Lives as long as the process; `next` is set when the target is added. */
struct fuzz_target {
    const char *name;
    void (*run)(const uint8_t *data, size_t size);
    struct fuzz_target *next;
};

/* Called before main(). */
void fuzz_target_add(struct fuzz_target *target);

/* The target of that name; NULL: there is none, and a line with all names was printed. */
const struct fuzz_target *fuzz_target_find(const char *name);

/* The head of the function that is the target. */
#define FUZZ_TARGET(target_name)                                                                   \
    static void fuzz_target_run(const uint8_t *data, size_t size);                                 \
    static __attribute__((constructor)) void fuzz_target_add_this(void)                            \
    {                                                                                              \
        static struct fuzz_target target = {#target_name, fuzz_target_run, NULL};                  \
        fuzz_target_add(&target);                                                                  \
    }                                                                                              \
    static void fuzz_target_run(const uint8_t *data, size_t size)

/* Stop, with where, unless `condition` holds: also where assert() does not look. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void) fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);         \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Call `read` with a reply: that which the bytes describe, or none when they do not.  A line is an
 * element: "$text", "+status", "-error", ":17", "_" for nil, "(" and ")" around the elements of an
 * array; others are left out.  The reply goes through the reader of the library. */
typedef void fuzz_reply_fn(const redisReply *reply, void *user);
void fuzz_reply(const uint8_t *data, size_t size, fuzz_reply_fn *read, void *user);

#endif
