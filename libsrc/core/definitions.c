/* definitions.c - the definitions of topics that this process has read.
 *
 * Thread: smq:io, except definitions_forget(). */
#include "core/definitions.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "store/slot.h"
#include "store/topic.h"

/* If topic{T} is missing this many slots are asked whether they belong to a topic.  In a cluster of
 * two or more masters it is unlikely that all of them were lost together with topic{T}. */
enum { SLOTS_ASKED = 16 };

/* A callback that waits for a read. */
struct definition_wait {
    STAILQ_ENTRY(definition_wait) link;
    definitions_fn *done;
    void *user;
};
STAILQ_HEAD(definition_waits, definition_wait);

/* Invariant: `known` or `reading` is set, or the definition is about to be dropped.  While a read
 * is in progress only smq:io may drop it. */
struct definition {
    /* immutable */
    struct definitions *all;
    char name[TOPIC_NAME_MAX + 1];

    /* guarded by the lock of `all` */
    UT_hash_handle hh;
    bool known;    /* topic is valid */
    bool reading;  /* a read is in progress */
    bool outdated; /* the read in progress may return an old one: read again */
    struct topic topic;

    /* smq:io */
    struct definition_waits waits;
    struct store_call call;
    int32_t asked; /* the slot that is being asked; -1: topic{T}; SLOTS_ASKED: topic{T} of a group's
                      topic */
};

struct definitions {
    /* immutable after definitions_new() */
    struct redis *redis;
    int64_t request_timeout_ms;

    /* guarded by lock */
    pthread_mutex_t lock;
    struct definition *table;
};

static void definitions_on_answer(struct store_call *call, const struct store_result *result);

struct definitions *definitions_new(struct redis *redis, int64_t request_timeout_ms)
{
    struct definitions *definitions = memory_new(sizeof(*definitions));

    definitions->redis = redis;
    definitions->request_timeout_ms = request_timeout_ms;
    pthread_mutex_init(&definitions->lock, NULL);
    return definitions;
}

/* The lock is held.  Remove the definition from the table and free it. */
static void definition_drop(struct definition *definition)
{
    HASH_DEL(definition->all->table, definition);
    store_call_fini(&definition->call);
    free(definition);
}

void definitions_free(struct definitions *definitions)
{
    struct definition *definition, *next;

    if (definitions == NULL) {
        return;
    }
    HASH_ITER(hh, definitions->table, definition, next)
    {
        definition_drop(definition);
    }
    pthread_mutex_destroy(&definitions->lock);
    free(definitions);
}

/* The lock is held. */
static struct definition *definition_find(struct definitions *definitions, const char *topic)
{
    struct definition *definition;

    HASH_FIND_STR(definitions->table, topic, definition);
    return definition;
}

/* The lock is held. */
static struct definition *definition_add(struct definitions *definitions, const char *topic)
{
    struct definition *definition = memory_new(sizeof(*definition));

    definition->all = definitions;
    snprintf(definition->name, sizeof(definition->name), "%s", topic);
    STAILQ_INIT(&definition->waits);
    store_call_init(&definition->call, definitions_on_answer, definition);
    HASH_ADD_STR(definitions->table, name, definition);
    return definition;
}

static void definition_read_topic(struct definition *definition, const char *name, int32_t asked)
{
    definition->asked = asked;
    store_topic_get(&definition->call, definition->all->redis, name,
                    definition->all->request_timeout_ms);
}

static void definition_read(struct definition *definition)
{
    definition_read_topic(definition, definition->name, -1);
}

/* There is no such group.  Read the topic, to name those that there are. */
static void definition_read_whole(struct definition *definition)
{
    char name[TOPIC_NAME_MAX + 1];

    (void) snprintf(name, sizeof(name), "%.*s", (int) group_topic_len(definition->name),
                    definition->name);
    definition_read_topic(definition, name, SLOTS_ASKED);
}

/* The result of a read, for those who wait for it. */
struct definition_answer {
    struct topic topic;
    smq_status status;
    smq_error err;
};

static void definitions_answer_read(struct definition_answer *out, enum store_topic_state *state,
                                    const char *name, const struct store_result *result)
{
    *state = STORE_TOPIC_READY;
    out->err.text[0] = '\0';
    if (result->outcome != STORE_OK) {
        out->status = store_topic_get_failed(name, result, &out->err);
        return;
    }
    out->status = store_topic_get_read(&out->topic, state, name, result, &out->err);
    if (out->status == SMQ_OK && *state != STORE_TOPIC_READY) {
        out->status = status_set(&out->err, SMQ_NO_TOPIC, "topic %s is being %s", name,
                                 *state == STORE_TOPIC_CREATING ? "created" : "deleted");
    }
}

/* Does the slot have keys of another program? */
static bool definitions_slot_is_foreign(const struct store_result *result)
{
    return result->outcome == STORE_REFUSED ||
           (result->outcome == STORE_PARTLY && result->status == SMQ_INVALID);
}

/* topic{T} is missing.  Does this slot belong to a topic?  NO_TOPIC: it does not. */
static void definitions_answer_read_slot(struct definition_answer *out, const char *name,
                                         const struct store_result *result)
{
    struct slot_notes notes;
    char key[SLOT_KEY_MAX];

    slot_topic_key(key, name);
    out->err.text[0] = '\0';
    if (result->outcome == STORE_OK && store_slot_notes_read(&notes, result)) {
        out->status = status_set(&out->err, SMQ_NO_TOPIC, "no topic %s; create it first", name);
        if (notes.open &&
            topic_parse(&out->topic, name, notes.text, notes.text_len, NULL) == SMQ_OK) {
            out->status = status_set(&out->err, SMQ_DAMAGED,
                                     "Redis has lost the definition of topic %s, %s, but its "
                                     "slots exist: run slotmq topic repair %s",
                                     name, key, name);
        }
    } else if (definitions_slot_is_foreign(result)) {
        out->status = status_set(&out->err, SMQ_NO_TOPIC, "no topic %s; create it first", name);
    } else {
        out->status = status_set(
            &out->err, result->outcome == STORE_OK ? SMQ_INTERNAL : result->status,
            "cannot read the slots of topic %s: %s", name,
            result->outcome == STORE_OK ? "the reply of a slot cannot be read" : result->text);
    }
}

/* There is no such group: say what the topic has. */
static void definitions_answer_read_whole(struct definition_answer *out, const char *name,
                                          const struct store_result *result)
{
    enum store_topic_state state;
    struct topic topic;
    char whole[TOPIC_NAME_MAX + 1], groups[SMQ_TEXT_SIZE / 2];

    (void) snprintf(whole, sizeof(whole), "%.*s", (int) group_topic_len(name), name);
    out->err.text[0] = '\0';
    if (result->outcome != STORE_OK) {
        out->status = store_topic_get_failed(whole, result, &out->err);
        return;
    }
    out->status = store_topic_get_read(&topic, &state, whole, result, &out->err);
    if (out->status != SMQ_OK) {
        return;
    }
    if (group_list_has(topic.groups, group_in(name))) {
        out->status = status_set(&out->err, SMQ_NO_TOPIC,
                                 "Redis has lost all of %s, a group of topic %s: create the topic "
                                 "again with its groups, and it is there, empty",
                                 name, whole);
        return;
    }
    if (topic.groups[0] == '\0') {
        out->status =
            status_set(&out->err, SMQ_NO_TOPIC, "topic %s has no groups: name it without %s", whole,
                       name + strlen(whole));
        return;
    }
    group_list_show(groups, sizeof(groups), whole, topic.groups);
    out->status = status_set(&out->err, SMQ_NO_TOPIC, "topic %s has no group %s; its groups are %s",
                             whole, group_in(name), groups);
}

static bool definitions_answer_has_topic(const struct definition_answer *answer)
{
    return answer->status == SMQ_OK || answer->status == SMQ_DAMAGED;
}

static void definitions_answer_give(const struct definition_answer *answer,
                                    struct definition_waits *waits)
{
    struct definition_wait *wait;

    while ((wait = STAILQ_FIRST(waits)) != NULL) {
        STAILQ_REMOVE_HEAD(waits, link);
        wait->done(definitions_answer_has_topic(answer) ? &answer->topic : NULL, answer->status,
                   answer->err.text, wait->user);
        free(wait);
    }
}

static void definition_ask_slot(struct definition *definition, int32_t slot)
{
    struct topic topic = {.slots = SLOTS_ASKED}; /* the keys depend on its name only */
    struct store_slot asked;

    snprintf(topic.name, sizeof(topic.name), "%s", definition->name);
    store_slot_fill(&asked, &topic, slot);
    definition->asked = slot;
    store_slot_read(&definition->call, definition->all->redis, &asked,
                    definition->all->request_timeout_ms);
}

/* The result of the read is the answer, unless it may be old. */
static void definition_end(struct definition *definition, const struct definition_answer *answer,
                           bool reached)
{
    struct definitions *definitions = definition->all;
    struct definition_waits waits = STAILQ_HEAD_INITIALIZER(waits);
    bool again;

    pthread_mutex_lock(&definitions->lock);
    again = definition->outdated && reached;
    definition->outdated = false;
    if (!again) {
        STAILQ_CONCAT(&waits, &definition->waits);
        definition->reading = false;
        definition->known = answer->status == SMQ_OK;
        if (definition->known) {
            definition->topic = answer->topic;
        } else {
            definition_drop(definition);
        }
    }
    pthread_mutex_unlock(&definitions->lock);
    if (again) {
        definition_read(definition);
        return;
    }
    definitions_answer_give(answer, &waits);
}

static void definitions_on_answer(struct store_call *call, const struct store_result *result)
{
    struct definition *definition = call->user;
    struct definition_answer answer;
    enum store_topic_state state = STORE_TOPIC_MISSING;
    int32_t next = definition->asked + 1;

    if (definition->asked < 0) {
        definitions_answer_read(&answer, &state, definition->name, result);
    } else if (definition->asked == SLOTS_ASKED) {
        definitions_answer_read_whole(&answer, definition->name, result);
    } else {
        definitions_answer_read_slot(&answer, definition->name, result);
    }
    if (answer.status == SMQ_NO_TOPIC && state == STORE_TOPIC_MISSING && next < SLOTS_ASKED) {
        definition_ask_slot(definition, next);
        return;
    }
    if (answer.status == SMQ_NO_TOPIC && state == STORE_TOPIC_MISSING && next == SLOTS_ASKED &&
        group_in(definition->name) != NULL) {
        definition_read_whole(definition);
        return;
    }
    definition_end(definition, &answer, result->outcome == STORE_OK);
}

static void definition_wait_add(struct definition *definition, definitions_fn *done, void *user)
{
    struct definition_wait *wait = memory_new(sizeof(*wait));

    wait->done = done;
    wait->user = user;
    STAILQ_INSERT_TAIL(&definition->waits, wait, link);
}

static bool definition_is(const struct definition *definition, const char *stale)
{
    char stamp[TOPIC_STAMP_MAX];

    if (definition == NULL || !definition->known || stale == NULL) {
        return definition != NULL && definition->known;
    }
    topic_stamp(stamp, &definition->topic);
    return strcmp(stamp, stale) != 0;
}

/* The lock is held.  Wait for the read in progress; true: there is none, and the caller must begin
 * one. */
static bool definition_join(struct definition *definition, definitions_fn *done, void *user)
{
    bool first = !definition->reading;

    definition_wait_add(definition, done, user);
    definition->reading = true;
    return first;
}

void definitions_get(struct definitions *definitions, const char *topic, const char *stale,
                     definitions_fn *done, void *user)
{
    struct definition *definition;
    struct topic copy;
    bool known, read = false;

    pthread_mutex_lock(&definitions->lock);
    definition = definition_find(definitions, topic);
    known = definition_is(definition, stale);
    if (known) {
        copy = definition->topic;
    } else {
        definition = definition != NULL ? definition : definition_add(definitions, topic);
        read = definition_join(definition, done, user);
    }
    pthread_mutex_unlock(&definitions->lock);
    if (known) {
        done(&copy, SMQ_OK, "", user);
    } else if (read) {
        definition_read(definition);
    }
}

void definitions_read(struct definitions *definitions, const char *topic, definitions_fn *done,
                      void *user)
{
    struct definition *definition;
    bool read;

    pthread_mutex_lock(&definitions->lock);
    definition = definition_find(definitions, topic);
    definition = definition != NULL ? definition : definition_add(definitions, topic);
    definition->outdated = definition->reading;
    read = definition_join(definition, done, user);
    pthread_mutex_unlock(&definitions->lock);
    if (read) {
        definition_read(definition);
    }
}

void definitions_forget(struct definitions *definitions, const char *topic)
{
    struct definition *definition;

    pthread_mutex_lock(&definitions->lock);
    definition = definition_find(definitions, topic);
    if (definition != NULL && definition->reading) {
        definition->known = false;
        definition->outdated = true;
    } else if (definition != NULL) {
        definition_drop(definition);
    }
    pthread_mutex_unlock(&definitions->lock);
}
