/* assigner_mismatch.c - the warning about members that consume one topic in different Redis
 * clusters.
 *
 * A cluster that was restored from a copy of another has the same topics, with their nonces and
 * bindings.  If its consumers use the same root, all of them form one fleet, and each cluster is
 * consumed only in part of its slots.  The clusters differ in their nodes, of which each member
 * shows hashes, its fingerprint.  Two members work on the same cluster if they share a hash, or if
 * other members link them, as when the nodes of a cluster were replaced one after another.
 *
 * Thread: smq:coord; no calls are made here. */
#include <stdlib.h>

#include "base/memory.h"
#include "coord/assigner/assigner.h"

int64_t assigner_mismatch_note(struct assigner_mismatch *mismatch,
                               const struct zookeeper_timings *timings, int64_t one, int64_t other,
                               int64_t now_ms)
{
    int64_t due_ms = 0;

    if (one == 0) {
        *mismatch = (struct assigner_mismatch){.logged_ms = mismatch->logged_ms};
        return 0;
    }
    if (mismatch->since_ms == 0) {
        mismatch->since_ms = now_ms;
    }
    if (one == mismatch->one && other == mismatch->other) {
        return 0;
    }
    due_ms = mismatch->since_ms + timings->mismatch;
    if (mismatch->logged_ms != 0 && due_ms < mismatch->logged_ms + timings->remind) {
        due_ms = mismatch->logged_ms + timings->remind;
    }
    if (due_ms <= now_ms) {
        mismatch->logged_ms = now_ms;
        mismatch->one = one;
        mismatch->other = other;
    }
    return due_ms;
}

/* Two members of a topic, by their index in assigner->members. */
struct assigner_mismatch_pair {
    const struct assigner_topic *topic; /* NULL: there are no such members */
    /* the oldest member of the topic, and the oldest one on another cluster */
    size_t one, other;
};

static struct assigner_mismatch_pair assigner_mismatch_of_topic(const struct assigner *assigner,
                                                                const struct assigner_topic *topic,
                                                                const size_t *groups)
{
    struct assigner_mismatch_pair pair = {.one = assigner->member_count};

    for (size_t i = 0; i < assigner->member_count; i++) {
        if (groups[i] == 0 || (pair.one < i && groups[i] == groups[pair.one]) ||
            member_info_topic(&assigner->members[i].info, topic->name, topic->nonce) == NULL) {
            continue;
        }
        if (pair.one < i) {
            pair.other = i;
            pair.topic = topic;
            break;
        }
        pair.one = i;
    }
    return pair;
}

/* Of all topics the pair with the oldest members, so that later members do not change the pair that
 * is logged. */
static struct assigner_mismatch_pair assigner_mismatch_find(const struct assigner *assigner,
                                                            const size_t *groups)
{
    const struct assigner_topic *topic = NULL;
    struct assigner_mismatch_pair found = {0};

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        struct assigner_mismatch_pair pair = assigner_mismatch_of_topic(assigner, topic, groups);

        if (pair.topic != NULL && (found.topic == NULL || pair.one < found.one ||
                                   (pair.one == found.one && pair.other < found.other))) {
            found = pair;
        }
    }
    return found;
}

/* As assigner_mismatch_find(), from the fingerprints that the members show.  A member whose node
 * cannot be read shows none. */
static struct assigner_mismatch_pair assigner_mismatch_among(const struct assigner *assigner)
{
    size_t count = assigner->member_count;
    const struct fingerprint **sets = memory_new((count + 1) * sizeof(*sets));
    size_t *groups = memory_new((count + 1) * sizeof(*groups));
    struct assigner_mismatch_pair found = {0};

    for (size_t i = 0; i < count; i++) {
        sets[i] = &assigner->members[i].info.fingerprint;
    }
    if (fingerprint_group(groups, sets, count) > 1) {
        found = assigner_mismatch_find(assigner, groups);
    }
    free(sets);
    free(groups);
    return found;
}

static void assigner_mismatch_log(const struct assigner *assigner,
                                  const struct assigner_mismatch_pair *pair)
{
    const struct assigner_member *one = &assigner->members[pair->one];
    const struct assigner_member *other = &assigner->members[pair->other];

    events_log(assigner->env->events, SMQ_LEVEL_WARN,
               "topic %s: member %s on host %s and member %s on host %s are connected to different "
               "Redis clusters under the same ZooKeeper root %s, as after one cluster was restored "
               "from a copy of the other; each of them is consumed only in part of its slots: stop "
               "the consumers of the copy, give them a root of their own, and run slotmq topic "
               "rebind there for each topic",
               pair->topic->name, one->id, one->info.host, other->id, other->info.host,
               assigner->env->root);
}

void assigner_log_mismatch(struct assigner *assigner, int64_t now_ms)
{
    const struct zookeeper_timings *timings = &assigner->env->timings;
    struct assigner_mismatch_pair pair = assigner_mismatch_among(assigner);
    int64_t due_ms = 0;

    if (pair.topic == NULL) {
        (void) assigner_mismatch_note(&assigner->mismatch, timings, 0, 0, now_ms);
        return;
    }
    due_ms = assigner_mismatch_note(&assigner->mismatch, timings,
                                    assigner->members[pair.one].incarnation,
                                    assigner->members[pair.other].incarnation, now_ms);
    if (due_ms > now_ms) {
        assigner_wake_at(assigner, due_ms);
    } else if (due_ms != 0) {
        assigner_mismatch_log(assigner, &pair);
    }
}
