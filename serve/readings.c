/* readings.c - the topics of a server, as they were read last, and their last hour.
 *
 * Thread: serve:read, but for the functions of readings.h. */
#include "serve/readings.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/http/moment.h"
#include "cli/http/thread.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/connect.h"

enum {
    READINGS_SHARE = 50,        /* readings take 1/50, 2 %, of the time of each Redis */
    READINGS_BATCH_SLOTS = 256, /* read at once, so that no Redis is busy for long */
    READINGS_BATCH_TOPICS = 64,
    READINGS_PAUSE_MAX_MS = 30000,
    READINGS_PART_US = 100, /* what a part takes, while nothing is known of that */
    READINGS_CALLS = 16,
    READINGS_ROUND_MIN_MS = 2000,
    READINGS_RETRY_MS = 2000, /* after a round that failed */
    READINGS_OLD_MS = 60000,  /* not ready any more, unless rounds take as long */
    READINGS_HANGS_MS = 600000
};

struct readings {
    struct readings_options options;
    pthread_t thread;
    bool started;
    /* serve:read: what a part took in the last calls for which no server was away; 0: not known */
    double part_us[READINGS_CALLS];
    size_t calls;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    /* guarded by lock; only serve:read changes what topics are */
    bool stop;
    smq_client *client;
    struct reading_topic **topics; /* owned; by their names */
    size_t count;
    struct reading_state state;
    char *text; /* owned: of the last whole round */
    size_t text_size;
};

/* === Pauses ============================================================= */

/* false: it is to stop. */
static bool readings_wait(struct readings *readings, int64_t ms)
{
    struct timespec until;
    int result = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&readings->lock);
    while (!readings->stop && result != ETIMEDOUT) {
        result = pthread_cond_timedwait(&readings->stopped, &readings->lock, &until);
    }
    const bool goes_on = !readings->stop;
    readings->state.alive_ms = moment_ms();
    pthread_mutex_unlock(&readings->lock);
    return goes_on;
}

/* Pauses after a call that took this long.  false: it is to stop. */
static bool readings_pause(struct readings *readings, int64_t us)
{
    const int64_t ms = us * (READINGS_SHARE - 1) / 1000;

    return readings_wait(readings, ms < READINGS_PAUSE_MAX_MS ? ms : READINGS_PAUSE_MAX_MS);
}

static bool readings_pace(struct readings *readings, int64_t began_us)
{
    return readings_pause(readings, moment_us() - began_us);
}

/* An estimate of how long a server worked for a call that read `parts` slots and definitions.  The
 * quickest of the last calls gives the time for one part, because slower calls also waited for the
 * network, for other work of the server or for this process. */
static int64_t readings_work_us(const struct readings *readings, int64_t parts)
{
    double least = 0;

    for (size_t i = 0; i < READINGS_CALLS; i++) {
        const double us = readings->part_us[i];
        least = us > 0 && (least <= 0 || us < least) ? us : least;
    }
    return (int64_t) ((double) parts * (least > 0 ? least : READINGS_PART_US)) + 1;
}

/* === Which topics there are ============================================= */

struct readings_list {
    const char *only;
    struct reading_topic **topics;
    size_t count;
};

static char *readings_copy(const char *text)
{
    char *copy = strdup(text);

    if (!copy) {
        say_no_memory();
    }
    return copy;
}

bool readings_wants(const char *only, const char *name)
{
    char one[256];

    if (!only) {
        return true;
    }
    for (const char *next = only; *next != '\0';) {
        const size_t size = strcspn(next, ",");
        if (size < sizeof(one)) {
            memcpy(one, next, size);
            one[size] = '\0';
            if (topic_is_of(name, one)) {
                return true;
            }
        }
        next += size + (next[size] == ',' ? 1 : 0);
    }
    return false;
}

static bool readings_on_topic(const smq_topic_info *topic, void *user)
{
    struct readings_list *list = user;

    if (!readings_wants(list->only, topic->name)) {
        return true;
    }
    struct reading_topic **grown = realloc(list->topics, (list->count + 1) * sizeof(*grown));
    struct reading_topic *one = say_alloc(1, sizeof(*one));
    if (!grown) {
        say_no_memory();
    }
    *one = (struct reading_topic){.name = readings_copy(topic->name),
                                  .defined = !topic->unreadable,
                                  .unlisted = topic->unlisted,
                                  .unreadable =
                                      topic->unreadable ? readings_copy(topic->unreadable) : NULL,
                                  .now = {.stats = SMQ_STATS_INIT}};
    if (one->defined) {
        one->type = topic->options->type;
        one->layout = topic->options->layout;
        one->shared = topic->options->shared;
        one->slots = topic->options->slots;
    }
    list->topics = grown;
    list->topics[list->count++] = one;
    return true;
}

static int readings_compare(const void *left, const void *right)
{
    const struct reading_topic *const *a = left;
    const struct reading_topic *const *b = right;

    return strcmp((*a)->name, (*b)->name);
}

static void readings_free_topic(struct reading_topic *topic)
{
    history_fini(&topic->history);
    free(topic->name);
    free(topic->unreadable);
    free(topic);
}

static void readings_free_topics(struct reading_topic **topics, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        readings_free_topic(topics[i]);
    }
    free(topics);
}

/* Keeps the numbers and the history of a topic that was read before, and takes its definition from
 * the new list. */
static void readings_keep(struct reading_topic *topic, struct reading_topic *before)
{
    struct reading_topic kept = *before;

    kept.defined = topic->defined;
    kept.unlisted = topic->unlisted;
    if (topic->defined) {
        kept.type = topic->type;
        kept.layout = topic->layout;
        kept.shared = topic->shared;
        kept.slots = topic->slots;
    }
    kept.name = topic->name;
    kept.unreadable = topic->unreadable;
    topic->history = kept.history;
    *before = (struct reading_topic){.name = before->name, .unreadable = before->unreadable};
    *topic = kept;
}

/* The new list takes the place of the old one. */
static void readings_take_list(struct readings *readings, struct readings_list *list)
{
    size_t old = 0;

    if (list->count > 0) {
        qsort(list->topics, list->count, sizeof(*list->topics), readings_compare);
    }
    pthread_mutex_lock(&readings->lock);
    for (size_t i = 0; i < list->count; i++) {
        while (old < readings->count &&
               strcmp(readings->topics[old]->name, list->topics[i]->name) < 0) {
            old++;
        }
        if (old < readings->count &&
            strcmp(readings->topics[old]->name, list->topics[i]->name) == 0) {
            readings_keep(list->topics[i], readings->topics[old]);
        }
    }
    struct reading_topic **before = readings->topics;
    const size_t before_count = readings->count;
    readings->topics = list->topics;
    readings->count = list->count;
    pthread_mutex_unlock(&readings->lock);
    readings_free_topics(before, before_count);
}

static bool readings_list(struct readings *readings, smq_error *err)
{
    struct readings_list list = {.only = readings->options.only};

    if (smq_topic_each(readings->client, readings_on_topic, &list, err) != SMQ_OK) {
        readings_free_topics(list.topics, list.count);
        return false;
    }
    readings_take_list(readings, &list);
    return true;
}

/* === Numbers ============================================================ */

static struct reading_topic *readings_search(struct reading_topic *const *topics, size_t count,
                                             const char *name, size_t size)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = (low + high) / 2;
        const char *other = topics[middle]->name;
        int order = strncmp(name, other, size);
        order = order != 0 ? order : -(other[size] != '\0');
        if (order == 0) {
            return topics[middle];
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    return NULL;
}

/* Some topics that are read together. */
struct readings_batch {
    struct readings *readings;
    size_t first, end;
};

static struct samples_topic *readings_on_sample(const char *name, size_t size, void *user)
{
    const struct readings_batch *batch = user;
    struct reading_topic *topic = readings_search(batch->readings->topics + batch->first,
                                                  batch->end - batch->first, name, size);

    return topic ? &topic->next : NULL;
}

static uint64_t readings_failures(const smq_stats *stats)
{
    return stats->retried + stats->dead_rejected + stats->dead_failed + stats->dead_crashed +
           stats->dead_timed_out;
}

static void readings_add_point(struct reading_topic *topic)
{
    const struct samples_topic *now = &topic->now;
    const struct history_point point = {
        .at_ms = topic->read_at_ms,
        .sent_per_s = topic->has_rates ? (float) topic->rates.sent : -1,
        .done_per_s = topic->has_rates ? (float) topic->rates.done : -1,
        .failed_per_s = topic->has_rates ? (float) topic->failed_per_s : -1,
        .lag_ms = now->has_lag ? now->stats.oldest_due_age_ms : SMQ_AGE_UNKNOWN,
        .waiting = now->stats.waiting,
        .dead = now->stats.dead,
    };

    history_add(&topic->history, &point);
}

/* What was read of a topic becomes what is known of it. */
static void readings_commit(struct reading_topic *topic, int64_t at_us)
{
    const struct samples_topic before = topic->now;
    const int64_t us = at_us - topic->read_us;

    if (topic->next.unreadable) {
        if (!topic->unreadable) {
            topic->unreadable = readings_copy("its definition or its slots cannot be read");
        }
        return;
    }
    topic->now = topic->next;
    topic->has_rates =
        topic->read_us != 0 && rates_between(&topic->rates, &before.stats, &topic->now.stats, us);
    if (topic->has_rates) {
        const uint64_t old = readings_failures(&before.stats);
        const uint64_t new = readings_failures(&topic->now.stats);
        topic->failed_per_s = new > old ? (double) (new - old) * 1e6 / (double) us : 0;
    }
    topic->read_us = at_us;
    topic->read_at_ms = moment_wall_ms();
    if (history_wants(&topic->history, topic->read_at_ms)) {
        readings_add_point(topic);
    }
}

/* false: some slots are silent. */
static bool readings_take_text(struct readings_batch *batch, struct samples *samples,
                               const char *text)
{
    bool whole = true;
    struct readings *readings = batch->readings;
    const char *found = strstr(text, "# HELP slotmq_topic_");
    const int64_t at_us = moment_us();

    pthread_mutex_lock(&readings->lock);
    for (size_t i = batch->first; i < batch->end; i++) {
        readings->topics[i]->next =
            (struct samples_topic){.stats = SMQ_STATS_INIT, .unreadable = true};
    }
    if (found) {
        samples_add(samples, found, strlen(found), readings_on_sample, batch);
    }
    for (size_t i = batch->first; i < batch->end; i++) {
        whole = whole && readings->topics[i]->next.stats.slots_silent == 0;
        readings_commit(readings->topics[i], at_us);
    }
    pthread_mutex_unlock(&readings->lock);
    return whole;
}

/* A topic of which nothing can be said but why. */
static void readings_take_failure(struct readings *readings, struct reading_topic *topic,
                                  const smq_error *err)
{
    pthread_mutex_lock(&readings->lock);
    free(topic->unreadable);
    topic->unreadable = readings_copy(say_text(err));
    pthread_mutex_unlock(&readings->lock);
}

/* The names of a batch, to be freed. */
static char *readings_names(const struct readings_batch *batch)
{
    size_t size = 1;
    size_t used = 0;

    for (size_t i = batch->first; i < batch->end; i++) {
        size += strlen(batch->readings->topics[i]->name) + 1;
    }
    char *names = say_alloc(size, 1);
    for (size_t i = batch->first; i < batch->end; i++) {
        const struct reading_topic *topic = batch->readings->topics[i];
        if (topic->defined) {
            used += (size_t) snprintf(names + used, size - used, "%s%s", used > 0 ? "," : "",
                                      topic->name);
        }
    }
    return names;
}

/* Reads them one by one: one of them cannot be read, or was deleted. */
static bool readings_read_each(const struct readings_batch *batch, struct samples *samples)
{
    struct readings *readings = batch->readings;

    for (size_t i = batch->first; i < batch->end; i++) {
        struct readings_batch one = {readings, i, i + 1};
        struct reading_topic *topic = readings->topics[i];
        const int64_t began_us = moment_us();
        char *text = NULL;
        smq_error err;
        if (!topic->defined) {
            continue;
        }
        if (smq_metrics_text(readings->client, topic->name, &text, &err) == SMQ_OK) {
            (void) readings_take_text(&one, samples, text);
            smq_free(text);
        } else {
            readings_take_failure(readings, topic, &err);
        }
        if (!readings_pace(readings, began_us)) {
            return false;
        }
    }
    return true;
}

/* Is a server away?  Then all topics are read at once, since those of a server that does not reply
 * take one time-out together. */
static bool readings_is_away(const smq_error *err)
{
    const smq_class class = smq_status_class(err->status);

    return class == SMQ_CLASS_RETRY || class == SMQ_CLASS_UNKNOWN;
}

static int64_t readings_parts(const struct readings_batch *batch)
{
    int64_t parts = 0;

    for (size_t i = batch->first; i < batch->end; i++) {
        parts += batch->readings->topics[i]->slots + 1;
    }
    return parts;
}

/* The text of a batch has come.  false: as readings_read_batch(). */
static bool readings_take_batch(struct readings_batch *batch, struct samples *samples,
                                const char *text, int64_t began_us, smq_error *err)
{
    struct readings *readings = batch->readings;
    const int64_t parts = readings_parts(batch);
    const double us = (double) (moment_us() - began_us);

    if (!readings_take_text(batch, samples, text)) {
        (void) readings_pause(readings, readings_work_us(readings, parts));
        *err = (smq_error){SMQ_UNAVAILABLE, "slots do not answer"};
        return false;
    }
    readings->part_us[readings->calls++ % READINGS_CALLS] = us / (double) parts;
    return readings_pause(readings, readings_work_us(readings, parts));
}

/* false: it is to stop, or *err has why all must be read at once. */
static bool readings_read_batch(struct readings_batch *batch, struct samples *samples,
                                smq_error *err)
{
    struct readings *readings = batch->readings;
    const int64_t began_us = moment_us();
    char *names = readings_names(batch);
    const bool none = names[0] == '\0';
    char *text = NULL;
    const smq_status status = none ? SMQ_OK : smq_metrics_text(readings->client, names, &text, err);

    free(names);
    if (none) {
        return true;
    }
    if (status == SMQ_OK) {
        const bool goes_on = readings_take_batch(batch, samples, text, began_us, err);
        smq_free(text);
        return goes_on;
    }
    if (readings_is_away(err)) {
        (void) readings_pause(readings, readings_work_us(readings, readings_parts(batch)));
        return false;
    }
    *err = (smq_error) SMQ_ERROR_INIT;
    return readings_pace(readings, began_us) && readings_read_each(batch, samples);
}

/* The end of the batch that begins with this topic. */
static size_t readings_batch_end(const struct readings *readings, size_t first)
{
    int64_t slots = 0;
    size_t end = first;

    while (end < readings->count && end - first < READINGS_BATCH_TOPICS &&
           (end == first || slots + readings->topics[end]->slots <= READINGS_BATCH_SLOTS)) {
        slots += readings->topics[end]->slots;
        end++;
    }
    return end;
}

static bool readings_read_all_at_once(struct readings *readings, struct samples *samples,
                                      smq_error *err)
{
    struct readings_batch all = {readings, 0, readings->count};
    char *text = NULL;

    if (smq_metrics_text(readings->client, "*", &text, err) != SMQ_OK) {
        return false;
    }
    (void) readings_take_text(&all, samples, text);
    smq_free(text);
    *err = (smq_error) SMQ_ERROR_INIT;
    return readings_pause(readings, readings_work_us(readings, readings_parts(&all)));
}

/* What only the list says, and topics that are in no text. */
static void readings_add_marks(struct readings *readings, struct samples *samples)
{
    for (size_t i = 0; i < readings->count; i++) {
        const struct reading_topic *topic = readings->topics[i];
        samples_add_mark(samples, SAMPLES_UNREADABLE,
                         "1 if the topic cannot be read; nothing else is known of it.", topic->name,
                         topic->unreadable != NULL);
        samples_add_mark(samples, SAMPLES_UNLISTED,
                         "1 if Redis has lost the topic from the list of all topics.", topic->name,
                         topic->unlisted);
    }
}

/* === Rounds ============================================================= */

/* Reads all topics.  false: it is to stop, or *err. */
static bool readings_round(struct readings *readings, struct samples *samples, smq_error *err)
{
    const int64_t began_us = moment_us();
    struct readings_batch batch = {.readings = readings};

    if (!readings_list(readings, err) || !readings_pace(readings, began_us)) {
        return false;
    }
    for (; batch.first < readings->count; batch.first = batch.end) {
        batch.end = readings_batch_end(readings, batch.first);
        if (readings_read_batch(&batch, samples, err)) {
            continue;
        }
        if (err->status == SMQ_OK) {
            return false;
        }
        samples_fini(samples);
        if (!readings_read_all_at_once(readings, samples, err)) {
            return false;
        }
        break;
    }
    readings_add_marks(readings, samples);
    return true;
}

/* Connects, if that was not done.  false: it cannot be done now. */
static bool readings_connect(struct readings *readings, smq_error *err)
{
    smq_client *client = readings->client;

    if (!client && connect_open(&client, readings->options.command, err) != SMQ_OK) {
        return false;
    }
    pthread_mutex_lock(&readings->lock);
    readings->client = client;
    pthread_mutex_unlock(&readings->lock);
    return true;
}

static void readings_end_round(struct readings *readings, const struct samples *samples,
                               int64_t began_us, const smq_error *err)
{
    size_t size = 0;
    char *text = err->status == SMQ_OK ? samples_text(samples, &size) : NULL;

    pthread_mutex_lock(&readings->lock);
    readings->state.err = *err;
    if (text) {
        free(readings->text);
        readings->text = text;
        readings->text_size = size;
        readings->state.rounds++;
        readings->state.round_at_ms = moment_wall_ms();
        readings->state.round_ms = (moment_us() - began_us) / 1000;
    } else {
        readings->state.failures++;
    }
    pthread_mutex_unlock(&readings->lock);
    readings->options.round(readings->options.user);
}

static void *readings_run(void *arg)
{
    struct readings *readings = arg;
    bool goes_on = true;

    while (goes_on) {
        const int64_t began_us = moment_us();
        struct samples samples = {.count = 0};
        smq_error err = SMQ_ERROR_INIT;
        const bool read =
            readings_connect(readings, &err) && readings_round(readings, &samples, &err);
        if (read || err.status != SMQ_OK) {
            readings_end_round(readings, &samples, began_us, &err);
        }
        samples_fini(&samples);
        const int64_t ms = (moment_us() - began_us) / 1000;
        const int64_t least = read ? READINGS_ROUND_MIN_MS : ms + READINGS_RETRY_MS;
        goes_on = readings_wait(readings, ms < least ? least - ms : 0);
    }
    return NULL;
}

/* === Begin and end ====================================================== */

struct readings *readings_begin(const struct readings_options *options, smq_client *client)
{
    struct readings *readings = say_alloc(1, sizeof(*readings));

    readings->options = *options;
    readings->client = client;
    readings->state = (struct reading_state){
        .since_at_ms = moment_wall_ms(), .err = SMQ_ERROR_INIT, .alive_ms = moment_ms()};
    pthread_mutex_init(&readings->lock, NULL);
    thread_condition(&readings->stopped);
    readings->started = thread_begin(&readings->thread, "serve:read", readings_run, readings);
    return readings;
}

void readings_stop(struct readings *readings)
{
    pthread_mutex_lock(&readings->lock);
    readings->stop = true;
    pthread_cond_broadcast(&readings->stopped);
    pthread_mutex_unlock(&readings->lock);
    if (readings->started) {
        (void) pthread_join(readings->thread, NULL);
    }
}

void readings_end(struct readings *readings)
{
    smq_client_free(readings->client);
    readings_free_topics(readings->topics, readings->count);
    free(readings->text);
    pthread_mutex_destroy(&readings->lock);
    pthread_cond_destroy(&readings->stopped);
    free(readings);
}

/* === Looking ============================================================ */

smq_client *readings_client(struct readings *readings, smq_error *err)
{
    pthread_mutex_lock(&readings->lock);
    smq_client *client = readings->client;
    if (!client) {
        *err = readings->state.err;
    }
    pthread_mutex_unlock(&readings->lock);
    if (!client && err->status == SMQ_OK) {
        *err = (smq_error){SMQ_UNAVAILABLE, "Redis is not connected yet"};
    }
    return client;
}

struct readings_view readings_open(struct readings *readings)
{
    pthread_mutex_lock(&readings->lock);
    return (struct readings_view){.topics = readings->topics,
                                  .count = readings->count,
                                  .state = &readings->state,
                                  .now_ms = moment_wall_ms()};
}

void readings_close(struct readings *readings)
{
    pthread_mutex_unlock(&readings->lock);
}

struct reading_topic *readings_find(const struct readings_view *view, const char *name)
{
    return readings_search(view->topics, view->count, name, strlen(name));
}

#define READINGS_OWN                                                                               \
    "# HELP slotmq_serve_reading_age_seconds How long ago all topics had been read.\n"             \
    "# TYPE slotmq_serve_reading_age_seconds gauge\n"                                              \
    "slotmq_serve_reading_age_seconds %" PRId64 ".%03d\n"                                          \
    "# HELP slotmq_serve_reading_seconds How long it took to read all topics, with pauses.\n"      \
    "# TYPE slotmq_serve_reading_seconds gauge\n"                                                  \
    "slotmq_serve_reading_seconds %" PRId64 ".%03d\n"                                              \
    "# HELP slotmq_serve_readings_total Times that all topics were read.\n"                        \
    "# TYPE slotmq_serve_readings_total counter\n"                                                 \
    "slotmq_serve_readings_total %" PRIu64 "\n"                                                    \
    "# HELP slotmq_serve_reading_failures_total Times that they could not be read.\n"              \
    "# TYPE slotmq_serve_reading_failures_total counter\n"                                         \
    "slotmq_serve_reading_failures_total %" PRIu64 "\n"

/* A server that has read nothing is as old as its beginning. */
static int64_t readings_age_ms(const struct reading_state *state)
{
    const int64_t since = state->round_at_ms != 0 ? state->round_at_ms : state->since_at_ms;
    const int64_t age = moment_wall_ms() - since;

    return age > 0 ? age : 0;
}

char *readings_text(struct readings *readings, size_t *size)
{
    const size_t room = sizeof(READINGS_OWN) + 200;

    pthread_mutex_lock(&readings->lock);
    const struct reading_state *state = &readings->state;
    const int64_t age = readings_age_ms(state);
    char *text = say_alloc(readings->text_size + room, 1);
    if (readings->text_size > 0) {
        memcpy(text, readings->text, readings->text_size);
    }
    *size = readings->text_size;
    *size += (size_t) snprintf(text + *size, room, READINGS_OWN, age / 1000, (int) (age % 1000),
                               state->round_ms / 1000, (int) (state->round_ms % 1000),
                               state->rounds, state->failures);
    pthread_mutex_unlock(&readings->lock);
    return text;
}

bool readings_ready(struct readings *readings, char *why, size_t size)
{
    pthread_mutex_lock(&readings->lock);
    const struct reading_state *state = &readings->state;
    const int64_t age = readings_age_ms(state);
    const int64_t old =
        3 * state->round_ms > READINGS_OLD_MS ? 3 * state->round_ms : READINGS_OLD_MS;
    bool ready = false;
    if (state->err.status != SMQ_OK) {
        snprintf(why, size, "%s", say_text(&state->err));
    } else if (state->rounds == 0) {
        snprintf(why, size, "the topics are being read for the first time");
    } else if (age > old) {
        snprintf(why, size, "the topics were read %" PRId64 " s ago", age / 1000);
    } else {
        ready = true;
    }
    pthread_mutex_unlock(&readings->lock);
    return ready;
}

bool readings_alive(struct readings *readings)
{
    pthread_mutex_lock(&readings->lock);
    const int64_t ms = moment_ms() - readings->state.alive_ms;
    pthread_mutex_unlock(&readings->lock);
    return ms < READINGS_HANGS_MS;
}
