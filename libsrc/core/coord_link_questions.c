/* coord_link_questions.c - what coordination asks of Redis: whether a topic is still the same and
 * bound to it.
 *
 * A question comes on smq:coord, is asked on smq:io, and its answer goes to coordination through
 * the functions of coord.h.
 *
 * Thread: smq:io, except coord_link_on_check(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "core/coord_link_internal.h"
#include "core/core.h"
#include "store/owner.h"

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
