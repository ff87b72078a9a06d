/* doctor_topics.c - checks of topics: definitions, damage, bindings, tokens, consumers.
 *
 * Pure. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/doctor_checks.h"
#include "cli/topic/topic.h"

enum { BOUND_ROOM = 400 };

/* Says that nothing is known when the topics were not looked at. */
static bool doctor_has_topics(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (facts->listed.tried && facts->listed.status == SMQ_OK) {
        return true;
    }
    doctor_report_add(report, DOCTOR_UNKNOWN, "", "",
                      facts->listed.tried
                          ? "not known: the topics cannot be listed"
                          : "not known: topics are looked at when all Redis masters answer");
    return false;
}

/* What topics of the fleet are bound to; "" when that is not known. */
static void doctor_binding_here(char *out, size_t size, const struct doctor_facts *facts)
{
    out[0] = '\0';
    if (facts->described.tried && facts->described.status == SMQ_OK) {
        snprintf(out, size, facts->in_redis ? "redis:%s" : "zookeeper:%s %s", facts->fleet.root,
                 facts->fleet.identity);
    }
}

static bool doctor_is_bound_here(const struct doctor_topic *topic, const struct doctor_facts *facts)
{
    return facts->described.tried && facts->described.status == SMQ_OK && topic->bound.tried &&
           topic->bound.status == SMQ_OK &&
           topic_is_bound_to(&topic->binding, facts->fleet.root, facts->in_redis);
}

/* What to do when something cannot be read for this reason. */
static const char *doctor_advise_text(smq_status status)
{
    return status == SMQ_DENIED ? DOCTOR_GIVE_RIGHTS : "fix what the text says";
}

/* === Definitions and damage ============================================= */

void doctor_check_definitions(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (facts->listed.tried && facts->listed.status != SMQ_OK) {
        doctor_report_add(report, doctor_facts_severity(facts, facts->listed.status),
                          facts->only ? facts->only : "", doctor_advise_text(facts->listed.status),
                          facts->only ? "%s" : "the topics cannot be listed: %s",
                          facts->listed.text);
        return;
    }
    if (!doctor_has_topics(report, facts)) {
        return;
    }
    for (size_t i = 0; i < facts->topic_count; i++) {
        const struct doctor_topic *topic = &facts->topic[i];

        if (topic->unreadable) {
            doctor_report_add(report, doctor_facts_severity(facts, topic->unreadable_status),
                              topic->name,
                              topic->unreadable_status == SMQ_DENIED
                                  ? DOCTOR_GIVE_RIGHTS
                                  : "fix what the text says; no client can use the topic until "
                                    "then",
                              "its definition cannot be read: %s", topic->unreadable);
        }
    }
}

void doctor_check_list(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_topics(report, facts)) {
        return;
    }
    if (facts->scanned.tried && facts->scanned.status != SMQ_OK) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "",
                          "not known whether the list of topics is whole: %s", facts->scanned.text);
    }
    for (size_t i = 0; i < facts->topic_count; i++) {
        if (facts->topic[i].unlisted) {
            doctor_report_add(report, DOCTOR_ERROR, facts->topic[i].name,
                              "slotmq topic repair --all",
                              "Redis has lost its name from the list of all topics");
        }
    }
    if (facts->deleted_count > 0) {
        doctor_report_add(report, DOCTOR_WARNING, "", "slotmq topic repair --all",
                          "an earlier version has left keys of %zu deleted topics",
                          facts->deleted_count);
    }
}

static void doctor_judge_damage(struct doctor_report *report, const struct doctor_facts *facts,
                                const struct doctor_topic *topic)
{
    char advice[200];

    snprintf(advice, sizeof(advice), "slotmq topic repair %s", topic->name);
    if (topic->damaged || topic->looked.status == SMQ_DAMAGED) {
        doctor_report_add(report, DOCTOR_ERROR, topic->name, advice,
                          "Redis has lost its definition");
    } else if (topic->looked.tried && topic->looked.status != SMQ_OK &&
               topic->looked.status != SMQ_NO_TOPIC) {
        doctor_report_add(report, doctor_facts_severity(facts, topic->looked.status), topic->name,
                          doctor_advise_text(topic->looked.status), "it cannot be looked at: %s",
                          topic->looked.text);
    } else if (topic->stats.slots_damaged > 0) {
        doctor_report_add(report, DOCTOR_ERROR, topic->name, advice,
                          "Redis has lost a part of %" PRIu64 " of its slots",
                          topic->stats.slots_damaged);
    }
    if (topic->stats.slots_silent > 0) {
        doctor_report_add(report, DOCTOR_ERROR, topic->name,
                          "see the finding about the Redis master that has them",
                          "%" PRIu64 " of its slots do not answer", topic->stats.slots_silent);
    }
}

void doctor_check_damage(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_topics(report, facts)) {
        return;
    }
    if (facts->topics_left > 0) {
        doctor_report_add(report, facts->probe ? DOCTOR_BLIND : DOCTOR_UNKNOWN, "", "",
                          "not known of %zu of %zu topics: the time had ended; give a longer "
                          "--timeout, or name one topic",
                          facts->topics_left, facts->topic_count);
    }
    for (size_t i = 0; i < facts->topic_count; i++) {
        doctor_judge_damage(report, facts, &facts->topic[i]);
    }
}

/* === Bindings =========================================================== */

static void doctor_judge_binding(struct doctor_report *report, const struct doctor_facts *facts,
                                 const struct doctor_topic *topic, const char *here)
{
    const char *bound = topic->binding.coordination;

    if (!topic->bound.tried || topic->bound.status != SMQ_OK || topic->shared || bound[0] == '\0' ||
        strcmp(bound, here) == 0) {
        return; /* what cannot be read is another finding */
    }
    if (doctor_is_bound_here(topic, facts)) {
        doctor_report_add(report, DOCTOR_ERROR, topic->name,
                          "if ZooKeeper lost its data: slotmq fleet raise-fence; if this is "
                          "another ensemble: name the right one with -z",
                          facts->fleet.identity[0] == '\0'
                              ? "it is bound to the root %s, which is missing in ZooKeeper"
                              : "it is bound to another identity than the root %s has",
                          facts->fleet.root);
    } else if (strcmp(bound, "standalone") != 0 && facts->has_fleet && here[0] == '\0') {
        doctor_report_add(report, DOCTOR_UNKNOWN, topic->name, "",
                          "not known: the fleet was not read");
    } else if (strcmp(bound, "standalone") != 0) {
        /* topics of several fleets may be side by side */
        const bool wanted = facts->probe && (facts->only || !facts->is_named);
        doctor_report_add(
            report, wanted ? DOCTOR_BLIND : DOCTOR_UNKNOWN, topic->name, "",
            "whether its slots have owners is not known: it is bound to %s; name "
            "that ZooKeeper and root with -z, or that root in Redis with -X root=PATH",
            bound);
    }
}

void doctor_check_bindings(struct doctor_report *report, const struct doctor_facts *facts)
{
    char here[BOUND_ROOM];

    if (!doctor_has_topics(report, facts)) {
        return;
    }
    doctor_binding_here(here, sizeof(here), facts);
    for (size_t i = 0; i < facts->topic_count; i++) {
        doctor_judge_binding(report, facts, &facts->topic[i], here);
    }
}

/* === Tokens ============================================================= */

/* Would ZooKeeper grant a smaller token than the slot has?  All that was read of ZooKeeper is newer
 * than the token. */
static bool doctor_is_ahead(const smq_binding *binding, const smq_fleet_info *fleet)
{
    const uint32_t generation =
        binding->generation > fleet->generation ? binding->generation : fleet->generation;

    if (binding->token_slot == SMQ_NONE || binding->token_generation != generation) {
        return binding->token_slot != SMQ_NONE && binding->token_generation > generation;
    }
    return binding->token_epoch > (uint64_t) fleet->zxid;
}

void doctor_check_tokens(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!facts->has_fleet || !doctor_has_topics(report, facts)) {
        return;
    }
    if (!facts->described.tried || facts->described.status != SMQ_OK ||
        facts->fleet.unreadable > 0) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "",
                          "not known: not all nodes of the fleet can be read");
        return;
    }
    for (size_t i = 0; i < facts->topic_count; i++) {
        const struct doctor_topic *topic = &facts->topic[i];

        if (doctor_is_bound_here(topic, facts) && doctor_is_ahead(&topic->binding, &facts->fleet)) {
            doctor_report_add(report, DOCTOR_ERROR, topic->name, "slotmq fleet raise-fence",
                              "slot %" PRId32 " has a token of generation %" PRIu32
                              " that is larger than those which %s grants: it has lost its data, "
                              "and no owner is accepted",
                              topic->binding.token_slot, topic->binding.token_generation,
                              facts->in_redis ? "the fleet" : "ZooKeeper");
        }
    }
}

/* === Consumers ========================================================== */

static const smq_fleet_topic *doctor_fleet_topic(const struct doctor_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->fleet_topic_count; i++) {
        if (strcmp(facts->fleet_topic[i].name, name) == 0) {
            return &facts->fleet_topic[i];
        }
    }
    return NULL;
}

/* Only the process of the owner knows the limits that it has itself. */
static void doctor_judge_idle(struct doctor_report *report, const struct doctor_topic *topic)
{
    char rate[80] = "";

    if (topic->idle_owner == NULL || topic->idle_owner[0] == '\0') {
        return;
    }
    if (topic->rate_per_s > 0) {
        snprintf(rate, sizeof(rate), ", and rate_per_s of the topic is %" PRId64,
                 topic->rate_per_s);
    }
    doctor_report_add(
        report, DOCTOR_WARNING, topic->name,
        "a sender that may not publish wakes no owner: slotmq doctor, check rights; `waiting` of "
        "smq_client_health() says in that process which limit or which messages it waits for; if "
        "it hangs or was killed, restart it",
        "%" PRIu64 " messages are due, for %" PRId64 " s, although member %.120s owns slot "
        "%" PRId32 ": it claims none%s",
        topic->stats.due, topic->stats.oldest_due_age_ms / 1000, topic->idle_owner,
        topic->idle_slot, rate);
}

void doctor_check_consumers(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_topics(report, facts)) {
        return;
    }
    for (size_t i = 0; i < facts->topic_count; i++) {
        const struct doctor_topic *topic = &facts->topic[i];
        const smq_fleet_topic *fleet = doctor_fleet_topic(facts, topic->name);
        /* those that are stalled are another finding */
        const bool waits = topic->stats.due > topic->stats.stalled && !topic->paused;

        if (doctor_is_bound_here(topic, facts) && (!fleet || fleet->members == 0) && waits) {
            doctor_report_add(
                report, DOCTOR_WARNING, topic->name, "start a consumer, or pause the topic",
                "no member consumes it, and %" PRIu64 " messages are due", topic->stats.due);
        } else if (!topic->shared && topic->bound.tried && topic->bound.status == SMQ_OK &&
                   topic->binding.coordination[0] == '\0' && waits) {
            doctor_report_add(
                report, DOCTOR_WARNING, topic->name, "start a consumer, or pause the topic",
                "it was never consumed, and %" PRIu64 " messages are due", topic->stats.due);
        } else {
            doctor_judge_idle(report, topic);
        }
    }
}

/* === Work =============================================================== */

static bool doctor_has_member(const struct doctor_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->member_count; i++) {
        if (strcmp(facts->member[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* "at member w-1", or what is known of it. */
static void doctor_work_where(char *out, size_t size, const struct doctor_work *work,
                              const char *kind)
{
    if (work->owner[0] == '\0') {
        snprintf(out, size, "at a process whose name is not known");
    } else {
        snprintf(out, size, "at %s %.120s", kind, work->owner);
    }
}

/* A stalled claim is an error once its lease has been over for a while; those of a member that
 * left ZooKeeper are one at once, unless other members get its slots. */
static void doctor_judge_work(struct doctor_report *report, const struct doctor_facts *facts,
                              const struct doctor_topic *topic, const struct doctor_work *work)
{
    const bool bound = doctor_is_bound_here(topic, facts);
    const smq_fleet_topic *fleet = doctor_fleet_topic(facts, topic->name);
    char where[160], advice[300];
    int64_t age_ms = 0;

    doctor_work_where(where, sizeof(where), work, topic->shared ? "process" : "member");
    snprintf(advice, sizeof(advice),
             "restart that process or start a consumer, which gets these messages again: slotmq "
             "work %s",
             topic->name);
    switch (
        smq_overdue_of(&work->stats, bound && !doctor_has_member(facts, work->owner), 0, &age_ms)) {
    case SMQ_OVERDUE_STALLED:
        if (age_ms >= DOCTOR_DUE_MS) {
            doctor_report_add(report, DOCTOR_ERROR, topic->name, advice,
                              "%" PRIu64 " messages are in work %s, the oldest for %" PRId64
                              " s, but its lease ended %" PRId64 " s ago: it died or hangs",
                              work->stats.stalled, where, work->stats.oldest_claim_age_ms / 1000,
                              age_ms / 1000);
        }
        break;
    case SMQ_OVERDUE_ORPHANED:
        doctor_report_add(report, fleet && fleet->members > 0 ? DOCTOR_WARNING : DOCTOR_ERROR,
                          topic->name, advice,
                          "%" PRIu64 " messages are in work %s, the oldest for %" PRId64
                          " s, but it is no member any more",
                          work->stats.claimed, where, age_ms / 1000);
        break;
    default:
        break;
    }
}

void doctor_check_work(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_topics(report, facts)) {
        return;
    }
    for (size_t i = 0; i < facts->topic_count; i++) {
        const struct doctor_topic *topic = &facts->topic[i];

        for (size_t w = 0; w < facts->work_count && !topic->paused; w++) {
            if (strcmp(facts->work[w].topic, topic->name) == 0) {
                doctor_judge_work(report, facts, topic, &facts->work[w]);
            }
        }
    }
}

/* === Rights of senders ================================================== */

static const char *doctor_lack_costs(const char *missing)
{
    if (strstr(missing, "tree{") != NULL || strstr(missing, "+info") != NULL) {
        return "its consumers are no members of the fleet in Redis, and end when they begin";
    }
    if (strstr(missing, "+h") != NULL || strstr(missing, "+time") != NULL) {
        return "members of the fleet in Redis need it";
    }
    return strstr(missing, "+spublish") != NULL || strchr(missing, '&')
               ? "it wakes no consumer, and its messages are handled late"
               : "each message for a consumer that sleeps costs one script more";
}

static void doctor_judge_sender(struct doctor_report *report, const struct doctor_sender *sender)
{
    char advice[600], others[48] = "";

    if (sender->others > 0) {
        snprintf(others, sizeof(others), " and to %zu topics more", sender->others);
    }
    snprintf(advice, sizeof(advice), "ACL SETUSER %.100s %.400s, at all nodes; see SECURITY.md",
             sender->user, sender->missing);
    doctor_report_add(report, DOCTOR_WARNING, sender->user, advice,
                      "it may send to %.120s%s, but lacks %.300s: %s", sender->topic, others,
                      sender->missing, doctor_lack_costs(sender->missing));
}

void doctor_check_rights(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_topics(report, facts)) {
        return;
    }
    if (facts->senders.tried && facts->senders.status != SMQ_OK &&
        facts->senders.status != SMQ_NO_TOPIC) {
        doctor_report_add(report, facts->probe ? DOCTOR_BLIND : DOCTOR_UNKNOWN, "",
                          facts->probe ? "give the user +acl|whoami and +acl|dryrun" : "",
                          "not known: what users may do may not be asked: %s", facts->senders.text);
    }
    for (size_t i = 0; i < facts->sender_count; i++) {
        doctor_judge_sender(report, &facts->sender[i]);
    }
}

/* === Zones of schedules ================================================= */

void doctor_check_zones(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_topics(report, facts)) {
        return;
    }
    for (size_t i = 0; i < facts->zone_count; i++) {
        doctor_report_add(report, DOCTOR_WARNING, facts->zone[i].topic,
                          "install or update the package tzdata on this machine",
                          "%zu of its schedules use the zone %.100s, which this machine does not "
                          "know: a consumer that runs here makes none of their ticks",
                          facts->zone[i].schedules, facts->zone[i].zone);
    }
}
