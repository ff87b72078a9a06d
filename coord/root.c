/* root.c - the root of the fleet in ZooKeeper and its folders: made by the first member, read and
 * watched by each.
 *
 * The root says which fleet it is (its identity) and the floor of all tokens (its fence
 * generation).  When ZooKeeper has lost the root, a member that knows it makes it again, one
 * generation higher: the zxids of an ensemble that lost its data are small again.
 *
 * Thread: smq:coord. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "coord/zookeeper.h"

static const char *const root_folders[] = {"leader_epoch", "members", "topics"};

enum { ROOT_FOLDERS = sizeof(root_folders) / sizeof(root_folders[0]) };

static void root_make(struct zookeeper *zookeeper);
static void root_fill(struct zookeeper *zookeeper, int32_t version);

/* Take what the root says.  false: it is no root of a fleet. */
static bool root_take(struct zookeeper *zookeeper, const struct zk_reply *reply)
{
    struct root_info *known = &zookeeper->root.info;
    struct root_info before = *known;
    struct root_info info;

    if (!root_text_parse(&info, reply->data, reply->len)) {
        return false;
    }
    pthread_mutex_lock(&zookeeper->root.lock);
    *known = info;
    pthread_mutex_unlock(&zookeeper->root.lock);
    if (before.generation != 0 && strcmp(before.identity, info.identity) != 0) {
        events_log(zookeeper->coord->options.events, SMQ_LEVEL_WARN,
                   "ZooKeeper at %s has another fleet at %s (identity %s, before: %s): it lost its "
                   "data, or it is another ensemble",
                   zookeeper->hosts, zookeeper->root.path, info.identity, before.identity);
    } else if (before.generation != 0 && before.generation != info.generation) {
        events_log(zookeeper->coord->options.events, SMQ_LEVEL_INFO,
                   "the fence generation of the fleet is %" PRIu32 " now", info.generation);
    }
    return true;
}

static void root_refuse(struct zookeeper *zookeeper)
{
    member_refuse(zookeeper, SMQ_OTHER_FLEET,
                  "the root node in ZooKeeper is not of a fleet of this version; choose another "
                  "root");
}

/* --- entering --- */

/* Said once by each member. */
static void root_warn_open(struct zookeeper *zookeeper)
{
    if (zookeeper->coord->options.auth == NULL && !zookeeper->root.open_said) {
        zookeeper->root.open_said = true;
        events_log(zookeeper->coord->options.events, SMQ_LEVEL_WARN,
                   "the nodes of the fleet at %s in ZooKeeper at %s can be written by everyone who "
                   "reaches it: set zookeeper_auth",
                   zookeeper->root.path, zookeeper->hosts);
    }
}

static void root_on_entered(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (reply->rc == ZNONODE && !zookeeper->root.making) {
        zookeeper->root.step = 0;
        zookeeper->root.entering = true;
        root_make(zookeeper);
    } else if (reply->rc == ZNOAUTH) {
        member_refuse(zookeeper, SMQ_DENIED,
                      "ZooKeeper refused to show the nodes of the fleet: check zookeeper_auth");
    } else if (reply->rc != ZOK || (reply->len == 0 && zookeeper->root.making)) {
        member_later(zookeeper, MEMBER_OUT, zookeeper->timings.retry);
    } else if (reply->len == 0) {
        zookeeper->root.entering = true;
        root_fill(zookeeper, reply->stat.version);
    } else if (!root_take(zookeeper, reply)) {
        root_refuse(zookeeper);
    } else {
        root_warn_open(zookeeper);
        zookeeper_answered(zookeeper, SMQ_OK, "");
        member_ready(zookeeper);
    }
}

void root_enter(struct zookeeper *zookeeper)
{
    zk_get(&zookeeper->session, "", true, root_on_entered, zookeeper);
}

/* --- what changes afterwards --- */

/* A member that enters reads the root anyway. */
static bool root_is_watched(const struct zookeeper *zookeeper)
{
    return zookeeper->member.state == MEMBER_IN || zookeeper->member.state == MEMBER_READY;
}

static void root_on_changed(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (reply->rc != ZOK || !root_is_watched(zookeeper)) {
        return; /* it is read again with the next connection, or on entering */
    }
    if (!root_take(zookeeper, reply)) {
        root_refuse(zookeeper);
        return;
    }
    ownership_ask_anew(zookeeper);
}

void root_changed(struct zookeeper *zookeeper)
{
    if (root_is_watched(zookeeper)) {
        zk_get(&zookeeper->session, "", true, root_on_changed, zookeeper);
    }
}

/* --- making it --- */

/* Who waits for the folders tries again by itself. */
static void root_made(struct zookeeper *zookeeper)
{
    bool entering = zookeeper->root.entering;

    zookeeper->root.making = zookeeper->root.entering = false;
    if (entering) {
        root_enter(zookeeper);
    }
}

static void root_on_made(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (reply->rc == ZOK || reply->rc == ZNODEEXISTS || reply->rc == ZBADVERSION) {
        zookeeper->root.step++;
        root_make(zookeeper);
        return;
    }
    zookeeper->root.making = false;
    if (!zookeeper->root.entering) {
        return;
    }
    zookeeper->root.entering = false;
    if (reply->rc == ZNOAUTH) {
        member_refuse(zookeeper, SMQ_DENIED,
                      "ZooKeeper refused to create the nodes of the fleet: check zookeeper_auth");
        return;
    }
    member_later(zookeeper, MEMBER_OUT, zookeeper->timings.retry);
}

static size_t root_text(const struct zookeeper *zookeeper, char out[ROOT_TEXT_MAX])
{
    struct root_info info = zookeeper->root.info;

    if (info.generation == 0) {
        random_hex(info.identity, sizeof(info.identity));
    }
    info.generation++;
    return root_text_format(out, &info);
}

/* Make what number `step` is: the parents of the root, the root, its folders. */
static void root_make(struct zookeeper *zookeeper)
{
    int step = zookeeper->root.step;
    int parents = root_parents(zookeeper->root.path);
    char *parent = root_parent(zookeeper->root.path, step);
    char text[ROOT_TEXT_MAX];
    struct zk_op op = {.kind = ZK_CREATE, .path = parent, .data = ""};

    if (step == parents + 1 + ROOT_FOLDERS) {
        root_made(zookeeper);
        return;
    }
    zookeeper->root.making = true;
    if (step == parents) {
        op.path = "";
        op.data = text;
        op.len = root_text(zookeeper, text);
    } else if (step > parents) {
        op.path = root_folders[step - parents - 1];
    }
    zk_write(&zookeeper->session, &op, 1, root_on_made, zookeeper);
    free(parent);
}

/* The root was made beforehand, and is empty: write what it says, then make the folders. */
static void root_fill(struct zookeeper *zookeeper, int32_t version)
{
    char text[ROOT_TEXT_MAX];
    struct zk_op op = {.kind = ZK_SET, .path = "", .data = text, .version = version};

    zookeeper->root.step = root_parents(zookeeper->root.path);
    zookeeper->root.making = true;
    op.len = root_text(zookeeper, text);
    zk_write(&zookeeper->session, &op, 1, root_on_made, zookeeper);
}

void root_mend(struct zookeeper *zookeeper)
{
    if (!zookeeper->root.making) {
        events_log(zookeeper->coord->options.events, SMQ_LEVEL_WARN,
                   "a node of the fleet at %s in ZooKeeper is missing and is made again",
                   zookeeper->root.path);
        zookeeper->root.step = root_parents(zookeeper->root.path) + 1;
        root_make(zookeeper);
    }
}

void root_expired(struct zookeeper *zookeeper)
{
    zookeeper->root.making = zookeeper->root.entering = false;
}
