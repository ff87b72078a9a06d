/* health_report.c - the health of a client, gathered on smq:io for another thread.
 *
 * Thread: any but smq:io, except where a function says otherwise. */
#include "admin/health_report.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/owner_of.h"
#include "base/status.h"
#include "base/waiter.h"
#include "core/coord_link.h"
#include "core/health.h"

enum { HEALTH_WAIT_MS = 1000 };

/* References: one of the caller, who may give up waiting, and one of the task. */
struct health_report {
    struct loop_task task;
    struct core *core; /* a reference */
    struct waiter waiter;
    struct health health;
    atomic_int references;
};

static void health_report_unref(struct health_report *report)
{
    if (atomic_fetch_sub(&report->references, 1) == 1) {
        waiter_fini(&report->waiter);
        core_unref(report->core);
        free(report);
    }
}

/* --- smq:io ----------------------------------------------------------------------------------- */

static void health_report_redis(struct health *health, const struct core *core)
{
    struct redis_health redis;

    redis_health(&redis, core->redis);
    health->known.redis_nodes = redis.masters;
    health->known.redis_nodes_failed = redis.failed;
    if (!redis_is_reached(core->redis)) {
        health_find(health, HEALTH_REDIS, SMQ_UNAVAILABLE, "no Redis node answers: %s",
                    redis.failed > 0 ? redis.why : "the last answer is more than 10 s old");
    } else if (redis.failed > 0) {
        health_find(health, HEALTH_REDIS, redis.status,
                    "%" PRId32 " of %" PRId32 " Redis masters cannot be used: %s", redis.failed,
                    redis.masters, redis.why);
    } else if (redis.refusing > 0) {
        health_find(health, HEALTH_REDIS, SMQ_UNAVAILABLE,
                    "%" PRId32 " of %" PRId32 " Redis masters refuse writes: %s", redis.refusing,
                    redis.masters, redis.refusal);
    }
}

static void health_report_session(struct health *health, const struct core *core)
{
    health->known.session = coord_link_session(core->link);
    if (health->known.session == SMQ_SESSION_LOST) {
        health_find(health, HEALTH_SESSION, SMQ_UNAVAILABLE,
                    "%s has not confirmed the session of this process in time; others may own its "
                    "slots",
                    core_fleet_text(core));
    }
}

static void health_report_on_io(struct loop_task *task)
{
    struct health_report *report = OWNER_OF(task, struct health_report, task);
    struct health *health = &report->health;

    health_init(health);
    health_report_redis(health, report->core);
    health_report_session(health, report->core);
    health_sources_report(&report->core->sources, health);
    if (health->claimed_us != 0) {
        health->known.oldest_claim_ms = (clock_now_us() - health->claimed_us) / 1000;
    }
    waiter_done(&report->waiter);
    health_report_unref(report);
}

/* --- the caller ------------------------------------------------------------------------------- */

smq_status health_report(smq_health *out, struct core *core, smq_error *err)
{
    struct health_report *report = memory_new(sizeof(*report));
    smq_status status = SMQ_OK;

    report->task.run = health_report_on_io;
    report->core = core_ref(core);
    atomic_init(&report->references, 2);
    waiter_init(&report->waiter, 1);
    loop_post(core->io, &report->task);
    if (waiter_wait(&report->waiter, HEALTH_WAIT_MS)) {
        *out = report->health.known;
    } else {
        status = status_set(err, SMQ_TIMED_OUT,
                            "the thread smq:io has not answered for %d ms; if that lasts, restart "
                            "the process",
                            HEALTH_WAIT_MS);
    }
    health_report_unref(report);
    return status;
}
