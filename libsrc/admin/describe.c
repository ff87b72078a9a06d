/* describe.c - topics and their definitions.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/fanout.h"
#include "base/memory.h"
#include "base/status.h"

/* Names of topics, as the registry gives them. */
struct names {
    struct core *core;
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
    store_registry_list(call, names->core->redis, names->cursor, 0);
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
static bool describe(const struct topic *topic, bool damaged, smq_topic_fn *visit, void *user)
{
    char backoff[BACKOFF_TEXT_MAX];
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    topic_to_options(&options, backoff, topic);
    options.damaged = damaged;
    return visit(&options, user);
}

static bool describe_unreadable(const char *name, const char *why, smq_topic_fn *visit, void *user)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;

    options.name = name;
    options.unreadable = why;
    return visit(&options, user);
}

/* Does the fault lie in what is stored for this one topic? */
static bool is_unreadable(smq_status status)
{
    return status == SMQ_INTERNAL || status == SMQ_TOPIC_DIFFERS || status == SMQ_INVALID;
}

/* Topics that are being created or deleted are passed over. */
static smq_status visit_names(struct names *names, smq_topic_fn *visit, void *user, smq_error *err)
{
    struct topic topic;
    bool more = true;

    for (size_t i = 0; i < names->count && more; i++) {
        smq_error own;
        smq_status status;

        if (i > 0 && strcmp(names->list[i], names->list[i - 1]) == 0) {
            continue;
        }
        status = calls_definition(&topic, names->core, names->list[i], &own);
        if (status == SMQ_OK || status == SMQ_DAMAGED) {
            more = describe(&topic, status == SMQ_DAMAGED, visit, user);
        } else if (is_unreadable(status)) {
            more = describe_unreadable(names->list[i], own.text, visit, user);
        } else if (status != SMQ_NO_TOPIC) {
            return status_copy(err, &own);
        }
    }
    return SMQ_OK;
}

static smq_status visit_all(struct core *core, smq_topic_fn *visit, void *user, smq_error *err)
{
    struct names names = {.core = core, .cursor = "0"};
    smq_status status = calls_run(
        core,
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

smq_status admin_topic_each(struct core *core, const char *topic, smq_topic_fn *visit, void *user,
                            smq_error *err)
{
    struct topic stored;
    smq_status status;

    if (topic == NULL) {
        return visit_all(core, visit, user, err);
    }
    status = topic_check_name(topic, err);
    if (status == SMQ_OK) {
        status = calls_definition(&stored, core, topic, err);
    }
    if (status == SMQ_OK || status == SMQ_DAMAGED) {
        (void) describe(&stored, status == SMQ_DAMAGED, visit, user);
        return SMQ_OK;
    }
    return status;
}
