/* zookeeper.c - the kind zookeeper: one member of a fleet, put together from its parts.
 *
 * Thread: smq:coord, except coord_zookeeper_new(). */
#include "coord/zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/status.h"

/* Whoever mistyped an address hears of it within 10 s, whatever the session time-out. */
enum { FIRST_ANSWER_MAX_MS = 8000 };

struct zookeeper_timings zookeeper_timings = {.join = 150,
                                              .cold = 3000,
                                              .ack = 10,
                                              .leave = 5000,
                                              .revoke_extra = 10000,
                                              .retry = 200,
                                              .idle = 60000,
                                              .hidden = 5000,
                                              .marks = 5000,
                                              .strangers = 15000,
                                              .remind = 60000};

void zookeeper_answered(struct zookeeper *zookeeper, smq_status status, const char *text)
{
    if (zookeeper->waiter != NULL) {
        zookeeper->first_status = status;
        zookeeper->first_text = text;
        waiter_done(zookeeper->waiter);
        zookeeper->waiter = NULL;
    }
}

static void zookeeper_on_connected(void *user)
{
    struct zookeeper *zookeeper = user;

    events_emit(zookeeper->coord->options.events, SMQ_EVENT_CONNECTED, NULL,
                "connected to ZooKeeper at %s", zookeeper->hosts);
    member_connected(zookeeper);
}

static void zookeeper_on_disconnected(void *user)
{
    struct zookeeper *zookeeper = user;
    bool stop = zookeeper->coord->options.on_zk_loss == SMQ_ZK_LOSS_STOP;

    events_emit(zookeeper->coord->options.events, SMQ_EVENT_DISCONNECTED, NULL,
                "no connection to ZooKeeper at %s: %s", zookeeper->hosts,
                stop ? "nothing is claimed or begun when the lease of this member is over"
                     : "going on with the slots owned");
}

static void zookeeper_on_expired(void *user)
{
    struct zookeeper *zookeeper = user;

    zookeeper->lease_until = 0;
    coord_call_leased(zookeeper->coord, 0, 0);
    events_emit(zookeeper->coord->options.events, SMQ_EVENT_SESSION_LOST, NULL,
                "the session with ZooKeeper has ended: all slots are lost, joining again");
    assigner_end(zookeeper);
    root_expired(zookeeper);
    election_expired(zookeeper);
    member_expired(zookeeper);
    ownership_expired(zookeeper);
}

static void zookeeper_on_refused(void *user)
{
    struct zookeeper *zookeeper = user;

    events_log(zookeeper->coord->options.events, SMQ_LEVEL_ERROR,
               "ZooKeeper at %s serves others, but has refused the session of this member for "
               "longer than its time-out: it lost its data, or an older copy of it was restored; "
               "a new session begins",
               zookeeper->hosts);
}

static void zookeeper_on_denied(void *user)
{
    struct zookeeper *zookeeper = user;

    member_refuse(zookeeper, SMQ_DENIED, "ZooKeeper refused the credentials");
}

static void zookeeper_on_changed(void *user, const char *path)
{
    struct zookeeper *zookeeper = user;
    struct ownership *topic = NULL;

    if (*path == '\0') {
        root_changed(zookeeper);
        return;
    }
    if (strcmp(path, "leader") == 0) {
        election_again(zookeeper);
        return;
    }
    if (strcmp(path, zookeeper->member.path) == 0) {
        member_node_changed(zookeeper);
    }
    LIST_FOREACH(topic, &zookeeper->topics, link)
    {
        bool node = strcmp(path, topic->path) == 0;

        topic->known = topic->known && !node;
        if (node || strcmp(path, topic->assignment_path) == 0) {
            ownership_read(topic);
        }
    }
    assigner_wake(zookeeper);
}

static void zookeeper_start(struct loop_task *task)
{
    struct zookeeper *zookeeper =
        (struct zookeeper *) ((char *) task - offsetof(struct zookeeper, start));
    const struct coord_options *options = &zookeeper->coord->options;
    struct zk_session_options session = {.loop = zookeeper->coord->loop,
                                         .servers = zookeeper->hosts,
                                         .root = zookeeper->root.path,
                                         .auth = options->auth,
                                         .timeout_ms = options->session_timeout_ms,
                                         .connected = zookeeper_on_connected,
                                         .disconnected = zookeeper_on_disconnected,
                                         .expired = zookeeper_on_expired,
                                         .refused = zookeeper_on_refused,
                                         .denied = zookeeper_on_denied,
                                         .changed = zookeeper_on_changed,
                                         .user = zookeeper};

    member_init(zookeeper);
    election_init(zookeeper);
    assigner_init(zookeeper);
    zk_session_start(&zookeeper->session, &session);
}

static void zookeeper_run(struct coord *coord, const struct coord_command *command)
{
    struct zookeeper *zookeeper = coord->self;
    struct ownership *topic = NULL;

    if (command->kind == COORD_MARKED) {
        member_marked(zookeeper, &command->marks);
        return;
    }
    topic = ownership_find(zookeeper, command->topic.name);
    if (command->kind == COORD_JOIN && topic == NULL) {
        ownership_join(zookeeper, &command->topic);
        return;
    }
    if (topic == NULL) {
        return;
    }
    switch (command->kind) {
    case COORD_LEAVE:
        ownership_leave(topic);
        break;
    case COORD_ACQUIRED:
    case COORD_REFUSED:
    case COORD_RELEASED:
        ownership_answer(topic, command);
        break;
    case COORD_CHECKED:
        ownership_checked(topic, command->status, command->text);
        break;
    case COORD_RAISED:
        ownership_raise(topic, command->topic.generation);
        break;
    case COORD_JOIN:
    case COORD_MARKED:
    case COORD_REPLIED:
        break;
    }
}

void zookeeper_binding(struct zookeeper *zookeeper, char out[COORD_BINDING_MAX])
{
    pthread_mutex_lock(&zookeeper->root.lock);
    (void) snprintf(out, COORD_BINDING_MAX, "zookeeper:%s %s", zookeeper->root.path,
                    zookeeper->root.info.identity);
    pthread_mutex_unlock(&zookeeper->root.lock);
}

static void zookeeper_write_binding(struct coord *coord, char out[COORD_BINDING_MAX])
{
    zookeeper_binding(coord->self, out);
}

static void zookeeper_stop(struct coord *coord)
{
    struct zookeeper *zookeeper = coord->self;

    zk_session_stop(&zookeeper->session);
    assigner_stop(zookeeper);
    election_stop(zookeeper);
    member_stop(zookeeper);
    ownership_stop(zookeeper);
}

static void zookeeper_free(struct coord *coord)
{
    struct zookeeper *zookeeper = coord->self;

    assigner_fini(zookeeper);
    member_fini(zookeeper);
    pthread_mutex_destroy(&zookeeper->root.lock);
    free(zookeeper->hosts);
    free(zookeeper);
}

static const struct coord_kind zookeeper_kind = {.run = zookeeper_run,
                                                 .binding = zookeeper_write_binding,
                                                 .stop = zookeeper_stop,
                                                 .free = zookeeper_free};

/* A name becomes a node of ZooKeeper and a word of a line. */
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
                            "no ZooKeeper at %s answered within %.1f s: is it running, and can it "
                            "be reached from here?",
                            zookeeper->hosts, (double) timeout_ms / 1000);
    } else if (zookeeper->first_status != SMQ_OK) {
        status = status_set(err, zookeeper->first_status, "ZooKeeper at %s: %s", zookeeper->hosts,
                            zookeeper->first_text);
    }
    if (status != SMQ_OK) {
        coord_free(coord);
    }
    waiter_fini(&waiter);
    return status;
}

smq_status coord_zookeeper_new(struct coord **out, const struct coord_options *options,
                               smq_error *err)
{
    struct zookeeper *zookeeper = NULL;
    struct coord *coord = NULL;
    char root[ZK_ROOT_MAX];
    smq_status status = coord_check_servers(root, sizeof(root), options->servers, err);

    if (status == SMQ_OK) {
        status = zookeeper_check_name(options->name, err);
    }
    if (status == SMQ_OK) {
        status = coord_new(&coord, &zookeeper_kind, options, err);
    }
    if (status != SMQ_OK) {
        return status;
    }
    zookeeper = memory_new(sizeof(*zookeeper));
    zookeeper->coord = coord;
    zookeeper->timings = zookeeper_timings;
    memcpy(zookeeper->root.path, root, sizeof(root));
    pthread_mutex_init(&zookeeper->root.lock, NULL);
    zookeeper->hosts = coord_servers_hosts(options->servers);
    zookeeper->start.run = zookeeper_start;
    LIST_INIT(&zookeeper->topics);
    LIST_INIT(&zookeeper->departed);
    coord->self = zookeeper;
    status = zookeeper_await(coord, err);
    if (status == SMQ_OK) {
        *out = coord;
    }
    return status;
}
