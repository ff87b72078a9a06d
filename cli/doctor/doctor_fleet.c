/* doctor_fleet.c - checks of ZooKeeper, of a tree in Redis, and of the fleet.
 *
 * Pure. */
#include <inttypes.h>
#include <string.h>

#include "cli/doctor/doctor_checks.h"

enum { DOCTOR_SHARES_MOST = 1000 }; /* more are not compared with each other */

/* Says that nothing is known when there is a fleet and it was not read. */
static bool doctor_has_fleet(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (facts->has_fleet && (!facts->described.tried || facts->described.status != SMQ_OK)) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "", "not known: the fleet was not read");
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
    if (facts->in_redis) {
        return;
    }
    if (!facts->has_fleet) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "",
                          "not known: no ZooKeeper was given with -z");
        return;
    }
    if (facts->described.tried && facts->described.status != SMQ_OK) {
        doctor_report_add(report, DOCTOR_ERROR, "", doctor_session_advice(facts->described.status),
                          "no session can be used: %s", facts->described.text);
        return;
    }
    if (!facts->described.tried) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "", "not known: it is asked after Redis");
        return;
    }
    if (facts->fleet.generation != 0) {
        doctor_report_add(report, DOCTOR_OK, facts->fleet.root, "",
                          "the nodes of its fleet are in ZooKeeper, with %" PRIu64 " members",
                          facts->fleet.members);
    }
    if (!facts->has_auth) { /* members that have credentials would not let it read */
        doctor_report_add(
            report, DOCTOR_OK, "", "",
            "everyone who reaches it can write the nodes of the fleet; zookeeper_auth "
            "of all members and of this command prevents that");
    }
}

/* === A tree in Redis ==================================================== */

/* The longest that the cluster needs until a replica has taken over; 0: not known, or never. */
static int64_t doctor_failover_ms(const struct doctor_facts *facts)
{
    int64_t longest = 0;

    for (size_t i = 0; i < facts->server_count; i++) {
        const int64_t timeout_ms = facts->server[i].node_timeout_ms;

        longest = facts->server[i].status == SMQ_OK && timeout_ms > longest ? timeout_ms : longest;
    }
    return longest * 3 / 2;
}

/* Two thirds of the time-out after the last answer an owner stops, if it was told to. */
static void doctor_judge_timeouts(struct doctor_report *report, const struct doctor_facts *facts)
{
    const int64_t failover_ms = doctor_failover_ms(facts);

    if (facts->stops && facts->session_ms * 2 / 3 < failover_ms) {
        doctor_report_add(report, DOCTOR_WARNING, "",
                          "give members on_coordination_loss=continue, a session_timeout_ms above "
                          "three halves of that, or the cluster a shorter cluster-node-timeout",
                          "an unplanned failover takes up to %" PRId64
                          " s, and with on_coordination_loss=stop all members stop after %" PRId64
                          " s of it",
                          failover_ms / 1000, facts->session_ms * 2 / 3 / 1000);
    }
}

/* Have both a member or a topic in common?  Groups of a topic are of the topic. */
static bool doctor_is_related(const smq_fleet_share *one, const smq_fleet_share *other)
{
    const size_t length = strcspn(one->topic, "/");

    return strcmp(one->member, other->member) == 0 ||
           (length == strcspn(other->topic, "/") && strncmp(one->topic, other->topic, length) == 0);
}

/* Members that have a topic in common, also by others, are one application. */
static size_t doctor_count_applications(const struct doctor_facts *facts)
{
    const size_t count =
        facts->share_count < DOCTOR_SHARES_MOST ? facts->share_count : DOCTOR_SHARES_MOST;
    size_t applications = 0, of[DOCTOR_SHARES_MOST];

    for (size_t i = 0; i < count; i++) {
        of[i] = i;
        applications++;
        for (size_t j = 0; j < i; j++) {
            const size_t joined = of[j];

            if (joined == of[i] || !doctor_is_related(&facts->share[i], &facts->share[j])) {
                continue;
            }
            applications--;
            for (size_t k = 0; k <= i; k++) {
                of[k] = of[k] == joined ? of[i] : of[k];
            }
        }
    }
    return applications;
}

static const char *doctor_tree_advice(smq_status status)
{
    if (status == SMQ_DENIED) {
        return "give the user the tree of the root and +info (SECURITY.md), as the members have it";
    }
    return status == SMQ_INVALID ? "use ZooKeeper, or a Redis that shows INFO replication"
                                 : "let a replica take over; owners stay owners, and no slot moves "
                                   "until then";
}

/* That all is well there is also to be known. */
static void doctor_tell_tree(struct doctor_report *report, const smq_fleet_info *fleet)
{
    if (fleet->reign != 0) {
        doctor_report_add(report, DOCTOR_OK, fleet->root, "",
                          "its tree is in Redis at %s, in reign %016" PRIx64 ", with %" PRIu64
                          " members",
                          fleet->server, (uint64_t) fleet->reign, fleet->members);
    }
}

void doctor_check_tree(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (!facts->in_redis) {
        return;
    }
    if (!facts->described.tried) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "", "not known: it is asked after Redis");
        return;
    }
    if (facts->described.status == SMQ_DENIED && !facts->is_named) {
        /* who was not told to look at a fleet need not have the rights of its members */
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "", "not known: the tree cannot be used: %s",
                          facts->described.text);
        return;
    }
    if (facts->described.status != SMQ_OK) {
        doctor_report_add(report, DOCTOR_ERROR, "", doctor_tree_advice(facts->described.status),
                          "the tree cannot be used: %s", facts->described.text);
        return;
    }
    doctor_tell_tree(report, &facts->fleet);
    if (facts->fleet.grace_ms > 0) {
        doctor_report_add(report, DOCTOR_OK, "", "",
                          "its master is another one or was restarted: for %" PRId64
                          " ms more joins, and the slots of the dead, wait for members",
                          facts->fleet.grace_ms);
    }
    doctor_judge_timeouts(report, facts);
    if (doctor_count_applications(facts) > 1) {
        doctor_report_add(report, DOCTOR_WARNING, facts->fleet.root,
                          "give each application a root of its own, by -X root=PATH",
                          "its members fall into %zu groups that share no topic, and each may take "
                          "or stop the slots of the others",
                          doctor_count_applications(facts));
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
                          "%s has nodes of %zu deleted %s",
                          facts->in_redis ? "the tree" : "ZooKeeper", count,
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
