/* describe.c - reading topics and their definitions.
 *
 * The names come from the registry.  If that says that names were missing, or has none at all,
 * Redis may have lost it: then the keys of all masters are looked at, too.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/fanout.h"
#include "admin/scan.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "store/topic.h"

enum { READ_AT_ONCE = 256 };

struct name {
    char *text; /* owned */
    bool listed;
    int32_t slots; /* not listed: how many seem to have keys */
};

/* Names of topics, from the registry and from keys. */
struct names {
    struct core *core;
    char cursor[STORE_CURSOR_MAX];
    struct name *list;
    size_t count, size;
    bool lost; /* the registry says that names were missing */
    bool all;  /* all keys were looked at */
};

static void describe_names_add(struct names *names, const char *name, bool listed)
{
    if (topic_check_name(name, NULL) != SMQ_OK) {
        return; /* this library has not written it */
    }
    if (names->count == names->size) {
        names->size = names->size != 0 ? 2 * names->size : 64;
        names->list = memory_grow(names->list, names->size, sizeof(*names->list));
    }
    names->list[names->count++] = (struct name){.text = memory_string(name), .listed = listed};
}

static void describe_names_send(struct store_call *call, void *user)
{
    const struct names *names = user;

    store_registry_list(call, names->core->redis, names->cursor, 0);
}

static enum fanout_next describe_names_done(const struct store_result *result, void *user,
                                            smq_error *err)
{
    struct names *names = user;
    size_t count;

    if (result->outcome != STORE_OK) {
        (void) status_set(err, result->status, "cannot list the topics: %s", result->text);
        return FANOUT_STOP;
    }
    if (!store_registry_list_read(names->cursor, &count, result)) {
        (void) status_set(err, SMQ_INTERNAL, "the registry of topics, %s, cannot be read",
                          SLOT_REGISTRY_KEY);
        return FANOUT_STOP;
    }
    for (size_t i = 0; i < count; i++) {
        names->lost = names->lost || store_registry_is_lost(result, i);
        describe_names_add(names, store_registry_name(result, i), true);
    }
    return strcmp(names->cursor, "0") != 0 ? FANOUT_AGAIN : FANOUT_DONE;
}

static int describe_names_compare(const void *a, const void *b)
{
    return strcmp(((const struct name *) a)->text, ((const struct name *) b)->text);
}

/* Add what has keys and is not in the registry. */
static void describe_names_add_scanned(struct names *names, struct scan *scan)
{
    struct scan_name *name, *next;

    for (size_t i = 0; i < names->count; i++) {
        HASH_FIND_STR(scan->names, names->list[i].text, name);
        if (name != NULL) {
            HASH_DEL(scan->names, name);
            free(name);
        }
    }
    HASH_ITER(hh, scan->names, name, next)
    {
        describe_names_add(names, name->name, false);
        names->list[names->count - 1].slots = name->slots;
    }
}

/* All names, sorted.  With `all` every key is looked at; otherwise only when the registry may have
 * lost names, only for a while, and as far as the user may. */
static smq_status describe_names_read(struct names *names, bool all, smq_error *err)
{
    struct scan scan;
    smq_error own;
    smq_status status =
        fanout_one(names->core, describe_names_send, describe_names_done, names, err);

    if (status == SMQ_OK && (all || names->lost || names->count == 0)) {
        status = scan_masters(&scan, names->core, all ? SCAN_KEYS_ALL : SCAN_KEYS_FEW, &own);
        status = all && status != SMQ_OK ? status_copy(err, &own) : SMQ_OK;
        describe_names_add_scanned(names, &scan);
        scan_free(&scan);
    }
    if (names->count > 0) {
        qsort(names->list, names->count, sizeof(*names->list), describe_names_compare);
    }
    return status;
}

static void describe_names_free(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->list[i].text);
    }
    free(names->list);
}

/* A description; `info` and `options` point into it. */
struct description {
    smq_topic_info info; /* first, because smq_topic_info_free() gets its address */
    smq_topic_options options;
    char backoff[BACKOFF_TEXT_MAX];
    struct topic topic;
    const smq_error *why; /* damaged: how reading the definition has failed */
};

static void describe_fill(struct description *out, const struct topic *topic, bool damaged,
                          bool unlisted)
{
    out->topic = *topic;
    topic_to_options(&out->options, out->backoff, &out->topic);
    out->info = (smq_topic_info){.struct_size = sizeof(out->info),
                                 .name = out->topic.name,
                                 .options = &out->options,
                                 .paused = topic->paused,
                                 .damaged = damaged,
                                 .unlisted = unlisted};
}

const struct topic *admin_topic_of(const smq_topic_info *info, const smq_error **why)
{
    const struct description *description = OWNER_OF(info, const struct description, info);

    *why = description->why;
    return &description->topic;
}

/* Returns false if the visitor ended the visit. */
static bool describe_topic(const struct topic *topic, const smq_error *why, bool unlisted,
                           smq_topic_fn *visit, void *user)
{
    struct description description;

    describe_fill(&description, topic, why->status == SMQ_DAMAGED, unlisted);
    description.why = why;
    return visit(&description.info, user);
}

static bool describe_unreadable(const char *name, const smq_error *why, smq_topic_fn *visit,
                                void *user)
{
    const smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = name);

    return visit(&(smq_topic_info){.struct_size = sizeof(smq_topic_info),
                                   .name = name,
                                   .options = &options,
                                   .unreadable = why->text,
                                   .unreadable_status = why->status},
                 user);
}

/* --- what is left of deleted topics --- */

struct deleted {
    struct core *core;
    const char *name;
    bool missing; /* topic{T} only remembers an earlier creation */
};

static void describe_deleted_send(struct store_call *call, void *user)
{
    const struct deleted *deleted = user;

    store_topic_get(call, deleted->core->redis, deleted->name, 0);
}

static enum fanout_next describe_deleted_done(const struct store_result *result, void *user,
                                              smq_error *err)
{
    struct deleted *deleted = user;
    enum store_topic_state state = STORE_TOPIC_READY;
    struct topic topic = {.generation = 0};

    (void) err;
    deleted->missing =
        result->outcome == STORE_OK &&
        store_topic_get_read(&topic, &state, deleted->name, result, NULL) == SMQ_NO_TOPIC &&
        state == STORE_TOPIC_MISSING && topic.generation > 0;
    return FANOUT_DONE;
}

/* No slot of it belongs to a topic.  Show it, unless it is being created or deleted, or the keys
 * are those of another program. */
static bool describe_deleted(const struct names *names, const struct name *name,
                             smq_topic_fn *visit, void *user)
{
    struct deleted deleted = {.core = names->core, .name = name->text};
    const smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = name->text, .slots = name->slots);

    (void) fanout_one(names->core, describe_deleted_send, describe_deleted_done, &deleted, NULL);
    if (!deleted.missing) {
        return true;
    }
    return visit(&(smq_topic_info){.struct_size = sizeof(smq_topic_info),
                                   .name = name->text,
                                   .options = &options,
                                   .deleted = true},
                 user);
}

/* Is the cause specific to this topic: its stored definition, or the node that holds it? */
static bool describe_is_unreadable(smq_status status)
{
    switch (status) {
    case SMQ_INTERNAL:
    case SMQ_TOPIC_DIFFERS:
    case SMQ_INVALID:
    case SMQ_DENIED:
    case SMQ_BAD_SERVER:
    case SMQ_UNAVAILABLE:
    case SMQ_TIMED_OUT:
    case SMQ_UNKNOWN:
        return true;
    default:
        return false;
    }
}

/* Show the topics that were read, except those that are being created or deleted, and those whose
 * groups are shown.  A key that merely looks like that of a topic is none.  *more: the visit
 * continues. */
static smq_status describe_read(const struct fanout_definition *read, const struct names *all,
                                const struct name *names, size_t count, bool *more,
                                smq_topic_fn *visit, void *user, smq_error *err)
{
    for (size_t i = 0; i < count && *more; i++) {
        const smq_error *own = &read[i].err;
        bool whole = own->status == SMQ_OK && read[i].topic.groups[0] != '\0';

        if ((own->status == SMQ_OK || own->status == SMQ_DAMAGED) && !whole) {
            *more = describe_topic(&read[i].topic, own, !names[i].listed, visit, user);
        } else if (all->all && !names[i].listed && own->status == SMQ_NO_TOPIC) {
            *more = describe_deleted(all, &names[i], visit, user);
        } else if (whole || !names[i].listed) {
            continue;
        } else if (describe_is_unreadable(own->status)) {
            *more = describe_unreadable(read[i].name, own, visit, user);
        } else if (own->status != SMQ_NO_TOPIC) {
            return status_copy(err, own);
        }
    }
    return SMQ_OK;
}

/* Reads many topics at once, so all topics of a node that does not reply cost one time-out
 * together. */
static smq_status describe_names(const struct names *names, smq_topic_fn *visit, void *user,
                                 smq_error *err)
{
    struct fanout_definition *read = memory_new(READ_AT_ONCE * sizeof(*read));
    smq_status status = SMQ_OK;
    bool more = true;

    for (size_t i = 0; i < names->count && more && status == SMQ_OK;) {
        struct name batch[READ_AT_ONCE];
        size_t count = 0;

        for (; i < names->count && count < READ_AT_ONCE; i++) {
            if (i == 0 || strcmp(names->list[i].text, names->list[i - 1].text) != 0) {
                batch[count] = names->list[i];
                read[count++].name = names->list[i].text;
            }
        }
        fanout_definitions(read, count, names->core);
        status = describe_read(read, names, batch, count, &more, visit, user, err);
    }
    free(read);
    return status;
}

smq_status admin_topic_each(struct core *core, bool search, smq_topic_fn *visit, void *user,
                            smq_error *err)
{
    struct names names = {.core = core, .cursor = "0", .all = search};
    smq_error own;
    smq_status looked = describe_names_read(&names, search, &own);
    smq_status status = describe_names(&names, visit, user, err);

    describe_names_free(&names);
    return status == SMQ_OK && looked != SMQ_OK ? status_copy(err, &own) : status;
}

smq_status admin_topic_get(smq_topic_info **out, struct core *core, const char *topic,
                           smq_error *err)
{
    struct description *description;
    struct topic stored;
    smq_status status = fanout_topic(&stored, core, topic, err);

    if (status != SMQ_OK && status != SMQ_DAMAGED) {
        return status;
    }
    if (out != NULL) {
        description = memory_new(sizeof(*description));
        describe_fill(description, &stored, status == SMQ_DAMAGED, false);
        *out = &description->info;
    }
    return SMQ_OK;
}

void admin_topic_info_free(smq_topic_info *info)
{
    free(info);
}
