/* feed.c - see feed.h.
 *
 * Thread: the feed's own sends, smq:call receives the receipts. */
#include "feed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rules.h"
#include "support/history.h"

enum { LINE_MAX_LEN = 400, DUE_SPREAD_MS = 500, PRIORITIES = 100, SLICES_PER_S = 20 };

struct feed {
    smq_producer *producer;
    struct history *history;
    char **packages; /* "name version size" */
    size_t package_count;
    int per_second;
    atomic_bool stop;
    atomic_uint_least64_t sent, failing, failed;
    bool running; /* the thread is to be joined */
    pthread_t thread;
};

/* One send under way; freed by its receipt. */
struct sending {
    struct feed *feed;
    const char *topic;
    char body[LINE_MAX_LEN];
};

static bool read_packages(struct feed *feed)
{
    const char *list = "dpkg-query -W -f '${Package} ${Version} ${Installed-Size}\\n'";
    char line[LINE_MAX_LEN - 16];
    FILE *pipe = popen(list, "re"); /* NOLINT(cert-env33-c): a constant command */

    if (pipe == NULL) {
        return false;
    }
    while (fgets(line, sizeof(line), pipe) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char **grown = realloc(feed->packages, (feed->package_count + 1) * sizeof(char *));
        if (grown == NULL) {
            break;
        }
        feed->packages = grown;
        feed->packages[feed->package_count] = strdup(line);
        if (feed->packages[feed->package_count] != NULL) {
            feed->package_count++;
        }
    }
    return pclose(pipe) == 0 && feed->package_count > 0;
}

/* Thread: smq:call. */
static void on_sent(const smq_receipt *receipt, void *user)
{
    struct sending *sending = user;
    struct feed *feed = sending->feed;

    if (receipt->status == SMQ_OK) {
        char key[LINE_MAX_LEN];
        snprintf(key, sizeof(key), "%.*s", (int) strcspn(sending->body, " "), sending->body);
        history_sent(feed->history, sending->topic, key, sending->body);
        if (rules_always_fails(sending->body, strlen(sending->body))) {
            atomic_fetch_add(&feed->failing, 1);
        }
        atomic_fetch_add(&feed->sent, 1);
    } else if (atomic_fetch_add(&feed->failed, 1) == 0) {
        fprintf(stderr, "demo: a send failed: %s\n", smq_status_text(receipt->status));
    }
    free(sending);
}

static int64_t wall_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool send_one(struct feed *feed, const char *topic, const char *package, unsigned number)
{
    smq_message message = SMQ_MESSAGE_INIT;
    smq_error err;
    struct sending *sending = malloc(sizeof(*sending));

    if (sending == NULL) {
        return false;
    }
    sending->feed = feed;
    sending->topic = topic;
    snprintf(sending->body, sizeof(sending->body), "%s %u", package, number);
    message.body = smq_text(sending->body);
    message.key = (smq_bytes){sending->body, strcspn(sending->body, " ")};
    if (topic == rules_topics[0]) {
        message.delay_ms = SMQ_TOPIC_DELAY;
    } else if (topic == rules_topics[1]) {
        message.priority = number % PRIORITIES;
    } else if (topic == rules_topics[2]) {
        message.due_at_ms = wall_ms() + number % DUE_SPREAD_MS;
    }
    if (smq_send_async(feed->producer, topic, &message, on_sent, sending, &err) != SMQ_OK) {
        fprintf(stderr, "demo: %s\n", err.text);
        atomic_fetch_add(&feed->failed, 1);
        free(sending);
        return false;
    }
    return true;
}

/* Send a slice, then wait for the rest of its time. */
static void *feed_run(void *arg)
{
    struct feed *feed = arg;
    struct timespec next;
    unsigned round = 1, topic = 0;
    size_t package = 0;

    clock_gettime(CLOCK_MONOTONIC, &next);
    while (!atomic_load(&feed->stop)) {
        for (int i = 0; i < feed->per_second / SLICES_PER_S; i++) {
            if (!send_one(feed, rules_topics[topic], feed->packages[package], round)) {
                return NULL;
            }
            package = (package + 1) % feed->package_count;
            topic = package == 0 ? (topic + 1) % RULES_TOPICS : topic;
            round += package == 0 && topic == 0 ? 1 : 0;
        }
        next.tv_nsec += 1000000000L / SLICES_PER_S;
        next.tv_sec += next.tv_nsec / 1000000000L;
        next.tv_nsec %= 1000000000L;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return NULL;
}

struct feed *feed_start(smq_client *client, const char *path, int per_second)
{
    smq_error err;
    struct feed *feed = calloc(1, sizeof(*feed));

    if (feed == NULL) {
        return NULL;
    }
    feed->per_second = per_second;
    smq_producer_options options =
        SMQ_PRODUCER_OPTIONS(.full_timeout_ms = 10000, .send_timeout_ms = 30000);
    if (!read_packages(feed)) {
        fprintf(stderr, "demo: dpkg-query lists no packages; the demo feeds its output\n");
        goto fail;
    }
    feed->history = history_open(path);
    if (feed->history == NULL) {
        perror(path);
        goto fail;
    }
    if (smq_producer_new(&feed->producer, client, &options, &err) != SMQ_OK) {
        fprintf(stderr, "demo: %s\n", err.text);
        goto fail;
    }
    feed->running = pthread_create(&feed->thread, NULL, feed_run, feed) == 0;
    if (feed->running) {
        return feed;
    }
fail:
    feed_free(feed);
    return NULL;
}

uint64_t feed_sent(const struct feed *feed)
{
    return atomic_load(&feed->sent);
}

uint64_t feed_failing(const struct feed *feed)
{
    return atomic_load(&feed->failing);
}

/* No further send is begun. */
static void end_thread(struct feed *feed)
{
    if (feed->running) {
        atomic_store(&feed->stop, true);
        pthread_join(feed->thread, NULL);
        feed->running = false;
    }
}

bool feed_stop(struct feed *feed)
{
    smq_error err;

    end_thread(feed);
    if (smq_producer_flush(feed->producer, 30000, &err) != SMQ_OK) {
        fprintf(stderr, "demo: %s\n", err.text);
        return false;
    }
    return atomic_load(&feed->failed) == 0;
}

void feed_free(struct feed *feed)
{
    if (feed == NULL) {
        return;
    }
    end_thread(feed);
    smq_producer_free(feed->producer);
    history_close(feed->history);
    for (size_t i = 0; i < feed->package_count; i++) {
        free(feed->packages[i]);
    }
    free(feed->packages);
    free(feed);
}
