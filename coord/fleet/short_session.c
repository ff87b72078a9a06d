/* short_session.c - a session with the store for one operation.
 *
 * Thread: smq:coord of its own, except short_session_run(). */
#include "coord/fleet/short_session.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/owner_of.h"
#include "base/status.h"

enum { SHORT_TIMEOUT_MAX_MS = 8000 };

void short_session_end(struct short_session *session, smq_status status, const char *text)
{
    if (!session->ended) {
        session->ended = true;
        (void) status_set(&session->result, status, "%s", text);
        waiter_done(&session->waiter);
    }
}

void short_session_end_other_fleet(struct short_session *session)
{
    char text[128];

    (void) snprintf(text, sizeof(text),
                    "the root node in %s does not belong to a fleet of this version",
                    session->store.kind);
    short_session_end(session, SMQ_OTHER_FLEET, text);
}

static void short_session_on_connected(void *user)
{
    struct short_session *session = user;

    if (!session->ended) {
        session->question.ask(session->question.user);
    }
}

static void short_session_on_expired(void *user)
{
    struct short_session *session = user;

    if (session->question.dropped != NULL) {
        session->question.dropped(session->question.user);
    }
}

static void short_session_on_disconnected(void *user)
{
    (void) user;
}

static void short_session_on_denied(void *user, const char *text)
{
    short_session_end(user, SMQ_DENIED, text);
}

static void short_session_start(struct loop_task *task)
{
    struct short_session *session = OWNER_OF(task, struct short_session, start);

    session->options.loop = session->loop;
    session->options.root = session->store.root;
    session->options.connected = short_session_on_connected;
    session->options.disconnected = short_session_on_disconnected;
    session->options.expired = session->options.refused = short_session_on_expired;
    session->options.denied = short_session_on_denied;
    session->options.looks = session->question.looks;
    session->options.user = session;
    session_start(session->session, &session->options);
}

static void short_session_stop(struct loop_task *task)
{
    struct short_session *session = OWNER_OF(task, struct short_session, stop);

    session->ended = true;
    session_stop(session->session);
}

static smq_status short_session_wait(struct short_session *session, int64_t timeout_ms,
                                     smq_error *err)
{
    smq_status status = loop_new(&session->loop, "smq:coord", err);

    if (status != SMQ_OK) {
        return status;
    }
    waiter_init(&session->waiter, 1);
    loop_post(session->loop, &session->start);
    if (!waiter_wait(&session->waiter, timeout_ms)) {
        status =
            status_set(err, SMQ_UNAVAILABLE, "no %s answered within %.1f s%s", session->store.name,
                       (double) timeout_ms / 1000, session->question.late);
    }
    loop_post(session->loop, &session->stop);
    loop_free(session->loop);
    waiter_fini(&session->waiter);
    return status != SMQ_OK || session->result.status == SMQ_OK
               ? status
               : status_set(err, session->result.status, "%s: %s", session->store.name,
                            session->result.text);
}

smq_status short_session_run(struct short_session *session, const struct coord_options *options,
                             const struct short_question *question, smq_error *err)
{
    const int64_t timeout_ms = options->session_timeout_ms < SHORT_TIMEOUT_MAX_MS
                                   ? options->session_timeout_ms
                                   : SHORT_TIMEOUT_MAX_MS;
    smq_status status = coord_store_init(&session->store, options, err);

    if (status != SMQ_OK) {
        return status;
    }
    session->session = session->store.session;
    session->question = *question;
    session->start.run = short_session_start;
    session->stop.run = short_session_stop;
    session->options.events = options->events;
    session->options.timeout_ms = options->session_timeout_ms;
    status = short_session_wait(session, timeout_ms, err);
    coord_store_fini(&session->store);
    return status;
}
