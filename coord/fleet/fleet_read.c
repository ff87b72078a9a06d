/* fleet_read.c - reading all nodes of a fleet in a short session.
 *
 * A node that may not be read, or is damaged, does not end the reading; this is noted in the tree.
 * If the connection is lost everything is read again.
 *
 * Thread: smq:coord of the short session, except fleet_read_tree() and coord_fleet_each(). */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "coord/coord.h"
#include "coord/fleet/fleet_read.h"
#include "coord/fleet/short_session.h"
#include "coord/node/topic_path.h"

enum { FLEET_READS_MAX = 64 };

enum fleet_read_kind { FLEET_MEMBER, FLEET_TOPIC, FLEET_ASSIGNMENT, FLEET_KINDS };

struct fleet_read;

/* A node to be read, by the index of its member or topic in the tree. */
struct fleet_read_job {
    struct fleet_read *read;
    enum fleet_read_kind kind;
    size_t index;
};

/* Invariant: `out` replies are still to come in this session; no call is sent once `failed` is not
 * 0. */
struct fleet_read {
    struct short_session session;
    struct fleet_tree tree;
    struct fleet_read_job *jobs; /* filled when both lists are known */
    size_t job_count, next;
    size_t out;
    size_t lists; /* number of lists that are known */
    int failed;   /* the error code of the library */
};

static void fleet_read_on(struct fleet_read *read);

static void fleet_read_clear(struct fleet_read *read)
{
    fleet_tree_fini(&read->tree);
    free(read->jobs);
    read->jobs = NULL;
    read->job_count = read->next = read->lists = read->out = 0;
    read->failed = SESSION_OK;
}

/* A reply has come; returns whether it counts.  It counts also if the node is missing or hidden. */
static bool fleet_read_replied(struct fleet_read *read, const struct session_reply *reply)
{
    const struct session_stat *stat = &reply->stat;

    read->out--;
    if (reply->status != SESSION_OK && reply->status != SESSION_NO_NODE &&
        reply->status != SESSION_DENIED) {
        read->failed = reply->status;
    } else if (reply->status == SESSION_OK) {
        read->tree.zxid = stat->mzxid > read->tree.zxid ? stat->mzxid : read->tree.zxid;
        read->tree.zxid = stat->pzxid > read->tree.zxid ? stat->pzxid : read->tree.zxid;
    }
    return read->failed == SESSION_OK;
}

/* --- root, assigner, epoch, folders --- */

static void fleet_read_on_root(void *user, const struct session_reply *reply)
{
    struct fleet_read *read = user;

    if (fleet_read_replied(read, reply)) {
        if (reply->status == SESSION_DENIED) {
            short_session_end(&read->session, SMQ_DENIED,
                              "ZooKeeper denies access to the root: check zookeeper_auth");
        } else if (reply->status == SESSION_OK && reply->len > 0 &&
                   !root_text_parse(&read->tree.root, reply->data, reply->len)) {
            short_session_end_other_fleet(&read->session);
        }
    }
    fleet_read_on(read);
}

static void fleet_read_on_assigner(void *user, const struct session_reply *reply)
{
    struct fleet_read *read = user;

    if (fleet_read_replied(read, reply) && reply->status == SESSION_OK &&
        fleet_tree_read_assigner(&read->tree, reply->data, reply->len)) {
        read->tree.assigner_since_ms = reply->stat.ctime;
    }
    fleet_read_on(read);
}

static void fleet_read_on_epoch(void *user, const struct session_reply *reply)
{
    struct fleet_read *read = user;

    if (fleet_read_replied(read, reply) && reply->status == SESSION_OK) {
        read->tree.epoch = reply->stat.writes;
    }
    fleet_read_on(read);
}

/* Only the zxid of the folder's last change is used: it shows changes by removed nodes of
 * topics. */
static void fleet_read_on_folder(void *user, const struct session_reply *reply)
{
    struct fleet_read *read = user;

    (void) fleet_read_replied(read, reply);
    fleet_read_on(read);
}

/* --- members and topics --- */

static void fleet_read_path(char *out, size_t size, const struct fleet_read_job *job)
{
    const struct fleet_tree *tree = &job->read->tree;

    if (job->kind == FLEET_MEMBER) {
        (void) snprintf(out, size, "members/%s", tree->members[job->index].name);
        return;
    }
    topic_path(out, size, tree->topics[job->index].name,
               job->kind == FLEET_ASSIGNMENT ? "/assignment" : "");
}

static void fleet_read_on_member(void *user, const struct session_reply *reply)
{
    const struct fleet_read_job *job = user;
    struct fleet_tree_member *member = &job->read->tree.members[job->index];

    if (fleet_read_replied(job->read, reply)) {
        member->exists = reply->status != SESSION_NO_NODE;
        if (reply->status == SESSION_OK) {
            member->incarnation = reply->stat.czxid;
            member->since_ms = reply->stat.ctime;
            (void) fleet_tree_read_member(member, reply->data, reply->len);
        } else if (reply->status == SESSION_DENIED) {
            member->unread = fleet_tree_denied;
        }
    }
    fleet_read_on(job->read);
}

static void fleet_read_on_topic(void *user, const struct session_reply *reply)
{
    const struct fleet_read_job *job = user;
    struct fleet_tree_topic *topic = &job->read->tree.topics[job->index];

    if (fleet_read_replied(job->read, reply)) {
        topic->exists = reply->status != SESSION_NO_NODE;
        if (reply->status == SESSION_OK) {
            (void) fleet_tree_read_topic(topic, reply->data, reply->len);
        } else if (reply->status == SESSION_DENIED) {
            topic->unread = fleet_tree_denied;
        }
    }
    fleet_read_on(job->read);
}

/* The reply about the topic's node came before this one. */
static void fleet_read_on_assignment(void *user, const struct session_reply *reply)
{
    const struct fleet_read_job *job = user;
    struct fleet_tree_topic *topic = &job->read->tree.topics[job->index];

    if (fleet_read_replied(job->read, reply)) {
        if (reply->status == SESSION_OK) {
            topic->mzxid = reply->stat.mzxid;
            topic->written_ms = reply->stat.mtime;
            (void) fleet_tree_read_assignment(topic, reply->data, reply->len);
        } else if (reply->status == SESSION_DENIED) {
            topic->unread = fleet_tree_denied;
        }
    }
    fleet_read_on(job->read);
}

/* --- the order of the calls --- */

static void fleet_read_add_job(struct fleet_read *read, enum fleet_read_kind kind, size_t index)
{
    read->jobs[read->job_count++] =
        (struct fleet_read_job){.read = read, .kind = kind, .index = index};
}

static void fleet_read_listed(struct fleet_read *read)
{
    if (++read->lists < 2) {
        return;
    }
    read->jobs = memory_new((read->tree.member_count + 2 * read->tree.topic_count + 1) *
                            sizeof(*read->jobs));
    for (size_t i = 0; i < read->tree.member_count; i++) {
        fleet_read_add_job(read, FLEET_MEMBER, i);
    }
    for (size_t i = 0; i < read->tree.topic_count; i++) {
        fleet_read_add_job(read, FLEET_TOPIC, i);
        fleet_read_add_job(read, FLEET_ASSIGNMENT, i);
    }
}

static void fleet_read_deny_list(struct fleet_read *read, const struct session_reply *reply)
{
    if (reply->status == SESSION_DENIED) {
        short_session_end(&read->session, SMQ_DENIED,
                          "ZooKeeper does not let members and topics be listed: check "
                          "zookeeper_auth");
    }
}

static void fleet_read_on_members(void *user, const struct session_reply *reply)
{
    struct fleet_read *read = user;

    if (fleet_read_replied(read, reply)) {
        fleet_read_deny_list(read, reply);
        read->tree.members = memory_new((reply->count + 1) * sizeof(*read->tree.members));
        for (size_t i = 0; i < reply->count; i++) {
            read->tree.members[read->tree.member_count++].name = memory_string(reply->names[i]);
        }
        fleet_read_listed(read);
    }
    fleet_read_on(read);
}

static void fleet_read_on_topics(void *user, const struct session_reply *reply)
{
    struct fleet_read *read = user;

    if (fleet_read_replied(read, reply)) {
        fleet_read_deny_list(read, reply);
        read->tree.topics = memory_new((reply->count + 1) * sizeof(*read->tree.topics));
        for (size_t i = 0; i < reply->count; i++) {
            struct fleet_tree_topic *topic = &read->tree.topics[read->tree.topic_count++];

            topic->name = memory_string(reply->names[i]);
            topic_path_to_name(topic->name);
        }
        fleet_read_listed(read);
    }
    fleet_read_on(read);
}

static void fleet_read_begin(void *user)
{
    struct fleet_read *read = user;
    struct session *session = read->session.session;

    if (read->out > 0) {
        return; /* calls in progress before the reconnect fail, and then everything is read again */
    }
    fleet_read_clear(read);
    read->out = 8;
    session_sync(session, "", fleet_read_on_folder, read);
    session_get(session, "", false, fleet_read_on_root, read);
    session_get(session, "leader", false, fleet_read_on_assigner, read);
    session_get(session, "leader_epoch", false, fleet_read_on_epoch, read);
    session_get(session, "members", false, fleet_read_on_folder, read);
    session_get(session, "topics", false, fleet_read_on_folder, read);
    session_children(session, "members", false, fleet_read_on_members, read);
    session_children(session, "topics", false, fleet_read_on_topics, read);
}

static void fleet_read_on_dropped(void *user)
{
    struct fleet_read *read = user;

    read->out = 0;
}

static void fleet_read_over(struct fleet_read *read)
{
    read->tree.reign = read->session.session->reign;
    read->tree.grace_ms = read->session.session->grace_ms;
    if (read->failed == SESSION_OK) {
        short_session_end(&read->session, SMQ_OK, "");
    } else if (!session_is_connected(read->session.session)) {
        return; /* the next connection begins again */
    } else if (read->failed == SESSION_AWAY) {
        fleet_read_begin(read);
    } else {
        short_session_end(&read->session, SMQ_UNAVAILABLE, session_status_text(read->failed));
    }
}

static void fleet_read_send(struct fleet_read *read, struct fleet_read_job *job)
{
    static session_reply_fn *const done[FLEET_KINDS] = {[FLEET_MEMBER] = fleet_read_on_member,
                                                        [FLEET_TOPIC] = fleet_read_on_topic,
                                                        [FLEET_ASSIGNMENT] =
                                                            fleet_read_on_assignment};
    char path[MEMBER_WORD_MAX + 32];

    fleet_read_path(path, sizeof(path), job);
    read->out++;
    session_get(read->session.session, path, false, done[job->kind], job);
}

/* Send further calls up to the limit; when none is in progress everything is read. */
static void fleet_read_on(struct fleet_read *read)
{
    while (read->failed == SESSION_OK && read->out < FLEET_READS_MAX &&
           read->next < read->job_count) {
        fleet_read_send(read, &read->jobs[read->next++]);
    }
    if (read->out == 0) {
        fleet_read_over(read);
    }
}

smq_status fleet_read_tree(struct fleet_tree *out, const struct coord_options *options,
                           smq_error *err)
{
    struct fleet_read *read = memory_new(sizeof(*read));
    const struct short_question question = {.ask = fleet_read_begin,
                                            .dropped = fleet_read_on_dropped,
                                            .user = read,
                                            .looks = true,
                                            .late = ""};
    smq_status status = short_session_run(&read->session, options, &question, err);

    *out = (struct fleet_tree){0};
    if (status == SMQ_OK) {
        fleet_tree_drop_gone(&read->tree);
        fleet_tree_find_hidden(&read->tree);
        fleet_tree_sort(&read->tree);
        *out = read->tree;
        read->tree = (struct fleet_tree){0};
    }
    fleet_read_clear(read);
    free(read);
    return status;
}

smq_status coord_fleet_each(const struct coord_options *options, const smq_fleet_visitor *visitor,
                            smq_error *err)
{
    char root[SESSION_ROOT_MAX] = "", server[COORD_PORT_SERVER_MAX] = "";
    struct fleet_tree tree;
    smq_status status = options->port == NULL
                            ? coord_check_servers(root, sizeof(root), options->servers, err)
                            : SMQ_OK;

    if (status != SMQ_OK) {
        return status;
    }
    status = fleet_read_tree(&tree, options, err);
    if (status == SMQ_OK) {
        if (options->port != NULL) {
            options->port->where(options->port->user, server);
        }
        tree.path = options->port == NULL ? root : options->root;
        tree.server = server;
        fleet_tree_visit(&tree, visitor);
    }
    fleet_tree_fini(&tree);
    return status;
}
