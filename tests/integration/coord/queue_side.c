/* queue_side.c - a member for tests: one coord and a queue side that answers at once, or not.
 *
 * Thread: any. */
#include "queue_side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "support/testing.h"
#include "support/wait.h"

static void queue_side_on_granted(void *user, const char *topic, const struct coord_grant *grants,
                                  size_t count)
{
    struct queue_side *side = user;

    for (size_t i = 0; i < count; i++) {
        int32_t slot = grants[i].slot;
        bool refuse = false;

        pthread_mutex_lock(&side->lock);
        side->granted++;
        refuse = side->refuse > 0 || grants[i].token.generation < side->floor;
        if (refuse) {
            side->refuse -= side->refuse > 0 ? 1 : 0;
        } else {
            int order = token_compare(grants[i].token, side->tokens[slot]);

            side->token_errors += side->owned[slot] || order < 0 ? 1 : 0;
            side->owned[slot] = true;
            side->tokens[slot] = grants[i].token;
            side->count++;
        }
        pthread_mutex_unlock(&side->lock);
        if (refuse) {
            coord_answer(side->coord, COORD_REFUSED, topic, slot, grants[i].token);
        } else {
            coord_answer(side->coord, COORD_ACQUIRED, topic, slot, grants[i].token);
        }
    }
}

static void queue_side_drop(struct queue_side *side, int32_t slot)
{
    if (side->owned[slot]) {
        side->owned[slot] = false;
        side->count--;
    }
}

static void queue_side_on_revoked(void *user, const char *topic, const int32_t *slots, size_t count)
{
    struct queue_side *side = user;

    for (size_t i = 0; i < count; i++) {
        bool hung = false;
        struct token token;

        pthread_mutex_lock(&side->lock);
        side->revoked++;
        hung = side->hung;
        token = side->tokens[slots[i]];
        if (!hung) {
            queue_side_drop(side, slots[i]);
        }
        pthread_mutex_unlock(&side->lock);
        if (!hung) {
            coord_answer(side->coord, COORD_RELEASED, topic, slots[i], token);
        }
    }
}

static void queue_side_on_lost(void *user, const char *topic, const int32_t *slots, size_t count)
{
    struct queue_side *side = user;

    (void) topic;
    pthread_mutex_lock(&side->lock);
    for (size_t i = 0; i < count; i++) {
        side->lost++;
        queue_side_drop(side, slots[i]);
    }
    pthread_mutex_unlock(&side->lock);
}

static void queue_side_on_failed(void *user, const char *topic, smq_status status, const char *text)
{
    struct queue_side *side = user;

    (void) topic;
    pthread_mutex_lock(&side->lock);
    side->failed = status;
    (void) snprintf(side->failed_text, sizeof(side->failed_text), "%s", text);
    pthread_mutex_unlock(&side->lock);
}

static void queue_side_on_check(void *user, const char *topic, const char *binding)
{
    struct queue_side *side = user;
    smq_status status = SMQ_OK;
    const char *text = NULL;

    (void) binding;
    pthread_mutex_lock(&side->lock);
    side->checks++;
    status = side->check_status;
    text = side->check_text;
    pthread_mutex_unlock(&side->lock);
    coord_checked(side->coord, topic, status, text);
}

static void queue_side_on_left(void *user, const char *topic)
{
    struct queue_side *side = user;

    (void) topic;
    pthread_mutex_lock(&side->lock);
    side->left = true;
    pthread_mutex_unlock(&side->lock);
}

static void queue_side_on_event(const smq_event *event, void *user)
{
    static const char client[] = "ZooKeeper client: ZOO_ERROR@";
    struct queue_side *side = user;
    size_t len = 0;

    pthread_mutex_lock(&side->lock);
    if (event->level <= SMQ_LEVEL_WARN ||
        (strstr(event->text, client) != NULL && strstr(side->said, client) == NULL)) {
        len = strlen(side->said);
        (void) snprintf(side->said + len, sizeof(side->said) - len, "%s\n", event->text);
    }
    pthread_mutex_unlock(&side->lock);
}

static void queue_side_on_leased(void *user, int64_t until_ms, int64_t lease_ms)
{
    struct queue_side *side = user;

    (void) lease_ms;
    pthread_mutex_lock(&side->lock);
    side->leased_until = until_ms;
    pthread_mutex_unlock(&side->lock);
}

static void queue_side_on_not_released(void *user, size_t slots)
{
    struct queue_side *side = user;

    pthread_mutex_lock(&side->lock);
    side->not_released += (int32_t) slots;
    pthread_mutex_unlock(&side->lock);
}

bool queue_side_is_leased(struct queue_side *side)
{
    bool leased;

    pthread_mutex_lock(&side->lock);
    leased = clock_now_ms() < side->leased_until;
    pthread_mutex_unlock(&side->lock);
    return leased;
}

struct queue_side *queue_side_new(const char *name, const char *servers, int64_t session_ms,
                                  smq_coordination_loss on_coordination_loss)
{
    struct queue_side *side = memory_new(sizeof(*side));
    struct coord_options options = {.name = name,
                                    .servers = servers,
                                    .session_timeout_ms = session_ms,
                                    .on_coordination_loss = on_coordination_loss,
                                    .listener = {.check = queue_side_on_check,
                                                 .granted = queue_side_on_granted,
                                                 .revoked = queue_side_on_revoked,
                                                 .lost = queue_side_on_lost,
                                                 .failed = queue_side_on_failed,
                                                 .left = queue_side_on_left,
                                                 .leased = queue_side_on_leased,
                                                 .not_released = queue_side_on_not_released,
                                                 .user = side}};
    smq_error err;

    pthread_mutex_init(&side->lock, NULL);
    if (loop_new(&side->call, "smq:call", &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
    side->events = events_new(side->call, queue_side_on_event, SMQ_LEVEL_DEBUG, side);
    options.events = side->events;
    if (coord_fleet_new(&side->coord, &options, &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
    return side;
}

void queue_side_free(struct queue_side *side)
{
    if (side != NULL) {
        coord_free(side->coord);
        loop_free(side->call);
        events_free(side->events);
        pthread_mutex_destroy(&side->lock);
        free(side);
    }
}

void queue_side_join(struct queue_side *side, const char *topic, const char *nonce, int32_t slots,
                     int64_t drain_timeout_ms)
{
    struct coord_topic join = {.name = topic,
                               .nonce = nonce,
                               .generation = 1,
                               .slots = slots,
                               .weight = 1,
                               .drain_timeout_ms = drain_timeout_ms};

    side->topic = topic;
    coord_join(side->coord, &join);
}

void queue_side_leave(struct queue_side *side)
{
    coord_leave(side->coord, side->topic);
}

int32_t queue_side_get(struct queue_side *side, const int32_t *number)
{
    int32_t value = 0;

    pthread_mutex_lock(&side->lock);
    value = *number;
    pthread_mutex_unlock(&side->lock);
    return value;
}

int32_t queue_side_count(struct queue_side *side)
{
    return queue_side_get(side, &side->count);
}

bool queue_side_left(struct queue_side *side)
{
    bool left = false;

    pthread_mutex_lock(&side->lock);
    left = side->left;
    pthread_mutex_unlock(&side->lock);
    return left;
}

smq_status queue_side_failed(struct queue_side *side)
{
    smq_status failed = SMQ_OK;

    pthread_mutex_lock(&side->lock);
    failed = side->failed;
    pthread_mutex_unlock(&side->lock);
    return failed;
}

void queue_side_let_go(struct queue_side *side)
{
    pthread_mutex_lock(&side->lock);
    side->hung = false;
    for (int32_t i = 0; i < TOPIC_SLOTS_MAX; i++) {
        if (side->owned[i]) {
            coord_answer(side->coord, COORD_RELEASED, side->topic, i, side->tokens[i]);
            queue_side_drop(side, i);
        }
    }
    pthread_mutex_unlock(&side->lock);
}

void queue_side_set_check(struct queue_side *side, smq_status status, const char *text)
{
    pthread_mutex_lock(&side->lock);
    side->check_status = status;
    side->check_text = text;
    pthread_mutex_unlock(&side->lock);
}

int queue_side_said(struct queue_side *side, const char *words)
{
    int count = 0;

    pthread_mutex_lock(&side->lock);
    for (const char *at = side->said; (at = strstr(at, words)) != NULL; at++) {
        count++;
    }
    pthread_mutex_unlock(&side->lock);
    return count;
}

struct queue_side_words {
    struct queue_side *side;
    const char *words;
};

static bool queue_side_said_now(void *arg)
{
    const struct queue_side_words *wanted = arg;

    return queue_side_said(wanted->side, wanted->words) > 0;
}

bool queue_side_says(struct queue_side *side, const char *words)
{
    struct queue_side_words wanted = {.side = side, .words = words};

    return wait_until(queue_side_said_now, &wanted, WAIT_MS);
}

struct queue_side_want {
    struct queue_side *side;
    int32_t count;
};

static bool queue_side_owns_now(void *arg)
{
    const struct queue_side_want *want = arg;

    return queue_side_count(want->side) == want->count;
}

bool queue_side_owns(struct queue_side *side, int32_t count)
{
    struct queue_side_want want = {.side = side, .count = count};

    return wait_until(queue_side_owns_now, &want, WAIT_MS);
}

static bool queue_side_left_now(void *arg)
{
    return queue_side_left(arg);
}

bool queue_side_has_left(struct queue_side *side)
{
    return wait_until(queue_side_left_now, side, WAIT_MS);
}

static bool queue_side_failed_now(void *arg)
{
    return queue_side_failed(arg) != SMQ_OK;
}

bool queue_side_has_failed(struct queue_side *side)
{
    return wait_until(queue_side_failed_now, side, WAIT_MS);
}
