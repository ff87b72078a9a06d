/* test_source.c - lines of a file: their bounds, their ends, what cannot be held. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/message/source.h"
#include "cli/text/signals.h"
#include "support/group.h"

/* This many allocations of the code under test succeed (--wrap=realloc). */
static size_t grants = SIZE_MAX;

void *__real_realloc(void *memory, size_t size);

/* Visible, because the linker also wraps the calls of the shared library. */
__attribute__((visibility("default"))) void *__wrap_realloc(void *memory, size_t size);

void *__wrap_realloc(void *memory, size_t size)
{
    if (grants == 0) {
        return NULL;
    }
    grants--;
    return __real_realloc(memory, size);
}

/* A source of these bytes; its file is `in`. */
static struct source source_of(const char *bytes, size_t size)
{
    const int in = memfd_create("lines", MFD_CLOEXEC);

    assert_true(in >= 0);
    assert_int_equal(write(in, bytes, size), size);
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    return (struct source){.fd = in, .delimiter = '\n', .name = "lines"};
}

static void assert_line(struct source *source, size_t limit, const char *wanted, size_t wanted_size)
{
    const char *line = NULL;
    size_t size = 0;

    assert_int_equal(source_line(source, limit, &line, &size), SOURCE_LINE);
    assert_int_equal(size, wanted_size);
    assert_memory_equal(line, wanted, size);
}

static void assert_result(struct source *source, size_t limit, enum source_result wanted)
{
    const char *line = NULL;
    size_t size = 0;

    assert_int_equal(source_line(source, limit, &line, &size), wanted);
}

static void test_lines_end_with_a_newline_or_with_the_file(void **state)
{
    static const char bytes[] = "one\n\nt\0o\r\nlast";
    struct source source = source_of(bytes, sizeof(bytes) - 1);

    assert_line(&source, 4, "one", 3);
    assert_int_equal(source.taken, 4);
    assert_line(&source, 4, "", 0);
    assert_line(&source, 4, "t\0o\r", 4);
    assert_line(&source, 4, "last", 4);
    assert_int_equal(source.taken, sizeof(bytes) - 1);
    assert_result(&source, 4, SOURCE_END);
    assert_result(&source, 4, SOURCE_END);
    source_close(&source);
    source = source_of("", 0);
    assert_result(&source, 4, SOURCE_END);
    source_close(&source);
}

static void test_another_byte_may_end_a_line_or_none(void **state)
{
    struct source source = source_of("a\nb;;c", 6);

    source.delimiter = ';';
    assert_line(&source, 4, "a\nb", 3);
    assert_line(&source, 4, "", 0);
    assert_line(&source, 4, "c", 1);
    assert_result(&source, 4, SOURCE_END);
    source_close(&source);
    source = source_of("a\nb\0\n", 5);
    source.delimiter = SOURCE_WHOLE;
    assert_line(&source, 5, "a\nb\0\n", 5);
    assert_result(&source, 5, SOURCE_END);
    source_close(&source);
    source = source_of("a\nb\0\n", 5);
    source.delimiter = SOURCE_WHOLE;
    assert_result(&source, 4, SOURCE_TOO_LONG);
    source_close(&source);
}

static void test_a_line_may_be_as_long_as_wanted_and_no_longer(void **state)
{
    struct source source = source_of("1234\n12345\n", 11);

    assert_line(&source, 4, "1234", 4);
    assert_result(&source, 4, SOURCE_TOO_LONG);
    source_close(&source);
    source = source_of("12345", 5);
    assert_result(&source, 4, SOURCE_TOO_LONG);
    source_close(&source);
}

/* Of a file without any newline only so much is read as shows that it is too long. */
static void test_a_long_line_is_not_read_to_its_end(void **state)
{
    const size_t long_size = (size_t) 16 << 20;
    const size_t limit = (size_t) 1 << 20;
    char *bytes = calloc(1, long_size);
    assert_non_null(bytes);
    struct source source = source_of(bytes, long_size);

    assert_result(&source, limit, SOURCE_TOO_LONG);
    assert_true(lseek(source.fd, 0, SEEK_CUR) <= 2 * (off_t) limit);
    assert_true(source.room <= 4 * limit);
    source_close(&source);
    free(bytes);
}

static void test_lines_longer_than_the_buffer_are_whole(void **state)
{
    const size_t each = 300000;
    char *bytes = malloc(3 * each);

    assert_non_null(bytes);
    for (size_t i = 0; i < 3; i++) {
        memset(bytes + i * each, 'a' + (int) i, each);
        bytes[(i + 1) * each - 1] = '\n';
    }
    struct source source = source_of(bytes, 3 * each);
    for (size_t i = 0; i < 3; i++) {
        assert_line(&source, each, bytes + i * each, each - 1);
    }
    assert_result(&source, each, SOURCE_END);
    source_close(&source);
    free(bytes);
}

/* What cannot be held is a failure, not the end of the lines. */
static void test_no_memory_is_a_failure(void **state)
{
    enum { SIZE = 300000 };
    char *bytes = calloc(1, SIZE);
    assert_non_null(bytes);

    for (size_t granted = 0; granted < 3; granted++) {
        struct source source = source_of(bytes, SIZE);
        grants = granted;
        errno = 0;
        assert_result(&source, SIZE, SOURCE_FAILED);
        grants = SIZE_MAX;
        assert_int_equal(errno, ENOMEM);
        source_close(&source);
    }
    free(bytes);
}

static void test_what_cannot_be_read_is_a_failure(void **state)
{
    struct source source = {.fd = -1, .name = "nothing"};

    assert_int_equal(source_open(&source, "/"), EXIT_DONE);
    assert_result(&source, 10, SOURCE_FAILED);
    assert_int_equal(errno, EISDIR);
    source_close(&source);
}

/* Nothing comes from this pipe; the signal ends the wait, also one that came before it. */
static void test_a_signal_ends_the_wait(void **state)
{
    int ends[2];

    signals_catch();
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(pipe(ends), 0);
    struct source source = {.fd = ends[0], .name = "a pipe"};
    assert_result(&source, 10, SOURCE_INTERRUPTED);
    source_close(&source);
    close(ends[1]);
}

TEST_GROUP(source)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_end_with_a_newline_or_with_the_file),
        cmocka_unit_test(test_another_byte_may_end_a_line_or_none),
        cmocka_unit_test(test_a_line_may_be_as_long_as_wanted_and_no_longer),
        cmocka_unit_test(test_a_long_line_is_not_read_to_its_end),
        cmocka_unit_test(test_lines_longer_than_the_buffer_are_whole),
        cmocka_unit_test(test_no_memory_is_a_failure),
        cmocka_unit_test(test_what_cannot_be_read_is_a_failure),
        cmocka_unit_test(test_a_signal_ends_the_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
