/* zookeeper.c - the kind zookeeper: one member of a fleet, assembled from its parts.
 *
 * Thread: smq:coord, except coord_fleet_new(). */
#include "coord/zookeeper.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "coord/no_slot.h"

/* A caller that mistyped an address gets an error within 10 s, whatever the session time-out is. */
enum { FIRST_ANSWER_MAX_MS = 8000 };

struct zookeeper_timings zookeeper_timings = {.join = 150,
                                              .cold = 3000,
                                              .quiet = 500,
                                              .ack = 10,
                                              .leave = 5000,
                                              .revoke_extra = 10000,
                                              .retry = 200,
                                              .idle = 60000,
                                              .hidden = 5000,
                                              .fingerprint = 5000,
                                              .mismatch = 15000,
                                              .remind = 60000,
                                              .missed = 5000,
                                              .hold = 5000,
                                              .hold_most = 300000,
                                              .forget = 600000};

/* The first reply, of any kind, ends coord_fleet_new(). */
static void zookeeper_answered(struct zookeeper *zookeeper, smq_status status, const char *text)
{
    if (zookeeper->waiter != NULL) {
        zookeeper->first_status = status;
        zookeeper->first_text = text;
        waiter_done(zookeeper->waiter);
        zookeeper->waiter = NULL;
    }
}

/* --- the session --- */

static void zookeeper_on_connected(void *user)
{
    struct zookeeper *zookeeper = user;

    events_emit(zookeeper->env.events, SMQ_EVENT_CONNECTED, NULL, "connected to %s%s",
                zookeeper->env.in_redis ? "the fleet in " : "", zookeeper->store.name);
    if (member_connected(&zookeeper->member)) {
        ownership_read_all(&zookeeper->topics);
        election_again(&zookeeper->election);
        assigner_wake(&zookeeper->assigner);
    }
}

static void zookeeper_on_disconnected(void *user)
{
    struct zookeeper *zookeeper = user;
    bool stop = zookeeper->coord->options.on_coordination_loss == SMQ_COORDINATION_LOSS_STOP;

    events_emit(zookeeper->env.events, SMQ_EVENT_DISCONNECTED, NULL, "no connection to %s%s: %s",
                zookeeper->env.in_redis ? "the fleet in " : "", zookeeper->store.name,
                !ownership_is_owner(&zookeeper->topics) ? "this process owns no slot"
                : stop ? "nothing is claimed or begun when the lease of this member has ended"
                       : "the owned slots are kept");
}

static void zookeeper_on_expired(void *user)
{
    struct zookeeper *zookeeper = user;

    member_end_lease(&zookeeper->member);
    events_emit(zookeeper->env.events, SMQ_EVENT_SESSION_LOST, NULL,
                "the session with %s has ended: all slots are lost, and this process joins again",
                zookeeper->store.kind);
    assigner_end(&zookeeper->assigner);
    root_expired(&zookeeper->root);
    election_expired(&zookeeper->election);
    member_expired(&zookeeper->member);
    ownership_expired(&zookeeper->topics);
}

static void zookeeper_on_session_refused(void *user)
{
    struct zookeeper *zookeeper = user;

    events_log(zookeeper->env.events, SMQ_LEVEL_WARN,
               "ZooKeeper at %s serves others, but has not accepted the session of this member for "
               "longer than its time-out: the member was cut off, or ZooKeeper lost its data; a "
               "new session begins",
               zookeeper->store.hosts);
}

static void zookeeper_on_denied(void *user, const char *text)
{
    struct zookeeper *zookeeper = user;

    member_refuse(&zookeeper->member, SMQ_DENIED, text);
}

static void zookeeper_on_changed(void *user, const char *path)
{
    struct zookeeper *zookeeper = user;

    if (*path == '\0') {
        root_look_again(&zookeeper->root);
        return;
    }
    if (strcmp(path, "leader") == 0) {
        election_again(&zookeeper->election);
        return;
    }
    member_node_changed(&zookeeper->member, path);
    ownership_changed(&zookeeper->topics, path);
    assigner_changed(&zookeeper->assigner, path);
}

/* --- the root --- */

static void zookeeper_on_root_entered(void *user)
{
    struct zookeeper *zookeeper = user;

    zookeeper_answered(zookeeper, SMQ_OK, "");
    member_ready(&zookeeper->member, ownership_is_asked(&zookeeper->topics));
}

static void zookeeper_on_root_later(void *user)
{
    struct zookeeper *zookeeper = user;

    member_later(&zookeeper->member);
}

static void zookeeper_on_root_refused(void *user, smq_status status, const char *text)
{
    struct zookeeper *zookeeper = user;

    member_refuse(&zookeeper->member, status, text);
}

static bool zookeeper_is_root_followed(void *user)
{
    const struct zookeeper *zookeeper = user;

    return member_follows_root(&zookeeper->member);
}

static void zookeeper_on_root_changed(void *user)
{
    struct zookeeper *zookeeper = user;

    ownership_ask_anew(&zookeeper->topics);
}

/* --- the member --- */

static void zookeeper_on_encode(void *user, struct buf *out)
{
    struct zookeeper *zookeeper = user;

    ownership_encode_all(&zookeeper->topics, out);
}

static void zookeeper_on_written(void *user)
{
    struct zookeeper *zookeeper = user;

    ownership_written(&zookeeper->topics);
}

static void zookeeper_on_entered(void *user)
{
    struct zookeeper *zookeeper = user;

    ownership_read_all(&zookeeper->topics);
    election_begin(&zookeeper->election);
}

/* Grants that came while the lease had ended were postponed. */
static void zookeeper_on_resumed(void *user)
{
    struct zookeeper *zookeeper = user;

    ownership_read_all(&zookeeper->topics);
}

static void zookeeper_on_leased(void *user, int64_t until_ms, int64_t lease_ms)
{
    struct zookeeper *zookeeper = user;

    coord_call_leased(zookeeper->coord, until_ms, lease_ms);
}

static void zookeeper_on_refused(void *user, smq_status status, const char *text)
{
    struct zookeeper *zookeeper = user;

    zookeeper_answered(zookeeper, status, text);
    ownership_fail_all(&zookeeper->topics, status, text);
}

/* --- the election and the assigner --- */

static void zookeeper_on_won(void *user, int64_t epoch)
{
    struct zookeeper *zookeeper = user;

    assigner_begin(&zookeeper->assigner, epoch);
}

static void zookeeper_on_over(void *user)
{
    struct zookeeper *zookeeper = user;

    assigner_end(&zookeeper->assigner);
}

static void zookeeper_on_superseded(void *user)
{
    struct zookeeper *zookeeper = user;

    election_resign(&zookeeper->election);
}

static void zookeeper_on_not_released(void *user, size_t slots)
{
    struct zookeeper *zookeeper = user;

    coord_call_not_released(zookeeper->coord, slots);
}

/* --- assembling it --- */

static void zookeeper_init_parts(struct zookeeper *zookeeper)
{
    const struct zookeeper_env *env = &zookeeper->env;
    struct session *session = zookeeper->session;
    const struct member_listener member = {.encode = zookeeper_on_encode,
                                           .written = zookeeper_on_written,
                                           .entered = zookeeper_on_entered,
                                           .resumed = zookeeper_on_resumed,
                                           .leased = zookeeper_on_leased,
                                           .refused = zookeeper_on_refused,
                                           .user = zookeeper};
    const struct election_listener election = {
        .won = zookeeper_on_won, .over = zookeeper_on_over, .user = zookeeper};
    const struct assigner_ports assigner = {.session = session,
                                            .root = &zookeeper->root,
                                            .superseded = zookeeper_on_superseded,
                                            .not_released = zookeeper_on_not_released,
                                            .user = zookeeper};

    member_init(&zookeeper->member, env, session, &zookeeper->root, &member);
    ownership_init(&zookeeper->topics, env, session, &zookeeper->root, &zookeeper->member,
                   zookeeper->coord, &ownership_node_calls);
    election_init(&zookeeper->election, env, session, &zookeeper->member, &election);
    assigner_init(&zookeeper->assigner, env, &assigner);
}

static void zookeeper_start(struct loop_task *task)
{
    struct zookeeper *zookeeper = OWNER_OF(task, struct zookeeper, start);
    const struct coord_options *options = &zookeeper->coord->options;
    const struct session_options session = {.loop = zookeeper->env.loop,
                                            .events = zookeeper->env.events,
                                            .root = zookeeper->store.root,
                                            .timeout_ms = options->session_timeout_ms,
                                            .connected = zookeeper_on_connected,
                                            .disconnected = zookeeper_on_disconnected,
                                            .expired = zookeeper_on_expired,
                                            .refused = zookeeper_on_session_refused,
                                            .denied = zookeeper_on_denied,
                                            .changed = zookeeper_on_changed,
                                            .user = zookeeper};

    zookeeper_init_parts(zookeeper);
    session_start(zookeeper->session, &session);
}

static void zookeeper_explain(struct zookeeper *zookeeper, struct ownership *topic)
{
    struct no_slot_facts facts = {0};

    facts.silent = !session_is_connected(zookeeper->session);
    facts.granting = zookeeper->assigner.active && zookeeper->assigner.busy;
    member_know(&zookeeper->member, &facts);
    ownership_know(topic, &facts);
    coord_call_explained(zookeeper->coord, topic->name, no_slot_reason(&facts));
}

static void zookeeper_run(struct coord *coord, const struct coord_command *command)
{
    struct zookeeper *zookeeper = coord->self;
    struct ownership *topic = NULL;

    if (command->kind == COORD_FINGERPRINT) {
        member_set_fingerprint(&zookeeper->member, &command->fingerprint);
        return;
    }
    if (command->kind == COORD_REACHABLE) {
        member_set_reachable(&zookeeper->member, command->reachable);
        return;
    }
    topic = ownership_find(&zookeeper->topics, command->topic.name);
    if (command->kind == COORD_JOIN && topic == NULL) {
        ownership_join(&zookeeper->topics, &command->topic);
        return;
    }
    if (topic == NULL) {
        return;
    }
    switch (command->kind) {
    case COORD_LEAVE:
        ownership_leave(topic);
        break;
    case COORD_ANSWERED:
        ownership_answer(topic, command);
        break;
    case COORD_CHECKED:
        ownership_checked(topic, command->status, command->text);
        break;
    case COORD_RAISED:
        ownership_raise(topic, command->topic.generation);
        break;
    case COORD_SURPASSED:
        ownership_surpassed(topic, command->token);
        break;
    case COORD_EXPLAIN:
        zookeeper_explain(zookeeper, topic);
        break;
    case COORD_JOIN:
    case COORD_FINGERPRINT:
    case COORD_REACHABLE:
        break;
    }
}

static void zookeeper_binding(struct coord *coord, char out[COORD_BINDING_MAX])
{
    struct zookeeper *zookeeper = coord->self;

    root_binding(&zookeeper->root, out);
}

static int64_t zookeeper_reign(struct coord *coord)
{
    const struct zookeeper *zookeeper = coord->self;

    return atomic_load(&zookeeper->session->reign);
}

static void zookeeper_stop(struct coord *coord)
{
    struct zookeeper *zookeeper = coord->self;

    session_stop(zookeeper->session);
    assigner_stop(&zookeeper->assigner);
    election_stop(&zookeeper->election);
    member_stop(&zookeeper->member);
    ownership_stop(&zookeeper->topics);
}

static void zookeeper_free(struct coord *coord)
{
    struct zookeeper *zookeeper = coord->self;

    assigner_fini(&zookeeper->assigner);
    member_fini(&zookeeper->member);
    root_fini(&zookeeper->root);
    coord_store_fini(&zookeeper->store);
    free(zookeeper);
}

static const struct coord_calls zookeeper_calls = {.run = zookeeper_run,
                                                   .binding = zookeeper_binding,
                                                   .reign = zookeeper_reign,
                                                   .stop = zookeeper_stop,
                                                   .free = zookeeper_free};

/* A name becomes a node in ZooKeeper, and a word of a line. */
static smq_status zookeeper_check_name(const char *name, smq_error *err)
{
    size_t len = strlen(name);

    for (size_t i = 0; i < len; i++) {
        if (name[i] <= ' ' || name[i] > '~' || name[i] == '/') {
            return status_set(err, SMQ_INVALID,
                              "the name of the member must be printable ASCII without ' ' and '/'");
        }
    }
    if (len == 0 || len > ASSIGNMENT_ID_MAX || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return status_set(err, SMQ_INVALID, "the name of the member must have 1 .. %d bytes",
                          ASSIGNMENT_ID_MAX);
    }
    return SMQ_OK;
}

static smq_status zookeeper_await(struct coord *coord, smq_error *err)
{
    struct zookeeper *zookeeper = coord->self;
    int64_t session_ms = coord->options.session_timeout_ms;
    int64_t timeout_ms = session_ms < FIRST_ANSWER_MAX_MS ? session_ms : FIRST_ANSWER_MAX_MS;
    struct waiter waiter;
    smq_status status = SMQ_OK;

    waiter_init(&waiter, 1);
    zookeeper->waiter = &waiter;
    loop_post(coord->loop, &zookeeper->start);
    if (!waiter_wait(&waiter, timeout_ms)) {
        status = status_set(err, SMQ_UNAVAILABLE,
                            "no %s answered within %.1f s: is it running, and can it be "
                            "reached from here?",
                            zookeeper->store.name, (double) timeout_ms / 1000);
    } else if (zookeeper->first_status != SMQ_OK) {
        status = status_set(err, zookeeper->first_status, "%s: %s", zookeeper->store.name,
                            zookeeper->first_text);
    }
    if (status != SMQ_OK) {
        coord_free(coord);
    }
    waiter_fini(&waiter);
    return status;
}

/* zookeeper_start() makes the parts that need smq:coord on that thread. */
static struct zookeeper *zookeeper_new(struct coord *coord, const struct coord_store *store)
{
    struct zookeeper *zookeeper = memory_new(sizeof(*zookeeper));
    const struct root_listener listener = {.entered = zookeeper_on_root_entered,
                                           .later = zookeeper_on_root_later,
                                           .refused = zookeeper_on_root_refused,
                                           .is_followed = zookeeper_is_root_followed,
                                           .changed = zookeeper_on_root_changed,
                                           .user = zookeeper};

    zookeeper->coord = coord;
    zookeeper->store = *store;
    zookeeper->session = store->session;
    zookeeper->env = (struct zookeeper_env){.loop = coord->loop,
                                            .events = coord->options.events,
                                            .name = coord->options.name,
                                            .store = zookeeper->store.name,
                                            .kind = zookeeper->store.kind,
                                            .in_redis = coord->options.port != NULL,
                                            .root = zookeeper->store.root,
                                            .timings = zookeeper_timings};
    root_init(&zookeeper->root, &zookeeper->env, zookeeper->session, &listener);
    zookeeper->start.run = zookeeper_start;
    return zookeeper;
}

smq_status coord_fleet_new(struct coord **out, const struct coord_options *options, smq_error *err)
{
    struct coord *coord = NULL;
    struct coord_store store;
    smq_status status = coord_store_init(&store, options, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = zookeeper_check_name(options->name, err);
    if (status == SMQ_OK) {
        status = coord_new(&coord, &zookeeper_calls, options, err);
    }
    if (status != SMQ_OK) {
        coord_store_fini(&store);
        return status;
    }
    coord->self = zookeeper_new(coord, &store);
    status = zookeeper_await(coord, err);
    if (status == SMQ_OK) {
        *out = coord;
    }
    return status;
}
