/* fence.c - raising the fence generation of a fleet: a short session of its own, which joins
 * nothing.
 *
 * The root is read and written under its version, or made when it is missing or empty.  A write
 * whose outcome is lost is followed by another: then the generation is raised by two, which does no
 * harm.
 *
 * Thread: smq:coord of its own, except coord_raise_fence(). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/random.h"
#include "base/status.h"
#include "base/waiter.h"
#include "coord/coord.h"
#include "coord/root_text.h"
#include "coord/zk_session.h"

enum { FENCE_TIMEOUT_MAX_MS = 8000 };

struct fence {
    struct loop *loop;
    struct loop_task start, stop;
    struct zk_session session;
    struct zk_session_options options;
    char root[ZK_ROOT_MAX];
    uint32_t above;
    int step; /* of making the parents of the root */
    struct root_info info;
    struct waiter waiter;
    bool ended;
    smq_error result;
};

static void fence_read(struct fence *fence);

static void fence_end(struct fence *fence, smq_status status, const char *text)
{
    if (!fence->ended) {
        fence->ended = true;
        (void) status_set(&fence->result, status, "%s", text);
        waiter_done(&fence->waiter);
    }
}

/* After a failed call; without a connection the next one begins anew. */
static void fence_failed(struct fence *fence, int rc)
{
    if (rc == ZNOAUTH) {
        fence_end(fence, SMQ_DENIED, "ZooKeeper denies access to the root: check zookeeper_auth");
    } else if (rc == ZBADVERSION || rc == ZNODEEXISTS || rc == ZNONODE) {
        fence_read(fence); /* another has written it just now */
    } else if (zk_session_is_connected(&fence->session)) {
        fence_end(fence, SMQ_UNAVAILABLE, zerror(rc));
    }
}

static void fence_on_written(void *user, const struct zk_reply *reply)
{
    struct fence *fence = user;

    if (reply->rc == ZOK) {
        fence_end(fence, SMQ_OK, "");
    } else {
        fence_failed(fence, reply->rc);
    }
}

static void fence_write(struct fence *fence, enum zk_op_kind kind, int32_t version)
{
    char text[ROOT_TEXT_MAX];
    struct zk_op op = {.kind = kind, .path = "", .data = text, .version = version};
    uint32_t floor = fence->info.generation;

    if (fence->above > floor) {
        floor = fence->above;
    }
    if (floor == UINT32_MAX) {
        fence_end(fence, SMQ_INTERNAL,
                  "the fence generation cannot be raised any more; use another root");
        return;
    }
    fence->info.generation = floor + 1;
    op.len = root_text_format(text, &fence->info);
    zk_write(&fence->session, &op, 1, fence_on_written, fence);
}

static void fence_make(struct fence *fence);

static void fence_on_parent(void *user, const struct zk_reply *reply)
{
    struct fence *fence = user;

    if (reply->rc == ZOK || reply->rc == ZNODEEXISTS) {
        fence->step++;
        fence_make(fence);
    } else {
        fence_failed(fence, reply->rc);
    }
}

/* The parents of the root, then the root. */
static void fence_make(struct fence *fence)
{
    char *parent = root_text_parent(fence->root, fence->step);
    struct zk_op op = {.kind = ZK_CREATE, .path = parent, .data = ""};

    if (parent == NULL) {
        fence_write(fence, ZK_CREATE, 0);
    } else {
        zk_write(&fence->session, &op, 1, fence_on_parent, fence);
    }
    free(parent);
}

static void fence_on_read(void *user, const struct zk_reply *reply)
{
    struct fence *fence = user;

    fence->info.generation = 0;
    fence->step = 0;
    if (reply->rc == ZNONODE) {
        fence_make(fence);
    } else if (reply->rc != ZOK) {
        fence_failed(fence, reply->rc);
    } else if (reply->len == 0 || root_text_parse(&fence->info, reply->data, reply->len)) {
        fence_write(fence, ZK_SET, reply->stat.version);
    } else {
        fence_end(fence, SMQ_OTHER_FLEET,
                  "the root node in ZooKeeper is not of a fleet of this version");
    }
}

static void fence_read(struct fence *fence)
{
    zk_get(&fence->session, "", false, fence_on_read, fence);
}

static void fence_on_connected(void *user)
{
    struct fence *fence = user;

    if (!fence->ended) {
        fence_read(fence);
    }
}

static void fence_on_nothing(void *user)
{
    (void) user;
}

static void fence_on_changed(void *user, const char *path)
{
    (void) user;
    (void) path;
}

static void fence_on_denied(void *user)
{
    fence_end(user, SMQ_DENIED, "ZooKeeper refused the credentials");
}

static void fence_start(struct loop_task *task)
{
    struct fence *fence = OWNER_OF(task, struct fence, start);

    fence->options.loop = fence->loop;
    fence->options.root = fence->root;
    fence->options.connected = fence_on_connected;
    fence->options.disconnected = fence->options.expired = fence_on_nothing;
    fence->options.refused = fence_on_nothing;
    fence->options.denied = fence_on_denied;
    fence->options.changed = fence_on_changed;
    fence->options.user = fence;
    zk_session_start(&fence->session, &fence->options);
}

static void fence_stop(struct loop_task *task)
{
    struct fence *fence = OWNER_OF(task, struct fence, stop);

    fence->ended = true;
    zk_session_stop(&fence->session);
}

/* What the topics are bound to says which fleet a lost root was of. */
static void fence_take_identity(struct fence *fence, const char *bound)
{
    struct root_info info;
    char text[ROOT_TEXT_MAX];
    const char *identity = strrchr(bound, ' ');

    (void) snprintf(text, sizeof(text), "slotmq %d\nfence_generation 1\nidentity %s\n",
                    ROOT_VERSION, identity != NULL ? identity + 1 : "");
    if (root_text_parse(&info, text, strlen(text))) {
        memcpy(fence->info.identity, info.identity, sizeof(info.identity));
    } else {
        random_hex(fence->info.identity, sizeof(fence->info.identity));
    }
}

static smq_status fence_run(struct fence *fence, int64_t timeout_ms, smq_error *err)
{
    smq_status status = loop_new(&fence->loop, "smq:coord", err);

    if (status != SMQ_OK) {
        return status;
    }
    waiter_init(&fence->waiter, 1);
    loop_post(fence->loop, &fence->start);
    if (!waiter_wait(&fence->waiter, timeout_ms)) {
        status = status_set(err, SMQ_UNAVAILABLE,
                            "no ZooKeeper at %s answered within %.1f s; whether the fence was "
                            "raised is not known: call it again",
                            fence->options.servers, (double) timeout_ms / 1000);
    }
    loop_post(fence->loop, &fence->stop);
    loop_free(fence->loop);
    waiter_fini(&fence->waiter);
    return status != SMQ_OK || fence->result.status == SMQ_OK
               ? status
               : status_set(err, fence->result.status, "ZooKeeper at %s: %s",
                            fence->options.servers, fence->result.text);
}

smq_status coord_raise_fence(struct coord_fence *out, const struct coord_options *options,
                             uint32_t above, const char *bound, smq_error *err)
{
    struct fence *fence = memory_new(sizeof(*fence));
    int64_t timeout_ms = options->session_timeout_ms < FENCE_TIMEOUT_MAX_MS
                             ? options->session_timeout_ms
                             : FENCE_TIMEOUT_MAX_MS;
    char *hosts = NULL;
    smq_status status =
        coord_check_servers(fence->root, sizeof(fence->root), options->servers, err);

    if (status != SMQ_OK) {
        goto out;
    }
    fence->start.run = fence_start;
    fence->stop.run = fence_stop;
    fence->above = above;
    hosts = coord_servers_hosts(options->servers);
    fence->options.servers = hosts;
    fence->options.auth = options->auth;
    fence->options.timeout_ms = options->session_timeout_ms;
    fence_take_identity(fence, bound);
    status = fence_run(fence, timeout_ms, err);
    if (status == SMQ_OK) {
        out->generation = fence->info.generation;
        (void) snprintf(out->binding, sizeof(out->binding), "zookeeper:%s %s", fence->root,
                        fence->info.identity);
    }
out:
    free(hosts);
    free(fence);
    return status;
}
