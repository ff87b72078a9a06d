/* root.c - the root of the fleet in ZooKeeper and its folders: made by the first member, read by
 * each.
 *
 * Thread: smq:coord. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coord/zookeeper.h"

static const char root_format[] = "slotmq 1\nfence_generation %" PRIu32 "\n";
static const char *const root_folders[] = {"leader_epoch", "members", "topics"};

enum { ROOT_FOLDERS = sizeof(root_folders) / sizeof(root_folders[0]) };

static void root_on_read(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;
    uint32_t generation = 0;
    int version = 0;
    char *text = NULL;
    int found = 0;

    if (reply->rc == ZNOAUTH) {
        member_refuse(zookeeper, SMQ_DENIED,
                      "ZooKeeper refused to show the nodes of the fleet: check zookeeper_auth");
        return;
    }
    if (reply->rc != ZOK) {
        member_later(zookeeper, MEMBER_OUT, zookeeper->timings.retry);
        return;
    }
    text = memory_copy(reply->data, reply->len);
    found = sscanf(text, "slotmq %d fence_generation %" SCNu32, &version, &generation);
    free(text);
    if (found != 2 || version != 1 || generation < 1) {
        member_refuse(zookeeper, SMQ_OTHER_FLEET,
                      "the root node in ZooKeeper is not of a fleet of this version; choose "
                      "another root");
        return;
    }
    zookeeper->fence_generation = generation;
    member_create(zookeeper);
}

/* The path of the parent number `step` of the root, or NULL when step is the root itself. */
static char *root_parent(const struct zookeeper *zookeeper, int step)
{
    const char *at = zookeeper->root + 1;

    for (int i = 0; at != NULL; i++) {
        at = strchr(at, '/');
        if (at == NULL) {
            return NULL;
        }
        if (i == step) {
            return memory_copy(zookeeper->root, (size_t) (at - zookeeper->root));
        }
        at++;
    }
    return NULL;
}

static int root_parents(const struct zookeeper *zookeeper)
{
    int count = 0;

    for (const char *at = zookeeper->root + 1; *at != '\0'; at++) {
        count += *at == '/' ? 1 : 0;
    }
    return count;
}

static void root_make_folder(struct zookeeper *zookeeper);

static void root_on_folder(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    if (reply->rc == ZNOAUTH) {
        member_refuse(zookeeper, SMQ_DENIED,
                      "ZooKeeper refused to create the nodes of the fleet: check zookeeper_auth");
        return;
    }
    if (reply->rc != ZOK && reply->rc != ZNODEEXISTS) {
        member_later(zookeeper, MEMBER_OUT, zookeeper->timings.retry);
        return;
    }
    zookeeper->root_step++;
    root_make_folder(zookeeper);
}

/* Make what number `step` is: the parents of the root, the root, its folders. */
static void root_make_folder(struct zookeeper *zookeeper)
{
    int step = zookeeper->root_step;
    int parents = root_parents(zookeeper);
    char *parent = root_parent(zookeeper, step);
    char text[64];
    struct zk_op op = {.kind = ZK_CREATE, .path = parent, .data = ""};

    if (step == parents + 1 + ROOT_FOLDERS) {
        zk_get(&zookeeper->session, "", false, root_on_read, zookeeper);
        return;
    }
    if (step == parents) {
        op.path = "";
        op.data = text;
        op.len = (size_t) snprintf(text, sizeof(text), root_format, UINT32_C(1));
    } else if (step > parents) {
        op.path = root_folders[step - parents - 1];
    }
    zk_write(&zookeeper->session, &op, 1, root_on_folder, zookeeper);
    free(parent);
}

static void root_on_folders_seen(void *user, const struct zk_reply *reply)
{
    struct zookeeper *zookeeper = user;

    zookeeper->root_step = 0;
    if (reply->rc == ZOK) { /* topics is made last */
        zk_get(&zookeeper->session, "", false, root_on_read, zookeeper);
    } else if (reply->rc == ZNONODE) {
        root_make_folder(zookeeper);
    } else {
        member_later(zookeeper, MEMBER_OUT, zookeeper->timings.retry);
    }
}

void root_enter(struct zookeeper *zookeeper)
{
    zk_exists(&zookeeper->session, "topics", false, root_on_folders_seen, zookeeper);
}
