/* tree_session.c - the states of a session with a tree, its timers, and what is sent next.
 *
 * Thread: smq:coord; tree_session_on_heard() runs on any. */
#include "coord/tree/tree_session.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "base/steps.h"
#include "base/waiter.h"
#include "coord/tree/tree_call.h"
#include "coord/tree/tree_exchange.h"
#include "coord/tree/tree_text.h"
#include "coord/tree/tree_watch.h"

enum {
    TREE_TIMEOUT_MIN_MS = 1000, /* as tree.lua has them */
    TREE_TIMEOUT_MAX_MS = 60000,
    TREE_BEATS = 6,      /* calls that keep the session, in a time-out */
    TREE_ANSWERS = 3,    /* an answer is awaited for this part of the time-out */
    TREE_RETRY_MS = 200, /* when the tree does not answer; then TREE_AWAY_MS */
    TREE_AWAY_MS = 500,
    TREE_CLOSE_MS = 500,
    TREE_READS_MAX = 64, /* in one call of the script */
    TREE_CHANNELS_MAX = 1024
};

static const char tree_hidden[] =
    "Redis does not say which life of which server it is (master_replid of INFO), so a failover "
    "cannot be noticed: use ZooKeeper, or a Redis that shows it";

/* Something that was heard, posted to smq:coord. */
struct tree_heard {
    struct loop_task task;
    struct tree_session *session;
    bool again; /* the channel is subscribed, and may have missed something */
    char channel[TREE_CHANNEL_MAX];
    size_t len;
    char data[];
};

/* Invariant: `out` is the call of the script that is in progress, of this session, or NULL. */
struct tree_session {
    struct session door;
    const struct coord_port *port;
    enum tree_state state;
    int64_t id;
    uint64_t number; /* of the session; what belongs to an earlier one is dropped */
    int64_t timeout_ms;
    const char *verb; /* that must be sent first: "open", "resume"; NULL: none */
    struct tree_exchange *out;
    struct tree_calls sent, queue;
    bool beat;      /* a call that keeps the session is due */
    int64_t kept;   /* when the last call was sent that has kept it */
    int64_t seen;   /* the last change of the tree that is known */
    int64_t looked; /* the last one when all channels were compared */
    int64_t aim;    /* what `looked` is when no channel is doubted any more */
    bool look;      /* some channels may be doubted */
    bool looking;   /* `out` does so */
    struct tree_watches watches;
    struct tree_owns owns;
    bool away_logged;
    char refusal[COORD_PORT_TEXT_MAX]; /* why it was refused */
    int64_t ran_ms, runs_since;        /* its clock; 0: it stands still */
    uv_timer_t ticks, turn, grace;
};

static struct tree_session *tree_session_of(const struct session *door)
{
    return OWNER_OF(door, struct tree_session, door);
}

/* --- the state --- */

bool tree_state_may(enum tree_state from, enum tree_state to)
{
    static const unsigned steps[TREE_STATES] = {
        [TREE_NEW] = STEP(TREE_OPENING),
        [TREE_NONE] = STEP(TREE_OPENING) | STEP(TREE_NEW),
        [TREE_OPENING] = STEP(TREE_CONNECTED) | STEP(TREE_NONE) | STEP(TREE_NEW),
        [TREE_CONNECTED] = STEP(TREE_AWAY) | STEP(TREE_NONE) | STEP(TREE_NEW),
        [TREE_AWAY] = STEP(TREE_CONNECTED) | STEP(TREE_NONE) | STEP(TREE_NEW),
    };

    return steps_allow(steps, from, to);
}

static int64_t tree_session_clock(const struct session *door)
{
    const struct tree_session *session = tree_session_of(door);

    return session->ran_ms + (session->runs_since != 0 ? clock_now_ms() - session->runs_since : 0);
}

/* The state has changed, or whether the tree is settled: the clock runs or stands still. */
static void tree_session_run(struct tree_session *session)
{
    const bool runs = session->state == TREE_CONNECTED && !session->door.unsettled;

    session->ran_ms = tree_session_clock(&session->door);
    session->runs_since = runs ? clock_now_ms() : 0;
}

/* The one place where the state changes. */
static void tree_session_enter(struct tree_session *session, enum tree_state state)
{
    assert(tree_state_may(session->state, state));
    session->state = state;
    tree_session_run(session);
}

static bool tree_session_is_connected(const struct session *door)
{
    return tree_session_of(door)->state == TREE_CONNECTED;
}

static bool tree_session_is_closed(const struct session *door)
{
    const enum tree_state state = tree_session_of(door)->state;

    return state == TREE_NEW || state == TREE_NONE;
}

/* Does the tree know it, and must it be told of its end? */
static bool tree_session_is_held(const struct tree_session *session)
{
    return session->state == TREE_CONNECTED && !session->door.options.looks;
}

static int64_t tree_session_id(const struct session *door)
{
    return tree_session_of(door)->id;
}

static int64_t tree_session_timeout(const struct session *door)
{
    return tree_session_of(door)->timeout_ms;
}

/* --- calls of the script --- */

static void tree_session_on_turn(uv_timer_t *timer);
static void tree_session_on_reply(struct loop_task *task);

/* Send what is to be sent when the functions that are running have returned. */
static void tree_session_turn(struct tree_session *session)
{
    if (session->state != TREE_NEW && !uv_is_active((uv_handle_t *) &session->turn)) {
        uv_timer_start(&session->turn, tree_session_on_turn, 0, 0);
    }
}

static struct tree_exchange *tree_session_call(struct tree_session *session, const char *verb)
{
    struct tree_exchange *exchange =
        tree_exchange_new(session->door.options.loop, tree_session_on_reply, session);
    char timeout[24], salt[4];

    exchange->number = session->number;
    tree_exchange_add_string(exchange, verb);
    tree_exchange_add_change(exchange, session->id);
    tree_exchange_add_change(exchange, session->door.reign);
    tree_exchange_add_change(exchange, session->seen);
    random_hex(salt, sizeof(salt));
    tree_exchange_add_string(exchange, salt);
    (void) snprintf(timeout, sizeof(timeout), "%" PRId64, session->timeout_ms);
    tree_exchange_add_string(exchange, timeout);
    return exchange;
}

static void tree_session_send(struct tree_session *session, struct tree_exchange *exchange)
{
    session->out = exchange;
    session->kept = clock_now_ms();
    session->beat = false;
    tree_exchange_send(exchange, session->port, session->timeout_ms / TREE_ANSWERS);
}

/* Ask what the last changes of the channels are that are doubted, as far as a call has room for
 * them; returns whether some are left. */
static bool tree_session_add_channels(struct tree_session *session, struct tree_exchange *exchange)
{
    struct tree_channel *channel = session->watches.channels;
    struct buf operand = {0};
    int count = 0;

    for (; channel != NULL && count < TREE_CHANNELS_MAX; channel = channel->hh.next) {
        if (channel->doubted) {
            channel->doubted = false;
            buf_clear(&operand);
            buf_printf(&operand, "w%s", channel->name);
            tree_exchange_add(exchange, operand.data, operand.len);
            count++;
        }
    }
    buf_fini(&operand);
    return channel != NULL;
}

/* The answers for the channels: the last change, and the name. */
static void tree_session_compare(struct tree_session *session, const struct coord_word *words,
                                 size_t count)
{
    int64_t change = 0;

    for (size_t i = 0; i < count; i++) {
        if (words[i].len >= TREE_CHANGE_LEN &&
            tree_change_parse(&change, words[i].data, TREE_CHANGE_LEN)) {
            char *name =
                memory_copy(words[i].data + TREE_CHANGE_LEN, words[i].len - TREE_CHANGE_LEN);

            tree_watches_compare(&session->watches, name, change);
            free(name);
        }
    }
}

/* Who only looks has no session in the tree. */
static const char *tree_session_reads(const struct tree_session *session)
{
    return session->door.options.looks ? "look" : "read";
}

/* Reads that follow one another are sent together, a write alone. */
static void tree_session_send_queue(struct tree_session *session)
{
    struct tree_call *call = TAILQ_FIRST(&session->queue);
    const bool write = call != NULL && call->kind == TREE_CALL_WRITE;
    struct tree_exchange *exchange =
        tree_session_call(session, write ? "write" : tree_session_reads(session));

    for (int i = 0; i < TREE_READS_MAX && call != NULL && (call->kind == TREE_CALL_WRITE) == write;
         i++) {
        TAILQ_REMOVE(&session->queue, call, link);
        TAILQ_INSERT_TAIL(&session->sent, call, link);
        tree_call_encode(exchange, call);
        call = write ? NULL : TAILQ_FIRST(&session->queue);
    }
    tree_session_send(session, exchange);
}

static void tree_session_send_look(struct tree_session *session)
{
    struct tree_exchange *exchange = tree_session_call(session, tree_session_reads(session));

    session->looking = session->look;
    session->look = session->look && tree_session_add_channels(session, exchange);
    tree_session_send(session, exchange);
}

static void tree_session_send_first(struct tree_session *session)
{
    struct tree_exchange *exchange = tree_session_call(session, session->verb);

    if (strcmp(session->verb, "resume") == 0) {
        tree_owns_encode(exchange, &session->owns);
    }
    tree_session_send(session, exchange);
}

/* Call the function of a call with its reply; false: the session has ended in it. */
static bool tree_session_answer(struct tree_session *session, struct tree_calls *calls,
                                struct session_reply *reply)
{
    const uint64_t number = session->number;
    struct tree_call *call = TAILQ_FIRST(calls);

    TAILQ_REMOVE(calls, call, link);
    tree_owns_note(&session->owns, call, reply, session->id);
    if (reply->status == SESSION_NO_NODE && call->kind == TREE_CALL_GET) {
        tree_watches_remove(&session->watches, call->path);
    }
    call->fn(call->user, reply);
    tree_reply_fini(reply);
    tree_call_free(call);
    return number == session->number;
}

/* All calls that were made until now get no reply. */
static void tree_session_fail(struct tree_session *session)
{
    struct session_reply reply = {.status = SESSION_AWAY};
    struct tree_calls failed = TAILQ_HEAD_INITIALIZER(failed);
    bool more = true;

    TAILQ_CONCAT(&failed, &session->sent, link);
    TAILQ_CONCAT(&failed, &session->queue, link);
    while (more && !TAILQ_EMPTY(&failed)) {
        more = tree_session_answer(session, &failed, &reply);
    }
    tree_calls_free(&failed);
}

static void tree_session_pump(struct tree_session *session)
{
    struct tree_call *call = NULL;
    struct session_reply reply = {0};

    if (session->out != NULL || session->state == TREE_NEW || session->state == TREE_NONE) {
        return;
    }
    if (session->verb != NULL) {
        if (session->beat) {
            tree_session_send_first(session);
        }
        return;
    }
    if (session->state == TREE_CONNECTED) {
        while ((call = TAILQ_FIRST(&session->queue)) != NULL && call->kind == TREE_CALL_SYNC) {
            reply.status = call->status;
            if (!tree_session_answer(session, &session->queue, &reply)) {
                return;
            }
        }
    }
    if (session->state == TREE_CONNECTED && call != NULL && !session->look) {
        tree_session_send_queue(session);
    } else if (session->beat || (session->look && session->state == TREE_CONNECTED)) {
        tree_session_send_look(session);
    }
}

static void tree_session_on_turn(uv_timer_t *timer)
{
    struct tree_session *session = timer->data;

    if (session->state == TREE_OPENING || session->state == TREE_AWAY) {
        tree_session_fail(session);
    }
    tree_session_pump(session);
}

/* --- timers --- */

static void tree_session_on_tick(uv_timer_t *timer);

static void tree_session_tick_in(struct tree_session *session, int64_t delay_ms)
{
    const int64_t part_ms = session->timeout_ms / TREE_BEATS;
    const bool away = session->state != TREE_CONNECTED && part_ms > TREE_AWAY_MS;

    uv_timer_start(&session->ticks, tree_session_on_tick, (uint64_t) delay_ms,
                   (uint64_t) (away ? TREE_AWAY_MS : part_ms));
}

/* What was published is compared.  The session is kept, unless other calls do so: a member reads
 * its own node as often, perhaps a moment later. */
static void tree_session_on_tick(uv_timer_t *timer)
{
    struct tree_session *session = timer->data;
    const int64_t part_ms = session->timeout_ms / TREE_BEATS;

    if (session->seen != session->looked) {
        session->aim = session->seen;
        session->look = true;
        tree_watches_doubt(&session->watches, NULL);
    }
    session->beat = session->state != TREE_CONNECTED || session->verb != NULL ||
                    clock_now_ms() - session->kept >= part_ms + part_ms / 8;
    tree_session_pump(session);
}

static void tree_session_on_grace(uv_timer_t *timer)
{
    struct tree_session *session = timer->data;

    session->beat = true;
    tree_session_pump(session);
}

/* --- the end of a session, and the next one --- */

/* Forget all of the session; its calls get no reply. */
static void tree_session_drop(struct tree_session *session)
{
    session->number++;
    session->out = NULL;
    session->look = session->looking = false;
    tree_calls_free(&session->sent);
    tree_calls_free(&session->queue);
    tree_watches_clear(&session->watches);
    tree_owns_free(&session->owns);
    uv_timer_stop(&session->ticks);
    uv_timer_stop(&session->turn);
    uv_timer_stop(&session->grace);
}

static void tree_session_open(struct tree_session *session)
{
    session->id = (int64_t) (random_u64() >> 1 | 1);
    session->verb = session->door.options.looks ? NULL : "open";
    session->beat = true;
    tree_session_enter(session, TREE_OPENING);
    tree_session_tick_in(session, 0);
}

static void tree_session_expire(struct tree_session *session)
{
    tree_session_drop(session);
    tree_session_enter(session, TREE_NONE);
    session->door.options.expired(session->door.options.user);
    tree_session_open(session);
}

static void tree_session_renew(struct session *door)
{
    struct tree_session *session = tree_session_of(door);

    if (tree_session_is_held(session)) { /* its reply is dropped */
        tree_exchange_send(tree_session_call(session, "close"), session->port,
                           session->timeout_ms / TREE_ANSWERS);
    }
    tree_session_expire(session);
}

static void tree_session_refuse(struct tree_session *session, const char *text)
{
    (void) snprintf(session->refusal, sizeof(session->refusal), "%s", text);
    tree_session_drop(session);
    tree_session_enter(session, TREE_NONE);
    session->door.options.denied(session->door.options.user, session->refusal);
}

/* --- replies --- */

/* No answer has come, or none that can be used: the session continues with the next one. */
static void tree_session_lost(struct tree_session *session, const char *text)
{
    const uint64_t number = session->number;

    session->aim = session->looked; /* what was asked for is not known */
    if (!session->away_logged) {
        session->away_logged = true;
        events_log(session->door.options.events, SMQ_LEVEL_WARN,
                   "the tree of the fleet in Redis does not answer: %s", text);
    }
    if (session->state == TREE_CONNECTED) {
        tree_session_enter(session, TREE_AWAY);
        session->door.options.disconnected(session->door.options.user);
    }
    if (number == session->number) {
        tree_session_tick_in(session, TREE_RETRY_MS);
        tree_session_fail(session);
    }
}

/* An answer has come that the session lives. */
static void tree_session_found(struct tree_session *session)
{
    session->away_logged = false;
    if (session->state != TREE_CONNECTED) {
        tree_session_enter(session, TREE_CONNECTED);
        tree_session_tick_in(session, session->timeout_ms / TREE_BEATS);
        session->door.options.connected(session->door.options.user);
    }
}

/* Note the head of a reply; returns whether the grace has just ended. */
static bool tree_session_note(struct tree_session *session, const struct tree_head *head)
{
    const bool settled = session->door.unsettled && head->grace_ms == 0;

    session->seen = head->last > session->seen ? head->last : session->seen;
    if (session->door.options.looks) { /* else it is that with which the session began */
        session->door.reign = head->reign;
    }
    session->door.unsettled = head->grace_ms > 0;
    session->door.young = head->young;
    session->door.grace_ms = head->grace_ms;
    tree_session_run(session);
    if (head->grace_ms > 0) {
        uv_timer_start(&session->grace, tree_session_on_grace, (uint64_t) head->grace_ms + 1, 0);
    }
    return settled;
}

/* The tree has forgotten the session, or another reign has begun. */
static void tree_session_lapsed(struct tree_session *session, const struct tree_head *head)
{
    const bool resumes = head->verdict == TREE_REIGN || head->grace_ms > 0;

    if (session->verb != NULL || !resumes) {
        tree_session_expire(session);
        return;
    }
    session->door.reign = head->reign;
    session->verb = "resume";
    session->beat = true;
    tree_session_fail(session);
    tree_session_turn(session);
}

/* The session was opened or resumed: all that was read before may be another now. */
static void tree_session_began(struct tree_session *session, const struct tree_head *head)
{
    const uint64_t number = session->number;

    session->verb = NULL;
    session->door.reign = head->reign;
    tree_session_found(session);
    if (number == session->number) {
        tree_watches_fire(&session->watches);
    }
}

/* Answer the calls that were sent with this exchange. */
static void tree_session_replied(struct tree_session *session, const struct tree_head *head,
                                 const struct coord_word *words, size_t count)
{
    struct tree_call *call = NULL;
    bool more = true;

    if (session->looking) {
        session->looking = false;
        session->looked = session->look ? session->looked : session->aim;
        tree_session_compare(session, words, count);
    }
    while (more && (call = TAILQ_FIRST(&session->sent)) != NULL) {
        const size_t used = call->kind == TREE_CALL_WRITE                ? count
                            : call->kind == TREE_CALL_SYNC || count == 0 ? 0
                                                                         : 1;
        struct session_reply reply = tree_call_reply(call, head->verdict, head->last, words, count);

        more = tree_session_answer(session, &session->sent, &reply);
        words += used;
        count -= used;
    }
}

static void tree_session_act(struct tree_session *session, const struct tree_exchange *exchange)
{
    const uint64_t number = session->number;
    struct tree_head head;
    bool settled = false;

    if (exchange->outcome != COORD_PORT_DONE) {
        if (exchange->outcome == COORD_PORT_DENIED && session->state == TREE_OPENING) {
            tree_session_refuse(session, exchange->text);
        } else {
            tree_session_lost(session, exchange->text);
        }
        return;
    }
    if (!tree_head_parse(&head, exchange->words, exchange->word_count)) {
        tree_session_lost(session, "its answer cannot be read");
        return;
    }
    if (head.verdict == TREE_HIDDEN || head.verdict == TREE_LATER || head.verdict == TREE_FULL) {
        tree_session_refuse(session, head.verdict == TREE_HIDDEN  ? tree_hidden
                                     : head.verdict == TREE_LATER ? "a later version wrote it"
                                                                  : "it has no larger era");
        return;
    }
    settled = tree_session_note(session, &head);
    if (head.verdict == TREE_GONE || head.verdict == TREE_REIGN) {
        tree_session_lapsed(session, &head);
        return;
    }
    if (session->verb != NULL) {
        tree_session_began(session, &head);
        return;
    }
    tree_session_found(session);
    if (number == session->number) {
        tree_session_replied(session, &head, exchange->words + TREE_HEAD_WORDS,
                             exchange->word_count - TREE_HEAD_WORDS);
    }
    if (settled && number == session->number) {
        tree_watches_fire(&session->watches);
    }
}

static void tree_session_on_reply(struct loop_task *task)
{
    struct tree_exchange *exchange = OWNER_OF(task, struct tree_exchange, task);
    struct tree_session *session = exchange->user;

    if (exchange->number == session->number && session->out == exchange) {
        session->out = NULL;
        tree_session_act(session, exchange);
        tree_session_pump(session);
    }
    tree_exchange_free(exchange);
}

/* --- what is heard --- */

static void tree_session_on_heard_task(struct loop_task *task)
{
    struct tree_heard *heard = OWNER_OF(task, struct tree_heard, task);
    struct tree_session *session = heard->session;

    if (heard->again) {
        session->look = true;
        tree_watches_doubt(&session->watches, heard->channel);
        tree_session_turn(session);
    } else if (session->state != TREE_NEW && session->state != TREE_NONE) {
        tree_watches_hear(&session->watches, heard->channel, heard->data, heard->len,
                          session->timeout_ms);
    }
    free(heard);
}

static void tree_session_on_heard(void *user, const char *channel, const char *data, size_t len)
{
    struct tree_session *session = user;
    struct tree_heard *heard = memory_new(sizeof(*heard) + len + 1);

    heard->task.run = tree_session_on_heard_task;
    heard->session = session;
    heard->again = data == NULL;
    (void) snprintf(heard->channel, sizeof(heard->channel), "%s", channel);
    heard->len = len;
    if (data != NULL) {
        memcpy(heard->data, data, len);
    }
    loop_post(session->door.options.loop, &heard->task);
}

static void tree_session_on_changed(void *user, const char *path)
{
    struct tree_session *session = user;

    if (session->door.options.changed != NULL) {
        session->door.options.changed(session->door.options.user, path);
    }
}

/* --- begin and end --- */

static void tree_session_start(struct session *door)
{
    struct tree_session *session = tree_session_of(door);
    uv_timer_t *timers[] = {&session->ticks, &session->turn, &session->grace};

    session->timeout_ms = door->options.timeout_ms < TREE_TIMEOUT_MIN_MS ? TREE_TIMEOUT_MIN_MS
                          : door->options.timeout_ms > TREE_TIMEOUT_MAX_MS
                              ? TREE_TIMEOUT_MAX_MS
                              : door->options.timeout_ms;
    for (size_t i = 0; i < sizeof(timers) / sizeof(timers[0]); i++) {
        uv_timer_init(loop_uv(door->options.loop), timers[i]);
        timers[i]->data = session;
    }
    session->port->open(session->port->user, tree_session_on_heard, session);
    tree_session_open(session);
}

/* Let the tree end the session, and its nodes with it.  Blocks: 0.5 s at most. */
static void tree_session_close(struct tree_session *session, struct waiter *waiter)
{
    struct tree_exchange *exchange = NULL;

    if (tree_session_is_held(session)) {
        exchange = tree_session_call(session, "close");
        exchange->waiter = waiter;
        tree_exchange_send(exchange, session->port, TREE_CLOSE_MS);
        (void) waiter_wait(waiter, TREE_CLOSE_MS);
    }
}

static void tree_session_stop(struct session *door)
{
    struct tree_session *session = tree_session_of(door);
    struct waiter waiter;

    if (session->state == TREE_NEW) {
        return;
    }
    waiter_init(&waiter, 1);
    tree_session_close(session, &waiter);
    tree_session_drop(session);
    session->port->close(session->port->user);
    waiter_fini(&waiter);
    tree_session_enter(session, TREE_NEW);
    uv_close((uv_handle_t *) &session->ticks, NULL);
    uv_close((uv_handle_t *) &session->turn, NULL);
    uv_close((uv_handle_t *) &session->grace, NULL);
}

static void tree_session_free(struct session *door)
{
    free(tree_session_of(door));
}

/* --- the calls of the door --- */

static void tree_session_add(struct session *door, struct tree_call *call)
{
    struct tree_session *session = tree_session_of(door);

    TAILQ_INSERT_TAIL(&session->queue, call, link);
    tree_session_turn(session);
}

static void tree_session_read(struct session *door, enum tree_call_kind kind, const char *path,
                              bool watch, session_reply_fn *fn, void *user)
{
    struct tree_session *session = tree_session_of(door);
    struct tree_call *call = tree_call_new(kind, fn, user);

    call->path = memory_string(path);
    if (watch && session->state == TREE_CONNECTED) {
        tree_watches_add(&session->watches, path, kind == TREE_CALL_LIST, session->seen);
    }
    tree_session_add(door, call);
}

static void tree_session_get(struct session *door, const char *path, bool watch,
                             session_reply_fn *fn, void *user)
{
    tree_session_read(door, TREE_CALL_GET, path, watch, fn, user);
}

static void tree_session_children(struct session *door, const char *path, bool watch,
                                  session_reply_fn *fn, void *user)
{
    tree_session_read(door, TREE_CALL_LIST, path, watch, fn, user);
}

/* All nodes are in one master, so what was written before is seen. */
static void tree_session_sync(struct session *door, const char *path, session_reply_fn *fn,
                              void *user)
{
    (void) path;
    tree_session_add(door, tree_call_new(TREE_CALL_SYNC, fn, user));
}

static void tree_session_write(struct session *door, const struct session_op *ops, size_t count,
                               session_reply_fn *fn, void *user)
{
    const bool above =
        count > 0 && ops[0].path[0] == '/'; /* what is above the root needs no node */
    struct tree_call *call = tree_call_new(above ? TREE_CALL_SYNC : TREE_CALL_WRITE, fn, user);

    assert(!door->options.looks);
    call->status = above ? SESSION_EXISTS : SESSION_OK;
    for (size_t i = 0; !above && i < count; i++) {
        tree_call_add_op(call, &ops[i]);
    }
    tree_session_add(door, call);
}

struct session *tree_session_new(const struct coord_port *port)
{
    static const struct session_kind kind = {.start = tree_session_start,
                                             .stop = tree_session_stop,
                                             .free = tree_session_free,
                                             .renew = tree_session_renew,
                                             .is_connected = tree_session_is_connected,
                                             .is_closed = tree_session_is_closed,
                                             .id = tree_session_id,
                                             .timeout = tree_session_timeout,
                                             .clock = tree_session_clock,
                                             .get = tree_session_get,
                                             .children = tree_session_children,
                                             .sync = tree_session_sync,
                                             .write = tree_session_write};
    struct tree_session *session = memory_new(sizeof(*session));

    session->door.kind = &kind;
    session->port = port;
    session->ran_ms = 1; /* 0 is no time for those who wait */
    session->watches =
        (struct tree_watches){.port = port, .changed = tree_session_on_changed, .user = session};
    TAILQ_INIT(&session->sent);
    TAILQ_INIT(&session->queue);
    SLIST_INIT(&session->owns);
    return &session->door;
}
