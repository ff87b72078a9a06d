/* zk_log.c - the log of the ZooKeeper client library, as events.
 *
 * Thread: the functions for lines are called on threads of the library; others as zk_log.h says. */
#include "coord/zk_log.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/owner_of.h"

int64_t zk_log_span_ms = 60000;

/* The logs by the numbers of their functions. */
static _Atomic(struct zk_log *) zk_logs[ZK_LOG_FUNCTIONS];

/* --- lines --- */

smq_level zk_log_read(const char **words, const char *line)
{
    static const struct {
        const char *word;
        smq_level level;
    } levels[] = {{":ZOO_ERROR@", SMQ_LEVEL_INFO},
                  {":ZOO_WARN@", SMQ_LEVEL_DEBUG},
                  {":ZOO_INFO@", SMQ_LEVEL_DEBUG},
                  {":ZOO_DEBUG@", SMQ_LEVEL_TRACE}};
    const char *at = strstr(line, ":ZOO_"); /* the time, the process and the thread come before */

    for (size_t i = 0; at != NULL && i < sizeof(levels) / sizeof(levels[0]); i++) {
        size_t len = strlen(levels[i].word);

        if (strncmp(at, levels[i].word, len) == 0) {
            *words = at + len;
            return levels[i].level;
        }
    }
    *words = line;
    return SMQ_LEVEL_INFO;
}

void zk_log_limit_turn(struct zk_log_limit *limit, struct zk_log_limit *before, int64_t now_ms)
{
    *before = (struct zk_log_limit){0};
    if (limit->lines == 0 || now_ms >= limit->since_ms + limit->span_ms) {
        *before = *limit;
        *limit = (struct zk_log_limit){.span_ms = before->span_ms, .since_ms = now_ms};
    }
}

bool zk_log_limit_pass(struct zk_log_limit *limit, smq_level level)
{
    if (limit->lines < ZK_LOG_LINES) {
        limit->lines++;
        return true;
    }
    limit->level = limit->left_out == 0 || level < limit->level ? level : limit->level;
    limit->left_out++;
    return false;
}

static void zk_log_report_left_out(const struct zk_log *log, const struct zk_log_limit *limit)
{
    if (limit->left_out > 0) {
        events_log(log->events, limit->level,
                   "ZooKeeper client: %" PRIu64
                   " further lines were left out; at most %d are reported in %" PRId64 " s",
                   limit->left_out, ZK_LOG_LINES, limit->span_ms / 1000);
    }
}

static void zk_log_take(int function, const char *line)
{
    struct zk_log *log = atomic_load(&zk_logs[function]);
    struct zk_log_limit before;
    const char *words = NULL;
    smq_level level = zk_log_read(&words, line);
    bool pass, full;

    if (log == NULL || !events_wants_log(log->events, level)) {
        return;
    }
    pthread_mutex_lock(&log->lock);
    zk_log_limit_turn(&log->limit, &before, clock_now_ms());
    pass = zk_log_limit_pass(&log->limit, level);
    full = log->limit.left_out == 1;
    pthread_mutex_unlock(&log->lock);
    zk_log_report_left_out(log, &before);
    if (pass) {
        events_log(log->events, level, "ZooKeeper client: %s", words);
    } else if (full) {
        loop_post(log->loop, &log->full);
    }
}

/* X(number): one function for each log. */
#define ZK_LOG_MAP(X)                                                                              \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

#define X(number)                                                                                  \
    static void zk_log_take_##number(const char *line)                                             \
    {                                                                                              \
        zk_log_take(number, line);                                                                 \
    }
ZK_LOG_MAP(X)
#undef X

static const log_callback_fn zk_log_functions[] = {
#define X(number) zk_log_take_##number,
    ZK_LOG_MAP(X)
#undef X
};

_Static_assert(sizeof(zk_log_functions) / sizeof(zk_log_functions[0]) == ZK_LOG_FUNCTIONS,
               "each number has a function");

/* Without a function for its lines the library would write them to stderr. */
static void zk_log_drop(const char *line)
{
    (void) line;
}

log_callback_fn zk_log_function(const struct zk_log *log)
{
    return log->function < 0 ? zk_log_drop : zk_log_functions[log->function];
}

/* --- time --- */

static void zk_log_on_timer(uv_timer_t *timer);

/* Report what was left out if the span has ended, otherwise look again at its end. */
static void zk_log_look(struct zk_log *log)
{
    struct zk_log_limit before;
    int64_t now_ms = clock_now_ms(), left_ms;
    bool more;

    pthread_mutex_lock(&log->lock);
    zk_log_limit_turn(&log->limit, &before, now_ms);
    more = log->limit.left_out > 0;
    left_ms = log->limit.since_ms + log->limit.span_ms - now_ms;
    pthread_mutex_unlock(&log->lock);
    zk_log_report_left_out(log, &before);
    if (more) {
        uv_timer_start(&log->timer, zk_log_on_timer, (uint64_t) left_ms, 0);
    }
}

static void zk_log_on_timer(uv_timer_t *timer)
{
    zk_log_look(OWNER_OF(timer, struct zk_log, timer));
}

static void zk_log_on_full(struct loop_task *task)
{
    struct zk_log *log = OWNER_OF(task, struct zk_log, full);

    if (!log->ended) {
        zk_log_look(log);
    }
}

/* --- begin and end --- */

static int zk_log_find_function(struct zk_log *log)
{
    for (int i = 0; i < ZK_LOG_FUNCTIONS; i++) {
        struct zk_log *none = NULL;

        if (atomic_compare_exchange_strong(&zk_logs[i], &none, log)) {
            return i;
        }
    }
    return -1;
}

void zk_log_begin(struct zk_log *log, struct loop *loop, struct events *events)
{
    *log = (struct zk_log){.loop = loop,
                           .events = events,
                           .full.run = zk_log_on_full,
                           .limit.span_ms = zk_log_span_ms};
    pthread_mutex_init(&log->lock, NULL);
    uv_timer_init(loop_uv(loop), &log->timer);
    log->function = zk_log_find_function(log);
    if (log->function < 0) {
        events_log(events, SMQ_LEVEL_INFO,
                   "the log of the ZooKeeper client library is not reported: %d other sessions of "
                   "this process report theirs",
                   ZK_LOG_FUNCTIONS);
    }
}

void zk_log_end(struct zk_log *log)
{
    if (log->function >= 0) {
        atomic_store(&zk_logs[log->function], NULL);
    }
    log->ended = true;
    zk_log_report_left_out(log, &log->limit);
    uv_close((uv_handle_t *) &log->timer, NULL);
    pthread_mutex_destroy(&log->lock);
}
