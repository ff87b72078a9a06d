/* session.c - the door to the store of a fleet: each call goes to the kind of the session.
 *
 * Thread: smq:coord. */
#include "coord/session/session.h"

#include "base/clock.h"

const char *session_status_text(enum session_status status)
{
    static const char *const texts[SESSION_STATUSES] = {
        [SESSION_OK] = "ok",
        [SESSION_NO_NODE] = "no node",
        [SESSION_EXISTS] = "node exists",
        [SESSION_CHANGED] = "bad version",
        [SESSION_NOT_EMPTY] = "not empty",
        [SESSION_DENIED] = "not authenticated",
        [SESSION_AWAY] = "connection loss",
        [SESSION_FAILED] = "the servers report an error",
    };

    return texts[status];
}

void session_start(struct session *session, const struct session_options *options)
{
    session->options = *options;
    session->kind->start(session);
}

void session_stop(struct session *session)
{
    session->kind->stop(session);
}

void session_free(struct session *session)
{
    if (session != NULL) {
        session->kind->free(session);
    }
}

void session_renew(struct session *session)
{
    session->kind->renew(session);
}

bool session_is_connected(const struct session *session)
{
    return session->kind->is_connected(session);
}

bool session_is_closed(const struct session *session)
{
    return session->kind->is_closed(session);
}

int64_t session_id(const struct session *session)
{
    return session->kind->id(session);
}

int64_t session_timeout(const struct session *session)
{
    return session->kind->timeout(session);
}

int64_t session_clock_ms(const struct session *session)
{
    return session->kind->clock != NULL ? session->kind->clock(session) : clock_now_ms();
}

void session_get(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                 void *user)
{
    session->kind->get(session, path, watch, fn, user);
}

void session_children(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                      void *user)
{
    session->kind->children(session, path, watch, fn, user);
}

void session_sync(struct session *session, const char *path, session_reply_fn *fn, void *user)
{
    session->kind->sync(session, path, fn, user);
}

void session_write(struct session *session, const struct session_op *ops, size_t count,
                   session_reply_fn *fn, void *user)
{
    session->kind->write(session, ops, count, fn, user);
}
