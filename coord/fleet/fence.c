/* fence.c - raising the fence generation of a fleet, in a short session that does not join the
 * fleet.
 *
 * The root is read and written under its version, or created if it is missing or empty.  After a
 * write whose outcome is unknown another one follows; then the generation is raised by two, which
 * does no harm.
 *
 * Thread: smq:coord of the short session, except coord_raise_fence(). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "coord/coord.h"
#include "coord/fleet/short_session.h"
#include "coord/node/root_text.h"

struct fence {
    struct short_session session;
    uint32_t above;
    int step; /* index of the parent of the root that is being created */
    struct root_info info;
};

static void fence_read(void *user);

/* After a failed call.  Without a connection the next connection begins again. */
static void fence_failed(struct fence *fence, enum session_status status)
{
    if (status == SESSION_DENIED) {
        short_session_end(&fence->session, SMQ_DENIED,
                          "ZooKeeper denies access to the root: check zookeeper_auth");
    } else if (status == SESSION_CHANGED || status == SESSION_EXISTS || status == SESSION_NO_NODE) {
        fence_read(fence); /* another process has just written it */
    } else if (session_is_connected(fence->session.session)) {
        short_session_end(&fence->session, SMQ_UNAVAILABLE, session_status_text(status));
    }
}

static void fence_on_written(void *user, const struct session_reply *reply)
{
    struct fence *fence = user;

    if (reply->status == SESSION_OK) {
        short_session_end(&fence->session, SMQ_OK, "");
    } else {
        fence_failed(fence, reply->status);
    }
}

static void fence_write(struct fence *fence, enum session_op_kind kind, int64_t version)
{
    char text[ROOT_TEXT_MAX];
    struct session_op op = {.kind = kind, .path = "", .data = text, .version = version};
    uint32_t floor = fence->info.generation;

    if (fence->above > floor) {
        floor = fence->above;
    }
    if (floor == UINT32_MAX) {
        short_session_end(&fence->session, SMQ_INTERNAL,
                          "the fence generation cannot be raised any more; use another root");
        return;
    }
    fence->info.generation = floor + 1;
    op.len = root_text_format(text, &fence->info);
    session_write(fence->session.session, &op, 1, fence_on_written, fence);
}

static void fence_make(struct fence *fence);

static void fence_on_parent(void *user, const struct session_reply *reply)
{
    struct fence *fence = user;

    if (reply->status == SESSION_OK || reply->status == SESSION_EXISTS) {
        fence->step++;
        fence_make(fence);
    } else {
        fence_failed(fence, reply->status);
    }
}

/* Create the parents of the root, then the root. */
static void fence_make(struct fence *fence)
{
    char *parent = root_text_parent(fence->session.store.root, fence->step);
    struct session_op op = {.kind = SESSION_CREATE, .path = parent, .data = ""};

    if (parent == NULL) {
        fence_write(fence, SESSION_CREATE, 0);
    } else {
        session_write(fence->session.session, &op, 1, fence_on_parent, fence);
    }
    free(parent);
}

static void fence_on_read(void *user, const struct session_reply *reply)
{
    struct fence *fence = user;

    fence->info.generation = 0;
    fence->step = 0;
    if (reply->status == SESSION_NO_NODE) {
        fence_make(fence);
    } else if (reply->status != SESSION_OK) {
        fence_failed(fence, reply->status);
    } else if (reply->len == 0 || root_text_parse(&fence->info, reply->data, reply->len)) {
        fence_write(fence, SESSION_SET, reply->stat.version);
    } else {
        short_session_end_other_fleet(&fence->session);
    }
}

static void fence_read(void *user)
{
    struct fence *fence = user;

    session_get(fence->session.session, "", false, fence_on_read, fence);
}

/* The binding of the topics names the identity of a lost root. */
static void fence_use_identity(struct fence *fence, const char *bound)
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

smq_status coord_raise_fence(struct coord_fence *out, const struct coord_options *options,
                             uint32_t above, const char *bound, smq_error *err)
{
    struct fence *fence = memory_new(sizeof(*fence));
    const struct short_question question = {
        .ask = fence_read,
        .user = fence,
        .late = "; it is not known whether the fence was raised: repeat the call"};
    smq_status status;

    fence->above = above;
    fence_use_identity(fence, bound);
    status = short_session_run(&fence->session, options, &question, err);
    if (status == SMQ_OK) {
        out->generation = fence->info.generation;
        root_text_binding(out->binding, sizeof(out->binding), options->port != NULL,
                          fence->session.store.root, fence->info.identity);
    }
    free(fence);
    return status;
}
