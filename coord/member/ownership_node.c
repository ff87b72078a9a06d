/* ownership_node.c - the node of a topic: whose it is, creating it, replacing it.
 *
 * Text: "nonce N slots S", and "asked N2 NAME HOST" if a member has asked for the topic of another
 * nonce.  The definition in Redis decides.  If the node has another nonce than this member's topic,
 * the layer above reads Redis first: either this creation of the topic is gone, or the node belongs
 * to an earlier creation, or to another fleet with another Redis.  The node is replaced only if no
 * living member lists its nonce.  Otherwise this member asks through the node, so that the members
 * that list the nonce read their Redis: those of an earlier creation end, those of another fleet
 * continue.
 *
 * Thread: smq:coord. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "coord/member/ownership_internal.h"

static const char ownership_lost_text[] = "lost";

static void ownership_get_node(struct ownership *topic, enum topic_node_state state);

/* --- making the nodes --- */

static void ownership_definition(const struct ownership *topic, struct buf *out)
{
    buf_printf(out, "nonce %s slots %d\n", topic->nonce, (int) topic->slots);
}

/* No slot of the topic has ever had an owner: in this reign of the store nobody waits for one. */
static bool ownership_is_unowned(const struct ownership *topic)
{
    const struct session *session = topic->set->session;

    return topic->fresh != 0 && topic->fresh == session->reign;
}

static void ownership_definition_fresh(struct ownership *topic, struct buf *out)
{
    if (ownership_is_unowned(topic)) {
        buf_printf(out, "fresh %" PRId64 "\n", topic->fresh);
    }
}

int64_t ownership_fresh_after(int64_t fresh, enum session_status status)
{
    return status == SESSION_EXISTS ? fresh : 0;
}

/* The nodes were created, by this or another member, or not: read again. */
static void ownership_on_made(void *user, const struct session_reply *reply)
{
    struct ownership *topic = user;

    topic->fresh = ownership_fresh_after(topic->fresh, reply->status);
    if (!ownership_chain_over(topic, reply)) {
        return;
    }
    if (reply->status ==
        SESSION_NO_NODE) { /* the folder is missing, unless it was deleted just now */
        root_mend(topic->set->root);
        ownership_retry_later(topic, topic->set->env->timings.retry);
        return;
    }
    ownership_read(topic);
}

static void ownership_make(struct ownership *topic)
{
    struct buf text = {0};
    struct session_op ops[2] = {
        {.kind = SESSION_CREATE, .path = topic->path},
        {.kind = SESSION_CREATE, .path = topic->assignment_path, .data = ""}};

    ownership_enter_node(topic, TOPIC_NODE_MAKING);
    ownership_definition(topic, &text);
    ownership_definition_fresh(topic, &text);
    ops[0].data = text.data;
    ops[0].len = text.len;
    if (topic->busy_slots > 0) { /* the nodes were deleted while this member owns slots */
        ops[1].data = ownership_lost_text;
        ops[1].len = sizeof(ownership_lost_text) - 1;
    }
    session_write(ownership_session(topic), ops, 2, ownership_on_made, topic);
    buf_fini(&text);
}

/* Another member was the first to make the nodes, and did not know that nobody need wait.  It is
 * said now, while they are as they were made: nothing was granted in this reign. */
static void ownership_tell_fresh(struct ownership *topic)
{
    struct buf text = {0};
    struct session_op ops[2] = {
        {.kind = SESSION_CHECK, .path = topic->assignment_path, .version = topic->version},
        {.kind = SESSION_SET, .path = topic->path, .version = topic->version}};

    ownership_enter_node(topic, TOPIC_NODE_MAKING);
    ownership_definition(topic, &text);
    ownership_definition_fresh(topic, &text);
    ops[1].data = text.data;
    ops[1].len = text.len;
    session_write(ownership_session(topic), ops, 2, ownership_on_made, topic);
    buf_fini(&text);
}

/* The topic's node exists without its assignment.  The assignment is created as a damaged one, so
 * that members keep what they own. */
static void ownership_make_lost(struct ownership *topic)
{
    struct session_op ops[2] = {
        {.kind = SESSION_CHECK, .path = topic->path, .version = topic->version},
        {.kind = SESSION_CREATE,
         .path = topic->assignment_path,
         .data = ownership_lost_text,
         .len = sizeof(ownership_lost_text) - 1}};

    ownership_enter_node(topic, TOPIC_NODE_MAKING);
    topic->reading = true;
    topic->missing = topic->again = false;
    session_write(ownership_session(topic), ops, 2, ownership_on_made, topic);
}

/* The old assignment was read: replace both nodes at once.  The assignment is emptied, not deleted,
 * so that its next version grants nothing of the old one. */
static void ownership_on_old(void *user, const struct session_reply *reply)
{
    struct ownership *topic = user;
    struct buf text = {0};
    struct session_op ops[2] = {
        {.kind = reply->status == SESSION_NO_NODE ? SESSION_CREATE : SESSION_SET,
         .path = topic->assignment_path,
         .data = "",
         .version = reply->stat.version},
        {.kind = SESSION_SET, .path = topic->path, .version = topic->version}};

    if (topic->phase == OWNERSHIP_GONE ||
        (reply->status != SESSION_OK && reply->status != SESSION_NO_NODE)) {
        (void) ownership_chain_over(topic, reply);
        return;
    }
    ownership_definition(topic, &text);
    ops[1].data = text.data;
    ops[1].len = text.len;
    session_write(ownership_session(topic), ops, 2, ownership_on_made, topic);
    buf_fini(&text);
}

/* --- other members that list the nonce of the node --- */

/* If the question was written into the node, the members that list its nonce will read it. */
static void ownership_on_asked(void *user, const struct session_reply *reply)
{
    struct ownership *topic = user;

    if (ownership_chain_over(topic, reply)) {
        ownership_retry_later(topic, topic->set->env->timings.retry);
    }
}

static void ownership_ask_holder(struct ownership *topic)
{
    struct buf text = {0};
    struct session_op op = {.kind = SESSION_SET, .path = topic->path, .version = topic->version};

    ownership_enter_node(topic, TOPIC_NODE_ASKING);
    topic->has_asked = true;
    buf_printf(&text, "nonce %s slots %d\nasked %s %s %s\n", topic->node.nonce, topic->node.slots,
               topic->nonce, topic->set->env->name, member_self(topic->set->member)->host);
    op.data = text.data;
    op.len = text.len;
    session_write(ownership_session(topic), &op, 1, ownership_on_asked, topic);
    buf_fini(&text);
}

int64_t ownership_holder_delay(int64_t backoff_ms, int64_t waited_ms, int64_t limit_ms)
{
    int64_t left_ms = limit_ms - waited_ms;

    return left_ms > 0 && left_ms < backoff_ms ? left_ms : backoff_ms;
}

const char *ownership_holder_advice(const struct fingerprint *own, const struct fingerprint *holder)
{
    const struct fingerprint *sets[] = {own, holder};
    size_t groups[2];

    (void) fingerprint_group(groups, sets, 2);
    if (groups[0] == 0 || groups[1] == 0) {
        return "which has another topic of this name: end that process if it uses this Redis; if "
               "it uses another Redis, give its fleet a root of its own";
    }
    if (groups[0] == groups[1]) {
        return "which still has a deleted topic of this name: end that process; it is of another "
               "version of slotmq, or does not reach Redis";
    }
    return "which belongs to another fleet, with a topic of this name in another Redis: give each "
           "fleet a root of its own";
}

/* The chain ends without a call that has failed. */
static void ownership_give_up_node(struct ownership *topic)
{
    ownership_enter_node(topic, TOPIC_NODE_UNREAD);
    topic->reading = false;
}

/* A living member lists the nonce of the node.  It may be about to end, so this member waits for
 * that as long as for a name; a member that owns slots continues with them. */
static void ownership_found_holder(struct ownership *topic)
{
    struct ownership_set *set = topic->set;
    int64_t timeout_ms = session_timeout(set->session);
    int64_t now = session_clock_ms(set->session);
    int64_t delay_ms = ownership_holder_delay(
        topic->backoff_ms, topic->holder_since == 0 ? 0 : now - topic->holder_since,
        2 * timeout_ms);
    char text[1024];

    (void) snprintf(text, sizeof(text), "topic %s at %s is held by member %s on host %s, %s",
                    topic->name, set->env->root, topic->holder_name, topic->holder_host,
                    ownership_holder_advice(&member_self(set->member)->fingerprint,
                                            &topic->holder_fingerprint));
    if (topic->holder_since == 0) {
        topic->holder_since = now;
    }
    if (topic->busy_slots == 0 && now - topic->holder_since >= 2 * timeout_ms) {
        ownership_give_up_node(topic);
        ownership_fail(topic, SMQ_OTHER_FLEET, text);
        return;
    }
    if (!topic->holder_logged && now - topic->holder_since >= timeout_ms / 4) {
        topic->holder_logged = true;
        events_log(set->env->events, SMQ_LEVEL_ERROR, "%s", text);
    }
    if (!topic->has_asked) {
        ownership_ask_holder(topic);
        return;
    }
    ownership_give_up_node(topic);
    if (delay_ms < topic->backoff_ms) {
        ownership_retry_later(topic, delay_ms);
    } else {
        ownership_back_off(topic);
    }
}

static void ownership_holders_read(struct ownership *topic)
{
    static const struct session_reply lost = {.status = SESSION_AWAY};
    bool failed = topic->holders_failed;

    ownership_drop_holders(topic);
    if (topic->phase == OWNERSHIP_GONE || failed) {
        (void) ownership_chain_over(topic, &lost);
    } else if (*topic->holder_name != '\0') {
        ownership_found_holder(topic);
    } else {
        topic->holder_since = 0;
        ownership_enter_node(topic, TOPIC_NODE_MAKING);
        session_get(ownership_session(topic), topic->assignment_path, false, ownership_on_old,
                    topic);
    }
}

/* A node that cannot be read counts as one that lists the nonce. */
static void ownership_on_holder(void *user, const struct session_reply *reply)
{
    struct ownership_holder *holder = user;
    struct ownership *topic = holder->topic;
    struct member_info info = {0};
    bool readable =
        reply->status == SESSION_OK && member_text_parse(&info, reply->data, reply->len);

    topic->holders_failed |= reply->status != SESSION_OK && reply->status != SESSION_NO_NODE &&
                             reply->status != SESSION_DENIED;
    if (reply->status == SESSION_DENIED || (reply->status == SESSION_OK && !readable) ||
        (readable && member_info_topic(&info, topic->name, topic->node.nonce) != NULL)) {
        (void) snprintf(topic->holder_name, sizeof(topic->holder_name), "%s", holder->name);
        (void) snprintf(topic->holder_host, sizeof(topic->holder_host), "%s",
                        readable ? info.host : "(not readable)");
        topic->holder_fingerprint = info.fingerprint;
    }
    member_info_fini(&info);
    if (--topic->holders_out == 0) {
        ownership_holders_read(topic);
    }
}

static void ownership_on_members(void *user, const struct session_reply *reply)
{
    struct ownership *topic = user;
    const char *self = topic->set->env->name;
    char path[MEMBER_WORD_MAX + 16];

    if (topic->phase == OWNERSHIP_GONE || reply->status != SESSION_OK) {
        (void) ownership_chain_over(topic, reply);
        return;
    }
    topic->holders = memory_new((reply->count + 1) * sizeof(*topic->holders));
    topic->holders_failed = false;
    *topic->holder_name = '\0';
    topic->holders_out = 1;
    for (size_t i = 0; i < reply->count; i++) {
        struct ownership_holder *holder = &topic->holders[topic->holder_count];

        if (strcmp(reply->names[i], self) == 0) {
            continue;
        }
        *holder = (struct ownership_holder){.topic = topic, .name = memory_string(reply->names[i])};
        topic->holder_count++;
        topic->holders_out++;
        (void) snprintf(path, sizeof(path), "members/%s", holder->name);
        session_get(ownership_session(topic), path, false, ownership_on_holder, holder);
    }
    if (--topic->holders_out == 0) {
        ownership_holders_read(topic);
    }
}

/* --- asking Redis --- */

/* Must Redis be read before the node counts? */
static bool ownership_must_check(const struct ownership *topic, bool exists)
{
    const struct ownership_node *node = &topic->node;
    bool ours = strcmp(node->nonce, topic->nonce) == 0 && node->slots == topic->slots;

    if (strcmp(topic->identity, root_known(topic->set->root)->identity) != 0) {
        return true;
    }
    return exists && topic->node_state != TOPIC_NODE_CHECKED &&
           (!ours ||
            (topic->seen && *node->asked != '\0' && strcmp(node->asked, topic->nonce) != 0 &&
             strcmp(node->asked, topic->answered) != 0));
}

static void ownership_check(struct ownership *topic)
{
    struct ownership_set *set = topic->set;
    char binding[COORD_BINDING_MAX];

    ownership_enter_node(topic, TOPIC_NODE_CHECKING);
    (void) snprintf(topic->asked_identity, sizeof(topic->asked_identity), "%s",
                    root_known(set->root)->identity);
    root_binding(set->root, binding);
    coord_call_check(set->coord, topic->name, binding);
}

/* The topic of this member has not changed, although another member asks for it under another
 * nonce. */
static void ownership_answer_request(struct ownership *topic)
{
    const struct ownership_node *node = &topic->node;

    if (*node->asked == '\0' || strcmp(node->nonce, topic->nonce) != 0 ||
        strcmp(node->asked, topic->answered) == 0) {
        return;
    }
    (void) snprintf(topic->answered, sizeof(topic->answered), "%s", node->asked);
    events_log(topic->set->env->events, SMQ_LEVEL_ERROR,
               "topic %s at %s in %s: member %s on host %s asks for it, and belongs to "
               "another fleet, which has another topic of this name, in another Redis; this fleet "
               "continues; give each fleet a root of its own",
               topic->name, topic->set->env->root, topic->set->env->kind, node->asked_by,
               node->asked_from);
}

/* Is the topic bound to this root, under any identity?  If the identity differs, the ensemble has
 * lost its data, or it is another ensemble. */
static bool ownership_bound_to_this_root(const struct ownership *topic, const char *binding)
{
    static const char kind[] = "zookeeper:";
    const char *path = topic->set->env->root;
    size_t len = strlen(path);

    return strncmp(binding, kind, sizeof(kind) - 1) == 0 &&
           strncmp(binding + sizeof(kind) - 1, path, len) == 0 &&
           binding[sizeof(kind) - 1 + len] == ' ';
}

static void ownership_unbound(struct ownership *topic, const char *binding)
{
    char text[512];

    if (!ownership_bound_to_this_root(topic, binding)) {
        (void) snprintf(text, sizeof(text), "the topic is bound to \"%.200s\" now", binding);
        ownership_fail(topic, SMQ_OTHER_FLEET, text);
        return;
    }
    if (strcmp(topic->logged_identity, topic->asked_identity) != 0) {
        (void) snprintf(topic->logged_identity, sizeof(topic->logged_identity), "%s",
                        topic->asked_identity);
        events_log(topic->set->env->events, SMQ_LEVEL_ERROR,
                   "topic %s is bound to \"%.200s\", but the root of %s has the "
                   "identity %s: it is another ensemble, or it lost its data; in the latter case "
                   "\"slotmq fleet raise-fence\" binds the topic to it",
                   topic->name, binding, topic->set->env->store, topic->asked_identity);
    }
    ownership_back_off(topic);
}

void ownership_checked(struct ownership *topic, smq_status status, const char *text)
{
    if (topic->node_state != TOPIC_NODE_CHECKING) {
        return;
    }
    if (status == SMQ_OK) {
        memcpy(topic->identity, topic->asked_identity, sizeof(topic->identity));
        ownership_answer_request(topic);
        ownership_get_node(topic, TOPIC_NODE_CHECKED);
        return;
    }
    ownership_give_up_node(topic);
    if (status == SMQ_NO_TOPIC) {
        ownership_fail(topic, SMQ_NO_TOPIC, "the topic was deleted, or deleted and created anew");
    } else if (status == SMQ_OTHER_FLEET) {
        ownership_unbound(topic, text);
    } else {
        ownership_retry_later(topic, topic->set->env->timings.retry);
    }
}

/* --- looking at the node --- */

static void ownership_read_node(struct ownership *topic, const struct session_reply *reply)
{
    struct ownership_node node = {0};
    char *text = memory_copy(reply->status == SESSION_OK ? reply->data : "",
                             reply->status == SESSION_OK ? reply->len : 0);

    if (sscanf(text, "nonce %255s slots %d asked %255s %255s %255s", node.nonce, &node.slots,
               node.asked, node.asked_by, node.asked_from) < 5) {
        *node.asked = '\0';
    }
    free(text);
    topic->node = node;
    topic->version = reply->stat.version;
}

static void ownership_on_node(void *user, const struct session_reply *reply)
{
    struct ownership *topic = user;
    bool ours = false;

    if (ownership_unsynced(topic)) {
        return;
    }
    if (topic->phase == OWNERSHIP_GONE ||
        (reply->status != SESSION_OK && reply->status != SESSION_NO_NODE)) {
        (void) ownership_chain_over(topic, reply);
        return;
    }
    ownership_read_node(topic, reply);
    ours = strcmp(topic->node.nonce, topic->nonce) == 0 && topic->node.slots == topic->slots;
    if (ownership_must_check(topic, reply->status == SESSION_OK)) {
        ownership_check(topic);
    } else if (reply->status == SESSION_NO_NODE) {
        ownership_make(topic);
    } else if (!ours) {
        ownership_enter_node(topic, TOPIC_NODE_FOREIGN);
        session_children(ownership_session(topic), "members", false, ownership_on_members, topic);
    } else if (ownership_is_unowned(topic) && reply->stat.czxid == topic->version) {
        ownership_tell_fresh(topic);
    } else {
        if (!topic->seen) { /* other members have answered the question that was there before */
            memcpy(topic->answered, topic->node.asked, sizeof(topic->answered));
        }
        ownership_enter_node(topic, TOPIC_NODE_OURS);
        topic->fresh = 0;
        topic->seen = true;
        topic->holder_since = 0;
        ownership_read_assignment(topic);
    }
}

static void ownership_get_node(struct ownership *topic, enum topic_node_state state)
{
    ownership_enter_node(topic, state);
    session_get(ownership_session(topic), topic->path, true, ownership_on_node, topic);
}

static void ownership_look(struct ownership *topic)
{
    ownership_get_node(topic, TOPIC_NODE_READING);
}

const struct ownership_node_calls ownership_node_calls = {.look = ownership_look,
                                                          .make_lost = ownership_make_lost};
