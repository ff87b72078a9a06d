/* credentials.c - see credentials.h.
 *
 * Thread: smq:io, but credentials_check(), credentials_set() and credentials_question_run(). */
#include "redis/credentials.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/secret.h"
#include "base/status.h"
#include "base/thread.h"

/* The callback, running on a thread of its own, which writes `result` and `status` and then wakes
 * the loop; the loop reads them after it has joined the thread. */
struct credentials_question {
    struct credentials *credentials; /* NULL: the client ends */
    uv_async_t answered;
    pthread_t thread;
    smq_credentials_fn *ask;
    void *ask_user;
    struct smq_credentials result;
    smq_status status;
};

/* --- the file -------------------------------------------------------------------------------- */

/* Reads the first line of a file, which is not empty.  NULL: it cannot be had, and why. */
static char *credentials_read(const char *path, char *why, size_t size)
{
    smq_error err;
    char *line = secret_read(path, &err);

    if (line == NULL) {
        (void) snprintf(why, size, "redis_password_file: %s", err.text);
    }
    return line;
}

smq_status credentials_check(const struct server_list *servers,
                             const struct redis_credentials *source, smq_error *err)
{
    const int given =
        (servers->password[0] != '\0') + (source->file != NULL) + (source->ask != NULL);
    char why[400];

    if (given > 1) {
        return status_set(err, SMQ_INVALID,
                          "the password of Redis is given twice: give it in the option redis, by "
                          "redis_password_file or by a callback, not by two of them");
    }
    if (given == 0 && servers->user[0] != '\0') {
        return status_set(err, SMQ_INVALID,
                          "a user of Redis is given without a password: write "
                          "redis://user:password@host:port,..., or give redis_password_file");
    }
    if (source->file != NULL) {
        char *password = credentials_read(source->file, why, sizeof(why));

        if (password == NULL) {
            return status_set(err, SMQ_INVALID, "%s", why);
        }
        secret_free(password);
    }
    return SMQ_OK;
}

static void credentials_on_timer(uv_timer_t *timer);

/* Look at the logins, and the file, at this time or earlier. */
static void credentials_look_at(struct credentials *credentials, int64_t at_ms)
{
    uv_timer_t *timer = &credentials->timer;
    int64_t now_ms = clock_now_ms();
    uint64_t in_ms = at_ms > now_ms ? (uint64_t) (at_ms - now_ms) : 0;

    if (!uv_is_closing((uv_handle_t *) timer) &&
        (!uv_is_active((uv_handle_t *) timer) || uv_timer_get_due_in(timer) > in_ms)) {
        uv_timer_start(timer, credentials_on_timer, in_ms, 0);
    }
}

/* Reads the file again.  One that is away, or empty, is about to be written: the last password
 * stays. */
static void credentials_read_again(struct credentials *credentials)
{
    struct credentials_login *login;
    char why[400];
    char *password = credentials_read(credentials->source.file, why, sizeof(why));

    if (password == NULL || strcmp(password, credentials->password) == 0) {
        secret_free(password);
        return;
    }
    secret_free(credentials->password);
    credentials->password = password;
    credentials->version++;
    TAILQ_FOREACH(login, &credentials->logins, link)
    {
        login->renew_ms = clock_now_ms();
    }
    credentials_look_at(credentials, 0);
}

/* --- the callback ---------------------------------------------------------------------------- */

smq_status credentials_set(struct smq_credentials *out, const char *user, const char *password,
                           int64_t valid_ms, smq_error *err)
{
    if (out == NULL || password == NULL || password[0] == '\0') {
        return status_set(err, SMQ_INVALID, "the credentials have no password");
    }
    if (valid_ms < 0) {
        return status_set(err, SMQ_INVALID,
                          "valid_ms is negative; give the time in milliseconds for which the "
                          "password is valid, or 0 if it has no end");
    }
    secret_free(out->user);
    secret_free(out->password);
    out->user = memory_string(user);
    out->password = memory_string(password);
    out->valid_ms = valid_ms;
    return SMQ_OK;
}

/* Each login that is answered may end others. */
static struct credentials_login *credentials_find_due(const struct credentials *credentials)
{
    struct credentials_login *login = TAILQ_FIRST(&credentials->logins);

    while (login != NULL && !login->due) {
        login = TAILQ_NEXT(login, link);
    }
    return login;
}

static void credentials_answer_all(struct credentials *credentials,
                                   const struct credentials_pair *pair, int64_t valid_ms,
                                   const char *why)
{
    struct credentials_login *login;

    TAILQ_FOREACH(login, &credentials->logins, link)
    {
        login->due = login->asking;
        login->asking = false;
    }
    while ((login = credentials_find_due(credentials)) != NULL) {
        login->due = false;
        login->accepted_ms = valid_ms > 0 ? clock_now_ms() + valid_ms - valid_ms / 4 : 0;
        login->answered(login, pair, why);
    }
}

static void credentials_question_on_closed(uv_handle_t *handle)
{
    struct credentials_question *question = handle->data;

    secret_free(question->result.user);
    secret_free(question->result.password);
    free(question);
}

static void credentials_question_end(struct credentials_question *question)
{
    struct credentials *credentials = question->credentials;
    const struct smq_credentials *result = &question->result;
    char why[200];

    credentials->question = NULL;
    if (question->status == SMQ_OK && result->password != NULL) {
        const struct credentials_pair pair = {.user = result->user != NULL ? result->user
                                                                           : credentials->user,
                                              .password = result->password};
        credentials_answer_all(credentials, &pair, result->valid_ms, "");
        return;
    }
    (void) snprintf(why, sizeof(why), "the callback for credentials gave none: %s",
                    question->status == SMQ_OK ? "it did not call smq_credentials_set()"
                                               : smq_status_text(question->status));
    credentials_answer_all(credentials, NULL, 0, why);
}

static void credentials_question_on_answered(uv_async_t *answered)
{
    struct credentials_question *question = answered->data;

    (void) pthread_join(question->thread, NULL);
    if (question->credentials != NULL) {
        credentials_question_end(question);
    }
    uv_close((uv_handle_t *) answered, credentials_question_on_closed);
}

static void *credentials_question_run(void *arg)
{
    struct credentials_question *question = arg;

    question->status = question->ask(&question->result, question->ask_user);
    (void) uv_async_send(&question->answered);
    return NULL;
}

static void credentials_question_begin(struct credentials *credentials)
{
    struct credentials_question *question = memory_new(sizeof(*question));
    smq_error err;

    question->credentials = credentials;
    question->ask = credentials->source.ask;
    question->ask_user = credentials->source.ask_user;
    credentials->question = question;
    (void) uv_async_init(loop_uv(credentials->loop), &question->answered,
                         credentials_question_on_answered);
    question->answered.data = question;
    if (thread_start(&question->thread, "smq:auth", credentials_question_run, question, &err) !=
        SMQ_OK) {
        credentials->question = NULL;
        uv_close((uv_handle_t *) &question->answered, credentials_question_on_closed);
        credentials_answer_all(credentials, NULL, 0, err.text);
    }
}

/* --- logins ---------------------------------------------------------------------------------- */

void credentials_join(struct credentials *credentials, struct credentials_login *login)
{
    login->all = credentials;
    login->asking = login->due = false;
    login->renew_ms = login->accepted_ms = 0;
    TAILQ_INSERT_TAIL(&credentials->logins, login, link);
}

void credentials_leave(struct credentials_login *login)
{
    if (login->all != NULL) {
        TAILQ_REMOVE(&login->all->logins, login, link);
        login->all = NULL;
    }
}

void credentials_ask(struct credentials_login *login)
{
    struct credentials *credentials = login->all;

    login->asking = true;
    if (credentials->source.ask != NULL) {
        if (credentials->question == NULL) {
            credentials_question_begin(credentials);
        }
        return;
    }
    if (credentials->source.file != NULL) {
        credentials_read_again(credentials);
    }
    const struct credentials_pair pair = {.user = credentials->user,
                                          .password = credentials->password};
    login->asking = false;
    login->version = credentials->version;
    login->answered(login, &pair, "");
}

/* Have those authenticate again that are due; one that does not succeed is due again soon. */
static void credentials_renew(struct credentials *credentials)
{
    int64_t now_ms = clock_now_ms(), next_ms = 0;
    struct credentials_login *login, *next;

    for (login = TAILQ_FIRST(&credentials->logins); login != NULL; login = next) {
        next = TAILQ_NEXT(login, link);
        if (login->renew_ms != 0 && login->renew_ms <= now_ms) {
            login->renew_ms = now_ms + CREDENTIALS_AGAIN_MS;
            login->renew(login);
        }
    }
    TAILQ_FOREACH(login, &credentials->logins, link)
    {
        if (login->renew_ms != 0 && (next_ms == 0 || login->renew_ms < next_ms)) {
            next_ms = login->renew_ms;
        }
    }
    if (next_ms != 0) {
        credentials_look_at(credentials, next_ms);
    }
}

static void credentials_on_timer(uv_timer_t *timer)
{
    struct credentials *credentials = OWNER_OF(timer, struct credentials, timer);

    if (credentials->source.file != NULL) {
        credentials_look_at(credentials, clock_now_ms() + CREDENTIALS_FILE_MS);
        credentials_read_again(credentials);
    }
    credentials_renew(credentials);
}

void credentials_accepted(struct credentials_login *login)
{
    struct credentials *credentials = login->all;

    credentials->accepted = true;
    episode_good(&credentials->refusals);
    login->renew_ms = login->version != credentials->version ? clock_now_ms() : login->accepted_ms;
    if (login->renew_ms != 0) {
        credentials_look_at(credentials, login->renew_ms);
    }
}

smq_status credentials_refused(struct credentials *credentials, const char *text)
{
    if (!credentials->accepted) {
        return SMQ_DENIED;
    }
    if (episode_trouble(&credentials->refusals, clock_now_ms())) {
        events_log(credentials->events, SMQ_LEVEL_ERROR, "%s; it is tried again", text);
    }
    return SMQ_UNAVAILABLE;
}

/* --- life ------------------------------------------------------------------------------------ */

void credentials_init(struct credentials *credentials, struct loop *loop, struct events *events,
                      struct server_list *servers, const struct redis_credentials *source)
{
    *credentials = (struct credentials){.loop = loop,
                                        .events = events,
                                        .source = *source,
                                        .user = memory_string(servers->user),
                                        .password = memory_string(servers->password)};
    credentials->source.file = memory_string(source->file);
    TAILQ_INIT(&credentials->logins);
    secret_wipe(servers->password);
}

void credentials_start(struct credentials *credentials)
{
    if (credentials->source.file != NULL) {
        credentials_look_at(credentials, 0);
    }
}

void credentials_stop(struct credentials *credentials)
{
    if (credentials->question != NULL) {
        credentials->question->credentials = NULL;
        credentials->question = NULL;
    }
    uv_timer_stop(&credentials->timer);
}

void credentials_fini(struct credentials *credentials)
{
    secret_free(credentials->user);
    secret_free(credentials->password);
    free((char *) credentials->source.file);
}
