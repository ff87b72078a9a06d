/* server.c - the masters of a client are asked what they say of themselves.
 *
 * All are asked for INFO at once; then those that answered are asked for the rest.  A master that
 * does not answer is not asked again, so that all that are away cost one time-out together.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/fanout.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "base/waiter.h"
#include "store/server.h"

/* One master. */
struct server_look {
    int32_t hash_slot; /* one that it has */
    char address[REDIS_SERVER_MAX];
    struct server_facts facts;
    smq_error err;                             /* it did not answer */
    smq_error refused[STORE_SERVER_QUESTIONS]; /* why a question was not answered */
    int64_t asked_ms, offset_ms, error_ms;     /* TIME */
};

struct server_round {
    struct core *core;
    struct server_look *looks;
    size_t count;
    struct server_look **answered; /* those that answered INFO, or may have refused it */
    size_t answered_count;
};

/* --- which masters --- */

struct server_list {
    struct loop_task task;
    struct server_round *round;
    struct waiter waiter;
};

static void server_on_list(struct loop_task *task)
{
    struct server_list *list = OWNER_OF(task, struct server_list, task);
    struct server_round *round = list->round;
    const struct redis *redis = round->core->redis;
    int32_t *slots = memory_new(REDIS_MASTERS_MAX * sizeof(*slots));

    round->count = redis_masters(slots, redis);
    round->looks = memory_new((round->count + 1) * sizeof(*round->looks));
    for (size_t i = 0; i < round->count; i++) {
        round->looks[i].hash_slot = slots[i];
        round->looks[i].facts = server_facts_none;
        redis_server_of(round->looks[i].address, redis, slots[i]);
    }
    free(slots);
    waiter_done(&list->waiter);
}

static void server_list(struct server_round *round)
{
    struct server_list list = {.task.run = server_on_list, .round = round};

    waiter_init(&list.waiter, 1);
    loop_post(round->core->io, &list.task);
    (void) waiter_wait(&list.waiter, SMQ_FOREVER);
    waiter_fini(&list.waiter);
}

/* --- INFO --- */

static void server_info_send(struct store_call *call, int32_t index, void *user)
{
    const struct server_round *round = user;

    store_server(call, round->core->redis, round->looks[index].hash_slot, STORE_SERVER_INFO, 0);
}

static void server_refused(smq_error *why, const struct store_result *result)
{
    if (result->outcome == STORE_OK) {
        (void) status_set(why, SMQ_INTERNAL, "its answer cannot be read");
    } else {
        (void) status_set(why, result->status, "%s", result->text);
    }
}

static enum fanout_next server_info_done(const struct store_result *result, int32_t index,
                                         void *user, smq_error *err)
{
    struct server_round *round = user;
    struct server_look *look = &round->looks[index];

    (void) err;
    if (result->outcome != STORE_OK ||
        !store_server_read(&look->facts, STORE_SERVER_INFO, result)) {
        server_refused(&look->err, result);
    }
    return FANOUT_DONE;
}

/* --- the rest: TIME of all goes first, so that nothing is in front of it --- */

static const enum store_server_question server_rest[] = {STORE_SERVER_TIME, STORE_SERVER_CONFIG,
                                                         STORE_SERVER_CLUSTER, STORE_SERVER_NODES,
                                                         STORE_SERVER_WRITES};
enum { SERVER_REST = sizeof(server_rest) / sizeof(server_rest[0]) };

static void server_rest_send(struct store_call *call, int32_t index, void *user)
{
    const struct server_round *round = user;
    struct server_look *look = round->answered[(size_t) index % round->answered_count];
    enum store_server_question question = server_rest[(size_t) index / round->answered_count];

    if (question == STORE_SERVER_TIME) {
        look->asked_ms = clock_wall_ms();
    }
    store_server(call, round->core->redis, look->hash_slot, question, 0);
}

static bool server_take_time(struct server_look *look, const struct store_result *result)
{
    const int64_t now_ms = clock_wall_ms();
    const int64_t middle_ms = look->asked_ms + (now_ms - look->asked_ms) / 2;
    int64_t server_ms;

    if (!store_server_time_read(&server_ms, result)) {
        return false;
    }
    if (look->err.status != SMQ_OK) { /* so it is not away: it refuses INFO */
        look->refused[STORE_SERVER_INFO] = look->err;
        look->err = (smq_error) SMQ_ERROR_INIT;
    }
    look->offset_ms = server_ms - middle_ms;
    look->error_ms = (now_ms - look->asked_ms) / 2 + 1;
    return true;
}

static bool server_take(struct server_look *look, enum store_server_question question,
                        const struct store_result *result)
{
    return question == STORE_SERVER_TIME ? server_take_time(look, result)
                                         : store_server_read(&look->facts, question, result);
}

static enum fanout_next server_rest_done(const struct store_result *result, int32_t index,
                                         void *user, smq_error *err)
{
    struct server_round *round = user;
    struct server_look *look = round->answered[(size_t) index % round->answered_count];
    enum store_server_question question = server_rest[(size_t) index / round->answered_count];
    const bool good = result->outcome == STORE_OK &&
                      (question == STORE_SERVER_WRITES || server_take(look, question, result));

    (void) err;
    if (!good) {
        server_refused(&look->refused[question], result);
    }
    return FANOUT_DONE;
}

/* --- what is shown --- */

static const char *server_cluster_why(const struct server_look *look)
{
    const char *info = look->refused[STORE_SERVER_CLUSTER].text;

    if (!look->facts.cluster) {
        return "";
    }
    return info[0] != '\0' ? info : look->refused[STORE_SERVER_NODES].text;
}

static const char *server_version_why(const struct server_look *look)
{
    const char *refused = look->refused[STORE_SERVER_INFO].text;

    if (look->facts.version[0] != '\0') {
        return "";
    }
    return refused[0] != '\0' ? refused : "INFO does not say it";
}

/* Without the name of the server, which is shown beside it. */
static const char *server_writes_why(const struct server_look *look)
{
    const char *text = look->refused[STORE_SERVER_WRITES].text;
    const size_t len = strlen(look->address);

    return strncmp(text, look->address, len) == 0 && text[len] == ':' ? text + len + 2 : text;
}

static bool server_show(const struct server_look *look, smq_server_fn *visit, void *user)
{
    const struct server_facts *facts = &look->facts;
    const smq_server_info shown = {
        .struct_size = sizeof(shown),
        .kind = facts->valkey ? SMQ_SERVER_VALKEY : SMQ_SERVER_REDIS,
        .address = look->address,
        .status = look->err.status,
        .why = look->err.text,
        .version = facts->version,
        .version_why = server_version_why(look),
        .role = facts->role,
        .used_memory = facts->used_memory,
        .maxmemory = facts->maxmemory,
        .maxmemory_policy = facts->maxmemory_policy,
        .appendonly = facts->appendonly,
        .write_failed = facts->write_failed,
        .config_why = facts->configured ? "" : look->refused[STORE_SERVER_CONFIG].text,
        .appendfsync = facts->appendfsync,
        .save = facts->save,
        .replicas = facts->replicas,
        .replicas_known = facts->replicas_known,
        .lag_bytes = facts->lag_bytes,
        .cluster = facts->cluster,
        .cluster_why = server_cluster_why(look),
        .cluster_state = facts->cluster_state,
        .cluster_slots_ok = facts->cluster_slots_ok,
        .migrations = facts->migrations,
        .clock_why = look->refused[STORE_SERVER_TIME].text,
        .clock_offset_ms = look->offset_ms,
        .clock_error_ms = look->error_ms,
        .writes = look->refused[STORE_SERVER_WRITES].status,
        .writes_why = server_writes_why(look),
        .node_timeout_ms = facts->node_timeout_ms,
    };

    return visit(&shown, user);
}

/* INFO may have been renamed, or the user has no right to it. */
static bool server_may_answer(const struct server_look *look)
{
    const smq_status status = look->err.status;

    return status == SMQ_OK || status == SMQ_DENIED || status == SMQ_INTERNAL;
}

static void server_find_answered(struct server_round *round)
{
    round->answered = memory_new((round->count + 1) * sizeof(struct server_look *));
    for (size_t i = 0; i < round->count; i++) {
        if (server_may_answer(&round->looks[i])) {
            round->answered[round->answered_count++] = &round->looks[i];
        }
    }
}

static smq_status server_ask(struct server_round *round, smq_error *err)
{
    struct fanout *fanout = NULL;
    smq_status status;

    server_list(round);
    fanout = fanout_begin(round->core, (int32_t) round->count, server_info_send, server_info_done,
                          round, FANOUT_TELL);
    status = fanout_end(fanout, err);
    if (status != SMQ_OK) {
        return status;
    }
    server_find_answered(round);
    fanout = fanout_begin(round->core, (int32_t) (round->answered_count * SERVER_REST),
                          server_rest_send, server_rest_done, round, FANOUT_TELL);
    return fanout_end(fanout, err);
}

smq_status admin_server_each(struct core *core, smq_server_fn *visit, void *user, smq_error *err)
{
    struct server_round round = {.core = core};
    bool more = true;
    smq_status status = server_ask(&round, err);

    if (status != SMQ_OK) {
        goto out;
    }
    for (size_t i = 0; i < round.count && more; i++) {
        more = server_show(&round.looks[i], visit, user);
    }
out:
    free(round.answered);
    free(round.looks);
    return status;
}
