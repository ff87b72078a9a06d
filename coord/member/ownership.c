/* ownership.c - the slots of one topic at this member: reading its nodes and its assignment,
 * leaving.
 *
 * At most one chain of calls is in progress for a topic: it reads the topic's node if that is not
 * known yet (and creates it, or replaces that of an earlier creation), then the assignment; a sync
 * precedes the first read.  An event during a chain causes another one.
 *
 * Thread: smq:coord. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "coord/member/ownership_internal.h"
#include "coord/member/slot_state.h"
#include "coord/node/topic_path.h"

enum {
    OWNERSHIP_BACKOFF_MAX_MS = 5000,
    OWNERSHIP_GRANTING_MS = 5000 /* after a grant the assigner counts as at work for this long */
};

static void ownership_on_retry(uv_timer_t *timer);

void ownership_init(struct ownership_set *set, const struct zookeeper_env *env,
                    struct session *session, struct root *root, struct member *member,
                    struct coord *coord, const struct ownership_node_calls *node_calls)
{
    set->env = env;
    set->session = session;
    set->root = root;
    set->member = member;
    set->coord = coord;
    set->node_calls = node_calls;
    LIST_INIT(&set->topics);
    LIST_INIT(&set->departed);
}

bool ownership_is_asked(const struct ownership_set *set)
{
    return !LIST_EMPTY(&set->topics);
}

bool ownership_is_owner(const struct ownership_set *set)
{
    const struct ownership *topic = NULL;

    LIST_FOREACH(topic, &set->topics, link)
    {
        if (topic->busy_slots > 0) {
            return true;
        }
    }
    return false;
}

static bool ownership_is_fresh(const struct ownership *topic)
{
    return topic->granted_at != 0 && clock_now_ms() - topic->granted_at < OWNERSHIP_GRANTING_MS;
}

static bool ownership_is_granted(const struct ownership_set *set)
{
    const struct ownership *topic = NULL;

    LIST_FOREACH(topic, &set->topics, link)
    {
        if (ownership_is_fresh(topic)) {
            return true;
        }
    }
    return false;
}

void ownership_know(const struct ownership *topic, struct no_slot_facts *facts)
{
    facts->unusable = topic->node_state != TOPIC_NODE_OURS || topic->damaged != 0;
    for (int32_t i = 0; i < topic->slots; i++) {
        facts->refused |= topic->refused[i];
    }
    facts->granted = topic->granted_slots;
    facts->others = topic->others;
    facts->former = topic->former;
    facts->fresh = ownership_is_fresh(topic);
    facts->granting |= ownership_is_granted(topic->set);
    facts->slots = topic->slots;
}

struct session *ownership_session(struct ownership *topic)
{
    return topic->set->session;
}

struct ownership *ownership_find(struct ownership_set *set, const char *name)
{
    struct ownership *topic = NULL;

    LIST_FOREACH(topic, &set->topics, link)
    {
        if (name != NULL && strcmp(topic->name, name) == 0) {
            return topic;
        }
    }
    return NULL;
}

void ownership_enter_node(struct ownership *topic, enum topic_node_state state)
{
    assert(topic_node_may(topic->node_state, state));
    topic->node_state = state;
}

/* What was read of the node counts no longer. */
static void ownership_doubt_node(struct ownership *topic)
{
    if (topic->node_state == TOPIC_NODE_OURS) {
        ownership_enter_node(topic, TOPIC_NODE_UNREAD);
    }
}

void ownership_drop_holders(struct ownership *topic)
{
    for (size_t i = 0; i < topic->holder_count; i++) {
        free(topic->holders[i].name);
    }
    free(topic->holders);
    topic->holders = NULL;
    topic->holder_count = topic->holders_out = 0;
}

static void ownership_free_if_done(struct ownership *topic)
{
    if (topic->phase != OWNERSHIP_GONE || topic->reading || topic->open_timers > 0) {
        return;
    }
    LIST_REMOVE(topic, link);
    ownership_drop_holders(topic);
    free(topic->name);
    free(topic->nonce);
    free(topic->path);
    free(topic->assignment_path);
    free(topic->states);
    free(topic->tokens);
    free(topic->granted);
    free(topic->refused);
    free(topic);
}

static void ownership_on_close(uv_handle_t *handle)
{
    struct ownership *topic = handle->data;

    topic->open_timers--;
    ownership_free_if_done(topic);
}

/* The one place where the phase changes, which only goes forward. */
static void ownership_enter(struct ownership *topic, enum ownership_phase phase)
{
    assert(phase > topic->phase);
    topic->phase = phase;
}

/* Remove the topic from the list; it is freed when no call and no timer refers to it. */
static void ownership_remove(struct ownership *topic)
{
    ownership_enter(topic, OWNERSHIP_GONE);
    if (topic->node_state == TOPIC_NODE_CHECKING) { /* the reply will find no topic */
        ownership_enter_node(topic, TOPIC_NODE_UNREAD);
        topic->reading = false;
    }
    topic->set->text -= member_text_topic_size(topic->name, topic->nonce);
    LIST_REMOVE(topic, link);
    LIST_INSERT_HEAD(&topic->set->departed, topic, link);
    uv_close((uv_handle_t *) &topic->retry, ownership_on_close);
    uv_close((uv_handle_t *) &topic->leave, ownership_on_close);
}

void ownership_fail(struct ownership *topic, smq_status status, const char *text)
{
    struct coord *coord = topic->set->coord;

    ownership_lose(topic);
    ownership_remove(topic);
    member_write_soon(topic->set->member);
    coord_call_failed(coord, topic->name, status, text);
}

/* No slot is held any more and, if there is a session, the other members know that. */
static void ownership_left(struct ownership *topic)
{
    ownership_remove(topic);
    member_write_soon(topic->set->member);
    coord_call_left(topic->set->coord, topic->name);
}

/* --- reading --- */

void ownership_retry_later(struct ownership *topic, int64_t delay_ms)
{
    if (topic->phase != OWNERSHIP_GONE && !uv_is_active((uv_handle_t *) &topic->retry)) {
        uv_timer_start(&topic->retry, ownership_on_retry, (uint64_t) delay_ms, 0);
    }
}

void ownership_back_off(struct ownership *topic)
{
    if (!uv_is_active((uv_handle_t *) &topic->retry)) {
        ownership_retry_later(topic, topic->backoff_ms);
        topic->backoff_ms = topic->backoff_ms * 2 < OWNERSHIP_BACKOFF_MAX_MS
                                ? topic->backoff_ms * 2
                                : OWNERSHIP_BACKOFF_MAX_MS;
    }
}

bool ownership_chain_over(struct ownership *topic, const struct session_reply *reply)
{
    topic->reading = false;
    if (topic->node_state != TOPIC_NODE_OURS) {
        ownership_enter_node(topic, TOPIC_NODE_UNREAD);
    }
    if (topic->phase == OWNERSHIP_GONE) {
        ownership_free_if_done(topic);
        return false;
    }
    if (reply->status == SESSION_DENIED) {
        ownership_fail(topic, SMQ_DENIED,
                       "ZooKeeper refused the nodes of the topic: check zookeeper_auth");
        return false;
    }
    if (reply->status != SESSION_OK && reply->status != SESSION_NO_NODE &&
        reply->status != SESSION_EXISTS) {
        ownership_retry_later(topic, topic->set->env->timings.retry);
    }
    return true;
}

bool ownership_unsynced(struct ownership *topic)
{
    static const struct session_reply failed = {.status = SESSION_AWAY};

    if (!topic->unsynced) {
        return false;
    }
    topic->unsynced = false;
    (void) ownership_chain_over(topic, &failed);
    return true;
}

static void ownership_check_leave(struct ownership *topic)
{
    if (topic->phase != OWNERSHIP_JOINED && topic->granted_slots == 0 && topic->busy_slots == 0) {
        member_write_soon(topic->set->member); /* written without this topic */
    }
}

/* This member is not in the assignment: perhaps the topic was created anew.  Returns true if the
 * topic's node must be read before the assignment counts. */
static bool ownership_not_listed(struct ownership *topic, int64_t mzxid)
{
    if (topic->looked_at == mzxid) {
        return false;
    }
    topic->looked_at = mzxid;
    ownership_doubt_node(topic);
    topic->again = true;
    return true;
}

/* The assignment cannot be read.  The last good one stays in force, and the member's node states
 * which slots it owns, so that an assigner that has never seen a good one can restore it. */
static void ownership_damaged(struct ownership *topic, int64_t mzxid)
{
    if (topic->damaged == 0) {
        events_log(topic->set->env->events, SMQ_LEVEL_ERROR,
                   "topic %s: its assignment in %s cannot be read; the last good one stays",
                   topic->name, topic->set->env->kind);
    }
    if (topic->damaged != mzxid) {
        topic->damaged = mzxid;
        member_write_soon(topic->set->member);
    }
}

/* There is no assignment, so perhaps there is no topic either. */
static void ownership_missing(struct ownership *topic)
{
    if (topic->missing) {
        topic->set->node_calls->make_lost(topic);
        return;
    }
    topic->missing = topic->again = true;
    ownership_doubt_node(topic);
}

/* The assignment is of an earlier reign, and the store may have forgotten a later one: it counts
 * for nothing, and the last one that was read stays in force.  The member's node states which slots
 * are owned, until the assigner has written one of this reign.  A slot that is being taken over is
 * left, because it may have another owner. */
static void ownership_of_past(struct ownership *topic, int64_t reign)
{
    if (topic->stated != reign) {
        topic->stated = reign;
        ownership_lose_taken(topic);
    }
    member_write_soon(topic->set->member);
}

/* Does the assignment count for nothing?  An empty one of this reign, too, if it was made when
 * members might be missing: by one that came after the store had lost the topic. */
static bool ownership_is_of_past(struct ownership *topic, const struct session_reply *reply)
{
    const struct session *session = ownership_session(topic);

    return reply->stat.mzxid < session->reign ||
           (session->reign != 0 && reply->len == 0 &&
            (session->unsettled || topic->stated == session->reign));
}

static void ownership_act(struct ownership *topic, const struct session_reply *reply)
{
    struct assignment assignment;
    bool listed = false;

    if (reply->status == SESSION_NO_NODE) {
        ownership_missing(topic);
        return;
    }
    topic->missing = false;
    if (ownership_is_of_past(topic, reply)) {
        ownership_of_past(topic, ownership_session(topic)->reign);
        return;
    }
    topic->stated = 0;
    if (reply->len == 0) { /* no member owns anything yet */
        topic->damaged = 0;
        ownership_lose(topic);
        return;
    }
    if (!assignment_decode(&assignment, reply->data, reply->len)) {
        ownership_damaged(topic, reply->stat.mzxid);
        return;
    }
    topic->damaged = 0;
    listed = assignment.slot_count == topic->slots &&
             assignment_find(&assignment, member_incarnation(topic->set->member)) != 0;
    if (listed || !ownership_not_listed(topic, reply->stat.mzxid)) {
        if (assignment.slot_count == topic->slots) {
            ownership_apply(topic, &assignment, reply->stat.mzxid);
        } else { /* it is of another creation of the topic */
            ownership_lose(topic);
        }
    }
    assignment_fini(&assignment);
    ownership_check_leave(topic);
}

static void ownership_on_assignment(void *user, const struct session_reply *reply)
{
    struct ownership *topic = user;

    if (ownership_unsynced(topic) || !ownership_chain_over(topic, reply)) {
        return;
    }
    if (reply->status == SESSION_OK || reply->status == SESSION_NO_NODE) {
        topic->refusal = refusal_next(topic->refusal, REFUSAL_READ_DONE);
        ownership_act(topic, reply);
    }
    if (topic->again) {
        ownership_read(topic);
    }
}

void ownership_read_assignment(struct ownership *topic)
{
    topic->again = false;
    session_get(ownership_session(topic), topic->assignment_path, true, ownership_on_assignment,
                topic);
}

/* The reply to the read that was sent after the sync follows, and counts only if the sync
 * succeeded. */
static void ownership_on_sync(void *user, const struct session_reply *reply)
{
    struct ownership *topic = user;

    topic->unsynced = reply->status != SESSION_OK;
}

void ownership_read(struct ownership *topic)
{
    if (topic->phase == OWNERSHIP_GONE || !member_is_in(topic->set->member)) {
        return;
    }
    if (topic->reading) {
        topic->again = true;
        return;
    }
    topic->reading = true;
    topic->again = false;
    topic->refusal = refusal_next(topic->refusal, REFUSAL_READ_BEGUN);
    session_sync(ownership_session(topic), "topics", ownership_on_sync, topic);
    if (topic->node_state == TOPIC_NODE_OURS) {
        ownership_read_assignment(topic);
    } else {
        topic->set->node_calls->look(topic);
    }
}

void ownership_read_all(struct ownership_set *set)
{
    struct ownership *topic = NULL;

    LIST_FOREACH(topic, &set->topics, link)
    {
        ownership_read(topic);
    }
}

void ownership_changed(struct ownership_set *set, const char *path)
{
    struct ownership *topic = NULL;

    LIST_FOREACH(topic, &set->topics, link)
    {
        bool node = strcmp(path, topic->path) == 0;

        if (node) {
            ownership_doubt_node(topic);
        }
        if (node || strcmp(path, topic->assignment_path) == 0) {
            ownership_read(topic);
        }
    }
}

static void ownership_on_retry(uv_timer_t *timer)
{
    struct ownership *topic = timer->data;

    memset(topic->refused, 0, sizeof(bool) * (size_t) topic->slots);
    ownership_read(topic);
}

/* Which input is it that Redis refused the token of a slot?  false: it is none, because the refusal
 * of another slot with the same token is held already. */
static bool ownership_refusal_input(const struct ownership *topic, int32_t slot, struct token token,
                                    enum refusal_input *input)
{
    bool held = topic->refusal != REFUSAL_NONE && topic->granted[topic->refused_slot] &&
                token_compare(token, topic->refused_token) == 0;

    *input = held ? REFUSAL_SAME : REFUSAL_OTHER;
    return !held || slot == topic->refused_slot;
}

static void ownership_refused(struct ownership *topic, int32_t slot, struct token token)
{
    enum refusal_input input;

    ownership_back_off(topic);
    if (!ownership_refusal_input(topic, slot, token, &input)) {
        return;
    }
    if (refusal_shows(topic->refusal, input) && !topic->refusal_logged) {
        topic->refusal_logged = true;
        events_log(topic->set->env->events, SMQ_LEVEL_ERROR,
                   "topic %s: Redis has larger tokens than %s grants, and refuses "
                   "its slots: %s lost data, or another fleet consumes the topic; "
                   "\"slotmq fleet raise-fence\" makes the tokens of this fleet the larger ones",
                   topic->name, topic->set->env->in_redis ? "the fleet" : topic->set->env->store,
                   topic->set->env->kind);
    }
    topic->refusal = refusal_next(topic->refusal, input);
    topic->refused_slot = slot;
    topic->refused_token = token;
}

/* Is it impossible now to report anything to the other members? */
static bool ownership_away(const struct ownership *topic)
{
    return !member_is_in(topic->set->member) || !session_is_connected(topic->set->session);
}

static void ownership_on_leave_late(uv_timer_t *timer);

/* All slots are drained, but the assigner did not reply: report that to the other members, if
 * possible, for a while. */
static void ownership_drained_late(struct ownership *topic)
{
    if (ownership_away(topic)) {
        ownership_left(topic);
        return;
    }
    uv_timer_start(&topic->leave, ownership_on_leave_late,
                   (uint64_t) topic->set->env->timings.leave, 0);
    ownership_check_leave(topic);
}

/* The time for leaving has passed: first the assigner's, then the owner's. */
static void ownership_on_leave_late(uv_timer_t *timer)
{
    struct ownership *topic = timer->data;

    if (topic->phase == OWNERSHIP_LATE) {
        ownership_lose(topic);
        ownership_left(topic);
        return;
    }
    ownership_enter(topic, OWNERSHIP_LATE);
    uv_timer_start(&topic->leave, ownership_on_leave_late,
                   (uint64_t) (topic->drain_timeout_ms + topic->set->env->timings.leave), 0);
    ownership_revoke_all(topic);
    topic->granted_slots = 0;
    if (topic->busy_slots == 0) {
        ownership_drained_late(topic);
    }
}

void ownership_answer(struct ownership *topic, const struct coord_command *command)
{
    ownership_slot_answer(topic, command);
    if (topic->stated != 0) {
        member_write_soon(topic->set->member);
    }
    if (command->answer == COORD_ACQUIRED) {
        topic->backoff_ms = topic->set->env->timings.retry;
        return;
    }
    if (command->slot >= 0 && command->slot < topic->slots && topic->refused[command->slot]) {
        ownership_refused(topic, command->slot, command->token);
    }
    if (topic->phase == OWNERSHIP_LATE && topic->busy_slots == 0) {
        ownership_drained_late(topic);
        return;
    }
    ownership_check_leave(topic);
}

/* --- joining and leaving --- */

static char *ownership_path(const char *name, const char *rest)
{
    size_t size = sizeof("topics/") + strlen(name) + strlen(rest);
    char *path = memory_new(size);

    topic_path(path, size, name, rest);
    return path;
}

void ownership_join(struct ownership_set *set, const struct coord_topic *from)
{
    struct ownership *topic = memory_new(sizeof(*topic));
    size_t slots = (size_t) from->slots;
    int64_t drain_ms = from->drain_timeout_ms;
    const char *refusal_text = "";
    smq_status refusal = member_refusal(set->member, &refusal_text);
    char full[256];

    topic->set = set;
    topic->name = memory_string(from->name);
    topic->nonce = memory_string(from->nonce);
    topic->path = ownership_path(from->name, "");
    topic->assignment_path = ownership_path(from->name, "/assignment");
    topic->generation = from->generation;
    topic->slots = from->slots;
    topic->weight = from->weight < 1 ? 1 : from->weight > INT16_MAX ? INT16_MAX : from->weight;
    /* In a young reign its server, or that of the topic, may have forgotten the first owner, but
     * not of a topic that was created and bound in one life of its server. */
    topic->fresh = from->first_is_sure || !set->session->young ? from->first_reign : 0;
    topic->drain_timeout_ms =
        drain_ms < 0 || drain_ms > MEMBER_DRAIN_MAX_MS ? MEMBER_DRAIN_MAX_MS : drain_ms;
    topic->states = memory_new(slots * sizeof(*topic->states));
    topic->tokens = memory_new(slots * sizeof(*topic->tokens));
    topic->granted = memory_new(slots * sizeof(*topic->granted));
    topic->refused = memory_new(slots * sizeof(*topic->refused));
    topic->backoff_ms = set->env->timings.retry;
    memcpy(topic->identity, root_known(set->root)->identity, sizeof(topic->identity));
    topic->open_timers = 2;
    uv_timer_init(loop_uv(set->env->loop), &topic->retry);
    uv_timer_init(loop_uv(set->env->loop), &topic->leave);
    topic->retry.data = topic->leave.data = topic;
    set->text += member_text_topic_size(topic->name, topic->nonce);
    LIST_INSERT_HEAD(&set->topics, topic, link);
    if (refusal == SMQ_OK && set->text > MEMBER_TOPICS_MAX) {
        (void) snprintf(full, sizeof(full),
                        "this process consumes too many topics, and the node that names them in %s "
                        "is full: consume some of them in another process or client, or give them "
                        "shorter names",
                        set->env->kind);
        refusal = SMQ_INVALID;
        refusal_text = full;
    }
    if (refusal != SMQ_OK) {
        ownership_fail(topic, refusal, refusal_text);
        return;
    }
    member_joined(set->member);
    ownership_read(topic);
}

void ownership_leave(struct ownership *topic)
{
    bool away = ownership_away(topic);

    if (topic->phase != OWNERSHIP_JOINED) {
        return;
    }
    ownership_enter(topic, OWNERSHIP_LEAVING);
    if (away && topic->busy_slots == 0) {
        ownership_left(topic);
        return;
    }
    uv_timer_start(&topic->leave, ownership_on_leave_late,
                   away ? 0 : (uint64_t) topic->set->env->timings.leave, 0);
    member_write_soon(topic->set->member);
    ownership_read(topic);
}

/* The session is closed, so no call of a removed topic will get a reply. */
static void ownership_free_departed(struct ownership_set *set)
{
    struct ownership *topic = LIST_FIRST(&set->departed);

    while (topic != NULL) {
        struct ownership *next = LIST_NEXT(topic, link);

        topic->reading = false;
        ownership_free_if_done(topic);
        topic = next;
    }
}

void ownership_expired(struct ownership_set *set)
{
    struct ownership *topic = LIST_FIRST(&set->topics);

    ownership_free_departed(set);
    while (topic != NULL) {
        struct ownership *next = LIST_NEXT(topic, link);

        topic->reading = topic->again = false;
        ownership_enter_node(topic, TOPIC_NODE_UNREAD);
        ownership_drop_holders(topic);
        topic->applied = topic->stated = 0;
        uv_timer_stop(&topic->retry);
        ownership_lose(topic);
        if (topic->phase != OWNERSHIP_JOINED) {
            ownership_left(topic);
        }
        topic = next;
    }
}

/* Ask again at once, because slots that were refused may be granted under larger tokens now. */
static void ownership_ask(struct ownership *topic)
{
    uv_timer_stop(&topic->retry);
    topic->backoff_ms = topic->set->env->timings.retry;
    topic->refusal_logged = false;
    ownership_on_retry(&topic->retry);
}

void ownership_ask_anew(struct ownership_set *set)
{
    struct ownership *topic = NULL;

    LIST_FOREACH(topic, &set->topics, link)
    {
        ownership_doubt_node(topic);
        ownership_ask(topic);
    }
}

void ownership_raise(struct ownership *topic, uint32_t generation)
{
    if (generation > topic->generation) {
        topic->generation = generation;
        ownership_ask(topic);
    }
}

/* The watch of the assignment fires, or it has another version already. */
static void ownership_on_surpassed(void *user, const struct session_reply *reply)
{
    (void) user;
    (void) reply;
}

void ownership_surpassed(struct ownership *topic, struct token token)
{
    const struct token ours = ownership_token(topic, topic->applied);
    struct session_op op = {.kind = SESSION_RAISE,
                            .path = topic->assignment_path,
                            .version = topic->applied,
                            .above = (int64_t) token.epoch};

    if (ownership_session(topic)->reign != 0 && topic->applied != 0 && op.above > topic->applied &&
        token.generation == ours.generation) {
        session_write(ownership_session(topic), &op, 1, ownership_on_surpassed, NULL);
    }
}

void ownership_fail_all(struct ownership_set *set, smq_status status, const char *text)
{
    struct ownership *topic = NULL;

    while ((topic = LIST_FIRST(&set->topics)) != NULL) {
        ownership_fail(topic, status, text);
    }
}

void ownership_stop(struct ownership_set *set)
{
    struct ownership *topic = NULL;

    while ((topic = LIST_FIRST(&set->topics)) != NULL) {
        ownership_remove(topic);
    }
    ownership_free_departed(set);
}

/* --- the lines of the member's node --- */

/* `line` does not fit as it is.  More slots than are held only move later; what is owned is stated
 * when there is room for it. */
static void ownership_shorten(struct member_topic *line)
{
    member_slots_fill(&line->held);
    member_slots_fini(&line->owned);
    line->stated = 0;
}

/* Append the line of a topic, in `room` bytes. */
static void ownership_encode(struct ownership *topic, struct buf *out, size_t room)
{
    struct member_topic line = {.weight = topic->weight,
                                .drain_timeout_ms = topic->drain_timeout_ms,
                                .leaving = topic->phase != OWNERSHIP_JOINED,
                                .applied = topic->applied,
                                .stated = topic->damaged != 0 ? topic->damaged : topic->stated};
    const size_t before = out->len;

    topic->omitted =
        topic->phase != OWNERSHIP_JOINED && topic->granted_slots == 0 && topic->busy_slots == 0;
    if (topic->omitted) {
        return;
    }
    (void) snprintf(line.name, sizeof(line.name), "%s", topic->name);
    (void) snprintf(line.nonce, sizeof(line.nonce), "%s", topic->nonce);
    for (int32_t i = 0; topic->busy_slots > 0 && i < topic->slots; i++) {
        const struct token token = topic->stated != 0 ? topic->tokens[i] : (struct token){0};

        if (topic->states[i] == SLOT_STOPPING) {
            member_slots_add_token(&line.held, i, token);
        }
        if ((topic->damaged != 0 && topic->granted[i]) ||
            (topic->stated != 0 && topic->states[i] == SLOT_OWNED)) {
            member_slots_add_token(&line.owned, i, token);
        }
    }
    member_text_topic(out, &line);
    if (out->len - before > room) {
        out->len = before;
        ownership_shorten(&line);
        member_text_topic(out, &line);
    }
    member_slots_fini(&line.held);
    member_slots_fini(&line.owned);
}

void ownership_encode_all(struct ownership_set *set, struct buf *out)
{
    struct ownership *topic = NULL;
    size_t rest = set->text; /* for the topics that follow */

    LIST_FOREACH(topic, &set->topics, link)
    {
        rest -= member_text_topic_size(topic->name, topic->nonce);
        ownership_encode(topic, out,
                         MEMBER_TEXT_MAX > out->len + rest ? MEMBER_TEXT_MAX - out->len - rest : 0);
    }
}

void ownership_written(struct ownership_set *set)
{
    struct ownership *topic = LIST_FIRST(&set->topics);

    while (topic != NULL) {
        struct ownership *next = LIST_NEXT(topic, link);

        if (topic->omitted) {
            ownership_left(topic);
        }
        topic = next;
    }
}
