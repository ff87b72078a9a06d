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

#include "cli/http/thread.h"
#include "cli/text/moment.h"
#include "cli/text/say.h"
#include "cli/topic/topic.h"
#include "cli/verb/connect.h"

enum {
    READINGS_ROUND_MIN_MS = 2000,
    READINGS_ROUND_S = 18,       /* is what a long round should take */
    READINGS_CALLS_LEAST = 1500, /* a second */
    READINGS_CALLS_MOST = 4000,
    READINGS_RETRY_MS = 2000, /* after a round that failed */
    READINGS_OLD_MS = 60000,  /* not ready any more, unless rounds take as long */
    READINGS_HANGS_MS = 600000
};

struct readings {
    struct readings_options options;
    pthread_t thread;
    bool started;
    uint64_t round; /* serve:read: its number */
    size_t found;   /* serve:read: how many topics it could read so far */
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    /* guarded by lock; only serve:read changes what topics are */
    bool stop;
    smq_client *client;
    struct reading_topic **topics; /* owned; by their names */
    size_t count;
    struct reading_state state;
    char *text; /* owned, of the library: of the last whole round */
    size_t text_size;
};

/* === Waiting ============================================================ */

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

/* === Which topics there are ============================================= */

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

static bool readings_on_name(const char *name, void *user)
{
    const struct readings *readings = user;

    return readings_wants(readings->options.only, name);
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

/* === Numbers ============================================================ */

/* Where the topic of this name is, or belongs. */
static size_t readings_place(struct reading_topic *const *topics, size_t count, const char *name)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (strcmp(topics[middle]->name, name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct reading_topic *readings_search(struct reading_topic *const *topics, size_t count,
                                             const char *name)
{
    const size_t place = readings_place(topics, count, name);

    return place < count && strcmp(topics[place]->name, name) == 0 ? topics[place] : NULL;
}

/* The topic of this name, which may be new. */
static struct reading_topic *readings_have(struct readings *readings, const char *name)
{
    const size_t place = readings_place(readings->topics, readings->count, name);

    if (place < readings->count && strcmp(readings->topics[place]->name, name) == 0) {
        return readings->topics[place];
    }
    struct reading_topic **grown = say_grow(readings->topics, readings->count, sizeof(*grown));
    struct reading_topic *topic = say_alloc(1, sizeof(*topic));
    memmove(grown + place + 1, grown + place, (readings->count - place) * sizeof(*grown));
    readings->topics = grown;
    readings->count++;
    *topic = (struct reading_topic){.name = say_copy(name), .now = SMQ_SURVEY_TOPIC_INIT};
    topic->now.stats.oldest_due_age_ms = SMQ_AGE_UNKNOWN;
    grown[place] = topic;
    return topic;
}

/* Forgets the topics that were not in the last round. */
static void readings_forget(struct readings *readings)
{
    size_t kept = 0;

    pthread_mutex_lock(&readings->lock);
    for (size_t i = 0; i < readings->count; i++) {
        if (readings->topics[i]->round == readings->round) {
            readings->topics[kept++] = readings->topics[i];
        } else {
            readings_free_topic(readings->topics[i]);
        }
    }
    readings->count = kept;
    pthread_mutex_unlock(&readings->lock);
}

static uint64_t readings_failures(const smq_stats *stats)
{
    return stats->retried + stats->dead_rejected + stats->dead_failed + stats->dead_crashed +
           stats->dead_timed_out;
}

static void readings_add_point(struct reading_topic *topic)
{
    const smq_survey_topic *now = &topic->now;
    const struct history_point point = {
        .at_ms = topic->read_at_ms,
        .sent_per_s = topic->has_rates ? (float) topic->rates.sent : -1,
        .done_per_s = topic->has_rates ? (float) topic->rates.done : -1,
        .failed_per_s = topic->has_rates ? (float) topic->failed_per_s : -1,
        .lag_ms = now->stats.oldest_due_age_ms,
        .waiting = now->stats.waiting,
        .dead = now->stats.dead,
    };

    history_add(&topic->history, &point);
}

/* The row as it is kept: its texts live no longer than the call. */
static smq_survey_topic readings_row(const smq_survey_topic *row, const char *name)
{
    smq_survey_topic kept = *row;

    kept.topic = name;
    kept.why = "";
    kept.options = NULL;
    return kept;
}

/* What is known of a topic beside its numbers. */
static void readings_describe(struct reading_topic *topic, const smq_survey_topic *row)
{
    topic->defined = row->options != NULL;
    if (topic->defined) {
        topic->type = row->options->type;
        topic->layout = row->options->layout;
        topic->shared = row->options->shared;
        topic->slots = row->options->slots;
    }
    topic->unlisted = row->list_read ? row->unlisted : topic->unlisted;
    free(topic->unreadable);
    topic->unreadable = row->status == SMQ_OK ? NULL : say_copy(row->why);
}

static void readings_commit(struct reading_topic *topic, const smq_survey_topic *row)
{
    const smq_stats before = topic->now.stats;
    const int64_t at_us = moment_us();
    const int64_t us = at_us - topic->read_us;

    readings_describe(topic, row);
    topic->row = readings_row(row, topic->name);
    topic->row.list_read = true;
    topic->row.unlisted = topic->unlisted;
    if (row->status != SMQ_OK) {
        topic->has_rates = false;
        topic->now.stats.slots_damaged = row->stats.slots_damaged;
        topic->now.stats.slots_silent = row->stats.slots_silent;
        return;
    }
    topic->now = topic->row;
    topic->has_rates =
        topic->read_us != 0 && rates_between(&topic->rates, &before, &topic->now.stats, us);
    if (topic->has_rates) {
        const uint64_t old = readings_failures(&before);
        const uint64_t new = readings_failures(&topic->now.stats);
        topic->failed_per_s = new > old ? (double) (new - old) * 1e6 / (double) us : 0;
    }
    topic->read_us = at_us;
    topic->read_at_ms = moment_wall_ms();
    if (history_wants(&topic->history, topic->read_at_ms)) {
        readings_add_point(topic);
    }
}

/* false: it is to stop. */
static bool readings_on_row(const smq_survey_topic *row, void *user)
{
    struct readings *readings = user;

    pthread_mutex_lock(&readings->lock);
    if (row->status != SMQ_NO_TOPIC) {
        struct reading_topic *topic = readings_have(readings, row->topic);
        topic->round = readings->round;
        readings_commit(topic, row);
        readings->found += row->status == SMQ_OK ? 1 : 0;
    }
    readings->state.alive_ms = moment_ms();
    const bool goes_on = !readings->stop;
    pthread_mutex_unlock(&readings->lock);
    return goes_on;
}

/* === Rounds ============================================================= */

int64_t readings_calls_per_s(int64_t calls)
{
    const int64_t wanted = calls / READINGS_ROUND_S + 1;

    if (calls == 0 || wanted > READINGS_CALLS_MOST) {
        return READINGS_CALLS_MOST;
    }
    return wanted > READINGS_CALLS_LEAST ? wanted : READINGS_CALLS_LEAST;
}

/* Those of a round with the topics that are known: for each definition and each slot one. */
static int64_t readings_calls(const struct readings *readings)
{
    int64_t calls = 0;

    for (size_t i = 0; i < readings->count; i++) {
        calls += 1 + readings->topics[i]->slots;
    }
    return calls;
}

static smq_status readings_survey(struct readings *readings, const char *names, smq_error *err)
{
    const smq_survey_options options =
        SMQ_SURVEY_OPTIONS(.calls_per_s = readings_calls_per_s(readings_calls(readings)),
                           .wants = readings_on_name);

    readings->found = 0;
    return smq_survey(readings->client, names, &options, readings_on_row, readings, err);
}

static bool readings_is_away(smq_status status)
{
    const smq_class class = smq_status_class(status);

    return class == SMQ_CLASS_RETRY || class == SMQ_CLASS_UNKNOWN;
}

/* The names of the topics that are known, to be freed. */
static char *readings_names(const struct readings *readings)
{
    size_t size = 1;
    size_t used = 0;

    for (size_t i = 0; i < readings->count; i++) {
        size += strlen(readings->topics[i]->name) + 1;
    }
    char *names = say_alloc(size, 1);
    for (size_t i = 0; i < readings->count; i++) {
        used += (size_t) snprintf(names + used, size - used, "%s%s", i > 0 ? "," : "",
                                  readings->topics[i]->name);
    }
    return names;
}

/* Reads the topics that are known, while the master with the list of all topics is away.  false:
 * none can be read. */
static bool readings_round_without_list(struct readings *readings)
{
    char *names = readings_names(readings);
    smq_error err;
    const bool read =
        names[0] != '\0' && readings_survey(readings, names, &err) == SMQ_OK && readings->found > 0;

    free(names);
    return read;
}

/* Reads all topics.  false: it is to stop, or *err. */
static bool readings_round(struct readings *readings, smq_error *err)
{
    const smq_status status = readings_survey(readings, NULL, err);

    if (readings_is_away(status) && readings_round_without_list(readings)) {
        *err = (smq_error) SMQ_ERROR_INIT;
    }
    pthread_mutex_lock(&readings->lock);
    const bool stops = readings->stop;
    pthread_mutex_unlock(&readings->lock);
    if (stops || err->status != SMQ_OK) {
        return false;
    }
    readings_forget(readings);
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

/* The text of all topics, to be freed with smq_free(). */
static char *readings_make_text(const struct readings *readings)
{
    smq_survey_topic *rows = say_alloc(readings->count, sizeof(*rows));
    char *text = NULL;

    for (size_t i = 0; i < readings->count; i++) {
        rows[i] = readings->topics[i]->row;
    }
    smq_survey_text(rows, readings->count, &text);
    free(rows);
    return text;
}

static void readings_end_round(struct readings *readings, int64_t began_us, const smq_error *err)
{
    char *text = err->status == SMQ_OK ? readings_make_text(readings) : NULL;

    pthread_mutex_lock(&readings->lock);
    readings->state.err = *err;
    if (text) {
        smq_free(readings->text);
        readings->text = text;
        readings->text_size = strlen(text);
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
        smq_error err = SMQ_ERROR_INIT;

        readings->round++;
        const bool read = readings_connect(readings, &err) && readings_round(readings, &err);
        if (read || err.status != SMQ_OK) {
            readings_end_round(readings, began_us, &err);
        }
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
    smq_free(readings->text);
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
    return readings_search(view->topics, view->count, name);
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
