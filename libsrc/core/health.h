/* health.h - the health of a client, gathered from the parts that know of it.
 *
 * Thread: smq:io. */
#ifndef CORE_HEALTH_H
#define CORE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <slotmq/health.h>

/* How bad a finding is; the first is the worst. */
enum health_rank {
    HEALTH_ENDED,   /* a worker has ended because of an error */
    HEALTH_REDIS,   /* Redis, or a node of it, does not serve this client */
    HEALTH_SESSION, /* the session with ZooKeeper may have expired */
    HEALTH_DAMAGED, /* Redis has lost a part of a topic */
    HEALTH_CALLS,   /* calls for a slot fail again and again */
    HEALTH_GOOD
};

/* Invariants: `known.status` is SMQ_OK, and `known.wrong` "", exactly while `rank` is GOOD.
 * `claimed_us` is by clock_now_us(); 0: no message is in flight. */
struct health {
    smq_health known;
    enum health_rank rank;
    int64_t claimed_us; /* when the oldest message in flight was claimed */
};

/* Nothing is known, and nothing wrong. */
void health_init(struct health *health);

/* Note a finding; only the worst is kept, and of equal ones the first. */
void health_find(struct health *health, enum health_rank rank, smq_status status,
                 const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Note why an owned slot does not claim what is due in it, in one line; only the first text is
 * kept. This is no finding. */
void health_note_waiting(struct health *health, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Note a consumer that owns no slot, and why, in one line: it is a spare that stands by, or not.
 * This is no finding. */
void health_note_slotless(struct health *health, bool standby, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A part of a client that adds what it knows.  It removes itself before it ends. */
struct health_source {
    void (*report)(struct health *health, void *user);
    void *user;
    LIST_ENTRY(health_source) link;
};
LIST_HEAD(health_sources, health_source);

void health_sources_add(struct health_sources *sources, struct health_source *source);
void health_sources_remove(struct health_source *source);

/* Have all sources add what they know. */
void health_sources_report(const struct health_sources *sources, struct health *health);

#endif
