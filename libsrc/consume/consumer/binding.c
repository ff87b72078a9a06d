/* binding.c - a topic that is bound to another coordination than that of its consumer, or has a
 * larger generation, or of which a process of version 0.2 has the lease.
 *
 * Thread: smq:io. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "base/status.h"
#include "consume/consumer/consumer.h"
#include "core/coord_link.h"

enum {
    BOUND_SHOWN_MAX = 80,
    LEASE_RETRY_MS = 1000,
    US_PER_MS = 1000,
    LEASE_JITTER_MS = 500 /* added, so that processes that stand by do not ask all at once */
};

struct binding_check {
    struct store_call call;
    smq_consumer *consumer;
    binding_answered_fn *answered;
    char kind[COORD_BINDING_MAX];
};

/* Do both bindings name the same root of ZooKeeper?  The identity follows the root. */
static bool binding_same_root(const char *left, const char *right)
{
    size_t len = strcspn(left, " ");

    return left[len] == ' ' && strncmp(left, right, len + 1) == 0;
}

bool consumer_may_have_new_identity(const smq_consumer *consumer, const struct store_result *result)
{
    char kind[COORD_BINDING_MAX], bound[COORD_BINDING_MAX];

    coord_link_binding(kind, consumer->set.core->link);
    return coord_link_session(consumer->set.core->link) == SMQ_SESSION_LOST &&
           store_bound_read(bound, sizeof(bound), result) && binding_same_root(bound, kind);
}

smq_status consumer_other_fleet(smq_error *err, const smq_consumer *consumer,
                                const struct store_result *result)
{
    static const char redis[] = "redis:", zookeeper[] = "zookeeper:";
    char kind[COORD_BINDING_MAX], bound[COORD_BINDING_MAX];

    if (!store_bound_read(bound, sizeof(bound), result)) {
        return status_set(err, SMQ_INTERNAL, "cannot read what topic %s is bound to",
                          consumer->set.name);
    }
    coord_link_binding(kind, consumer->set.core->link);
    if (binding_same_root(bound, kind)) {
        return status_set(err, SMQ_OTHER_FLEET,
                          "topic %s is bound to this root under another identity: it is another "
                          "ensemble, or ZooKeeper lost its data; in the latter case call slotmq "
                          "fleet raise-fence",
                          consumer->set.name);
    }
    if (strncmp(bound, redis, sizeof(redis) - 1) == 0) {
        return status_set(err, SMQ_OTHER_FLEET,
                          "topic %s belongs to a fleet in Redis with the root %.*s: give this "
                          "process that root and no zookeeper option, or move the topic to "
                          "\"%.*s\" with slotmq topic rebind",
                          consumer->set.name, BOUND_SHOWN_MAX, bound + sizeof(redis) - 1,
                          BOUND_SHOWN_MAX, kind);
    }
    if (strncmp(bound, zookeeper, sizeof(zookeeper) - 1) == 0 &&
        strncmp(kind, redis, sizeof(redis) - 1) == 0) {
        const char *root = bound + sizeof(zookeeper) - 1;

        return status_set(err, SMQ_OTHER_FLEET,
                          "topic %s belongs to a fleet in ZooKeeper with the root %.*s: give this "
                          "process its zookeeper option, or move the topic to \"%.*s\" with slotmq "
                          "topic rebind",
                          consumer->set.name, (int) strcspn(root, " "), root, BOUND_SHOWN_MAX,
                          kind);
    }
    return status_set(
        err, SMQ_OTHER_FLEET,
        "topic %s belongs to another fleet (call slotmq topic rebind to change that): it "
        "is bound to \"%.*s\", and this process belongs to \"%.*s\"",
        consumer->set.name, BOUND_SHOWN_MAX, bound, BOUND_SHOWN_MAX, kind);
}

/* If the identity of the fleet has changed in the meantime, the answer is to a question of the
 * past. */
static void binding_on_checked(struct store_call *call, const struct store_result *result)
{
    struct binding_check *check = call->user;
    char kind[COORD_BINDING_MAX];

    check->consumer->checking = false;
    coord_link_binding(kind, check->consumer->set.core->link);
    if (strcmp(kind, check->kind) != 0) {
        consumer_ask_binding(check->consumer, check->answered);
    } else {
        if (result->outcome == STORE_OK) {
            memcpy(check->consumer->set.bound, check->kind, sizeof(check->kind));
        }
        check->answered(check->consumer, result);
    }
    store_call_fini(call);
    free(check);
}

void consumer_ask_binding(smq_consumer *consumer, binding_answered_fn *answered)
{
    struct core *core = consumer->set.core;
    struct binding_check *check;

    if (consumer->checking) {
        return;
    }
    check = memory_new(sizeof(*check));
    check->consumer = consumer;
    check->answered = answered;
    consumer->checking = true;
    coord_link_binding(check->kind, core->link);
    consumer->first.reign = coord_link_reign(core->link);
    store_call_init(&check->call, binding_on_checked, check);
    store_bind(&check->call, core->redis, consumer->set.name, consumer->set.topic.nonce,
               check->kind, consumer->lease.held, core->request_timeout_ms);
}

static void binding_on_lease_due(struct alarm *alarm)
{
    smq_consumer *consumer = OWNER_OF(alarm, smq_consumer, lease.due);

    if (consumer->state == CONSUMER_RUNNING) {
        consumer_ask_binding(consumer, consumer->lease.answered);
    }
}

void consumer_await_lease(smq_consumer *consumer, binding_answered_fn *answered)
{
    int64_t wait_ms = LEASE_RETRY_MS + (int64_t) (random_u64() % LEASE_JITTER_MS);

    consumer->lease.answered = answered;
    consumer->lease.due.ring = binding_on_lease_due;
    alarm_set(loop_alarms(consumer->set.core->io), &consumer->lease.due,
              clock_now_us() + wait_ms * US_PER_MS);
}
