/* root.c - reading the root of the fleet, creating it, and noticing that it has changed.
 *
 * Thread: smq:coord, except root_binding(). */
#include "coord/session/root.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

static const char *const root_folders[] = {"leader_epoch", "members", "topics"};

enum { ROOT_FOLDERS = sizeof(root_folders) / sizeof(root_folders[0]) };

void root_init(struct root *root, const struct zookeeper_env *env, struct session *session,
               const struct root_listener *listener)
{
    root->env = env;
    root->session = session;
    root->listener = *listener;
    pthread_mutex_init(&root->lock, NULL);
}

void root_fini(struct root *root)
{
    pthread_mutex_destroy(&root->lock);
}

const struct root_info *root_known(const struct root *root)
{
    return &root->info;
}

void root_binding(struct root *root, char out[COORD_BINDING_MAX])
{
    pthread_mutex_lock(&root->lock);
    root_text_binding(out, COORD_BINDING_MAX, root->env->in_redis, root->env->root,
                      root->info.identity);
    pthread_mutex_unlock(&root->lock);
}

static void root_make(struct root *root);
static void root_fill(struct root *root, int64_t version);

/* Use the content of the root; false: it is no root of a fleet. */
static bool root_use(struct root *root, const struct session_reply *reply)
{
    struct root_info *known = &root->info;
    struct root_info before = *known;
    struct root_info info;

    if (!root_text_parse(&info, reply->data, reply->len)) {
        return false;
    }
    pthread_mutex_lock(&root->lock);
    *known = info;
    pthread_mutex_unlock(&root->lock);
    if (before.generation != 0 && strcmp(before.identity, info.identity) != 0) {
        events_log(root->env->events, SMQ_LEVEL_WARN,
                   "%s has another fleet at %s (identity %s, before: %s): it lost its "
                   "data, or it is another ensemble",
                   root->env->store, root->env->root, info.identity, before.identity);
    } else if (before.generation != 0 && before.generation != info.generation) {
        events_log(root->env->events, SMQ_LEVEL_INFO,
                   "the fence generation of the fleet is %" PRIu32 " now", info.generation);
    }
    return true;
}

static void root_refuse(struct root *root, smq_status status, const char *text)
{
    root->listener.refused(root->listener.user, status, text);
}

static void root_refuse_text(struct root *root)
{
    root_refuse(root, SMQ_OTHER_FLEET,
                "the root node does not belong to a fleet of this version; choose another "
                "root");
}

/* --- entering --- */

static void root_on_entered(void *user, const struct session_reply *reply)
{
    struct root *root = user;

    if (reply->status == SESSION_NO_NODE && !root->making) {
        root->step = 0;
        root->entering = true;
        root_make(root);
    } else if (reply->status == SESSION_DENIED) {
        root_refuse(root, SMQ_DENIED,
                    "ZooKeeper refused to show the nodes of the fleet: check zookeeper_auth");
    } else if (reply->status != SESSION_OK || (reply->len == 0 && root->making)) {
        root->listener.later(root->listener.user);
    } else if (reply->len == 0) {
        root->entering = true;
        root_fill(root, reply->stat.version);
    } else if (!root_use(root, reply)) {
        root_refuse_text(root);
    } else {
        root->listener.entered(root->listener.user);
    }
}

void root_enter(struct root *root)
{
    session_get(root->session, "", true, root_on_entered, root);
}

/* --- changes of the root --- */

static bool root_is_followed(const struct root *root)
{
    return root->listener.is_followed(root->listener.user);
}

/* The tree was lost, and one that did not know the generation has made the root again. */
static bool root_is_older(const struct root *root, const struct session_reply *reply)
{
    struct root_info info;

    return root->env->in_redis && !root->making &&
           root_text_parse(&info, reply->data, reply->len) &&
           info.generation < root->info.generation;
}

static void root_on_changed(void *user, const struct session_reply *reply)
{
    struct root *root = user;

    if (reply->status == SESSION_NO_NODE && root->env->in_redis && !root->making &&
        root_is_followed(root)) { /* the tree was lost, and its members are still there */
        root->step = 0;
        root_make(root);
        return;
    }
    if (reply->status != SESSION_OK || !(root_is_followed(root) || root->env->in_redis)) {
        return; /* it is read again with the next connection, or when the member enters */
    }
    if (root_is_followed(root) && root_is_older(root, reply)) {
        root_fill(root, reply->stat.version);
        return;
    }
    if (!root_use(root, reply)) {
        root_refuse_text(root);
    } else if (root_is_followed(root)) {
        root->listener.changed(root->listener.user);
    }
}

/* In Redis the watch also fires when a grace begins and ends, perhaps before the member is in: it
 * is set again. */
void root_look_again(struct root *root)
{
    if (root_is_followed(root) || root->env->in_redis) {
        session_get(root->session, "", true, root_on_changed, root);
    }
}

/* --- creating it --- */

/* A member or topic that waits for the folders tries again by itself. */
static void root_made(struct root *root)
{
    bool entering = root->entering;

    root->making = root->entering = false;
    if (entering) {
        root_enter(root);
    } else if (root->env->in_redis) { /* this member has made it, and follows it again */
        root_look_again(root);
    }
}

static void root_on_made(void *user, const struct session_reply *reply)
{
    struct root *root = user;

    if (reply->status == SESSION_OK || reply->status == SESSION_EXISTS ||
        reply->status == SESSION_CHANGED) {
        root->step++;
        root_make(root);
        return;
    }
    if (reply->status == SESSION_NO_NODE && root->env->in_redis && root->step > 0) {
        root->step = 0; /* not one of its nodes is missing, but the whole tree was lost */
        root_make(root);
        return;
    }
    root->making = false;
    if (!root->entering) {
        return;
    }
    root->entering = false;
    if (reply->status == SESSION_DENIED) {
        root_refuse(root, SMQ_DENIED,
                    "ZooKeeper refused to create the nodes of the fleet: check zookeeper_auth");
        return;
    }
    root->listener.later(root->listener.user);
}

static size_t root_text(const struct root *root, char out[ROOT_TEXT_MAX])
{
    struct root_info info = root->info;

    if (info.generation == 0) {
        random_hex(info.identity, sizeof(info.identity));
    }
    info.generation++;
    return root_text_format(out, &info);
}

/* Create node number `step`: the parents of the root, the root, its folders. */
static void root_make(struct root *root)
{
    int step = root->step;
    int parents = root_text_parents(root->env->root);
    char *parent = root_text_parent(root->env->root, step);
    char text[ROOT_TEXT_MAX];
    struct session_op op = {.kind = SESSION_CREATE, .path = parent, .data = ""};

    if (step == parents + 1 + ROOT_FOLDERS) {
        root_made(root);
        return;
    }
    root->making = true;
    if (step == parents) {
        op.path = "";
        op.data = text;
        op.len = root_text(root, text);
    } else if (step > parents) {
        op.path = root_folders[step - parents - 1];
    }
    session_write(root->session, &op, 1, root_on_made, root);
    free(parent);
}

/* The root exists, but is empty, because an operator created it, or has an older generation: write
 * its content, then create the folders. */
static void root_fill(struct root *root, int64_t version)
{
    char text[ROOT_TEXT_MAX];
    struct session_op op = {.kind = SESSION_SET, .path = "", .data = text, .version = version};

    root->step = root_text_parents(root->env->root);
    root->making = true;
    op.len = root_text(root, text);
    session_write(root->session, &op, 1, root_on_made, root);
}

void root_mend(struct root *root)
{
    if (!root->making) {
        events_log(root->env->events, SMQ_LEVEL_WARN,
                   "a node of the fleet at %s in %s is missing and is made again", root->env->root,
                   root->env->kind);
        root->step = root_text_parents(root->env->root) + 1;
        root_make(root);
    }
}

void root_expired(struct root *root)
{
    root->making = root->entering = false;
}
