/* jobs.c - long edits: each runs on a thread of its own.
 *
 * Thread: job_run() and what it calls run on serve:job-N; the rest on any. */
#include "serve/jobs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "cli/http/query.h"
#include "cli/http/thread.h"
#include "cli/message/message.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "serve/pool.h"

enum { JOBS_RUNNING_MAX = 4, JOBS_KEPT_MAX = 100, JOB_EVENT_MS = 250 };

enum job_state { JOB_RUNNING, JOB_ENDED, JOB_STOPPED, JOB_FAILED };

struct job {
    TAILQ_ENTRY(job) entry;
    /* immutable after jobs_begin() */
    struct jobs *jobs;
    smq_client *client;
    uint64_t number;
    enum job_kind kind;
    json_t *query; /* owned */
    const char *topic;
    bool inline_layout;
    int64_t began_at_ms;
    pthread_t thread;
    atomic_bool stopping;
    /* serve:job-N */
    uint64_t before; /* changed by the parts that ended */
    int64_t told_ms;
    /* guarded by the lock of jobs */
    enum job_state state;
    uint64_t changed, total; /* a total of 0 is not known while it runs */
    int64_t ended_at_ms;
    smq_error err;
    bool joined;
};

struct jobs {
    struct events *events;
    struct pool *pool;
    pthread_mutex_t lock;
    /* guarded by lock */
    TAILQ_HEAD(job_all, job) all; /* the newest first */
    uint64_t last;
    size_t count, running;
    bool ending;
};

/* === JSON =============================================================== */

/* Call it with the lock. */
static json_t *job_json(const struct job *job)
{
    static const char *const states[] = {"running", "ended", "stopped", "failed"};
    json_t *object = json_object();
    char id[24];

    snprintf(id, sizeof(id), "%" PRIu64, job->number);
    output_set(object, "id", json_string(id));
    output_set(object, "what", json_string(job->kind == JOB_REQUEUE ? "requeue" : "purge"));
    output_set(object, "topic", json_string(job->topic));
    output_set(object, "state", json_string(states[job->state]));
    output_set(object, "stopping",
               json_boolean(job->state == JOB_RUNNING && atomic_load(&job->stopping)));
    output_set(object, "changed", json_integer((json_int_t) job->changed));
    output_set(object, "total",
               job->total > 0 || job->state == JOB_ENDED ? json_integer((json_int_t) job->total)
                                                         : json_null());
    output_set(object, "began_at_ms", json_integer(job->began_at_ms));
    output_set(object, "ended_at_ms",
               job->state == JOB_RUNNING ? json_null() : json_integer(job->ended_at_ms));
    output_set(object, "code", json_string(smq_status_name(job->err.status)));
    output_set(object, "detail", output_text(job->err.status == SMQ_OK ? "" : say_text(&job->err)));
    return object;
}

/* === Running ============================================================ */

static void job_tell(struct job *job)
{
    pthread_mutex_lock(&job->jobs->lock);
    json_t *document = job_json(job);
    pthread_mutex_unlock(&job->jobs->lock);
    events_publish(job->jobs->events, "job", document);
}

static bool job_on_progress(uint64_t changed, uint64_t total, void *user)
{
    struct job *job = user;
    const int64_t now_ms = moment_ms();

    pthread_mutex_lock(&job->jobs->lock);
    job->changed = job->before + changed;
    job->total = total > job->total ? total : job->total;
    pthread_mutex_unlock(&job->jobs->lock);
    if (now_ms - job->told_ms >= JOB_EVENT_MS) {
        job->told_ms = now_ms;
        job_tell(job);
    }
    return !atomic_load(&job->stopping);
}

static unsigned job_states(const json_t *query)
{
    const json_t *words = json_object_get(query, "states");
    unsigned states = 0;

    for (size_t i = 0; i < json_array_size(words); i++) {
        states |= (unsigned) message_state_named(json_string_value(json_array_get(words, i)));
    }
    return states != 0 ? states : (unsigned) SMQ_STATE_DEAD;
}

static smq_status job_edit(struct job *job, const smq_filter *filter, uint64_t *count,
                           smq_progress_fn *progress, smq_error *err)
{
    return job->kind == JOB_REQUEUE
               ? smq_dead_requeue(job->client, job->topic, filter, count, progress, job, err)
               : smq_topic_purge(job->client, job->topic, filter, count, progress, job, err);
}

/* All that a filter selects. */
static smq_status job_run_filter(struct job *job, uint64_t *count, smq_error *err)
{
    const json_t *query = job->query;
    struct query_filter read;
    char why[QUERY_WHY];

    (void) query_filter_read(&read, query, why); /* jobs_begin() was given one that can be read */
    read.filter.states = job_states(query);
    read.filter.rate_per_s = query_number(query, "rate_per_s", 0);
    const smq_status status = job_edit(job, &read.filter, count, job_on_progress, err);
    query_filter_fini(&read);
    return status;
}

/* Waits until the message of this number may be edited at the wanted rate; false: it is to stop. */
static bool job_keep_rate(struct job *job, size_t number, int64_t began_ms)
{
    const int64_t rate = query_number(job->query, "rate_per_s", 0);
    const int64_t due_ms = rate > 0 ? began_ms + (int64_t) number * 1000 / rate : 0;

    while (!atomic_load(&job->stopping) && moment_ms() < due_ms) {
        const struct timespec moment = {.tv_nsec = 10000000};
        (void) nanosleep(&moment, NULL);
    }
    return !atomic_load(&job->stopping);
}

/* One message that was named; none of this name is no error: it has gone, or was edited. */
static smq_status job_run_one(struct job *job, const json_t *named, uint64_t *count, smq_error *err)
{
    smq_filter filter = SMQ_FILTER_INIT;
    struct query_ref ref;

    query_ref_read(&ref, named);
    if (job->inline_layout) {
        query_ref_by_body(&ref);
    }
    filter.states = job_states(job->query);
    filter.which = &ref.which;
    const smq_status status = job_edit(job, &filter, count, NULL, err);
    query_ref_fini(&ref);
    return status == SMQ_NO_MESSAGE ? SMQ_OK : status;
}

static smq_status job_run_named(struct job *job, const json_t *messages, uint64_t *count,
                                smq_error *err)
{
    const int64_t began_ms = moment_ms();
    const size_t total = json_array_size(messages);

    for (size_t i = 0; i < total && job_keep_rate(job, i, began_ms); i++) {
        uint64_t one = 0;
        const smq_status status = job_run_one(job, json_array_get(messages, i), &one, err);
        *count += one;
        if (status != SMQ_OK) {
            return status;
        }
        (void) job_on_progress(*count, total, job);
    }
    return SMQ_OK;
}

static enum job_state job_state_after(const struct job *job, smq_status status)
{
    if (status != SMQ_OK) {
        return JOB_FAILED;
    }
    return atomic_load(&job->stopping) ? JOB_STOPPED : JOB_ENDED;
}

static void *job_run(void *arg)
{
    struct job *job = arg;
    struct jobs *jobs = job->jobs;
    const json_t *messages = json_object_get(job->query, "messages");
    smq_error err = SMQ_ERROR_INIT;
    uint64_t count = 0;

    job_tell(job);
    const smq_status status =
        messages ? job_run_named(job, messages, &count, &err) : job_run_filter(job, &count, &err);
    pool_changed(jobs->pool); /* before anybody sees that it has ended */
    pthread_mutex_lock(&jobs->lock);
    job->changed = count;
    job->state = job_state_after(job, status);
    job->total = job->state == JOB_ENDED ? count : job->total;
    job->ended_at_ms = moment_wall_ms();
    if (status != SMQ_OK) {
        job->err = err;
    }
    jobs->running--;
    json_t *document = job_json(job);
    pthread_mutex_unlock(&jobs->lock); /* jobs_forget() may wait for this thread from now on */
    events_publish(jobs->events, "job", document);
    return NULL;
}

/* === All ================================================================ */

struct jobs *jobs_new(struct events *events, struct pool *pool)
{
    struct jobs *jobs = say_alloc(1, sizeof(*jobs));

    jobs->events = events;
    jobs->pool = pool;
    pthread_mutex_init(&jobs->lock, NULL);
    TAILQ_INIT(&jobs->all);
    return jobs;
}

static void jobs_drop(struct jobs *jobs, struct job *job)
{
    TAILQ_REMOVE(&jobs->all, job, entry);
    jobs->count--;
    if (!job->joined) {
        (void) pthread_join(job->thread, NULL);
    }
    json_decref(job->query);
    free(job);
}

/* Forgets the oldest that has ended, when there are too many. */
static void jobs_forget(struct jobs *jobs)
{
    struct job *job = TAILQ_LAST(&jobs->all, job_all);

    while (job && jobs->count >= JOBS_KEPT_MAX) {
        struct job *before = TAILQ_PREV(job, job_all, entry);
        if (job->state != JOB_RUNNING) {
            jobs_drop(jobs, job);
        }
        job = before;
    }
}

static struct job *jobs_add(struct jobs *jobs, smq_client *client, enum job_kind kind,
                            const json_t *query, bool inline_layout)
{
    struct job *job = say_alloc(1, sizeof(*job));

    job->jobs = jobs;
    job->client = client;
    job->number = ++jobs->last;
    job->kind = kind;
    job->query = json_deep_copy(query);
    if (!job->query) {
        say_no_memory();
    }
    job->topic = query_text(job->query, "topic");
    job->inline_layout = inline_layout;
    job->began_at_ms = moment_wall_ms();
    job->err = (smq_error) SMQ_ERROR_INIT;
    atomic_init(&job->stopping, false);
    TAILQ_INSERT_HEAD(&jobs->all, job, entry);
    jobs->count++;
    jobs->running++;
    return job;
}

json_t *jobs_begin(struct jobs *jobs, smq_client *client, enum job_kind kind, const json_t *query,
                   bool inline_layout)
{
    json_t *document = NULL;
    char name[THREAD_NAME];

    pthread_mutex_lock(&jobs->lock);
    if (!jobs->ending && jobs->running < JOBS_RUNNING_MAX) {
        jobs_forget(jobs);
        struct job *job = jobs_add(jobs, client, kind, query, inline_layout);
        snprintf(name, sizeof(name), "serve:job-%u", (unsigned) (job->number % 1000));
        if (thread_begin(&job->thread, name, job_run, job)) {
            document = job_json(job);
        } else {
            job->joined = true;
            jobs->running--;
            jobs_drop(jobs, job);
        }
    }
    pthread_mutex_unlock(&jobs->lock);
    return document;
}

json_t *jobs_json(struct jobs *jobs)
{
    json_t *document = json_object();
    json_t *array = json_array();
    const struct job *job = NULL;

    pthread_mutex_lock(&jobs->lock);
    TAILQ_FOREACH(job, &jobs->all, entry)
    {
        output_append(array, job_json(job));
    }
    pthread_mutex_unlock(&jobs->lock);
    output_set(document, "jobs", array);
    return document;
}

/* Call it with the lock. */
static struct job *jobs_find(struct jobs *jobs, const char *id)
{
    struct job *job = NULL;
    char number[24];

    TAILQ_FOREACH(job, &jobs->all, entry)
    {
        snprintf(number, sizeof(number), "%" PRIu64, job->number);
        if (strcmp(number, id) == 0) {
            return job;
        }
    }
    return NULL;
}

json_t *jobs_find_json(struct jobs *jobs, const char *id)
{
    pthread_mutex_lock(&jobs->lock);
    const struct job *job = jobs_find(jobs, id);
    json_t *document = job ? job_json(job) : NULL;
    pthread_mutex_unlock(&jobs->lock);
    return document;
}

json_t *jobs_stop(struct jobs *jobs, const char *id)
{
    pthread_mutex_lock(&jobs->lock);
    struct job *job = jobs_find(jobs, id);
    if (job) {
        atomic_store(&job->stopping, true);
    }
    json_t *document = job ? job_json(job) : NULL;
    pthread_mutex_unlock(&jobs->lock);
    return document;
}

void jobs_end(struct jobs *jobs)
{
    struct job *job = NULL;

    pthread_mutex_lock(&jobs->lock);
    jobs->ending = true;
    TAILQ_FOREACH(job, &jobs->all, entry)
    {
        atomic_store(&job->stopping, true);
    }
    pthread_mutex_unlock(&jobs->lock);
    TAILQ_FOREACH(job, &jobs->all, entry) /* none is added or dropped any more */
    {
        (void) pthread_join(job->thread, NULL);
        job->joined = true;
    }
}

void jobs_free(struct jobs *jobs)
{
    while (!TAILQ_EMPTY(&jobs->all)) {
        jobs_drop(jobs, TAILQ_FIRST(&jobs->all));
    }
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}
