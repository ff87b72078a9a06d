/* test_zk_log.c - lines of the ZooKeeper client library become events, and not too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/waiter.h"
#include "coord/zk_log.h"
#include "support/group.h"
#include "support/wait.h"

enum { WAIT_MS = 30000 };

#define BEFORE "2026-01-31 10:20:30,456:1234(0x7f12345678):"

static void a_line_keeps_its_words_and_has_a_lower_level(void **state)
{
    static const struct {
        const char *line;
        smq_level level;
        const char *words;
    } rows[] = {
        {BEFORE "ZOO_ERROR@handle_error@2386: Socket [::1:2181] errno=111(Connection refused)",
         SMQ_LEVEL_INFO, "handle_error@2386: Socket [::1:2181] errno=111(Connection refused)"},
        {BEFORE "ZOO_WARN@interest@1: Exceeded deadline by 11ms", SMQ_LEVEL_DEBUG,
         "interest@1: Exceeded deadline by 11ms"},
        {BEFORE "ZOO_INFO@a@1: a:ZOO_ERROR@b", SMQ_LEVEL_DEBUG, "a@1: a:ZOO_ERROR@b"},
        {BEFORE "ZOO_DEBUG@a@1: ", SMQ_LEVEL_TRACE, "a@1: "},
        {BEFORE "ZOO_INVALID@a@1: b", SMQ_LEVEL_INFO, BEFORE "ZOO_INVALID@a@1: b"},
        {"something else", SMQ_LEVEL_INFO, "something else"},
        {"", SMQ_LEVEL_INFO, ""},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *words = NULL;

        assert_int_equal(zk_log_read(&words, rows[i].line), rows[i].level);
        assert_string_equal(words, rows[i].words);
    }
}

/* Each row is a line at a time: does it pass, and what does the span before tell? */
static void ten_lines_of_a_span_pass(void **state)
{
    static const struct {
        int64_t at_ms;
        int times;
        bool pass;
        uint64_t left_out;
    } rows[] = {
        {1000, 9, true, 0},  {1999, 1, true, 0}, {1999, 3, false, 0}, {2000, 10, true, 3},
        {2001, 1, false, 0}, {9000, 1, true, 1}, {9999, 9, true, 0},  {20000, 1, true, 0},
    };
    struct zk_log_limit limit = {.span_ms = 1000};

    (void) state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (int n = 0; n < rows[i].times; n++) {
            struct zk_log_limit before;

            zk_log_limit_turn(&limit, &before, rows[i].at_ms);
            assert_int_equal(before.left_out, n == 0 ? rows[i].left_out : 0);
            assert_int_equal(zk_log_limit_pass(&limit, SMQ_LEVEL_INFO), rows[i].pass);
        }
    }
}

static void what_is_left_out_has_its_most_severe_level(void **state)
{
    struct zk_log_limit limit = {.span_ms = 1000};

    (void) state;
    for (int i = 0; i < ZK_LOG_LINES; i++) {
        assert_true(zk_log_limit_pass(&limit, SMQ_LEVEL_WARN));
    }
    (void) zk_log_limit_pass(&limit, SMQ_LEVEL_DEBUG);
    assert_int_equal(limit.level, SMQ_LEVEL_DEBUG);
    (void) zk_log_limit_pass(&limit, SMQ_LEVEL_WARN);
    (void) zk_log_limit_pass(&limit, SMQ_LEVEL_INFO);
    assert_int_equal(limit.level, SMQ_LEVEL_WARN);
    assert_int_equal(limit.left_out, 3);
}

/* --- logs on a loop of their own --- */

enum { LOGS = ZK_LOG_FUNCTIONS + 1 };

/* The lines of an application, with their levels. */
struct listener {
    pthread_mutex_t lock;
    struct events *events;
    struct buf lines;
};

struct stage {
    struct loop *call, *coord;
    struct listener listeners[LOGS];
    struct zk_log logs[LOGS];
    int count;
    struct loop_task begin, end;
    struct waiter done;
};

static void listener_hear(const smq_event *event, void *user)
{
    struct listener *listener = user;

    pthread_mutex_lock(&listener->lock);
    buf_printf(&listener->lines, "%d %s\n", (int) event->level, event->text);
    pthread_mutex_unlock(&listener->lock);
}

static void stage_begin(struct loop_task *task)
{
    struct stage *stage = OWNER_OF(task, struct stage, begin);

    for (int i = 0; i < stage->count; i++) {
        zk_log_begin(&stage->logs[i], stage->coord, stage->listeners[i].events);
    }
    waiter_done(&stage->done);
}

static void stage_end(struct loop_task *task)
{
    struct stage *stage = OWNER_OF(task, struct stage, end);

    for (int i = 0; i < stage->count; i++) {
        zk_log_end(&stage->logs[i]);
    }
}

static struct stage *stage_new(int count, smq_level level)
{
    struct stage *stage = memory_new(sizeof(*stage));

    stage->count = count;
    stage->begin.run = stage_begin;
    stage->end.run = stage_end;
    assert_int_equal(loop_new(&stage->call, "smq:call", NULL), SMQ_OK);
    assert_int_equal(loop_new(&stage->coord, "smq:coord", NULL), SMQ_OK);
    for (int i = 0; i < count; i++) {
        pthread_mutex_init(&stage->listeners[i].lock, NULL);
        stage->listeners[i].events =
            events_new(stage->call, listener_hear, level, &stage->listeners[i]);
    }
    waiter_init(&stage->done, 1);
    loop_post(stage->coord, &stage->begin);
    assert_true(waiter_wait(&stage->done, WAIT_MS));
    waiter_fini(&stage->done);
    return stage;
}

/* End the logs; then all lines have come. */
static void stage_stop(struct stage *stage)
{
    loop_post(stage->coord, &stage->end);
    loop_free(stage->coord);
    loop_free(stage->call);
}

static void stage_free(struct stage *stage)
{
    for (int i = 0; i < stage->count; i++) {
        events_free(stage->listeners[i].events);
        pthread_mutex_destroy(&stage->listeners[i].lock);
        buf_fini(&stage->listeners[i].lines);
    }
    free(stage);
}

static const char *lines_of(const struct stage *stage, int number)
{
    const char *lines = stage->listeners[number].lines.data;

    return lines != NULL ? lines : "";
}

static void say_error(const struct stage *stage, int number)
{
    zk_log_function (&stage->logs[number])(BEFORE "ZOO_ERROR@f@1: refused");
}

static int count_lines(const char *lines, const char *line)
{
    int count = 0;

    for (; (lines = strstr(lines, line)) != NULL; lines += strlen(line)) {
        count++;
    }
    return count;
}

static void each_log_has_lines_of_its_own(void **state)
{
    struct stage *stage = stage_new(LOGS, SMQ_LEVEL_INFO);

    (void) state;
    for (int i = 0; i < LOGS; i++) {
        for (int n = 0; n <= i % 3; n++) {
            say_error(stage, i);
        }
    }
    stage_stop(stage);
    for (int i = 0; i < LOGS - 1; i++) {
        assert_int_equal(count_lines(lines_of(stage, i), "3 ZooKeeper client: f@1: refused\n"),
                         i % 3 + 1);
    }
    assert_string_equal(lines_of(stage, LOGS - 1),
                        "3 the log of the ZooKeeper client library is not reported: 16 other "
                        "sessions of this process report theirs\n");
    stage_free(stage);
}

static void a_log_that_has_ended_leaves_its_function_to_others(void **state)
{
    (void) state;
    for (int round = 0; round < 3; round++) {
        struct stage *stage = stage_new(ZK_LOG_FUNCTIONS, SMQ_LEVEL_INFO);

        say_error(stage, ZK_LOG_FUNCTIONS - 1);
        stage_stop(stage);
        assert_string_equal(lines_of(stage, ZK_LOG_FUNCTIONS - 1),
                            "3 ZooKeeper client: f@1: refused\n");
        assert_string_equal(lines_of(stage, 0), "");
        stage_free(stage);
    }
}

static void lines_that_nobody_wants_do_not_count(void **state)
{
    struct stage *stage = stage_new(1, SMQ_LEVEL_INFO);

    (void) state;
    for (int i = 0; i < 2 * ZK_LOG_LINES; i++) {
        zk_log_function (&stage->logs[0])(BEFORE "ZOO_INFO@f@1: connecting");
    }
    say_error(stage, 0);
    stage_stop(stage);
    assert_string_equal(lines_of(stage, 0), "3 ZooKeeper client: f@1: refused\n");
    stage_free(stage);
}

static void what_was_left_out_is_said_at_the_end(void **state)
{
    struct stage *stage = stage_new(1, SMQ_LEVEL_INFO);
    const char *lines = NULL;

    (void) state;
    for (int i = 0; i < ZK_LOG_LINES + 15; i++) {
        say_error(stage, 0);
    }
    stage_stop(stage);
    lines = lines_of(stage, 0);
    assert_int_equal(count_lines(lines, "\n"), ZK_LOG_LINES + 1);
    assert_int_equal(count_lines(lines, "3 ZooKeeper client: f@1: refused\n"), ZK_LOG_LINES);
    assert_int_equal(count_lines(lines, "3 ZooKeeper client: 15 further lines were left out; at "
                                        "most 10 are reported in 60 s\n"),
                     1);
    stage_free(stage);
}

static bool is_left_out(struct zk_log *log)
{
    bool left_out;

    pthread_mutex_lock(&log->lock);
    left_out = log->limit.left_out > 0;
    pthread_mutex_unlock(&log->lock);
    return left_out;
}

static bool is_said(void *arg)
{
    struct listener *listener = arg;
    bool said;

    pthread_mutex_lock(&listener->lock);
    said = listener->lines.data != NULL && strstr(listener->lines.data, "left out") != NULL;
    pthread_mutex_unlock(&listener->lock);
    return said;
}

/* No further line is needed for that. */
static void what_was_left_out_is_said_when_the_time_is_over(void **state)
{
    struct stage *stage = NULL;

    (void) state;
    zk_log_span_ms = 1000;
    stage = stage_new(1, SMQ_LEVEL_INFO);
    zk_log_span_ms = 60000;
    while (!is_left_out(&stage->logs[0]) && !is_said(&stage->listeners[0])) {
        say_error(stage, 0);
    }
    assert_true(wait_until(is_said, &stage->listeners[0], WAIT_MS));
    stage_stop(stage);
    stage_free(stage);
}

TEST_GROUP(zk_log)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_keeps_its_words_and_has_a_lower_level),
        cmocka_unit_test(ten_lines_of_a_span_pass),
        cmocka_unit_test(what_is_left_out_has_its_most_severe_level),
        cmocka_unit_test(each_log_has_lines_of_its_own),
        cmocka_unit_test(a_log_that_has_ended_leaves_its_function_to_others),
        cmocka_unit_test(lines_that_nobody_wants_do_not_count),
        cmocka_unit_test(what_was_left_out_is_said_at_the_end),
        cmocka_unit_test(what_was_left_out_is_said_when_the_time_is_over),
    };

    return cmocka_run_group_tests_name("zk_log", tests, NULL, NULL);
}
