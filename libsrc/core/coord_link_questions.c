/* coord_link_questions.c - what coordination asks of Redis: whether a topic is still the same and
 * bound to it, and the lease of a topic without ZooKeeper.
 *
 * A question comes on smq:coord, is asked on smq:io, and its answer goes to coordination through
 * the functions of coord.h.
 *
 * Thread: smq:io, except coord_link_on_check() and coord_link_on_lease(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "core/coord_link_internal.h"
#include "core/core.h"
#include "store/owner.h"

/* --- is the topic still the same? --- */

/* Report that topic{T} is lost, with `text`, or that it exists (NULL). */
static void coord_link_report_definition(const struct coord_link *link, const char *name,
                                         const char *text)
{
    const struct coord_link_topic *topic = coord_link_topic_find(link, name);

    if (topic != NULL && topic->has_listener) {
        topic->listener.damaged(topic->listener.user, text);
    }
}

/* Is the topic still the same, and bound to `binding`? */
struct coord_link_check {
    struct loop_task task;
    struct coord_link *link;
    struct store_call call;
    char topic[TOPIC_NAME_MAX + 1];
    char binding[COORD_BINDING_MAX];
};

static void coord_link_check_reply(struct coord_link_check *check, smq_status status,
                                   const char *text)
{
    struct coord_link *link = check->link;

    pthread_mutex_lock(&link->state.lock); /* coordination is not freed while the lock is held */
    if (link->state.coord != NULL) {
        coord_checked(link->state.coord, check->topic, status, text);
    }
    pthread_mutex_unlock(&link->state.lock);
    store_call_fini(&check->call);
    free(check);
    coord_link_unref(link);
}

static void coord_link_report_bound(const struct coord_link_check *check)
{
    const struct coord_link_topic *topic = coord_link_topic_find(check->link, check->topic);

    if (topic != NULL && topic->has_listener) {
        topic->listener.bound(topic->listener.user, check->binding);
    }
}

/* Redis denies a call for the topic, with this error, or has done one (NULL). */
static void coord_link_report_denial(const struct coord_link *link, const char *name,
                                     const char *text)
{
    const struct coord_link_topic *topic = coord_link_topic_find(link, name);

    if (topic != NULL && topic->has_listener) {
        topic->listener.denied(topic->listener.user, text);
    }
}

/* What a question about the definition of the topic came to, if it is not the definition. */
static void coord_link_report_question(const struct coord_link *link, const char *name,
                                       smq_status status, const char *text)
{
    if (status == SMQ_DAMAGED) {
        coord_link_report_definition(link, name, text);
    } else if (status == SMQ_DENIED) {
        coord_link_report_denial(link, name, text);
    }
}

/* Answers NO_TOPIC only if the topic was deleted.  If topic{T} is lost, or the topic is being
 * deleted, which can be undone, coordination asks again later. */
static void coord_link_on_check_definition(const struct topic *topic, smq_status status,
                                           const char *text, void *user)
{
    struct coord_link_check *check = user;
    const struct coord_link_topic *found = coord_link_topic_find(check->link, check->topic);
    bool gone = status == SMQ_NO_TOPIC || found == NULL ||
                (status == SMQ_OK && strcmp(topic->nonce, found->nonce) != 0);

    coord_link_report_question(check->link, check->topic, status, text);
    coord_link_check_reply(check, gone ? SMQ_NO_TOPIC : SMQ_UNAVAILABLE, "");
}

static void coord_link_on_bound(struct store_call *call, const struct store_result *result)
{
    struct coord_link_check *check = call->user;
    char bound[COORD_BINDING_MAX] = "";
    smq_status status = result->status;

    if (result->outcome == STORE_NO_TOPIC) {
        definitions_read(check->link->core->definitions, check->topic,
                         coord_link_on_check_definition, check);
        return;
    }
    if (result->outcome == STORE_OK) {
        coord_link_report_definition(check->link, check->topic, NULL);
        coord_link_report_bound(check);
        coord_link_report_denial(check->link, check->topic, NULL);
    }
    if (status == SMQ_DENIED) {
        coord_link_report_denial(check->link, check->topic, result->text);
    }
    if (status == SMQ_OTHER_FLEET && !store_bound_read(bound, sizeof(bound), result)) {
        status = SMQ_INTERNAL;
    } else if (result->outcome == STORE_REFUSED && status == SMQ_NO_TOPIC) {
        status = SMQ_UNAVAILABLE; /* it is being deleted, which can be undone */
    }
    coord_link_check_reply(check, status, bound);
}

static void coord_link_on_check_task(struct loop_task *task)
{
    struct coord_link_check *check = OWNER_OF(task, struct coord_link_check, task);
    struct core *core = check->link->core;
    const struct coord_link_topic *topic = coord_link_topic_find(check->link, check->topic);

    if (topic == NULL) {
        coord_link_check_reply(check, SMQ_NO_TOPIC, "");
        return;
    }
    store_bind(&check->call, core->redis, topic->name, topic->nonce, check->binding, false,
               core->request_timeout_ms);
}

void coord_link_on_check(void *user, const char *topic, const char *binding)
{
    struct coord_link *link = user;
    struct coord_link_check *check = memory_new(sizeof(*check));

    atomic_fetch_add(&link->references, 1);
    check->task.run = coord_link_on_check_task;
    check->link = link;
    store_call_init(&check->call, coord_link_on_bound, check);
    snprintf(check->topic, sizeof(check->topic), "%s", topic);
    snprintf(check->binding, sizeof(check->binding), "%s", binding);
    loop_post(link->core->io, &check->task);
}

/* --- the lease of a topic without ZooKeeper --- */

struct coord_link_lease {
    struct loop_task task;
    struct coord_link *link;
    struct store_call call;
    enum coord_lease_op op;
    uint64_t cookie;
    char topic[TOPIC_NAME_MAX + 1];
    char *owner;
};

static void coord_link_lease_reply(struct coord_link_lease *lease,
                                   const struct coord_lease_reply *reply)
{
    struct coord_link *link = lease->link;

    pthread_mutex_lock(&link->state.lock); /* coordination is not freed while the lock is held */
    if (link->state.coord != NULL) {
        coord_lease_replied(link->state.coord, lease->cookie, reply);
    }
    pthread_mutex_unlock(&link->state.lock);
    store_call_fini(&lease->call);
    free(lease->owner);
    free(lease);
    coord_link_unref(link);
}

/* If the lease is missing because topic{T} is lost, coordination asks again until the topic is
 * repaired. */
static void coord_link_on_lease_definition(const struct topic *topic, smq_status status,
                                           const char *text, void *user)
{
    struct coord_link_lease *lease = user;
    bool gone = status == SMQ_NO_TOPIC;

    (void) topic;
    coord_link_report_question(lease->link, lease->topic, status, text);
    coord_link_lease_reply(
        lease, &(struct coord_lease_reply){.status = gone ? SMQ_NO_TOPIC : SMQ_UNAVAILABLE});
}

/* Is a right missing that was there?  It may be granted again, so coordination asks again. */
static bool coord_link_is_denied_now(struct coord_link_lease *lease,
                                     const struct store_result *result)
{
    struct coord_link_topic *topic = coord_link_topic_find(lease->link, lease->topic);

    if (topic != NULL && (result->outcome == STORE_OK || result->outcome == STORE_REFUSED)) {
        topic->leased = true;
        coord_link_report_denial(lease->link, lease->topic, NULL);
    }
    if (topic == NULL || !topic->leased || result->status != SMQ_DENIED) {
        return false;
    }
    coord_link_report_denial(lease->link, lease->topic, result->text);
    return true;
}

static void coord_link_on_lease_reply(struct store_call *call, const struct store_result *result)
{
    struct coord_link_lease *lease = call->user;
    struct coord_lease_reply reply = {.status = result->status};

    if (result->outcome == STORE_NO_TOPIC) {
        definitions_read(lease->link->core->definitions, lease->topic,
                         coord_link_on_lease_definition, lease);
        return;
    }
    if (result->outcome == STORE_OK) {
        coord_link_report_definition(lease->link, lease->topic, NULL);
    }
    if (coord_link_is_denied_now(lease, result)) {
        reply.status = SMQ_UNAVAILABLE;
    }
    if ((result->status == SMQ_OK || result->status == SMQ_IN_WORK) &&
        !store_lease_read(&reply.token, &reply.remaining_ms, result)) {
        reply.status = SMQ_INTERNAL;
    }
    coord_link_lease_reply(lease, &reply);
}

static enum store_lease_op coord_link_lease_op(enum coord_lease_op op)
{
    switch (op) {
    case COORD_LEASE_ACQUIRE:
        return STORE_LEASE_ACQUIRE;
    case COORD_LEASE_RENEW:
        return STORE_LEASE_RENEW;
    case COORD_LEASE_RELEASE:
        break;
    }
    return STORE_LEASE_RELEASE;
}

int64_t coord_link_topic_lease_ms(const struct core *core)
{
    return core->session_timeout_ms * 3 / 2;
}

static void coord_link_on_lease_task(struct loop_task *task)
{
    struct coord_link_lease *lease = OWNER_OF(task, struct coord_link_lease, task);
    struct core *core = lease->link->core;
    struct coord_link_topic *topic = coord_link_topic_find(lease->link, lease->topic);

    if (topic == NULL) {
        coord_link_lease_reply(lease, &(struct coord_lease_reply){.status = SMQ_NO_TOPIC});
        return;
    }
    store_lease(&lease->call, core->redis, topic->name, topic->nonce,
                coord_link_lease_op(lease->op), lease->owner, coord_link_topic_lease_ms(core),
                core->request_timeout_ms);
}

void coord_link_on_lease(void *user, enum coord_lease_op op, const char *topic, const char *owner,
                         uint64_t cookie)
{
    struct coord_link *link = user;
    struct coord_link_lease *lease = memory_new(sizeof(*lease));

    atomic_fetch_add(&link->references, 1);
    lease->task.run = coord_link_on_lease_task;
    lease->link = link;
    lease->op = op;
    lease->cookie = cookie;
    store_call_init(&lease->call, coord_link_on_lease_reply, lease);
    snprintf(lease->topic, sizeof(lease->topic), "%s", topic);
    lease->owner = memory_string(owner);
    loop_post(link->core->io, &lease->task);
}
