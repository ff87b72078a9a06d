/* tree_call.c - see tree_call.h.
 *
 * Thread: smq:coord. */
#include "coord/tree/tree_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static const char tree_members[] = "members/";

struct tree_call *tree_call_new(enum tree_call_kind kind, session_reply_fn *fn, void *user)
{
    struct tree_call *call = memory_new(sizeof(*call));

    call->kind = kind;
    call->fn = fn;
    call->user = user;
    return call;
}

void tree_call_free(struct tree_call *call)
{
    for (size_t i = 0; i < call->op_count; i++) {
        free((char *) call->ops[i].path);
        free((char *) call->ops[i].data);
    }
    free(call->path);
    free(call);
}

void tree_calls_free(struct tree_calls *calls)
{
    struct tree_call *call = NULL;

    while ((call = TAILQ_FIRST(calls)) != NULL) {
        TAILQ_REMOVE(calls, call, link);
        tree_call_free(call);
    }
}

void tree_call_add_op(struct tree_call *call, const struct session_op *op)
{
    struct session_op *copy = &call->ops[call->op_count++];

    *copy = *op;
    copy->path = memory_string(op->path);
    copy->data = memory_copy(op->len > 0 ? op->data : "", op->len);
}

static void tree_call_encode_op(struct tree_exchange *exchange, const struct session_op *op)
{
    static const char *const kinds[] = {[SESSION_CHECK] = "check",
                                        [SESSION_CREATE] = "create",
                                        [SESSION_CREATE_EPHEMERAL] = "ephemeral",
                                        [SESSION_SET] = "set",
                                        [SESSION_DELETE] = "delete",
                                        [SESSION_RAISE] = "raise"};

    tree_exchange_add_string(exchange, kinds[op->kind]);
    tree_exchange_add_string(exchange, op->path);
    tree_exchange_add_change(exchange, op->version);
    if (op->kind == SESSION_RAISE) {
        tree_exchange_add_change(exchange, op->above);
    } else {
        tree_exchange_add(exchange, op->data, op->len);
    }
}

void tree_call_encode(struct tree_exchange *exchange, const struct tree_call *call)
{
    struct buf operand = {0};

    if (call->kind == TREE_CALL_GET || call->kind == TREE_CALL_LIST) {
        buf_printf(&operand, "%c%s", call->kind == TREE_CALL_GET ? 'g' : 'l', call->path);
        tree_exchange_add(exchange, operand.data, operand.len);
        buf_fini(&operand);
    }
    for (size_t i = 0; i < call->op_count; i++) {
        tree_call_encode_op(exchange, &call->ops[i]);
    }
}

/* --- replies --- */

static void tree_reply_get(struct session_reply *reply, const struct coord_word *word, int64_t last)
{
    struct coord_word data;

    if (word->len == 0) {
        reply->status = SESSION_NO_NODE;
    } else if (tree_node_parse(&reply->stat, &data, word)) {
        reply->stat.pzxid = last;
        reply->data = data.data;
        reply->len = data.len;
    } else {
        reply->status = SESSION_FAILED;
    }
}

/* `. NAME NAME`. */
static void tree_reply_list(struct session_reply *reply, const struct coord_word *word)
{
    const char *at = word->data;
    const char *end = word->data + word->len;

    if (word->len == 0) {
        reply->status = SESSION_NO_NODE;
        return;
    }
    for (const char *each = at; each < end; each++) {
        reply->count += *each == ' ' ? 1 : 0;
    }
    reply->names = memory_new((reply->count + 1) * sizeof(*reply->names));
    for (size_t i = 0; i < reply->count; i++) {
        const char *name = (const char *) memchr(at, ' ', (size_t) (end - at)) + 1;
        const char *stop = memchr(name, ' ', (size_t) (end - name));

        at = stop != NULL ? stop : end;
        reply->names[i] = memory_copy(name, (size_t) (at - name));
    }
}

static void tree_reply_write(struct session_reply *reply, const struct tree_call *call,
                             enum tree_verdict verdict, const struct coord_word *words,
                             size_t count)
{
    struct coord_word data;

    for (size_t i = 0; i < call->op_count && i < count; i++) {
        if (verdict == TREE_REFUSED) {
            reply->errors[i] = tree_status_parse(&words[i]);
            reply->status = reply->errors[i];
        } else if (words[i].len > 0 && !tree_node_parse(&reply->stats[i], &data, &words[i])) {
            reply->status = SESSION_FAILED;
        }
    }
    if (verdict == TREE_REFUSED && reply->status == SESSION_OK) {
        reply->status = SESSION_FAILED;
    }
    if (call->op_count == 1) {
        reply->stat = reply->stats[0];
    }
}

struct session_reply tree_call_reply(const struct tree_call *call, enum tree_verdict verdict,
                                     int64_t last, const struct coord_word *words, size_t count)
{
    struct session_reply reply = {.status = call->status, .data = ""};

    if (call->kind == TREE_CALL_WRITE) {
        tree_reply_write(&reply, call, verdict, words, count);
    } else if (call->kind != TREE_CALL_SYNC && count == 0) {
        reply.status = SESSION_FAILED;
    } else if (call->kind == TREE_CALL_GET) {
        tree_reply_get(&reply, &words[0], last);
    } else if (call->kind == TREE_CALL_LIST) {
        tree_reply_list(&reply, &words[0]);
    }
    return reply;
}

void tree_reply_fini(struct session_reply *reply)
{
    for (size_t i = 0; i < reply->count; i++) {
        free(reply->names[i]);
    }
    free(reply->names);
}

/* --- nodes of the session --- */

static void tree_own_free(struct tree_own *own)
{
    free(own->path);
    free(own->data);
    free(own);
}

static struct tree_own *tree_owns_find(const struct tree_owns *owns, const char *path)
{
    struct tree_own *own = NULL;

    SLIST_FOREACH(own, owns, link)
    {
        if (strcmp(own->path, path) == 0) {
            break;
        }
    }
    return own;
}

static void tree_owns_drop(struct tree_owns *owns, const char *path)
{
    struct tree_own *own = tree_owns_find(owns, path);

    if (own != NULL) {
        SLIST_REMOVE(owns, own, tree_own, link);
        tree_own_free(own);
    }
}

static void tree_owns_set(struct tree_owns *owns, const char *path, int64_t czxid, const char *data,
                          size_t len)
{
    struct tree_own *own = tree_owns_find(owns, path);

    if (own == NULL) {
        own = memory_new(sizeof(*own));
        own->path = memory_string(path);
        SLIST_INSERT_HEAD(owns, own, link);
    }
    free(own->data);
    own->czxid = czxid;
    own->data = memory_copy(data, len);
    own->len = len;
}

static bool tree_owns_is_member(const char *path)
{
    return strncmp(path, tree_members, sizeof(tree_members) - 1) == 0;
}

void tree_owns_note(struct tree_owns *owns, const struct tree_call *call,
                    const struct session_reply *reply, int64_t id)
{
    if (reply->status == SESSION_OK && call->kind == TREE_CALL_GET && reply->stat.owner == id &&
        tree_owns_is_member(call->path)) {
        tree_owns_set(owns, call->path, reply->stat.czxid, reply->data, reply->len);
    }
    for (size_t i = 0; reply->status == SESSION_OK && i < call->op_count; i++) {
        const struct session_op *op = &call->ops[i];
        const struct session_stat *stat = &reply->stats[i];

        if (op->kind == SESSION_DELETE) {
            tree_owns_drop(owns, op->path);
        } else if (op->kind != SESSION_CHECK && stat->owner == id &&
                   tree_owns_is_member(op->path)) {
            tree_owns_set(owns, op->path, stat->czxid, op->data, op->len);
        }
    }
}

void tree_owns_encode(struct tree_exchange *exchange, const struct tree_owns *owns)
{
    const struct tree_own *own = NULL;

    SLIST_FOREACH(own, owns, link)
    {
        tree_exchange_add_string(exchange, own->path);
        tree_exchange_add_change(exchange, own->czxid);
        tree_exchange_add(exchange, own->data, own->len);
    }
}

void tree_owns_free(struct tree_owns *owns)
{
    struct tree_own *own = NULL;

    while ((own = SLIST_FIRST(owns)) != NULL) {
        SLIST_REMOVE_HEAD(owns, link);
        tree_own_free(own);
    }
}
