/* test_verdict.c - the judge must see each thing that must not be: small histories, written by
 * hand. */
#include "support/group.h"
#include "support/history.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BOUND_MS = 500 };

struct history_case {
    const char *name;
    const char *lines;
    bool good;
    uint64_t handled, repeated, dead, lost, overlaps, unfenced, fenced, outlived, late;
    int moved; /* slots of the first change */
};

static const struct history_case cases[] = {
    {.name = "one message, done",
     .good = true,
     .handled = 1,
     .lines = "A 1 t k k 1\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 done\n"},
    {.name = "sent, never handled", .lost = 1, .lines = "A 1 t k k 1\n"},
    {.name = "begun, never ended", .lost = 1, .lines = "A 1 t k k 1\nS 2 5 1 t 0 01 1 k k 1\n"},
    {.name = "only failures",
     .lost = 1,
     .lines = "A 1 t k k 1\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 retry\n"},
    {.name = "dead is not lost",
     .good = true,
     .dead = 1,
     .lines = "A 1 t k k 1\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 retry\nD t k 1\n"},
    {.name = "dead and done",
     .handled = 1,
     .dead = 1,
     .lines = "A 1 t k k 1\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 done\nD t k 1\n"},
    {.name = "one key one after another",
     .good = true,
     .handled = 2,
     .lines = "A 1 t k k 1\nA 1 t k k 2\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 done\n"
              "S 4 5 2 t 0 01 1 k k 2\nE 5 5 2 done\n"},
    {.name = "one key twice at once",
     .handled = 2,
     .overlaps = 1,
     .lines = "A 1 t k k 1\nA 1 t k k 2\nS 2 5 1 t 0 01 1 k k 1\nS 3 5 2 t 0 01 1 k k 2\n"
              "E 4 5 1 done\nE 5 5 2 done\n"},
    {.name = "two keys at once",
     .good = true,
     .handled = 2,
     .lines = "A 1 t k k 1\nA 1 t l l 2\nS 2 5 1 t 0 01 1 k k 1\nS 3 5 2 t 1 01 1 l l 2\n"
              "E 4 5 1 done\nE 5 5 2 done\n"},
    {.name = "a zombie's answer, and the new owner's",
     .good = true,
     .handled = 1,
     .repeated = 1,
     .fenced = 1,
     .lines = "A 1 t k k 1\nS 2 5 1 t 0 01 1 k k 1\nS 9 6 1 t 0 02 1 k k 1\nE 10 5 1 done\n"
              "F 11 5\nE 12 6 1 done\n"},
    {.name = "a zombie's answer was accepted",
     .dead = 1,
     .handled = 1,
     .unfenced = 1,
     .lines = "A 1 t k k 1\nS 2 5 1 t 0 01 1 k k 1\nS 9 6 1 t 0 02 1 x x 1\nE 10 5 1 done\n"
              "E 12 6 1 retry\nD t x 1\nA 1 t x x 1\n"},
    {.name = "a zombie begins after its successor",
     .handled = 2,
     .unfenced = 1,
     .lines = "A 1 t k k 1\nA 1 t x x 1\nS 2 6 1 t 0 02 1 x x 1\nE 3 6 1 done\n"
              "S 4 5 1 t 0 01 1 k k 1\nE 5 5 1 done\n"},
    {.name = "a kill moves its slot",
     .good = true,
     .handled = 2,
     .moved = 1,
     .lines = "A 1 t k k 1\nA 1 t k k 2\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 done\nM 4 5 kill\n"
              "S 6 6 1 t 0 02 1 k k 2\nE 7 6 1 done\n"},
    {.name = "a kill of somebody else moves nothing",
     .good = true,
     .handled = 2,
     .lines = "A 1 t k k 1\nA 1 t k k 2\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 done\nM 4 7 kill\n"
              "S 6 5 2 t 0 01 1 k k 2\nE 7 5 2 done\n"},
    {.name = "a join moves a slot",
     .good = true,
     .handled = 2,
     .moved = 1,
     .lines = "A 1 t k k 1\nA 1 t k k 2\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 done\nM 4 6 join\n"
              "S 6 6 1 t 0 02 1 k k 2\nE 7 6 1 done\n"},
    {.name = "a zombie begins while its last confirmation is young",
     .good = true,
     .handled = 1,
     .outlived = 1,
     .lines = "A 1 t k k 1\nG 1000 6 t 0 02\nS 600001000 5 1 t 0 01 1 k k 1\n"
              "E 600002000 5 1 retry\nS 600003000 6 1 t 0 02 1 k k 1\nE 600004000 6 1 done\n"},
    {.name = "a zombie begins later than that",
     .handled = 1,
     .late = 1,
     .lines = "A 1 t k k 1\nG 1000 6 t 0 02\nS 600001001 5 1 t 0 01 1 k k 1\n"
              "E 600002000 5 1 retry\nS 600003000 6 1 t 0 02 1 k k 1\nE 600004000 6 1 done\n"},
    {.name = "the first of two newer tokens counts, in whatever order they are read",
     .handled = 1,
     .late = 1,
     .lines = "A 1 t k k 1\nG 900000000 7 t 0 03\nG 1000 6 t 0 02\nG 10 5 t 0 01\n"
              "S 900001001 5 1 t 0 01 1 k k 1\nE 900002000 5 1 retry\n"
              "S 900003000 7 1 t 0 03 1 k k 1\nE 900004000 7 1 done\n"},
    {.name = "tokens of another slot, and older ones, say nothing",
     .good = true,
     .handled = 1,
     .lines = "A 1 t k k 1\nG 10 6 t 1 02\nG 10 6 t 0 00\nG 10 6 u 0 02\n"
              "S 900001001 5 1 t 0 01 1 k k 1\nE 900002000 5 1 done\n"},
    {.name = "the line that a SIGKILL cut",
     .good = true,
     .handled = 1,
     .lines = "A 1 t k k 1\nS 2 5 1 t 0 01 1 k k 1\nE 3 5 1 done\nS 4 5 2 t 0 01"},
};

static char *write_history(const char *lines, size_t len)
{
    char *path = strdup("/tmp/slotmq-history-XXXXXX");
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, lines, len), (ssize_t) len);
    close(fd);
    return path;
}

static bool judge(struct verdict *verdict, const char *lines, char error[256])
{
    char *path = write_history(lines, strlen(lines));
    bool good = verdict_read(verdict, &path, 1, BOUND_MS, error, 256);

    unlink(path);
    free(path);
    return good;
}

static void test_cases(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct history_case *it = &cases[i];
        struct verdict verdict;
        char error[256];
        print_message("%s\n", it->name);
        assert_true(judge(&verdict, it->lines, error));
        assert_int_equal(verdict_good(&verdict), it->good);
        assert_int_equal(verdict.handled, it->handled);
        assert_int_equal(verdict.repeated, it->repeated);
        assert_int_equal(verdict.dead, it->dead);
        assert_int_equal(verdict.lost, it->lost);
        assert_int_equal(verdict.overlaps, it->overlaps);
        assert_int_equal(verdict.unfenced, it->unfenced);
        assert_int_equal(verdict.fenced, it->fenced);
        assert_int_equal(verdict.outlived, it->outlived);
        assert_int_equal(verdict.late, it->late);
        assert_int_equal(verdict.change_count > 0 ? verdict.changes[0].slots : 0, it->moved);
        assert_int_equal(it->good, verdict.example[0] == '\0');
    }
}

static void test_other_lines_are_refused(void **state)
{
    static const char *const lines[] = {"X 1\n", "S 1 2\n", "E 3 5 1 done\n", "\n"};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct verdict verdict;
        char error[256] = "";
        assert_false(judge(&verdict, lines[i], error));
        assert_non_null(strstr(error, ":1: not a line of a history"));
    }
}

static void test_what_is_written_is_read(void **state)
{
    smq_message_info message = {.topic = "t", .slot = 3, .token = "0a", .attempt = 1};
    char *path = write_history("", 0), error[256];
    struct history *history = history_open(path);
    struct verdict verdict;

    assert_non_null(history);
    message.body = smq_text("bash 5.2 7000 1");
    history_sent(history, "t", "bash", "bash 5.2 7000 1");
    history_moved(history, 4711, "pause");
    uint64_t run = history_start(history, &message);
    history_end(history, run, "done");
    history_fenced(history);
    history_gained(history, "t", 3, "0a");
    history_close(history);
    assert_true(verdict_read(&verdict, &path, 1, BOUND_MS, error, sizeof(error)));
    assert_true(verdict_good(&verdict));
    assert_int_equal(verdict.handled, 1);
    assert_int_equal(verdict.sent, 1);
    assert_int_equal(verdict.fenced, 1);
    assert_int_equal(verdict.changes[0].pid, 4711);
    assert_string_equal(verdict.changes[0].kind, "pause");
    unlink(path);
    free(path);
}

TEST_GROUP(verdict)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_other_lines_are_refused),
        cmocka_unit_test(test_what_is_written_is_read),
    };

    return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
