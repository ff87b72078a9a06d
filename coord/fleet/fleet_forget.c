/* fleet_forget.c - removing the nodes of topics that no member asks for, as after a deletion.
 *
 * The assigner does the same a while after the last member has left a topic, but there is none when
 * all members have ended.  The nodes of one topic are deleted together, in the versions that were
 * read.  A member that asks for the topic after that creates the nodes again.  Its tokens are
 * larger than all earlier ones, because a token is made of a zxid, which does not depend on the
 * node.
 *
 * Thread: smq:coord of the short session, except coord_fleet_forget(). */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "coord/fleet/fleet_read.h"
#include "coord/fleet/short_session.h"
#include "coord/node/topic_path.h"

/* Invariant: while a reply is awaited (`out`), `next` is the topic that it is about. */
struct fleet_forget {
    struct short_session session;
    struct fleet_tree tree; /* with the topics that are to be removed, and no others */
    size_t next;
    size_t removed;
    bool out;
    struct session_stat found; /* of the topic's node */
    char path[MEMBER_WORD_MAX + 16];
    char assignment[MEMBER_WORD_MAX + 32];
};

static void fleet_forget_begin(void *user);

static void fleet_forget_skip(struct fleet_forget *forget)
{
    forget->next++;
    fleet_forget_begin(forget);
}

/* Skip a topic whose nodes were changed or deleted after they were read: it is in use, or gone.
 * After a lost connection the topic is read again. */
static void fleet_forget_fail(struct fleet_forget *forget, enum session_status status)
{
    if (status == SESSION_CHANGED || status == SESSION_NO_NODE || status == SESSION_NOT_EMPTY) {
        fleet_forget_skip(forget);
    } else if (status == SESSION_DENIED) {
        short_session_end(&forget->session, SMQ_DENIED,
                          "ZooKeeper denies access to the nodes of a topic: check zookeeper_auth");
    } else if (!session_is_connected(forget->session.session)) {
        return; /* the next connection begins again */
    } else if (status == SESSION_AWAY) {
        fleet_forget_begin(forget);
    } else {
        short_session_end(&forget->session, SMQ_UNAVAILABLE, session_status_text(status));
    }
}

static void fleet_forget_on_deleted(void *user, const struct session_reply *reply)
{
    struct fleet_forget *forget = user;

    forget->out = false;
    if (reply->status == SESSION_OK) {
        forget->removed++;
        fleet_forget_skip(forget);
    } else {
        fleet_forget_fail(forget, reply->status);
    }
}

static void fleet_forget_on_assignment(void *user, const struct session_reply *reply)
{
    struct fleet_forget *forget = user;
    const struct session_op topic = {
        .kind = SESSION_DELETE, .path = forget->path, .version = forget->found.version};
    const struct session_op both[2] = {
        {.kind = SESSION_DELETE, .path = forget->assignment, .version = reply->stat.version},
        topic};

    forget->out = false;
    if (reply->status == SESSION_OK) {
        forget->out = true;
        session_write(forget->session.session, both, 2, fleet_forget_on_deleted, forget);
    } else if (reply->status == SESSION_NO_NODE) {
        forget->out = true;
        session_write(forget->session.session, &topic, 1, fleet_forget_on_deleted, forget);
    } else {
        fleet_forget_fail(forget, reply->status);
    }
}

static void fleet_forget_on_topic(void *user, const struct session_reply *reply)
{
    struct fleet_forget *forget = user;

    forget->out = false;
    if (reply->status == SESSION_OK) {
        forget->found = reply->stat;
        forget->out = true;
        session_get(forget->session.session, forget->assignment, false, fleet_forget_on_assignment,
                    forget);
    } else {
        fleet_forget_fail(forget, reply->status);
    }
}

/* The session has expired, so the call in progress gets no reply. */
static void fleet_forget_on_dropped(void *user)
{
    struct fleet_forget *forget = user;

    forget->out = false;
}

/* The next topic, or after a reconnect the same again; a call before the reconnect fails first. */
static void fleet_forget_begin(void *user)
{
    struct fleet_forget *forget = user;
    const char *name;

    if (forget->out) {
        return;
    }
    if (forget->next == forget->tree.topic_count) {
        short_session_end(&forget->session, SMQ_OK, "");
        return;
    }
    name = forget->tree.topics[forget->next].name;
    forget->out = true;
    topic_path(forget->path, sizeof(forget->path), name, "");
    topic_path(forget->assignment, sizeof(forget->assignment), name, "/assignment");
    session_get(forget->session.session, forget->path, false, fleet_forget_on_topic, forget);
}

smq_status coord_fleet_forget(size_t *removed, const struct coord_options *options,
                              coord_keep_fn *keep, void *user, smq_error *err)
{
    struct fleet_forget *forget = memory_new(sizeof(*forget));
    const struct short_question question = {
        .ask = fleet_forget_begin, .dropped = fleet_forget_on_dropped, .user = forget, .late = ""};
    smq_status status = fleet_read_tree(&forget->tree, options, err);

    if (status == SMQ_OK) {
        fleet_tree_drop_asked(&forget->tree, keep, user);
    }
    if (status == SMQ_OK && forget->tree.topic_count > 0) {
        status = short_session_run(&forget->session, options, &question, err);
    }
    *removed = forget->removed;
    fleet_tree_fini(&forget->tree);
    free(forget);
    return status;
}
