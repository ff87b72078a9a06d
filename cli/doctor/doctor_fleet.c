/* doctor_fleet.c - checks of ZooKeeper and of the fleet.
 *
 * Pure. */
#include <inttypes.h>
#include <string.h>

#include "cli/doctor/doctor_checks.h"

/* Says that nothing is known when there is a ZooKeeper and it was not read. */
static bool doctor_has_fleet(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (facts->has_zookeeper && (!facts->described.tried || facts->described.status != SMQ_OK)) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "", "not known: ZooKeeper was not read");
    }
    return facts->described.tried && facts->described.status == SMQ_OK;
}

/* === ZooKeeper ========================================================== */

static const char *doctor_session_advice(smq_status status)
{
    if (status == SMQ_DENIED) {
        return "give zookeeper_auth with -X, as the members have it";
    }
    return status == SMQ_INVALID
               ? "run slotmq doctor where the fleet runs: its slotmq has ZooKeeper"
               : "start its servers or fix the network; owners stay owners, and "
                 "no slot moves until then";
}

void doctor_check_zookeeper(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!facts->has_zookeeper) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "",
                          "not known: no ZooKeeper was given with -z");
        return;
    }
    if (facts->described.tried && facts->described.status != SMQ_OK) {
        doctor_report_add(report, DOCTOR_ERROR, "", doctor_session_advice(facts->described.status),
                          "no session can be used: %s", facts->described.text);
    } else if (!facts->described.tried) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "", "not known: it is asked after Redis");
    } else if (!facts->has_auth) { /* members that have credentials would not let it read */
        doctor_report_add(
            report, DOCTOR_OK, "", "",
            "everyone who reaches it can write the nodes of the fleet; zookeeper_auth "
            "of all members and of this command prevents that");
    }
}

/* === The fleet ========================================================== */

/* For how long it has been so, when the clocks agree. */
static bool doctor_is_long(const struct doctor_facts *facts, int64_t since_at_ms)
{
    return since_at_ms > 0 && facts->now_ms - since_at_ms >= DOCTOR_MOVE_WARNING_MS;
}

void doctor_check_fleet(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_fleet(report, facts)) {
        return;
    }
    if (facts->member_count > 0 && facts->fleet.assigner[0] == '\0') {
        doctor_report_add(report, DOCTOR_WARNING, "",
                          "run slotmq doctor again: one is elected within the session timeout of "
                          "the last; if not, look at the logs of the members",
                          "no member is the assigner, and no slot moves");
    }
    for (size_t i = 0; i < facts->fleet_topic_count; i++) {
        const smq_fleet_topic *topic = &facts->fleet_topic[i];

        if (topic->members > 0 && topic->unowned > 0 && topic->why[0] == '\0') {
            doctor_report_add(
                report, doctor_is_long(facts, topic->since_at_ms) ? DOCTOR_ERROR : DOCTOR_WARNING,
                topic->name,
                "run slotmq doctor again: slots are granted within seconds; if not, "
                "look at the log of the assigner",
                "%" PRIu64 " of its slots have no owner", topic->unowned);
        }
    }
}

static void doctor_judge_member(struct doctor_report *report, const smq_fleet_member *member)
{
    if (member->state == SMQ_MEMBER_UNREACHABLE) {
        doctor_report_add(report, DOCTOR_ERROR, member->name,
                          "fix the network between that host and Redis; members that reach Redis "
                          "get its slots",
                          "process %" PRId64 " on host %s reaches no Redis", member->pid,
                          member->host);
    }
}

void doctor_check_members(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_fleet(report, facts)) {
        return;
    }
    for (size_t i = 0; i < facts->member_count; i++) {
        doctor_judge_member(report, &facts->member[i]);
    }
    for (size_t i = 0; i < facts->share_count; i++) {
        const smq_fleet_share *share = &facts->share[i];

        if (share->stands_by[0] != '\0') {
            doctor_report_add(report, DOCTOR_WARNING, share->member,
                              "create topics with more slots than members, or start fewer members",
                              "it has no slot of topic %s: %s", share->topic, share->stands_by);
        }
    }
}

static const char *doctor_advise_move(smq_fleet_wait wait)
{
    switch (wait) {
    case SMQ_WAIT_ACKNOWLEDGE:
        return "restart the process of that member; if it cannot be reached: slotmq fleet evict";
    case SMQ_WAIT_DRAIN:
        return "its handlers may run until drain_timeout; restart the process to end them sooner";
    case SMQ_WAIT_ASSIGNER:
        break;
    }
    return "look at the log of the assigner; slotmq fleet evict it if it hangs";
}

void doctor_check_moves(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_fleet(report, facts)) {
        return;
    }
    for (size_t i = 0; i < facts->move_count; i++) {
        const smq_fleet_move *move = &facts->move[i];

        if (doctor_is_long(facts, move->since_at_ms)) {
            doctor_report_add(report, DOCTOR_WARNING, move->topic, doctor_advise_move(move->wait),
                              "%" PRIu64 " slots have been moving for %" PRId64 " s: %s",
                              move->slots, (facts->now_ms - move->since_at_ms) / 1000, move->why);
        }
    }
}

static bool doctor_has_topic(const struct doctor_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->topic_count; i++) {
        if (strcmp(facts->topic[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* An assigner removes the nodes of topics that no member asks for, so it counts only without one.
 */
static void doctor_count_forgotten(struct doctor_report *report, const struct doctor_facts *facts)
{
    size_t count = 0;

    if (facts->only || !facts->listed.tried || facts->listed.status != SMQ_OK ||
        facts->fleet.assigner[0] != '\0') {
        return;
    }
    for (size_t i = 0; i < facts->fleet_topic_count; i++) {
        const smq_fleet_topic *topic = &facts->fleet_topic[i];

        count += topic->members == 0 && !doctor_has_topic(facts, topic->name) ? 1 : 0;
    }
    if (count > 0) {
        doctor_report_add(report, DOCTOR_WARNING, "",
                          "slotmq topic repair --all; the next member at this root removes them, "
                          "too",
                          "ZooKeeper has nodes of %zu deleted %s", count,
                          count == 1 ? "topic" : "topics");
    }
}

void doctor_check_nodes(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!doctor_has_fleet(report, facts)) {
        return;
    }
    for (size_t i = 0; i < facts->member_count; i++) {
        if (facts->member[i].why[0] != '\0') {
            doctor_report_add(report, DOCTOR_ERROR, facts->member[i].name,
                              "give all members the same zookeeper_auth and version; until then "
                              "this one gets no slots",
                              "its node cannot be read: %s", facts->member[i].why);
        }
    }
    for (size_t i = 0; i < facts->fleet_topic_count; i++) {
        if (facts->fleet_topic[i].why[0] != '\0') {
            doctor_report_add(report, DOCTOR_ERROR, facts->fleet_topic[i].name,
                              "give all members the same zookeeper_auth; the assigner writes a "
                              "damaged assignment anew",
                              "its nodes cannot be read: %s", facts->fleet_topic[i].why);
        }
    }
    doctor_count_forgotten(report, facts);
}
