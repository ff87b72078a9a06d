/* standalone.c - the kind standalone: one process owns all slots of a topic, and the others stand
 * by.
 *
 * The lease of a topic is stored in Redis, and kept by functions of the layer above.  A reply that
 * never comes does no harm: a lease that could not be renewed ends here by the clock of this
 * process, counted from before the call, and in Redis by the clock of the node.
 *
 * Redis counts the acquires, and a failover may lose one, so two owners can get the same count.
 * Their tokens still differ: the epoch is the count followed by the random number of the owner.
 *
 * Thread: smq:coord. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/queue.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/steps.h"
#include "coord/coord_internal.h"
#include "coord/no_slot.h"

enum {
    STANDALONE_RETRY_MS = 1000,
    STANDALONE_JITTER_MS = 500, /* added, so that processes that stand by do not ask all at once */
    STANDALONE_RETRY_MIN_MS = 50,
    STANDALONE_LEAVE_MS = 3000,
    STANDALONE_SALT_BITS = 32
};

/* Invariant: the owner has slot i while held[i] is set; `held_count` counts these slots. */
struct standalone_topic {
    LIST_ENTRY(standalone_topic) link;
    struct coord *coord;
    char *name;
    int32_t slots;
    int64_t drain_timeout_ms;
    enum standalone_state state;
    struct token token;
    bool *held;
    int32_t held_count;
    bool leased;         /* WAITING: another process has the lease, by the last reply */
    uint64_t cookie;     /* of the call in progress; 0: none */
    int64_t asked_at;    /* when that call was sent */
    int64_t lease_until; /* by the clock of this process; slots that are held then are lost */
    int64_t drain_until; /* DRAINING: slots that are held then are abandoned */
    uv_timer_t timer;
};

struct standalone {
    LIST_HEAD(, standalone_topic) topics;
    coord_lease_fn *lease;
    void *lease_user;
    uint64_t cookie;
    char *owner;   /* the name and a random part, so that a restarted process is another owner */
    uint32_t salt; /* the random part as a number; it is in every token */
};

static void standalone_on_timer(uv_timer_t *timer);

static struct standalone *standalone_of(const struct standalone_topic *topic)
{
    return topic->coord->self;
}

static void standalone_on_close(uv_handle_t *handle)
{
    struct standalone_topic *topic = handle->data;

    free(topic->name);
    free(topic->held);
    free(topic);
}

/* A topic waits for the lease and holds it in turn, until it leaves or fails. */
bool standalone_may(enum standalone_state from, enum standalone_state to)
{
    enum { ANY = STEP(STANDALONE_STATES) - 1 };
    static const unsigned steps[STANDALONE_STATES] = {
        [STANDALONE_WAITING] = ANY,
        [STANDALONE_HELD] = ANY,
        [STANDALONE_DRAINING] = STEP(STANDALONE_RELEASING) | STEP(STANDALONE_GONE),
        [STANDALONE_RELEASING] = STEP(STANDALONE_GONE),
    };

    return steps_allow(steps, from, to);
}

static void standalone_check(const struct standalone_topic *topic)
{
    int32_t held = 0;

    for (int32_t i = 0; i < topic->slots; i++) {
        held += topic->held[i] ? 1 : 0;
    }
    assert(topic->held_count == held);
}

/* The one place where the state changes. */
static void standalone_enter(struct standalone_topic *topic, enum standalone_state state)
{
    assert(standalone_may(topic->state, state));
    topic->state = state;
    CHECK(standalone_check(topic));
}

static void standalone_drop(struct standalone_topic *topic)
{
    standalone_enter(topic, STANDALONE_GONE);
    LIST_REMOVE(topic, link);
    uv_close((uv_handle_t *) &topic->timer, standalone_on_close);
}

static void standalone_arm(struct standalone_topic *topic, int64_t delay_ms)
{
    uv_timer_start(&topic->timer, standalone_on_timer, delay_ms < 1 ? 1 : (uint64_t) delay_ms, 0);
}

/* The time until the lease ends; 0 if it has ended. */
static int64_t standalone_lease_left(const struct standalone_topic *topic)
{
    int64_t left = topic->lease_until - clock_now_ms();

    return left < 0 ? 0 : left;
}

/* Ask again later, or when the lease ends if that is earlier and slots are held. */
static void standalone_arm_retry(struct standalone_topic *topic)
{
    int64_t delay = STANDALONE_RETRY_MS + (int64_t) (random_u64() % STANDALONE_JITTER_MS);
    int64_t left = standalone_lease_left(topic);

    standalone_arm(topic, topic->held_count > 0 && left < delay ? left : delay);
}

static void standalone_ask(struct standalone_topic *topic, enum coord_lease_op op)
{
    struct standalone *self = standalone_of(topic);

    topic->cookie = ++self->cookie;
    topic->asked_at = clock_now_ms();
    self->lease(self->lease_user, op, topic->name, self->owner, topic->cookie);
}

/* Fill `slots` with the numbers of the held slots; it has space for all. */
static size_t standalone_held(const struct standalone_topic *topic, int32_t *slots)
{
    size_t count = 0;

    for (int32_t i = 0; i < topic->slots; i++) {
        if (topic->held[i]) {
            slots[count++] = i;
        }
    }
    return count;
}

static int32_t *standalone_slots_new(const struct standalone_topic *topic)
{
    return memory_new(sizeof(int32_t) * (size_t) topic->slots);
}

static void standalone_lose(struct standalone_topic *topic)
{
    int32_t *slots = standalone_slots_new(topic);
    size_t count = standalone_held(topic, slots);

    memset(topic->held, 0, sizeof(*topic->held) * (size_t) topic->slots);
    topic->held_count = 0;
    coord_call_lost(topic->coord, topic->name, slots, count);
    free(slots);
}

/* Grant the slots that the owner does not have. */
static void standalone_grant(struct standalone_topic *topic)
{
    struct coord_grant *grants = memory_new(sizeof(*grants) * (size_t) topic->slots);
    size_t count = 0;

    for (int32_t i = 0; i < topic->slots; i++) {
        if (!topic->held[i]) {
            topic->held[i] = true;
            grants[count++] = (struct coord_grant){.slot = i, .token = topic->token};
        }
    }
    topic->held_count = topic->slots;
    coord_call_granted(topic->coord, topic->name, grants, count);
    free(grants);
}

static void standalone_finish(struct standalone_topic *topic)
{
    char *name = memory_string(topic->name);
    struct coord *coord = topic->coord;

    standalone_drop(topic);
    coord_call_left(coord, name);
    free(name);
}

/* The topic cannot be consumed any more. */
static void standalone_fail(struct standalone_topic *topic, smq_status status)
{
    char *name = memory_string(topic->name);
    struct coord *coord = topic->coord;

    standalone_lose(topic);
    standalone_drop(topic);
    coord_call_failed(coord, name, status, smq_status_text(status));
    free(name);
}

/* Everything is drained: release the lease, or just end if this process cannot have it. */
static void standalone_release(struct standalone_topic *topic)
{
    if (topic->token.epoch == 0 && topic->cookie == 0) {
        standalone_finish(topic);
        return;
    }
    standalone_enter(topic, STANDALONE_RELEASING);
    standalone_arm(topic, STANDALONE_LEAVE_MS);
    standalone_ask(topic, COORD_LEASE_RELEASE);
}

static struct token standalone_token(const struct standalone *self, struct token leased)
{
    return (struct token){.generation = leased.generation,
                          .epoch = leased.epoch << STANDALONE_SALT_BITS | self->salt};
}

static void standalone_lease_is_mine(struct standalone_topic *topic,
                                     const struct coord_lease_reply *reply)
{
    struct token token = standalone_token(standalone_of(topic), reply->token);
    bool changed = token_compare(topic->token, token) != 0;

    if (changed && topic->held_count > 0) {
        standalone_lose(topic);
    }
    topic->lease_until = topic->asked_at + reply->remaining_ms;
    if (changed || topic->state == STANDALONE_WAITING) {
        topic->token = token;
        standalone_enter(topic, STANDALONE_HELD);
        standalone_grant(topic);
    }
    standalone_arm(topic, standalone_lease_left(topic) / 3);
}

static void standalone_lease_is_lost(struct standalone_topic *topic)
{
    standalone_enter(topic, STANDALONE_WAITING);
    topic->token = (struct token){0};
    standalone_lose(topic);
}

/* While draining, ask again after a third of the lease, but not after the time to drain. */
static void standalone_arm_drain(struct standalone_topic *topic, int64_t delay_ms)
{
    int64_t left = topic->drain_until - clock_now_ms();

    standalone_arm(topic, delay_ms < left ? delay_ms : left);
}

/* Abandon slots that were not drained in time; their next owner requeues their messages. */
static void standalone_give_up(struct standalone_topic *topic)
{
    standalone_lose(topic);
    standalone_release(topic);
}

/* A reply while the slots are being drained. */
static void standalone_drain_replied(struct standalone_topic *topic,
                                     const struct coord_lease_reply *reply)
{
    if (reply->status == SMQ_OK) {
        topic->lease_until = topic->asked_at + reply->remaining_ms;
        standalone_arm_drain(topic, standalone_lease_left(topic) / 3);
    } else if (reply->status == SMQ_IN_WORK || reply->status == SMQ_NO_TOPIC) {
        topic->token = (struct token){0};
        standalone_give_up(topic);
    }
}

static void standalone_replied(struct standalone_topic *topic,
                               const struct coord_lease_reply *reply)
{
    smq_class class = smq_status_class(reply->status);

    topic->cookie = 0;
    topic->leased = reply->status == SMQ_IN_WORK;
    if (topic->state == STANDALONE_RELEASING) {
        standalone_finish(topic);
        return;
    }
    if (topic->state == STANDALONE_DRAINING) {
        standalone_drain_replied(topic, reply);
        return;
    }
    if (reply->status == SMQ_OK) {
        standalone_lease_is_mine(topic, reply);
    } else if (reply->status == SMQ_IN_WORK) {
        standalone_lease_is_lost(topic);
        if (reply->remaining_ms < STANDALONE_RETRY_MS) {
            standalone_arm(topic, reply->remaining_ms + STANDALONE_RETRY_MIN_MS);
        } else {
            standalone_arm_retry(topic);
        }
    } else if (class == SMQ_CLASS_USAGE) {
        standalone_fail(topic, reply->status);
    } else {
        standalone_arm_retry(topic);
    }
}

/* It is time to ask again; a call in progress is abandoned, and its late reply ignored. */
static void standalone_on_timer(uv_timer_t *timer)
{
    struct standalone_topic *topic = timer->data;
    bool over = topic->held_count > 0 && standalone_lease_left(topic) == 0;

    switch (topic->state) {
    case STANDALONE_RELEASING:
        standalone_finish(topic);
        return;
    case STANDALONE_DRAINING:
        if (over || clock_now_ms() >= topic->drain_until) {
            standalone_give_up(topic);
            return;
        }
        standalone_arm_drain(topic, STANDALONE_RETRY_MS);
        standalone_ask(topic, COORD_LEASE_RENEW);
        return;
    case STANDALONE_HELD:
    case STANDALONE_WAITING:
        if (over) {
            standalone_lease_is_lost(topic);
        }
        break;
    case STANDALONE_GONE:
        return;
    }
    standalone_arm_retry(topic);
    standalone_ask(topic,
                   topic->state == STANDALONE_HELD ? COORD_LEASE_RENEW : COORD_LEASE_ACQUIRE);
}

static void standalone_join(struct coord *coord, const struct coord_topic *from)
{
    struct standalone *self = coord->self;
    struct standalone_topic *topic = memory_new(sizeof(*topic));

    topic->coord = coord;
    topic->name = memory_string(from->name);
    topic->slots = from->slots;
    topic->drain_timeout_ms = from->drain_timeout_ms;
    topic->held = memory_new(sizeof(*topic->held) * (size_t) from->slots);
    uv_timer_init(loop_uv(coord->loop), &topic->timer);
    topic->timer.data = topic;
    LIST_INSERT_HEAD(&self->topics, topic, link);
    standalone_arm_retry(topic);
    standalone_ask(topic, COORD_LEASE_ACQUIRE);
}

static void standalone_leave(struct standalone_topic *topic)
{
    int32_t *slots = NULL;
    size_t count = 0;

    if (topic->state != STANDALONE_WAITING && topic->state != STANDALONE_HELD) {
        return;
    }
    if (topic->held_count == 0) {
        standalone_release(topic);
        return;
    }
    standalone_enter(topic, STANDALONE_DRAINING);
    topic->drain_until = clock_now_ms() + topic->drain_timeout_ms + STANDALONE_LEAVE_MS;
    standalone_arm_drain(topic, standalone_lease_left(topic) / 3);
    slots = standalone_slots_new(topic);
    count = standalone_held(topic, slots);
    coord_call_revoked(topic->coord, topic->name, slots, count);
    free(slots);
}

static void standalone_slot_answer(struct standalone_topic *topic,
                                   const struct coord_command *command)
{
    bool mine = command->slot >= 0 && command->slot < topic->slots && topic->held[command->slot] &&
                token_compare(command->token, topic->token) == 0;

    if (!mine || command->answer == COORD_ACQUIRED) {
        return;
    }
    topic->held[command->slot] = false;
    topic->held_count--;
    if (topic->state == STANDALONE_DRAINING && topic->held_count == 0) {
        standalone_release(topic);
    } else if (topic->state == STANDALONE_HELD) {
        /* Redis has a larger token: acquire the lease again, which raises the epoch. */
        standalone_enter(topic, STANDALONE_WAITING);
        standalone_arm_retry(topic);
    }
}

static struct standalone_topic *standalone_find(const struct standalone *self,
                                                const struct coord_command *command)
{
    struct standalone_topic *topic = NULL;

    LIST_FOREACH(topic, &self->topics, link)
    {
        if (command->kind == COORD_REPLIED ? topic->cookie == command->cookie
                                           : strcmp(topic->name, command->topic.name) == 0) {
            return topic;
        }
    }
    return NULL;
}

static void standalone_run(struct coord *coord, const struct coord_command *command)
{
    struct standalone_topic *topic = NULL;

    if (command->kind == COORD_FINGERPRINT || command->kind == COORD_REACHABLE) {
        return;
    }
    topic = standalone_find(coord->self, command);
    if (command->kind == COORD_JOIN && topic == NULL) {
        standalone_join(coord, &command->topic);
    }
    if (topic == NULL) {
        return;
    }
    switch (command->kind) {
    case COORD_JOIN:
        break;
    case COORD_LEAVE:
        standalone_leave(topic);
        break;
    case COORD_ANSWERED:
        standalone_slot_answer(topic, command);
        break;
    case COORD_REPLIED:
        standalone_replied(topic, &command->reply);
        break;
    case COORD_EXPLAIN:
        coord_call_explained(coord, topic->name,
                             no_slot_reason(&(struct no_slot_facts){.leased = topic->leased}));
        break;
    case COORD_CHECKED:
    case COORD_RAISED:
    case COORD_SURPASSED:
    case COORD_FINGERPRINT:
    case COORD_REACHABLE:
        break;
    }
}

static void standalone_stop(struct coord *coord)
{
    struct standalone *self = coord->self;
    struct standalone_topic *topic = NULL;

    while ((topic = LIST_FIRST(&self->topics)) != NULL) {
        standalone_drop(topic);
    }
}

static void standalone_free(struct coord *coord)
{
    struct standalone *self = coord->self;

    free(self->owner);
    free(self);
}

static void standalone_binding(struct coord *coord, char out[COORD_BINDING_MAX])
{
    static const char text[] = "standalone";

    (void) coord;
    memcpy(out, text, sizeof(text));
}

static const struct coord_kind standalone_kind = {.run = standalone_run,
                                                  .binding = standalone_binding,
                                                  .stop = standalone_stop,
                                                  .free = standalone_free};

smq_status coord_standalone_new(struct coord **out, const struct coord_options *options,
                                coord_lease_fn *lease, void *lease_user, smq_error *err)
{
    struct standalone *self = memory_new(sizeof(*self));
    smq_status status = coord_new(out, &standalone_kind, options, err);
    char nonce[9];
    size_t size = strlen(options->name) + sizeof(nonce) + 1;

    if (status != SMQ_OK) {
        free(self);
        return status;
    }
    random_hex(nonce, sizeof(nonce));
    self->salt = (uint32_t) strtoul(nonce, NULL, 16);
    self->owner = memory_new(size);
    (void) snprintf(self->owner, size, "%s-%s", options->name, nonce);
    self->lease = lease;
    self->lease_user = lease_user;
    LIST_INIT(&self->topics);
    (*out)->self = self;
    return SMQ_OK;
}
