/* admin_topic.c - create, describe and delete topics.
 *
 * Both creation and deletion can be cut at any point, by a crash or an outage: the state in
 * topic{T} tells, and calling it again completes it.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "queue/admin.h"
#include "queue/calls.h"

/* One topic while it is worked on.  `topic` is what is stored, unless the functions say more. */
struct work {
    struct hub *hub;
    struct topic topic;
    enum store_topic_state state;
    enum store_topic_step step;
    bool force;
    int32_t *opened; /* creation: slots that this call opened */
    int32_t opened_count;
    uint64_t messages; /* deletion: found in the slots that are not empty */
    bool found;        /* deletion: in the registry */
};

static smq_status work_fail(smq_error *err, const struct work *work, smq_status status,
                            const char *what, const char *text)
{
    return status_set(err, status, "cannot %s topic %s: %s", what, work->topic.name, text);
}

static smq_status run_one(struct work *work, void (*send)(struct store_call *, int32_t, void *),
                          enum calls_next (*done)(const struct store_result *, int32_t, void *,
                                                  smq_error *),
                          smq_error *err)
{
    return calls_run(
        work->hub, &(struct calls_job){.count = 1, .user = work, .send = send, .done = done}, err);
}

static smq_status run_slots(struct work *work, void (*send)(struct store_call *, int32_t, void *),
                            enum calls_next (*done)(const struct store_result *, int32_t, void *,
                                                    smq_error *),
                            smq_error *err)
{
    return calls_run(
        work->hub,
        &(struct calls_job){.count = work->topic.slots, .user = work, .send = send, .done = done},
        err);
}

/* --- steps in topic{T} and the registry --- */

static void step_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_topic_step(call, work->hub->redis, work->topic.name, work->step, work->topic.nonce, 0);
}

static enum calls_next step_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    const struct work *work = user;

    (void) index;
    if (result->outcome == STORE_OK) {
        return CALLS_DONE;
    }
    if (result->outcome == STORE_NO_TOPIC) {
        (void) status_set(err, SMQ_NO_TOPIC, "topic %s was deleted meanwhile", work->topic.name);
        return CALLS_STOP;
    }
    (void) work_fail(err, work, result->status, "change the state of", result->text);
    return CALLS_STOP;
}

static smq_status topic_step(struct work *work, enum store_topic_step step, smq_error *err)
{
    work->step = step;
    return run_one(work, step_send, step_done, err);
}

static void register_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_registry_add(call, work->hub->redis, work->topic.name, clock_wall_ms(), 0);
}

static void unregister_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_registry_remove(call, work->hub->redis, work->topic.name, 0);
}

static enum calls_next registry_done(const struct store_result *result, int32_t index, void *user,
                                     smq_error *err)
{
    struct work *work = user;

    (void) index;
    if (result->outcome != STORE_OK) {
        (void) work_fail(err, work, result->status, "write the registry for", result->text);
        return CALLS_STOP;
    }
    work->found = result->reply->type == REDIS_REPLY_INTEGER && result->reply->integer == 1;
    return CALLS_DONE;
}

/* --- slots: clear them --- */

static void seal_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_seal(call, work->hub->redis, &slot, work->force, 0);
}

static enum calls_next seal_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;
    uint64_t messages;

    (void) index;
    if (result->outcome == STORE_OK) {
        return CALLS_DONE;
    }
    if (result->status == SMQ_NOT_EMPTY && store_slot_seal_read(&messages, result)) {
        work->messages += messages;
        return CALLS_DONE;
    }
    (void) work_fail(err, work, result->status, "delete", result->text);
    return CALLS_STOP;
}

static void unseal_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_unseal(call, work->hub->redis, &slot, 0);
}

static enum calls_next unseal_done(const struct store_result *result, int32_t index, void *user,
                                   smq_error *err)
{
    (void) index;
    if (result->outcome == STORE_OK) {
        return CALLS_DONE;
    }
    (void) work_fail(err, user, result->status, "take back the deletion of", result->text);
    return CALLS_STOP;
}

static void clear_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_clear(call, work->hub->redis, &slot, 0);
}

static enum calls_next clear_done(const struct store_result *result, int32_t index, void *user,
                                  smq_error *err)
{
    bool more;

    (void) index;
    if (result->outcome != STORE_OK) {
        (void) work_fail(err, user, result->status, "delete", result->text);
        return CALLS_STOP;
    }
    if (!store_slot_clear_read(&more, result)) {
        (void) work_fail(err, user, SMQ_INTERNAL, "delete", "an answer cannot be read");
        return CALLS_STOP;
    }
    return more ? CALLS_AGAIN : CALLS_DONE;
}

/* --- create --- */

static void create_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_topic_create(call, work->hub->redis, &work->topic, 0);
}

static enum calls_next create_done(const struct store_result *result, int32_t index, void *user,
                                   smq_error *err)
{
    struct work *work = user;
    struct topic stored;

    (void) index;
    if (result->outcome != STORE_OK) {
        (void) work_fail(err, work, result->status, "create", result->text);
        return CALLS_STOP;
    }
    if (store_topic_create_read(&stored, &work->state, work->topic.name, result, err) != SMQ_OK) {
        return CALLS_STOP;
    }
    work->topic = stored;
    return CALLS_DONE;
}

static void open_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_slot_open(call, work->hub->redis, &slot, 0);
}

static enum calls_next open_done(const struct store_result *result, int32_t index, void *user,
                                 smq_error *err)
{
    struct work *work = user;
    char key[SLOT_KEY_MAX];

    if (result->outcome == STORE_OK) {
        work->opened[work->opened_count++] = index;
        return CALLS_DONE;
    }
    if (store_slot_open_read(key, result)) {
        (void) status_set(err, SMQ_INVALID,
                          "cannot create topic %s: the key %s holds something else; rename the "
                          "topic, or the key",
                          work->topic.name, key);
        return CALLS_STOP;
    }
    (void) work_fail(err, work, result->status, "create", result->text);
    return CALLS_STOP;
}

static void seal_opened_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    seal_send(call, work->opened[index], user);
}

/* A key of somebody else is in the way: what was opened is closed again, and the topic is gone. */
static void undo_create(struct work *work)
{
    struct calls_job job = {
        .count = work->opened_count, .user = work, .send = seal_opened_send, .done = seal_done};

    work->force = true;
    if (topic_step(work, STORE_STEP_DELETE, NULL) == SMQ_OK &&
        calls_run(work->hub, &job, NULL) == SMQ_OK) {
        (void) topic_step(work, STORE_STEP_REMOVED, NULL);
    }
}

/* Open the slots of a topic in state creating, and make it ready. */
static smq_status create_slots(struct work *work, smq_error *err)
{
    smq_error own;
    smq_status status;

    work->opened = memory_new((size_t) work->topic.slots * sizeof(*work->opened));
    status = run_slots(work, open_send, open_done, &own);
    if (status == SMQ_INVALID) {
        undo_create(work);
    }
    free(work->opened);
    if (status != SMQ_OK) {
        return status_copy(err, &own);
    }
    return topic_step(work, STORE_STEP_READY, err);
}

/* The stored definition must be the one asked for. */
static smq_status check_same(const struct work *work, const struct topic *asked, smq_error *err)
{
    char difference[160];

    if (work->state == STORE_TOPIC_DELETING) {
        return status_set(err, SMQ_TOPIC_DIFFERS,
                          "topic %s is being deleted; let that deletion end, or repeat it",
                          asked->name);
    }
    if (topic_difference(difference, sizeof(difference), &work->topic, asked)) {
        return status_set(err, SMQ_TOPIC_DIFFERS, "topic %s exists%s, but %s", asked->name,
                          work->state == STORE_TOPIC_CREATING ? " half created" : "", difference);
    }
    return SMQ_OK;
}

smq_status admin_topic_create(struct hub *hub, const smq_topic_options *options, smq_error *err)
{
    struct work work = {.hub = hub};
    struct topic asked;
    smq_status status = topic_from_options(&asked, options, err);

    if (status != SMQ_OK) {
        return status;
    }
    random_hex(asked.nonce, sizeof(asked.nonce));
    work.topic = asked;
    status = run_one(&work, create_send, create_done, err);
    if (status == SMQ_OK) {
        status = check_same(&work, &asked, err);
    }
    if (status == SMQ_OK && work.state == STORE_TOPIC_CREATING) {
        status = create_slots(&work, err);
    }
    definitions_forget(hub->definitions, asked.name);
    return status == SMQ_OK ? run_one(&work, register_send, registry_done, err) : status;
}

/* --- delete --- */

static void get_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;

    (void) index;
    store_topic_get(call, work->hub->redis, work->topic.name, 0);
}

static enum calls_next get_done(const struct store_result *result, int32_t index, void *user,
                                smq_error *err)
{
    struct work *work = user;
    struct topic stored;

    (void) index;
    if (result->outcome != STORE_OK) {
        (void) work_fail(err, work, result->status, "read", result->text);
        return CALLS_STOP;
    }
    if (store_topic_get_read(&stored, &work->state, work->topic.name, result, err) != SMQ_OK) {
        return CALLS_STOP;
    }
    work->topic = stored;
    return CALLS_DONE;
}

static void count_send(struct store_call *call, int32_t index, void *user)
{
    const struct work *work = user;
    struct store_slot slot;

    store_slot_fill(&slot, &work->topic, index);
    store_inspect(call, work->hub->redis, &slot, 0);
}

static enum calls_next count_done(const struct store_result *result, int32_t index, void *user,
                                  smq_error *err)
{
    struct work *work = user;
    struct store_look look;

    (void) index;
    if (result->outcome == STORE_OK && store_inspect_read(&look, result)) {
        work->messages += look.waiting + look.claimed + look.resting + look.dead;
        return CALLS_DONE;
    }
    if (result->outcome == STORE_NO_TOPIC || result->outcome == STORE_STALE) {
        return CALLS_DONE; /* not opened, or sealed by a deletion that was cut */
    }
    (void) work_fail(err, work, result->status != SMQ_OK ? result->status : SMQ_INTERNAL, "look at",
                     result->text);
    return CALLS_STOP;
}

static smq_status not_empty(smq_error *err, const struct work *work)
{
    return status_set(err, SMQ_NOT_EMPTY,
                      "topic %s still holds %" PRIu64 " messages; consume them, or delete it with "
                      "force",
                      work->topic.name, work->messages);
}

/* Before anything is changed. */
static smq_status check_empty(struct work *work, smq_error *err)
{
    smq_status status = work->force ? SMQ_OK : run_slots(work, count_send, count_done, err);

    return status == SMQ_OK && work->messages > 0 ? not_empty(err, work) : status;
}

/* Withdraw the definition from all slots, or from none. */
static smq_status seal_all(struct work *work, smq_error *err)
{
    smq_status status = run_slots(work, seal_send, seal_done, err);

    if (status != SMQ_OK || work->messages == 0) {
        return status;
    }
    status = run_slots(work, unseal_send, unseal_done, err);
    if (status == SMQ_OK) {
        status = topic_step(work, STORE_STEP_READY, err);
    }
    return status == SMQ_OK ? not_empty(err, work) : status;
}

static smq_status delete_stored(struct work *work, smq_error *err)
{
    smq_status status = check_empty(work, err);

    if (status == SMQ_OK) {
        status = topic_step(work, STORE_STEP_DELETE, err);
    }
    if (status == SMQ_OK) {
        status = seal_all(work, err);
    }
    if (status == SMQ_OK) {
        status = run_slots(work, clear_send, clear_done, err);
    }
    return status == SMQ_OK ? topic_step(work, STORE_STEP_REMOVED, err) : status;
}

/* What a cut deletion may have left is removed also when the topic itself is gone. */
static smq_status delete_registered(struct work *work, smq_status status, smq_error *err)
{
    smq_error own;

    if (run_one(work, unregister_send, registry_done, &own) != SMQ_OK) {
        return status_copy(err, &own);
    }
    return work->found ? SMQ_OK : status;
}

smq_status admin_topic_delete(struct hub *hub, const char *topic, bool force, smq_error *err)
{
    struct work work = {.hub = hub, .force = force};
    smq_status status = topic_check_name(topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    memcpy(work.topic.name, topic, strlen(topic) + 1);
    status = run_one(&work, get_send, get_done, err);
    if (status == SMQ_OK) {
        status = delete_stored(&work, err);
    }
    definitions_forget(hub->definitions, topic);
    if (status == SMQ_OK || status == SMQ_NO_TOPIC) {
        return delete_registered(&work, status, err);
    }
    return status;
}

/* --- describe --- */

/* Names of topics, as the registry gives them. */
struct names {
    struct hub *hub;
    char cursor[STORE_CURSOR_MAX];
    char **list;
    size_t count, size;
};

static void names_add(struct names *names, const char *name)
{
    if (topic_check_name(name, NULL) != SMQ_OK) {
        return; /* nothing that this library has written */
    }
    if (names->count == names->size) {
        names->size = names->size != 0 ? 2 * names->size : 64;
        names->list = memory_grow(names->list, names->size, sizeof(*names->list));
    }
    names->list[names->count++] = memory_string(name);
}

static void names_send(struct store_call *call, int32_t index, void *user)
{
    const struct names *names = user;

    (void) index;
    store_registry_list(call, names->hub->redis, names->cursor, 0);
}

static enum calls_next names_done(const struct store_result *result, int32_t index, void *user,
                                  smq_error *err)
{
    struct names *names = user;
    size_t count;

    (void) index;
    if (result->outcome != STORE_OK) {
        (void) status_set(err, result->status, "cannot list the topics: %s", result->text);
        return CALLS_STOP;
    }
    if (!store_registry_list_read(names->cursor, &count, result)) {
        (void) status_set(err, SMQ_INTERNAL, "the registry of topics, %s, cannot be read",
                          SLOT_REGISTRY_KEY);
        return CALLS_STOP;
    }
    for (size_t i = 0; i < count; i++) {
        names_add(names, store_registry_name(result, i));
    }
    return strcmp(names->cursor, "0") != 0 ? CALLS_AGAIN : CALLS_DONE;
}

static int names_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *) a, *(char *const *) b);
}

/* false: the visitor wants no more. */
static bool describe(const struct topic *topic, smq_topic_fn *visit, void *user)
{
    char backoff[BACKOFF_TEXT_MAX];
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    topic_to_options(&options, backoff, topic);
    return visit(&options, user);
}

/* Topics that are being created or deleted are passed over; one that cannot be read fails the
 * visit, after the others were visited. */
static smq_status visit_names(struct names *names, smq_topic_fn *visit, void *user, smq_error *err)
{
    smq_error broken = {.status = SMQ_OK};
    struct topic topic;
    bool more = true;

    for (size_t i = 0; i < names->count && more; i++) {
        smq_error own;
        smq_status status;

        if (i > 0 && strcmp(names->list[i], names->list[i - 1]) == 0) {
            continue;
        }
        status = calls_definition(&topic, names->hub, names->list[i], &own);
        if (status == SMQ_OK) {
            more = describe(&topic, visit, user);
        } else if (status != SMQ_NO_TOPIC && status != SMQ_INTERNAL) {
            return status_copy(err, &own);
        } else if (status == SMQ_INTERNAL && broken.status == SMQ_OK) {
            broken = own;
        }
    }
    return broken.status == SMQ_OK ? SMQ_OK : status_copy(err, &broken);
}

static smq_status visit_all(struct hub *hub, smq_topic_fn *visit, void *user, smq_error *err)
{
    struct names names = {.hub = hub, .cursor = "0"};
    smq_status status = calls_run(
        hub,
        &(struct calls_job){.count = 1, .user = &names, .send = names_send, .done = names_done},
        err);

    if (status == SMQ_OK && names.count > 0) {
        qsort(names.list, names.count, sizeof(*names.list), names_compare);
        status = visit_names(&names, visit, user, err);
    }
    for (size_t i = 0; i < names.count; i++) {
        free(names.list[i]);
    }
    free(names.list);
    return status;
}

smq_status admin_topic_each(struct hub *hub, const char *topic, smq_topic_fn *visit, void *user,
                            smq_error *err)
{
    struct topic stored;
    smq_status status;

    if (topic == NULL) {
        return visit_all(hub, visit, user, err);
    }
    status = topic_check_name(topic, err);
    if (status == SMQ_OK) {
        status = calls_definition(&stored, hub, topic, err);
    }
    if (status == SMQ_OK) {
        (void) describe(&stored, visit, user);
    }
    return status;
}
