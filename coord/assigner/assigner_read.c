/* assigner_read.c - what the assigner reads in a round: members, topics, their assignments.
 *
 * Requests of a session are answered in the order in which they were sent.  So the sync, the two
 * lists and the nodes that are known are sent together, ASSIGNER_READS_MAX at a time, and then the
 * nodes that are new in the lists.  Reading takes one round trip, or two, whatever the number of
 * members.
 *
 * A node whose watch has not fired since it was read is read again only in a whole round.  Whole
 * rounds are needed because no watch fires when access rights change.  They are paced by the number
 * of nodes, so a client that leaves many topics, one after the other, costs requests in proportion
 * to their number and not to its square; and one comes last, so nothing stays unseen.  A change
 * that comes while a round reads makes another round.
 *
 * A node that may not be read, or is damaged, does not end the round: a member keeps its slots, a
 * topic is not changed, and each is logged once.  Of a node that may not be read ZooKeeper shows
 * only that it exists, so the incarnation of its member is that which the assignments name.
 *
 * Thread: smq:coord. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "coord/assigner/assigner.h"
#include "coord/node/topic_path.h"

enum { ASSIGNER_READS_MAX = 64 };
/* Between two whole rounds: so long, and so long for each node, in milliseconds. */
enum { ASSIGNER_WHOLE_MS = 500, ASSIGNER_WHOLE_NODE_MS = 5 };

static void assigner_read_on(struct assigner *assigner);

/* --- memory --- */

static void assigner_clear_members(struct assigner *assigner)
{
    for (size_t i = 0; i < assigner->member_count; i++) {
        free(assigner->members[i].id);
        member_info_fini(&assigner->members[i].info);
    }
    free(assigner->members);
    assigner->members = NULL;
    assigner->member_count = 0;
}

static void assigner_clear_watches(struct assigner *assigner)
{
    struct assigner_watch *watch = NULL;
    struct assigner_watch *next = NULL;

    HASH_ITER(hh, assigner->watches, watch, next)
    {
        HASH_DEL(assigner->watches, watch);
        free(watch);
    }
}

static void assigner_clear_unread(struct assigner *assigner)
{
    for (size_t i = 0; i < assigner->unread_count; i++) {
        free(assigner->unread[i]);
    }
    free(assigner->unread);
    assigner->unread = NULL;
    assigner->unread_count = 0;
}

static void assigner_clear_jobs(struct assigner *assigner)
{
    struct assigner_job *job = NULL;
    struct assigner_job *next = NULL;

    HASH_ITER(hh, assigner->jobs, job, next)
    {
        HASH_DEL(assigner->jobs, job);
        free(job->name);
        free(job);
    }
    assigner->unsent = NULL;
}

static void assigner_topic_free(struct assigner_topic *topic)
{
    LIST_REMOVE(topic, link);
    assignment_fini(&topic->old);
    assignment_fini(&topic->next);
    free(topic->revocations);
    free(topic->previous);
    free(topic->reachability);
    free(topic->name);
    free(topic);
}

static struct assigner_topic *assigner_topic_find(struct assigner *assigner, const char *name)
{
    struct assigner_topic *topic = NULL;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        if (strcmp(topic->name, name) == 0) {
            return topic;
        }
    }
    return NULL;
}

static struct assigner_topic *assigner_topic_of(struct assigner *assigner, const char *name)
{
    struct assigner_topic *topic = assigner_topic_find(assigner, name);

    if (topic == NULL) {
        topic = memory_new(sizeof(*topic));
        topic->name = memory_string(name);
        LIST_INSERT_HEAD(&assigner->topics, topic, link);
    }
    return topic;
}

void assigner_forget(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;

    assigner_clear_members(assigner);
    assigner_clear_jobs(assigner);
    assigner_clear_watches(assigner);
    assigner_clear_unread(assigner);
    assigner->whole_at = 0;
    assigner->arrivals = (struct assigner_arrivals){0};
    assigner->mismatch = (struct assigner_mismatch){.logged_ms = assigner->mismatch.logged_ms};
    while ((topic = LIST_FIRST(&assigner->topics)) != NULL) {
        assigner_topic_free(topic);
    }
}

/* --- which nodes are known --- */

static struct assigner_watch *assigner_watch_find(const struct assigner *assigner, const char *path)
{
    struct assigner_watch *watch = NULL;

    HASH_FIND_STR(assigner->watches, path, watch);
    return watch;
}

/* The node was read, and its watch is set. */
static void assigner_watched(struct assigner *assigner, const char *path)
{
    struct assigner_watch *watch = NULL;

    if (assigner_watch_find(assigner, path) == NULL) {
        watch = memory_new(sizeof(*watch) + strlen(path) + 1);
        memcpy(watch->path, path, strlen(path) + 1);
        HASH_ADD_STR(assigner->watches, path, watch);
    }
}

void assigner_doubt(struct assigner *assigner, const char *path)
{
    struct assigner_watch *watch = NULL;

    if (path == NULL) {
        assigner_clear_watches(assigner);
        assigner->whole_at = 0;
    } else if ((watch = assigner_watch_find(assigner, path)) != NULL) {
        HASH_DEL(assigner->watches, watch);
        free(watch);
    }
}

static void assigner_path(char *path, size_t size, enum assigner_job_kind kind, const char *name)
{
    if (kind == ASSIGNER_MEMBER) {
        (void) snprintf(path, size, "members/%s", name);
    } else {
        topic_path(path, size, name, kind == ASSIGNER_ASSIGNMENT ? "/assignment" : "");
    }
}

/* Has the node not changed since it was read, and is this no whole round? */
static bool assigner_keeps(const struct assigner *assigner, enum assigner_job_kind kind,
                           const char *name)
{
    char path[MEMBER_WORD_MAX + 32];

    assigner_path(path, sizeof(path), kind, name);
    return !assigner->whole && assigner_watch_find(assigner, path) != NULL;
}

static void assigner_doubt_topic(struct assigner *assigner, const char *name)
{
    char path[MEMBER_WORD_MAX + 32];

    assigner_path(path, sizeof(path), ASSIGNER_TOPIC, name);
    assigner_doubt(assigner, path);
    assigner_path(path, sizeof(path), ASSIGNER_ASSIGNMENT, name);
    assigner_doubt(assigner, path);
}

/* Does this round read all nodes?  If it does not, a later one will. */
static void assigner_plan_whole(struct assigner *assigner, int64_t now_ms)
{
    size_t nodes = HASH_COUNT(assigner->watches);

    assigner->whole = now_ms >= assigner->whole_at;
    if (assigner->whole) {
        assigner->whole_at = now_ms + ASSIGNER_WHOLE_MS + (int64_t) nodes * ASSIGNER_WHOLE_NODE_MS;
    } else {
        assigner->wake_at = assigner->whole_at; /* no earlier time is known yet in this round */
    }
}

/* --- members --- */

static int assigner_compare_members(const void *left, const void *right)
{
    const struct assigner_member *a = left;
    const struct assigner_member *b = right;

    return a->incarnation < b->incarnation ? -1 : a->incarnation > b->incarnation;
}

/* A reply has come; returns whether it may be used. */
static bool assigner_replied(struct assigner *assigner, enum session_status status)
{
    assigner->out--;
    if (!assigner->active ||
        (status != SESSION_OK && status != SESSION_NO_NODE && status != SESSION_DENIED)) {
        assigner->failed = true;
    }
    assigner->hidden = assigner->hidden || status == SESSION_DENIED;
    return !assigner->failed;
}

static bool assigner_was_unread(const struct assigner *assigner, const char *name)
{
    for (size_t i = 0; i < assigner->unread_count; i++) {
        if (strcmp(assigner->unread[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* The caller has looked whether there is room for one more. */
static void assigner_add_member(struct assigner_job *job, const struct session_reply *reply)
{
    struct assigner *assigner = job->assigner;
    const bool shown = reply->status == SESSION_OK;
    struct assigner_member member = {.incarnation = shown ? reply->stat.czxid : 0};

    member.unread = !shown || !member_text_parse(&member.info, reply->data, reply->len);
    if (member.unread && !assigner_was_unread(assigner, job->name)) {
        events_log(assigner->env->events, SMQ_LEVEL_WARN,
                   "the node of member %s in %s cannot be read: %s; the member keeps the "
                   "slots that it has, and gets no others",
                   job->name, assigner->env->kind,
                   shown ? "it is damaged, or of a later version"
                         : "access is denied, give all members the same zookeeper_auth");
    }
    member.id = memory_string(job->name);
    if ((assigner->member_count & (assigner->member_count - 1)) == 0) { /* for twice as many */
        assigner->members = memory_grow(assigner->members, assigner->member_count * 2 + 1,
                                        sizeof(*assigner->members));
    }
    assigner->members[assigner->member_count++] = member;
}

static void assigner_on_member(void *user, const struct session_reply *reply)
{
    struct assigner_job *job = user;
    struct assigner *assigner = job->assigner;

    if (assigner_replied(assigner, reply->status) && reply->status != SESSION_NO_NODE) {
        if (assigner->member_count == ASSIGNMENT_MEMBERS_MAX) {
            assigner->ignored++; /* it is read again in each round */
        } else {
            assigner_add_member(job, reply);
            if (reply->status == SESSION_OK) {
                assigner_watched(assigner, job->path);
            }
        }
    }
    assigner_read_on(assigner);
}

/* Everything was read: say that there are members for which no assignment has a number. */
static void assigner_log_ignored(struct assigner *assigner)
{
    if (assigner->ignored > 0 && !assigner->ignored_logged) {
        events_log(assigner->env->events, SMQ_LEVEL_ERROR,
                   "the fleet at %s has more than %d members, and %zu of them get no slots: end "
                   "some, or give a part of the topics another root",
                   assigner->env->root, ASSIGNMENT_MEMBERS_MAX, assigner->ignored);
    }
    assigner->ignored_logged = assigner->ignored > 0;
}

/* The newest incarnation that the assignments name for a member; 0: none does. */
static int64_t assigner_assigned(const struct assigner *assigner, const char *name)
{
    const struct assigner_topic *topic = NULL;
    int64_t newest = 0;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        const int64_t assigned = assignment_newest(&topic->old, name);

        newest = assigned > newest ? assigned : newest;
    }
    return newest;
}

/* Everything was read: complete the members whose nodes may not be read, and remember which members
 * were logged as unreadable. */
static void assigner_keep_unread(struct assigner *assigner)
{
    assigner_clear_unread(assigner);
    assigner->unread = memory_new((assigner->member_count + 1) * sizeof(*assigner->unread));
    for (size_t i = 0; i < assigner->member_count; i++) {
        struct assigner_member *member = &assigner->members[i];

        if (member->incarnation == 0) {
            member->incarnation = assigner_assigned(assigner, member->id);
        }
        if (member->unread) {
            assigner->unread[assigner->unread_count++] = memory_string(member->id);
        }
    }
}

/* --- topics --- */

/* Read the nonce and the slots of the topic's node; if the topic was created anew the old state is
 * dropped. */
static void assigner_define(struct assigner_topic *topic, const struct session_reply *reply,
                            int64_t reign)
{
    char nonce[MEMBER_WORD_MAX + 1] = "";
    char *text = memory_copy(reply->data, reply->len);
    int64_t fresh = 0;
    int slots = 0;

    if (sscanf(text, "nonce %255s slots %d fresh %" SCNd64, nonce, &slots, &fresh) < 2 ||
        slots < 1 || slots > MEMBER_SLOTS_MAX) {
        slots = 0;
    }
    topic->fresh = fresh != 0 && fresh == reign;
    free(text);
    if (strcmp(topic->nonce, nonce) != 0 || topic->slots != slots) {
        memcpy(topic->nonce, nonce, sizeof(nonce));
        free(topic->revocations);
        free(topic->previous);
        topic->revocations = memory_new(((size_t) slots + 1) * sizeof(*topic->revocations));
        topic->previous = memory_new(((size_t) slots + 1) * sizeof(*topic->previous));
        assignment_fini(&topic->old);
        topic->slots = slots;
        topic->pending_count = 0;
        topic->cold_until = 0;
    }
}

/* The assignment is damaged.  If this assigner has seen a good one it writes that again; otherwise
 * the assignment is restored from the slots that the members state they own (assigner_gather.c). */
static void assigner_handle_damaged(struct assigner *assigner, struct assigner_topic *topic)
{
    bool repair = topic->old.slots != NULL;

    if (!topic->corrupt) {
        events_log(assigner->env->events, SMQ_LEVEL_ERROR,
                   "topic %s: its assignment in %s cannot be read; %s", topic->name,
                   assigner->env->kind,
                   repair ? "the last good one is written again"
                          : "it is made anew from what the members own");
    }
    topic->corrupt = topic->damaged = true;
    topic->read = topic->write = repair;
}

static void assigner_use_old(struct assigner *assigner, struct assigner_topic *topic,
                             const struct session_reply *reply)
{
    struct assignment read = {0};

    assignment_fini(&topic->next);
    topic->version = reply->stat.version;
    topic->mzxid = reply->stat.mzxid;
    if (reply->len > 0 &&
        (!assignment_decode(&read, reply->data, reply->len) || read.slot_count != topic->slots)) {
        assignment_fini(&read);
        assigner_handle_damaged(assigner, topic);
        return;
    }
    assignment_fini(&topic->old);
    topic->old = read;
    topic->read = true;
    topic->corrupt = false;
}

void assigner_deny_topic(struct assigner *assigner, struct assigner_topic *topic)
{
    topic->denied = true;
    if (!topic->denied_logged) {
        topic->denied_logged = true;
        events_log(assigner->env->events, SMQ_LEVEL_ERROR,
                   "topic %s: ZooKeeper denies access to its nodes, and nothing of it moves; give "
                   "all members the same zookeeper_auth",
                   topic->name);
    }
}

/* Everything was read.  For topics that may now be read, and written as far as is known, the next
 * denial is logged again. */
static void assigner_read_allowed(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        if (!topic->denied && !topic->unwritable) {
            topic->denied_logged = false;
        }
    }
}

static void assigner_on_topic(void *user, const struct session_reply *reply)
{
    struct assigner_job *job = user;
    struct assigner *assigner = job->assigner;
    struct assigner_topic *topic = NULL;

    if (assigner_replied(assigner, reply->status) && reply->status != SESSION_NO_NODE) {
        topic = assigner_topic_of(assigner, job->name);
        topic->listed = true;
        if (reply->status == SESSION_OK) {
            topic->node_version = reply->stat.version;
            assigner_define(topic, reply, assigner->reign);
            assigner_watched(assigner, job->path);
        } else {
            assigner_deny_topic(assigner, topic);
        }
    }
    assigner_read_on(assigner);
}

/* The reply about the topic's node came before this one. */
static void assigner_on_assignment(void *user, const struct session_reply *reply)
{
    struct assigner_job *job = user;
    struct assigner *assigner = job->assigner;
    struct assigner_topic *topic = assigner_topic_find(assigner, job->name);

    if (assigner_replied(assigner, reply->status) && topic != NULL && topic->listed) {
        topic->bare = reply->status == SESSION_NO_NODE;
        if (reply->status == SESSION_OK) {
            assigner_use_old(assigner, topic, reply);
            if (!topic->damaged) {
                assigner_watched(assigner, job->path);
            }
        } else if (reply->status == SESSION_DENIED) {
            assigner_deny_topic(assigner, topic);
        }
    }
    assigner_read_on(assigner);
}

static void assigner_drop_unlisted(struct assigner *assigner)
{
    struct assigner_topic *topic = LIST_FIRST(&assigner->topics);

    while (topic != NULL) {
        struct assigner_topic *next = LIST_NEXT(topic, link);

        if (!topic->listed) {
            assigner_doubt_topic(assigner, topic->name);
            assigner_topic_free(topic);
        }
        topic = next;
    }
}

/* --- the order of the calls --- */

/* A folder was read.  A missing folder is created again.  If a folder may not be listed its nodes
 * are not known.  In both cases the round fails, and is repeated after a while, because no watch
 * could be set. */
static bool assigner_has_folder(struct assigner *assigner, const char *name,
                                const struct session_reply *reply)
{
    if (!assigner_replied(assigner, reply->status) || reply->status == SESSION_OK) {
        return !assigner->failed;
    }
    assigner->failed = true;
    if (reply->status == SESSION_NO_NODE) {
        root_mend(assigner->ports.root);
    } else if (!assigner->unlisted) {
        assigner->unlisted = true;
        events_log(assigner->env->events, SMQ_LEVEL_ERROR,
                   "ZooKeeper does not let the assigner list the nodes in %s/%s: its access rights "
                   "were changed, or zookeeper_auth is another; nothing moves until it may",
                   assigner->env->root, name);
    }
    return false;
}

static void assigner_read_over(struct assigner *assigner)
{
    if (!assigner->failed) {
        assigner->unlisted = false;
        assigner_log_ignored(assigner);
        assigner_keep_unread(assigner);
        if (assigner->member_count > 1) {
            qsort(assigner->members, assigner->member_count, sizeof(*assigner->members),
                  assigner_compare_members);
        }
        assigner_adopt(assigner);
        assigner_gather(assigner);
        assigner_drop_unlisted(assigner);
        assigner_read_allowed(assigner);
    } else {
        assigner_doubt(assigner, NULL);
    }
    assigner_clear_jobs(assigner);
    assigner->read(assigner, !assigner->failed);
}

static void assigner_send(struct assigner *assigner, struct assigner_job *job)
{
    static session_reply_fn *const done[] = {[ASSIGNER_MEMBER] = assigner_on_member,
                                             [ASSIGNER_TOPIC] = assigner_on_topic,
                                             [ASSIGNER_ASSIGNMENT] = assigner_on_assignment};

    assigner->out++;
    session_get(assigner->ports.session, job->path, true, done[job->kind], job);
}

/* Send further calls up to the limit; when none is in progress everything is read. */
static void assigner_read_on(struct assigner *assigner)
{
    while (!assigner->failed && assigner->out < ASSIGNER_READS_MAX && assigner->unsent != NULL) {
        struct assigner_job *job = assigner->unsent;

        assigner->unsent = job->hh.next;
        if (!job->kept) {
            assigner_send(assigner, job);
        }
    }
    if (assigner->out == 0) {
        assigner_read_over(assigner);
    }
}

/* Read this node in this round, too, unless it is in the list already, or `kept` as it was read. */
static void assigner_add_job(struct assigner *assigner, enum assigner_job_kind kind,
                             const char *name, bool kept)
{
    struct assigner_job *job = memory_new(sizeof(*job));
    struct assigner_job *found = NULL;

    assigner_path(job->path, sizeof(job->path), kind, name);
    HASH_FIND_STR(assigner->jobs, job->path, found);
    if (found != NULL) {
        free(job);
        return;
    }
    job->assigner = assigner;
    job->kept = kept;
    job->kind = kind;
    job->name = memory_string(name);
    HASH_ADD_STR(assigner->jobs, path, job);
    if (assigner->unsent == NULL) {
        assigner->unsent = job;
    }
}

/* The nodes of a topic are read together, because each gives the other its meaning.  Returns
 * whether they are kept. */
static bool assigner_add_topic(struct assigner *assigner, const char *name)
{
    const bool kept = assigner_keeps(assigner, ASSIGNER_TOPIC, name) &&
                      assigner_keeps(assigner, ASSIGNER_ASSIGNMENT, name);

    assigner_add_job(assigner, ASSIGNER_TOPIC, name, kept);
    assigner_add_job(assigner, ASSIGNER_ASSIGNMENT, name, kept);
    return kept;
}

/* Add the members that the round before has read, and keep those whose nodes are kept. */
static void assigner_add_members(struct assigner *assigner)
{
    size_t kept = 0;

    for (size_t i = 0; i < assigner->member_count; i++) {
        struct assigner_member *member = &assigner->members[i];
        const bool keep = assigner_keeps(assigner, ASSIGNER_MEMBER, member->id);

        assigner_add_job(assigner, ASSIGNER_MEMBER, member->id, keep);
        if (keep) {
            assigner->members[kept++] = *member;
        } else {
            free(member->id);
            member_info_fini(&member->info);
        }
    }
    assigner->member_count = kept;
}

/* Add the topics that the round before has read; those that are gone are not part of this round. */
static void assigner_add_topics(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        const bool kept = assigner_add_topic(assigner, topic->name);

        topic->listed = topic->read = kept;
        topic->write = topic->remove = topic->damaged = topic->denied = topic->bare = false;
        if (kept) {
            assignment_fini(&topic->next);
        }
    }
}

static void assigner_on_topics(void *user, const struct session_reply *reply)
{
    struct assigner *assigner = user;

    if (assigner_has_folder(assigner, "topics", reply)) {
        for (size_t i = 0; i < reply->count; i++) {
            char *name = memory_string(reply->names[i]);

            topic_path_to_name(name);
            (void) assigner_add_topic(assigner, name);
            free(name);
        }
    }
    assigner_read_on(assigner); /* this is the last of the three replies */
}

static void assigner_on_members(void *user, const struct session_reply *reply)
{
    struct assigner *assigner = user;

    if (assigner_has_folder(assigner, "members", reply)) {
        for (size_t i = 0; i < reply->count; i++) {
            const char *name = reply->names[i];

            assigner_add_job(assigner, ASSIGNER_MEMBER, name,
                             assigner_keeps(assigner, ASSIGNER_MEMBER, name));
        }
    }
}

static void assigner_on_sync(void *user, const struct session_reply *reply)
{
    (void) assigner_replied(user, reply->status);
}

void assigner_read(struct assigner *assigner)
{
    struct session *session = assigner->ports.session;

    if (assigner->reign != session->reign || assigner->unsettled != session->unsettled) {
        assigner_doubt(assigner, NULL); /* it was read while members may have been missing */
    }
    assigner->reign = session->reign;
    assigner->unsettled = session->unsettled;
    assigner_plan_whole(assigner, clock_now_ms());
    assigner_clear_jobs(assigner);
    assigner_add_members(assigner);
    assigner_add_topics(assigner);
    assigner->failed = assigner->hidden = false;
    assigner->ignored = 0;
    assigner->out = 3;
    session_sync(session, "members", assigner_on_sync, assigner);
    session_children(session, "members", true, assigner_on_members, assigner);
    session_children(session, "topics", true, assigner_on_topics, assigner);
    assigner_read_on(assigner);
}
