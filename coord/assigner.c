/* assigner.c - the loop of the assigner: read everything, decide, write what differs.
 *
 * A round reads all members and topics anew, so it acts on data and never on events, and resolves
 * by itself a write whose outcome was not known.  One round at a time; what happens meanwhile
 * makes another.  Every write is checked against the epoch and the version read.
 *
 * Thread: smq:coord. */
#include "coord/assigner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

static void assigner_round(struct assigner *assigner);
static void assigner_read_member(struct assigner *assigner);
static void assigner_read_topic(struct assigner *assigner);
static void assigner_write(struct assigner *assigner);

static void assigner_on_timer(uv_timer_t *timer)
{
    assigner_wake(timer->data);
}

void assigner_init(struct zookeeper *zookeeper)
{
    struct assigner *assigner = memory_new(sizeof(*assigner));

    assigner->zookeeper = zookeeper;
    LIST_INIT(&assigner->topics);
    uv_timer_init(loop_uv(zookeeper->coord->loop), &assigner->timer);
    assigner->timer.data = zookeeper;
    zookeeper->assigner = assigner;
}

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

static void assigner_clear_names(struct assigner *assigner)
{
    for (size_t i = 0; i < assigner->name_count; i++) {
        free(assigner->names[i]);
    }
    free(assigner->names);
    assigner->names = NULL;
    assigner->name_count = assigner->name_at = 0;
}

static void assigner_keep_names(struct assigner *assigner, const struct zk_reply *reply)
{
    assigner_clear_names(assigner);
    assigner->names = memory_new((reply->count + 1) * sizeof(*assigner->names));
    for (size_t i = 0; i < reply->count; i++) {
        assigner->names[i] = memory_string(reply->names[i]);
    }
    assigner->name_count = reply->count;
}

static void assigner_topic_free(struct assigner_topic *topic)
{
    LIST_REMOVE(topic, link);
    assignment_fini(&topic->old);
    assignment_fini(&topic->next);
    free(topic->revocations);
    free(topic->name);
    free(topic);
}

static struct assigner_topic *assigner_topic_of(struct assigner *assigner, const char *name)
{
    struct assigner_topic *topic = NULL;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        if (strcmp(topic->name, name) == 0) {
            return topic;
        }
    }
    topic = memory_new(sizeof(*topic));
    topic->name = memory_string(name);
    LIST_INSERT_HEAD(&assigner->topics, topic, link);
    return topic;
}

static void assigner_forget(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;

    assigner_clear_members(assigner);
    assigner_clear_names(assigner);
    while ((topic = LIST_FIRST(&assigner->topics)) != NULL) {
        assigner_topic_free(topic);
    }
}

/* --- begin and end --- */

/* A reply still out finds `active` false, or is of a reign that ended. */
void assigner_begin(struct zookeeper *zookeeper)
{
    struct assigner *assigner = zookeeper->assigner;

    assigner->active = true;
    assigner_wake(zookeeper);
}

void assigner_end(struct zookeeper *zookeeper)
{
    struct assigner *assigner = zookeeper->assigner;

    assigner->active = assigner->again = false;
    uv_timer_stop(&assigner->timer);
    if (!zookeeper->session.connected && zookeeper->session.handle == NULL) {
        assigner->busy = false; /* the session is closed: no reply comes */
    }
    if (!assigner->busy) {
        assigner_forget(assigner);
    }
}

void assigner_stop(struct zookeeper *zookeeper)
{
    if (zookeeper->assigner != NULL) {
        uv_close((uv_handle_t *) &zookeeper->assigner->timer, NULL);
    }
}

void assigner_fini(struct zookeeper *zookeeper)
{
    if (zookeeper->assigner != NULL) {
        assigner_forget(zookeeper->assigner);
        buf_fini(&zookeeper->assigner->text);
        free(zookeeper->assigner);
    }
}

void assigner_wake(struct zookeeper *zookeeper)
{
    struct assigner *assigner = zookeeper->assigner;

    if (!assigner->active) {
        return;
    }
    if (assigner->busy) {
        assigner->again = true;
        return;
    }
    assigner_round(assigner);
}

/* The round is over, for better or worse. */
static void assigner_over(struct assigner *assigner, int64_t delay_ms)
{
    assigner->busy = false;
    if (!assigner->active) {
        assigner_forget(assigner);
        return;
    }
    if (assigner->again) {
        delay_ms = delay_ms < 0 || delay_ms > 1 ? 1 : delay_ms;
    }
    if (delay_ms >= 0) {
        uv_timer_start(&assigner->timer, assigner_on_timer, (uint64_t) delay_ms, 0);
    }
}

/* May the round go on?  Without a connection the next connection wakes us. */
static bool assigner_goes_on(struct assigner *assigner, int rc)
{
    if (assigner->active && (rc == ZOK || rc == ZNONODE)) {
        return true;
    }
    assigner->again = false;
    assigner_over(assigner, assigner->zookeeper->timings.retry);
    return false;
}

/* --- reading members --- */

static int assigner_compare_members(const void *left, const void *right)
{
    const struct assigner_member *a = left;
    const struct assigner_member *b = right;

    return a->incarnation < b->incarnation ? -1 : a->incarnation > b->incarnation;
}

static void assigner_on_member(void *user, const struct zk_reply *reply)
{
    struct assigner *assigner = user;
    struct assigner_member member = {.incarnation = reply->stat.czxid};

    if (!assigner_goes_on(assigner, reply->rc)) {
        return;
    }
    if (reply->rc == ZOK && member_text_parse(&member.info, reply->data, reply->len)) {
        member.id = memory_string(assigner->names[assigner->name_at]);
        assigner->members[assigner->member_count++] = member;
    }
    assigner->name_at++;
    assigner_read_member(assigner);
}

static void assigner_on_topics(void *user, const struct zk_reply *reply)
{
    struct assigner *assigner = user;
    struct assigner_topic *topic = NULL;

    if (!assigner_goes_on(assigner, reply->rc)) {
        return;
    }
    assigner_keep_names(assigner, reply);
    LIST_FOREACH(topic, &assigner->topics, link)
    {
        topic->read = topic->write = topic->remove = false;
    }
    assigner_read_topic(assigner);
}

static void assigner_read_member(struct assigner *assigner)
{
    struct zk_session *session = &assigner->zookeeper->session;
    char path[MEMBER_WORD_MAX + 16];

    if (assigner->name_at < assigner->name_count &&
        assigner->member_count < ASSIGNMENT_MEMBERS_MAX) {
        (void) snprintf(path, sizeof(path), "members/%s", assigner->names[assigner->name_at]);
        zk_get(session, path, true, assigner_on_member, assigner);
        return;
    }
    qsort(assigner->members, assigner->member_count, sizeof(*assigner->members),
          assigner_compare_members);
    zk_children(session, "topics", true, assigner_on_topics, assigner);
}

static void assigner_on_members(void *user, const struct zk_reply *reply)
{
    struct assigner *assigner = user;

    if (!assigner_goes_on(assigner, reply->rc)) {
        return;
    }
    assigner_clear_members(assigner);
    assigner_keep_names(assigner, reply);
    assigner->members = memory_new((reply->count + 1) * sizeof(*assigner->members));
    assigner_read_member(assigner);
}

static void assigner_on_sync(void *user, const struct zk_reply *reply)
{
    struct assigner *assigner = user;

    if (assigner_goes_on(assigner, reply->rc)) {
        zk_children(&assigner->zookeeper->session, "members", true, assigner_on_members, assigner);
    }
}

static void assigner_round(struct assigner *assigner)
{
    uv_timer_stop(&assigner->timer);
    assigner->busy = true;
    assigner->again = false;
    assigner->wake_at = 0;
    zk_sync(&assigner->zookeeper->session, "members", assigner_on_sync, assigner);
}

/* --- reading topics --- */

/* The node of the topic: its nonce and slots; another creation makes us forget the earlier. */
static void assigner_define(struct assigner_topic *topic, const struct zk_reply *reply)
{
    char nonce[MEMBER_WORD_MAX + 1] = "";
    char *text = memory_copy(reply->data, reply->len);
    int slots = 0;

    if (sscanf(text, "nonce %255s slots %d", nonce, &slots) != 2 || slots < 1 ||
        slots > MEMBER_SLOTS_MAX) {
        slots = 0;
    }
    free(text);
    if (strcmp(topic->nonce, nonce) != 0 || topic->slots != slots) {
        memcpy(topic->nonce, nonce, sizeof(nonce));
        free(topic->revocations);
        topic->revocations = memory_new(((size_t) slots + 1) * sizeof(*topic->revocations));
        assignment_fini(&topic->old);
        topic->slots = slots;
        topic->pending_count = 0;
    }
}

/* The node is damaged.  The last good assignment, if this assigner has seen it, is written again;
 * without it nothing is known of the owners, and nothing moves. */
static void assigner_take_damaged(struct assigner *assigner, struct assigner_topic *topic)
{
    bool mend = topic->old.slots != NULL;

    if (!topic->corrupt) {
        events_log(assigner->zookeeper->coord->options.events, SMQ_LEVEL_ERROR,
                   "topic %s: its assignment in ZooKeeper cannot be read; %s", topic->name,
                   mend ? "the last good one is written again"
                        : "nothing moves until it is deleted together with its topic's node");
    }
    topic->corrupt = true;
    topic->read = topic->write = mend;
}

static void assigner_take_old(struct assigner *assigner, struct assigner_topic *topic,
                              const struct zk_reply *reply)
{
    struct assignment read = {0};

    assignment_fini(&topic->next);
    topic->version = reply->stat.version;
    topic->mzxid = reply->stat.mzxid;
    if (reply->len > 0 &&
        (!assignment_decode(&read, reply->data, reply->len) || read.slot_count != topic->slots)) {
        assignment_fini(&read);
        assigner_take_damaged(assigner, topic);
        return;
    }
    assignment_fini(&topic->old);
    topic->old = read;
    topic->read = true;
    topic->corrupt = false;
}

static void assigner_on_assignment(void *user, const struct zk_reply *reply)
{
    struct assigner *assigner = user;

    if (!assigner_goes_on(assigner, reply->rc)) {
        return;
    }
    if (reply->rc == ZOK) {
        assigner_take_old(assigner, assigner->current, reply);
    }
    assigner->name_at++;
    assigner_read_topic(assigner);
}

static void assigner_on_topic(void *user, const struct zk_reply *reply)
{
    struct assigner *assigner = user;
    char path[MEMBER_WORD_MAX + 32];

    if (!assigner_goes_on(assigner, reply->rc)) {
        return;
    }
    if (reply->rc != ZOK) {
        assigner->name_at++;
        assigner_read_topic(assigner);
        return;
    }
    assigner->current = assigner_topic_of(assigner, assigner->names[assigner->name_at]);
    assigner->current->node_version = reply->stat.version;
    assigner_define(assigner->current, reply);
    (void) snprintf(path, sizeof(path), "topics/%s/assignment", assigner->current->name);
    zk_get(&assigner->zookeeper->session, path, false, assigner_on_assignment, assigner);
}

static void assigner_decide_and_write(struct assigner *assigner)
{
    struct assigner_topic *topic = LIST_FIRST(&assigner->topics);

    while (topic != NULL) {
        struct assigner_topic *next = LIST_NEXT(topic, link);

        if (!topic->read && !topic->corrupt) {
            assigner_topic_free(topic);
        }
        topic = next;
    }
    assigner_decide(assigner, clock_now_ms());
    assigner_write(assigner);
}

static void assigner_read_topic(struct assigner *assigner)
{
    char path[MEMBER_WORD_MAX + 16];

    if (assigner->name_at == assigner->name_count) {
        assigner_decide_and_write(assigner);
        return;
    }
    (void) snprintf(path, sizeof(path), "topics/%s", assigner->names[assigner->name_at]);
    zk_get(&assigner->zookeeper->session, path, true, assigner_on_topic, assigner);
}

/* --- writing --- */

static void assigner_on_written(void *user, const struct zk_reply *reply)
{
    struct assigner *assigner = user;

    if (assigner->active && reply->rc == ZBADVERSION && reply->errors[0] == ZBADVERSION) {
        assigner_over(assigner, -1);
        election_resign(assigner->zookeeper);
        return;
    }
    if (!assigner_goes_on(assigner, reply->rc)) {
        return;
    }
    assigner->again = true; /* to see the revocations that were written */
    assignment_fini(&assigner->current->old);
    assigner->current->old = assigner->current->next;
    assigner->current->next = (struct assignment){0};
    assigner_write(assigner);
}

/* Nobody has asked for this topic for long: its nodes are what a deletion left behind.  Who asks
 * for it meanwhile makes them anew. */
static void assigner_remove(struct assigner *assigner, struct assigner_topic *topic)
{
    char path[MEMBER_WORD_MAX + 16];
    char assignment[MEMBER_WORD_MAX + 32];
    struct zk_op ops[3] = {
        {.kind = ZK_CHECK, .path = "leader_epoch", .version = assigner->zookeeper->election.epoch},
        {.kind = ZK_DELETE, .path = assignment, .version = topic->version},
        {.kind = ZK_DELETE, .path = path, .version = topic->node_version}};

    (void) snprintf(path, sizeof(path), "topics/%s", topic->name);
    (void) snprintf(assignment, sizeof(assignment), "topics/%s/assignment", topic->name);
    topic->remove = topic->write = false;
    zk_write(&assigner->zookeeper->session, ops, 3, assigner_on_written, assigner);
}

/* Encode what is to be written.  false: it is too large for a node, and stays as it is. */
static bool assigner_encode(struct assigner *assigner, struct assigner_topic *topic)
{
    topic->write = false;
    topic->next.epoch = assigner->zookeeper->election.epoch;
    topic->next.sequence = topic->old.sequence + 1;
    buf_clear(&assigner->text);
    assignment_encode(&assigner->text, &topic->next);
    if (assigner->text.len <= ASSIGNMENT_SIZE_MAX) {
        return true;
    }
    events_log(assigner->zookeeper->coord->options.events, SMQ_LEVEL_ERROR,
               "topic %s: %zu members with their names do not fit in its assignment; nothing "
               "moves until there are fewer, or shorter names",
               topic->name, topic->next.member_count);
    return false;
}

/* Write the next topic that differs, until there is none. */
static void assigner_write(struct assigner *assigner)
{
    struct assigner_topic *topic = NULL;
    char path[MEMBER_WORD_MAX + 32];
    struct zk_op ops[2] = {
        {.kind = ZK_CHECK, .path = "leader_epoch", .version = assigner->zookeeper->election.epoch},
        {.kind = ZK_SET, .path = path}};

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        if (topic->remove || (topic->read && topic->write && assigner_encode(assigner, topic))) {
            break;
        }
    }
    assigner->current = topic;
    if (topic == NULL) {
        int64_t delay = assigner->wake_at - clock_now_ms();

        assigner_over(assigner, assigner->wake_at == 0 ? -1 : delay < 1 ? 1 : delay);
        return;
    }
    if (topic->remove) {
        assigner_remove(assigner, topic);
        return;
    }
    (void) snprintf(path, sizeof(path), "topics/%s/assignment", topic->name);
    ops[1].data = assigner->text.data;
    ops[1].len = assigner->text.len;
    ops[1].version = topic->version;
    zk_write(&assigner->zookeeper->session, ops, 2, assigner_on_written, assigner);
}
