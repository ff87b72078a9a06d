/* assigner_reachability.c - members that no Redis node answers give their slots to members that
 * reach Redis.
 *
 * Their slots do not move at once, so that nothing moves when Redis is lost for all members, of
 * which one notices it a little earlier than another.  Nothing moves while no member of the topic
 * reaches Redis.  A member that Redis answers again waits before it gets slots, and waits twice as
 * long each time, so that a connection that comes and goes causes few moves.
 *
 * Thread: smq:coord; no calls are made here. */
#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/steps.h"
#include "coord/assigner/assigner.h"

bool assigner_presence_may(enum assigner_presence from, enum assigner_presence to)
{
    static const unsigned steps[ASSIGNER_PRESENCES] = {
        [ASSIGNER_PRESENT] = STEP(ASSIGNER_MISSED) | STEP(ASSIGNER_AWAY),
        [ASSIGNER_MISSED] = STEP(ASSIGNER_PRESENT) | STEP(ASSIGNER_AWAY),
        [ASSIGNER_AWAY] = STEP(ASSIGNER_RETURNED),
        [ASSIGNER_RETURNED] = STEP(ASSIGNER_PRESENT) | STEP(ASSIGNER_AWAY),
    };

    return steps_allow(steps, from, to);
}

/* The one place where the state changes. */
static void assigner_reachability_enter(struct assigner_reachability *reachability,
                                        enum assigner_presence state, int64_t since_ms)
{
    assert(assigner_presence_may(reachability->state, state));
    reachability->state = state;
    reachability->since_ms = since_ms;
}

static int64_t assigner_reachability_missed(struct assigner_reachability *reachability,
                                            const struct zookeeper_timings *timings, bool others,
                                            int64_t now_ms)
{
    int64_t hold_ms = 2 * reachability->hold_ms;

    if (!others) {
        reachability->since_ms = 0;
        return 0;
    }
    if (reachability->since_ms == 0) {
        reachability->since_ms = now_ms;
    }
    if (now_ms < reachability->since_ms + timings->missed) {
        return reachability->since_ms + timings->missed;
    }
    if (hold_ms == 0) {
        hold_ms = timings->hold;
    }
    reachability->hold_ms = hold_ms < timings->hold_most ? hold_ms : timings->hold_most;
    assigner_reachability_enter(reachability, ASSIGNER_AWAY, now_ms);
    return 0;
}

/* The member says in its node that no Redis node answers it. */
static int64_t assigner_reachability_unanswered(struct assigner_reachability *reachability,
                                                const struct zookeeper_timings *timings,
                                                bool others, int64_t now_ms)
{
    switch (reachability->state) {
    case ASSIGNER_PRESENT:
        assigner_reachability_enter(reachability, ASSIGNER_MISSED, 0);
        return assigner_reachability_missed(reachability, timings, others, now_ms);
    case ASSIGNER_MISSED:
        return assigner_reachability_missed(reachability, timings, others, now_ms);
    case ASSIGNER_AWAY:
        return 0;
    case ASSIGNER_RETURNED:
        assigner_reachability_enter(reachability, ASSIGNER_AWAY, now_ms);
        return 0;
    }
    return 0;
}

/* The member says in its node that Redis answers it. */
static int64_t assigner_reachability_answered(struct assigner_reachability *reachability,
                                              const struct zookeeper_timings *timings,
                                              int64_t now_ms)
{
    switch (reachability->state) {
    case ASSIGNER_PRESENT:
        if (now_ms >= reachability->since_ms + timings->forget) {
            reachability->hold_ms = 0;
        }
        return 0;
    case ASSIGNER_MISSED:
        assigner_reachability_enter(reachability, ASSIGNER_PRESENT, now_ms);
        return 0;
    case ASSIGNER_AWAY:
        assigner_reachability_enter(reachability, ASSIGNER_RETURNED, now_ms);
        break;
    case ASSIGNER_RETURNED:
        break;
    }
    if (now_ms < reachability->since_ms + reachability->hold_ms) {
        return reachability->since_ms + reachability->hold_ms;
    }
    assigner_reachability_enter(reachability, ASSIGNER_PRESENT, now_ms);
    return 0;
}

int64_t assigner_reachability_note(struct assigner_reachability *reachability,
                                   const struct zookeeper_timings *timings, bool reachable,
                                   bool others, int64_t now_ms)
{
    return reachable ? assigner_reachability_answered(reachability, timings, now_ms)
                     : assigner_reachability_unanswered(reachability, timings, others, now_ms);
}

/* --- the members of a topic --- */

static struct assigner_reachability *assigner_reachability_find(const struct assigner_topic *topic,
                                                                int64_t incarnation)
{
    for (size_t i = 0; i < topic->reachability_count; i++) {
        if (topic->reachability[i].incarnation == incarnation) {
            return &topic->reachability[i];
        }
    }
    return NULL;
}

static enum assigner_presence assigner_reachability_state(const struct assigner_topic *topic,
                                                          int64_t incarnation)
{
    const struct assigner_reachability *reachability =
        assigner_reachability_find(topic, incarnation);

    return reachability != NULL ? reachability->state : ASSIGNER_PRESENT;
}

bool assigner_reachability_is_present(const struct assigner_topic *topic, int64_t incarnation)
{
    return assigner_reachability_state(topic, incarnation) == ASSIGNER_PRESENT;
}

bool assigner_reachability_is_away(const struct assigner_topic *topic, int64_t incarnation)
{
    return assigner_reachability_state(topic, incarnation) == ASSIGNER_AWAY;
}

static void assigner_reachability_log(const struct assigner *assigner,
                                      const struct assigner_topic *topic,
                                      const struct assigner_member *member)
{
    events_log(assigner->env->events, SMQ_LEVEL_WARN,
               "topic %s: no Redis node answers member %s on host %s; its slots move to members "
               "that reach Redis; check the network between that host and Redis",
               topic->name, member->id, member->info.host);
}

/* What is known of a member after this round; `fresh`: it is not in the assignment.  Returns when
 * to note it again; 0: with the next change. */
static int64_t assigner_reachability_member(struct assigner_reachability *out,
                                            const struct assigner *assigner,
                                            const struct assigner_topic *topic,
                                            const struct assigner_member *member, bool fresh,
                                            bool others, int64_t now_ms)
{
    const struct zookeeper_timings *timings = &assigner->env->timings;
    const struct assigner_reachability *known =
        assigner_reachability_find(topic, member->incarnation);
    bool reachable = member_info_is_reachable(&member->info);
    int64_t again_ms = 0;

    *out = (struct assigner_reachability){.incarnation = member->incarnation, .since_ms = now_ms};
    if (known != NULL) {
        *out = *known;
    } else if (fresh && !reachable) { /* there is nothing that could move */
        out->hold_ms = timings->hold;
        assigner_reachability_enter(out, ASSIGNER_AWAY, now_ms);
        return 0;
    }
    again_ms = assigner_reachability_note(out, timings, reachable, others, now_ms);
    if (out->state == ASSIGNER_AWAY && (known == NULL || known->state != ASSIGNER_AWAY)) {
        assigner_reachability_log(assigner, topic, member);
    }
    return again_ms;
}

int64_t assigner_reachability_read(const struct assigner *assigner, struct assigner_topic *topic,
                                   const int32_t *weights, int64_t now_ms)
{
    struct assigner_reachability *next = memory_new((assigner->member_count + 1) * sizeof(*next));
    int64_t first_ms = 0;
    size_t count = 0;
    bool others = false;

    for (size_t i = 0; i < assigner->member_count; i++) {
        others =
            others || (weights[i] != 0 && member_info_is_reachable(&assigner->members[i].info));
    }
    for (size_t i = 0; i < assigner->member_count; i++) {
        int64_t again_ms = 0;

        if (weights[i] == 0) {
            continue;
        }
        again_ms = assigner_reachability_member(
            &next[count], assigner, topic, &assigner->members[i], weights[i] < 0, others, now_ms);
        if (again_ms != 0 && (first_ms == 0 || again_ms < first_ms)) {
            first_ms = again_ms;
        }
        count += next[count].state != ASSIGNER_PRESENT || next[count].hold_ms != 0 ? 1 : 0;
    }
    free(topic->reachability);
    topic->reachability = next;
    topic->reachability_count = count;
    return first_ms;
}

bool assigner_reachability_limit(const struct assigner *assigner,
                                 const struct assigner_topic *topic, int32_t *weights)
{
    bool any[ASSIGNER_PRESENCES] = {false};
    bool none;

    for (size_t i = 0; i < assigner->member_count; i++) {
        if (weights[i] > 0) {
            any[assigner_reachability_state(topic, assigner->members[i].incarnation)] = true;
        }
    }
    none = !any[ASSIGNER_PRESENT] && !any[ASSIGNER_RETURNED];
    for (size_t i = 0; i < assigner->member_count && !none; i++) {
        enum assigner_presence state =
            assigner_reachability_state(topic, assigner->members[i].incarnation);

        if (state == ASSIGNER_AWAY || (state == ASSIGNER_RETURNED && any[ASSIGNER_PRESENT])) {
            weights[i] = 0;
        }
    }
    return none && (any[ASSIGNER_MISSED] || any[ASSIGNER_AWAY]);
}
