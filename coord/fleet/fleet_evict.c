/* fleet_evict.c - evicting a member from its fleet, in a short session.
 *
 * The node of the member is deleted in the version that was read, together with the node of the
 * assigner if the same session created it, because as long as that exists no other member assigns
 * slots.  If either was written in the meantime, both are read again.
 *
 * Thread: smq:coord of the short session, except coord_fleet_evict(). */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "coord/coord.h"
#include "coord/fleet/short_session.h"
#include "coord/node/member_text.h"

struct fleet_evict {
    struct short_session session;
    const char *member;
    int64_t incarnation; /* 0: any */
    char path[MEMBER_WORD_MAX + 16];
    struct session_stat found; /* of the member's node */
};

static void fleet_evict_begin(void *user);

static void fleet_evict_fail(struct fleet_evict *evict, enum session_status status)
{
    if (status == SESSION_DENIED) {
        short_session_end(
            &evict->session, SMQ_DENIED,
            "ZooKeeper denies access to the node of the member or of the assigner: check "
            "zookeeper_auth");
    } else if (status == SESSION_CHANGED || status == SESSION_NO_NODE) {
        /* the node was written, or the member has left, in the meantime */
        fleet_evict_begin(evict);
    } else if (session_is_connected(evict->session.session)) {
        short_session_end(
            &evict->session, SMQ_UNAVAILABLE,
            evict->session.session->unsettled
                ? "it may have lost its last writes, and until members have come back "
                  "none is evicted: repeat the call in a while"
                : session_status_text(status));
    }
}

static void fleet_evict_on_deleted(void *user, const struct session_reply *reply)
{
    struct fleet_evict *evict = user;

    if (reply->status == SESSION_OK) {
        short_session_end(&evict->session, SMQ_OK, "");
    } else {
        fleet_evict_fail(evict, reply->status);
    }
}

static void fleet_evict_on_assigner(void *user, const struct session_reply *reply)
{
    struct fleet_evict *evict = user;
    const struct session_op ops[2] = {
        {.kind = SESSION_DELETE, .path = evict->path, .version = evict->found.version},
        {.kind = SESSION_DELETE, .path = "leader", .version = reply->stat.version}};
    const bool leads = reply->status == SESSION_OK && reply->stat.owner == evict->found.owner;

    if (reply->status != SESSION_OK && reply->status != SESSION_NO_NODE) {
        fleet_evict_fail(evict, reply->status);
        return;
    }
    session_write(evict->session.session, ops, leads ? 2 : 1, fleet_evict_on_deleted, evict);
}

static void fleet_evict_on_found(void *user, const struct session_reply *reply)
{
    struct fleet_evict *evict = user;
    char text[SMQ_TEXT_SIZE];

    if (reply->status == SESSION_NO_NODE ||
        (reply->status == SESSION_OK && evict->incarnation != 0 &&
         reply->stat.czxid != evict->incarnation)) {
        (void) snprintf(text, sizeof(text),
                        reply->status == SESSION_NO_NODE
                            ? "there is no member %.100s"
                            : "member %.100s has joined again in the meantime",
                        evict->member);
        short_session_end(&evict->session, SMQ_INVALID, text);
    } else if (reply->status != SESSION_OK) {
        fleet_evict_fail(evict, reply->status);
    } else {
        evict->found = reply->stat;
        session_get(evict->session.session, "leader", false, fleet_evict_on_assigner, evict);
    }
}

static void fleet_evict_begin(void *user)
{
    struct fleet_evict *evict = user;

    session_get(evict->session.session, evict->path, false, fleet_evict_on_found, evict);
}

smq_status coord_fleet_evict(const struct coord_options *options, const char *member,
                             int64_t incarnation, smq_error *err)
{
    struct fleet_evict *evict = memory_new(sizeof(*evict));
    const struct short_question question = {
        .ask = fleet_evict_begin,
        .user = evict,
        .late = "; it is not known whether the member was evicted: describe the fleet"};
    smq_status status;

    evict->member = member;
    evict->incarnation = incarnation;
    (void) snprintf(evict->path, sizeof(evict->path), "members/%s", member);
    status = short_session_run(&evict->session, options, &question, err);
    free(evict);
    return status;
}
