/* test_doctor_checks.c - what slotmq doctor concludes from what it has found out. */
#include <stdio.h>
#include <string.h>

#include "cli/doctor/doctor_checks.h"
#include "support/group.h"

enum { NOW_MS = 1000000000 };

/* A healthy master, and what differs from it. */
#define MASTER(...)                                                                                \
    {                                                                                              \
        .struct_size = sizeof(smq_server_info), .kind = SMQ_SERVER_REDIS, .address = "h:1",        \
        .why = "", .version = "7.2.4", .version_why = "", .role = "master", .used_memory = 100,    \
        .maxmemory = 1000000, .maxmemory_policy = "noeviction", .appendonly = 1, .config_why = "", \
        .appendfsync = "everysec", .save = "", .replicas = 1, .replicas_known = 1,                 \
        .cluster = true, .cluster_why = "", .cluster_state = "ok", .cluster_slots_ok = 16384,      \
        .clock_why = "", .clock_error_ms = 1, __VA_ARGS__                                          \
    }

#pragma GCC diagnostic ignored "-Woverride-init"

static const struct doctor_outcome done = {.tried = true, .status = SMQ_OK, .text = ""};

/* Facts of a whole cluster and fleet: what differs is set by the test. */
static struct doctor_facts healthy(smq_server_info *server, size_t count)
{
    return (struct doctor_facts){
        .now_ms = NOW_MS,
        .is_named = true,
        .has_fleet = true,
        .redis = done,
        .servers = done,
        .server = server,
        .server_count = count,
        .listed = done,
        .described = done,
        .fleet = {.root = "/r", .identity = "abc", .generation = 3, .assigner = "m", .zxid = 5000}};
}

/* The findings of a check with one severity; `text` is a part of the only one. */
static void assert_found(const struct doctor_facts *facts, const char *check,
                         enum doctor_severity severity, const char *text)
{
    struct doctor_report report = {.count = 0};
    bool found = false;

    doctor_checks_run(&report, facts);
    for (size_t i = 0; i < report.count; i++) {
        const struct doctor_finding *finding = &report.finding[i];

        if (strcmp(finding->check, check) != 0) {
            continue;
        }
        found = found || (finding->severity == severity && strstr(finding->text, text) != NULL);
        if (finding->severity != DOCTOR_BLIND) {
            assert_int_equal(finding->advice[0] != '\0', finding->severity >= DOCTOR_WARNING);
        }
    }
    if (!found) {
        for (size_t i = 0; i < report.count; i++) {
            print_message("%s %d %s: %s\n", report.finding[i].check,
                          (int) report.finding[i].severity, report.finding[i].subject,
                          report.finding[i].text);
        }
        fail_msg("%s did not find \"%s\" with severity %d", check, text, (int) severity);
    }
    doctor_report_fini(&report);
}

static void assert_worst(const struct doctor_facts *facts, enum doctor_severity worst)
{
    struct doctor_report report = {.count = 0};

    doctor_checks_run(&report, facts);
    assert_int_equal(report.worst, worst);
    assert_true(report.count >= doctor_check_count);
    doctor_report_fini(&report);
}

/* === Redis ============================================================== */

static void test_nothing_is_found(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK), MASTER(.address = "h:2")};
    const struct doctor_facts facts = healthy(servers, 2);

    assert_worst(&facts, DOCTOR_OK);
}

static void test_judgement_of_one_master(void **state)
{
    static const struct {
        smq_server_info server;
        const char *check;
        enum doctor_severity severity;
        const char *text;
    } rows[] = {
        {MASTER(.status = SMQ_UNAVAILABLE, .why = "no answer"), "redis", DOCTOR_ERROR, "no answer"},
        {MASTER(.status = SMQ_BAD_SERVER, .why = "it evicts"), "redis", DOCTOR_ERROR, "it evicts"},
        {MASTER(.writes = SMQ_UNAVAILABLE, .writes_why = "NOREPLICAS Not enough"), "writes",
         DOCTOR_ERROR, "it refuses writes: NOREPLICAS Not enough"},
        {MASTER(.writes = SMQ_FULL, .writes_why = "OOM"), "writes", DOCTOR_ERROR, "OOM"},
        {MASTER(.writes = SMQ_DENIED, .writes_why = "NOPERM"), "writes", DOCTOR_UNKNOWN, "NOPERM"},
        {MASTER(.writes = SMQ_OK), "writes", DOCTOR_OK, "nothing"},
        {MASTER(.version = "7.0.0"), "versions", DOCTOR_OK, "nothing"},
        {MASTER(.version = "8.2.1"), "versions", DOCTOR_OK, "nothing"},
        {MASTER(.kind = SMQ_SERVER_VALKEY, .version = "9.1.0"), "versions", DOCTOR_OK, "nothing"},
        {MASTER(.version = "6.2.7"), "versions", DOCTOR_ERROR, "too old"},
        {MASTER(.kind = SMQ_SERVER_VALKEY, .version = "7.1.0"), "versions", DOCTOR_ERROR,
         "too old"},
        {MASTER(.version = "10.0.0"), "versions", DOCTOR_WARNING, "newer than"},
        {MASTER(.version = "", .version_why = "INFO is denied"), "versions", DOCTOR_UNKNOWN,
         "INFO is denied"},
        {MASTER(.maxmemory = 0), "memory", DOCTOR_OK, "nothing"},
        {MASTER(.maxmemory_policy = "allkeys-lru"), "memory", DOCTOR_ERROR, "messages are lost"},
        {MASTER(.maxmemory = 0, .maxmemory_policy = "allkeys-lru"), "memory", DOCTOR_WARNING,
         "once it is set"},
        {MASTER(.maxmemory_policy = "volatile-lru"), "memory", DOCTOR_OK, "nothing"},
        {MASTER(.maxmemory_policy = "", .maxmemory = -1), "memory", DOCTOR_UNKNOWN, "not known"},
        {MASTER(.used_memory = 790000), "memory", DOCTOR_OK, "nothing"},
        {MASTER(.used_memory = 810000), "memory", DOCTOR_WARNING, "80 % of maxmemory"},
        {MASTER(.used_memory = 990000), "memory", DOCTOR_ERROR, "98 % of maxmemory"},
        {MASTER(.appendonly = 0), "persistence", DOCTOR_WARNING, "nothing is kept on disk"},
        {MASTER(.appendonly = 0, .save = "60 1"), "persistence", DOCTOR_WARNING, "last snapshot"},
        {MASTER(.appendfsync = "no"), "persistence", DOCTOR_WARNING, "appendfsync is no"},
        {MASTER(.config_why = "NOPERM", .appendfsync = ""), "persistence", DOCTOR_UNKNOWN,
         "NOPERM"},
        {MASTER(.config_why = "NOPERM", .appendonly = 0), "persistence", DOCTOR_WARNING,
         "if any are made"},
        {MASTER(.appendonly = -1), "persistence", DOCTOR_UNKNOWN, "does not say"},
        {MASTER(.write_failed = true), "persistence", DOCTOR_ERROR, "last write to disk failed"},
        {MASTER(.replicas = 0, .replicas_known = 0), "replicas", DOCTOR_WARNING, "no replica"},
        {MASTER(.replicas = 0), "replicas", DOCTOR_ERROR, "0 of its 1 replicas"},
        {MASTER(.replicas_known = 2), "replicas", DOCTOR_WARNING, "1 of its 2 replicas"},
        {MASTER(.replicas = -1), "replicas", DOCTOR_UNKNOWN, "not known"},
        {MASTER(.lag_bytes = 20000000), "replicas", DOCTOR_WARNING, "20000000 bytes behind"},
        {MASTER(.cluster_state = "fail"), "cluster", DOCTOR_ERROR, "serves nothing"},
        {MASTER(.cluster_slots_ok = 16000), "cluster", DOCTOR_ERROR, "384 of 16384"},
        {MASTER(.migrations = 2), "cluster", DOCTOR_WARNING, "2 hash slots are moving"},
        {MASTER(.cluster_why = "NOPERM"), "cluster", DOCTOR_UNKNOWN, "NOPERM"},
        {MASTER(.cluster = false, .cluster_slots_ok = -1, .migrations = -1), "cluster", DOCTOR_OK,
         "nothing"},
        {MASTER(.clock_offset_ms = 1000), "clocks", DOCTOR_OK, "nothing"},
        {MASTER(.clock_offset_ms = 1001), "clocks", DOCTOR_WARNING, "1000 ms ahead"},
        {MASTER(.clock_offset_ms = -2000), "clocks", DOCTOR_WARNING, "1999 ms behind"},
        {MASTER(.clock_offset_ms = 90000), "clocks", DOCTOR_ERROR, "89999 ms ahead"},
        {MASTER(.clock_offset_ms = 3000, .clock_error_ms = 2500), "clocks", DOCTOR_OK, "nothing"},
        {MASTER(.clock_why = "NOPERM"), "clocks", DOCTOR_UNKNOWN, "NOPERM"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_server_info servers[] = {rows[i].server, MASTER(.address = "h:2")};
        const struct doctor_facts facts =
            healthy(servers, strcmp(rows[i].check, "redis") == 0 ? 2 : 1);

        assert_found(&facts, rows[i].check, rows[i].severity, rows[i].text);
        assert_worst(&facts, rows[i].severity);
    }
}

/* The advice of the check `cluster` about the first master. */
static const char *cluster_advice(struct doctor_report *report, const struct doctor_facts *facts)
{
    doctor_checks_run(report, facts);
    for (size_t i = 0; i < report->count; i++) {
        if (strcmp(report->finding[i].check, "cluster") == 0) {
            return report->finding[i].advice;
        }
    }
    fail();
    return NULL;
}

/* redis-cli --cluster fix gives hash slots away, and with them the messages of a master that comes
 * back. */
static void test_nothing_is_given_away_while_a_master_is_away(void **state)
{
    static const smq_server_info rows[] = {
        MASTER(.cluster_state = "fail"),
        MASTER(.cluster_slots_ok = 10923),
        MASTER(.migrations = 1),
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_server_info servers[] = {rows[i], MASTER(.address = "h:2", .why = "it hangs")};
        struct doctor_facts facts = healthy(servers, 2);
        struct doctor_report report = {.count = 0};

        assert_non_null(strstr(cluster_advice(&report, &facts), "redis-cli --cluster "));
        assert_non_null(strstr(cluster_advice(&report, &facts), " h:1"));
        doctor_report_fini(&report);
        servers[1].status = SMQ_UNAVAILABLE;
        assert_null(strstr(cluster_advice(&report, &facts), "redis-cli"));
        assert_non_null(strstr(cluster_advice(&report, &facts), "h:2"));
        doctor_report_fini(&report);
    }
}

static void test_masters_that_differ(void **state)
{
    smq_server_info versions[] = {MASTER(.status = SMQ_OK), MASTER(.version = "7.2.5")};
    smq_server_info clocks[] = {MASTER(.clock_offset_ms = -700),
                                MASTER(.address = "h:2", .clock_offset_ms = 700)};
    struct doctor_facts facts = healthy(versions, 2);

    assert_found(&facts, "versions", DOCTOR_WARNING, "different versions");
    facts = healthy(clocks, 2);
    assert_found(&facts, "clocks", DOCTOR_WARNING, "1398 ms ahead of that of h:1");
}

static void test_no_client_can_be_made(void **state)
{
    struct doctor_facts facts = {
        .is_named = true, .has_fleet = true, .redis = {true, SMQ_UNAVAILABLE, "nobody answers"}};

    assert_found(&facts, "redis", DOCTOR_ERROR, "nobody answers");
    assert_found(&facts, "memory", DOCTOR_UNKNOWN, "no Redis master has answered");
    assert_found(&facts, "tokens", DOCTOR_UNKNOWN, "not known");
    assert_found(&facts, "zookeeper", DOCTOR_UNKNOWN, "after Redis");
    assert_worst(&facts, DOCTOR_ERROR);
}

/* === A tree in Redis ==================================================== */

static void test_the_tree_of_a_fleet_in_redis(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK, .node_timeout_ms = 15000)};
    smq_fleet_share shares[] = {{.member = "a", .topic = "t", .stands_by = ""},
                                {.member = "b", .topic = "t/group", .stands_by = ""},
                                {.member = "b", .topic = "u", .stands_by = ""},
                                {.member = "c", .topic = "u", .stands_by = ""}};
    struct doctor_facts facts = healthy(servers, 1);

    (void) state;
    assert_found(&facts, "tree", DOCTOR_OK, "nothing");
    facts.in_redis = true;
    facts.session_ms = 10000;
    facts.share = shares;
    facts.share_count = 4;
    assert_found(&facts, "zookeeper", DOCTOR_OK, "nothing");
    assert_found(&facts, "tree", DOCTOR_OK, "nothing");
    facts.fleet.root = "/slotmq";
    facts.fleet.reign = 0x0d1a2b3c00100000;
    facts.fleet.server = "h:1";
    facts.fleet.members = 3;
    assert_found(&facts, "tree", DOCTOR_OK, "at h:1, in reign 0d1a2b3c00100000, with 3 members");
    facts.fleet.reign = 0;
    facts.fleet.grace_ms = 4000;
    assert_found(&facts, "tree", DOCTOR_OK, "for 4000 ms more joins");
    facts.fleet.grace_ms = 0;
    facts.stops = true;
    assert_found(&facts, "tree", DOCTOR_WARNING, "takes up to 22 s");
    facts.session_ms = 40000;
    assert_found(&facts, "tree", DOCTOR_OK, "nothing");
    shares[2].member = "c";
    assert_found(&facts, "tree", DOCTOR_WARNING, "fall into 2 groups");
    facts.described = (struct doctor_outcome){true, SMQ_DENIED, "no permissions to run the 'info'"};
    assert_found(&facts, "tree", DOCTOR_ERROR, "no permissions");
    facts.is_named = false;
    assert_found(&facts, "tree", DOCTOR_UNKNOWN, "no permissions");
}

/* === Topics ============================================================= */

static struct doctor_topic topic_bound(const char *coordination, uint32_t generation,
                                       uint64_t epoch)
{
    struct doctor_topic topic = {.name = "t", .looked = done, .bound = done};

    snprintf(topic.binding.coordination, sizeof(topic.binding.coordination), "%s", coordination);
    topic.binding.generation = 1;
    topic.binding.token_slot = epoch == 0 ? SMQ_NONE : 2;
    topic.binding.token_generation = generation;
    topic.binding.token_epoch = epoch;
    return topic;
}

static void test_judgement_of_tokens(void **state)
{
    static const struct {
        const char *bound;
        uint32_t generation;
        uint64_t epoch;
        const char *check;
        enum doctor_severity severity;
        const char *text;
    } rows[] = {
        {"zookeeper:/r abc", 3, 5000, "tokens", DOCTOR_OK, "nothing"},
        {"zookeeper:/r abc", 3, 5001, "tokens", DOCTOR_ERROR, "slot 2 has a token of generation 3"},
        {"zookeeper:/r abc", 2, 9999, "tokens", DOCTOR_OK, "nothing"},
        {"zookeeper:/r abc", 4, 1, "tokens", DOCTOR_ERROR, "larger than those"},
        {"zookeeper:/r abc", 0, 0, "tokens", DOCTOR_OK, "nothing"},
        {"redis:/r", 4, 1, "bindings", DOCTOR_UNKNOWN, "bound to redis:/r"},
        {"zookeeper:/r xyz", 3, 5001, "tokens", DOCTOR_ERROR, "larger than those"},
        {"zookeeper:/r xyz", 3, 1, "bindings", DOCTOR_ERROR, "another identity than the root /r"},
        {"zookeeper:/q abc", 9, 9999, "tokens", DOCTOR_OK, "nothing"},
        {"zookeeper:/q abc", 9, 9999, "bindings", DOCTOR_UNKNOWN, "bound to zookeeper:/q abc"},
        {"standalone", 9, 9999, "tokens", DOCTOR_OK, "nothing"},
        {"standalone", 9, 9999, "bindings", DOCTOR_OK, "nothing"},
        {"", 0, 0, "bindings", DOCTOR_OK, "nothing"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
        struct doctor_topic topic = topic_bound(rows[i].bound, rows[i].generation, rows[i].epoch);
        struct doctor_facts facts = healthy(servers, 1);

        facts.topic = &topic;
        facts.topic_count = 1;
        assert_found(&facts, rows[i].check, rows[i].severity, rows[i].text);
    }
}

static void test_a_root_that_is_missing(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    struct doctor_topic topic = topic_bound("zookeeper:/r abc", 3, 77);
    struct doctor_facts facts = healthy(servers, 1);

    facts.topic = &topic;
    facts.topic_count = 1;
    facts.fleet = (smq_fleet_info){.root = "/r", .identity = "", .assigner = ""};
    assert_found(&facts, "bindings", DOCTOR_ERROR, "missing in ZooKeeper");
    assert_found(&facts, "tokens", DOCTOR_ERROR, "larger than those");
    facts.fleet.unreadable = 1;
    assert_found(&facts, "tokens", DOCTOR_UNKNOWN, "not all nodes of the fleet can be read");
}

static void test_work_of_those_who_are_gone(void **state)
{
    static const struct {
        const char *bound, *owner;
        smq_stats stats;
        bool paused, shared;
        int32_t members; /* of the topic, in ZooKeeper */
        enum doctor_severity severity;
        const char *text;
    } rows[] = {
        {"zookeeper:/r abc",
         "w-1",
         {.claimed = 5, .oldest_claim_age_ms = 90000},
         .members = 1,
         .severity = DOCTOR_OK,
         .text = "nothing"},
        {"zookeeper:/r abc",
         "w-2",
         {.claimed = 5, .oldest_claim_age_ms = 90000},
         .severity = DOCTOR_ERROR,
         .text = "5 messages are in work at member w-2, the oldest for 90 s, but it is no member"},
        {"zookeeper:/r abc",
         "w-2",
         {.claimed = 5},
         .members = 1,
         .severity = DOCTOR_WARNING,
         .text = "it is no member any more"},
        {"zookeeper:/r abc",
         "w-2",
         {.claimed = 5},
         .paused = true,
         .severity = DOCTOR_OK,
         .text = "nothing"},
        {"standalone", "w-2", {.claimed = 5}, .severity = DOCTOR_OK, .text = "nothing"},
        {"standalone",
         "w-2",
         {.claimed = 5, .stalled = 4, .stalled_age_ms = 9999},
         .severity = DOCTOR_OK,
         .text = "nothing"},
        {"standalone",
         "w-2",
         {.claimed = 5, .stalled = 4, .stalled_age_ms = 10000, .oldest_claim_age_ms = 50000},
         .severity = DOCTOR_ERROR,
         .text = "4 messages are in work at member w-2, the oldest for 50 s, but its lease ended "
                 "10 s ago: it died or hangs"},
        {"",
         "w-2",
         {.claimed = 1, .stalled = 1, .stalled_age_ms = 10000},
         .shared = true,
         .severity = DOCTOR_ERROR,
         .text = "in work at process w-2"},
        {"",
         "",
         {.claimed = 1, .stalled = 1, .stalled_age_ms = 10000},
         .shared = true,
         .severity = DOCTOR_ERROR,
         .text = "in work at a process whose name is not known"},
    };
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    smq_fleet_member member = {.name = "w-1", .state = SMQ_MEMBER_ACTIVE, .host = "h", .why = ""};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct doctor_topic topic = topic_bound(rows[i].bound, 3, 77);
        struct doctor_work work = {
            .topic = topic.name, .owner = rows[i].owner, .stats = rows[i].stats};
        smq_fleet_topic fleet = {.name = topic.name, .members = rows[i].members, .why = ""};
        struct doctor_facts facts = healthy(servers, 1);

        topic.paused = rows[i].paused;
        topic.shared = rows[i].shared;
        facts.topic = &topic;
        facts.topic_count = 1;
        facts.work = &work;
        facts.work_count = 1;
        facts.member = &member;
        facts.member_count = 1;
        facts.fleet_topic = &fleet;
        facts.fleet_topic_count = 1;
        assert_found(&facts, "work", rows[i].severity, rows[i].text);
    }
}

static void test_judgement_of_topics(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    struct doctor_topic topic = topic_bound("zookeeper:/r abc", 3, 77);
    struct doctor_facts facts = healthy(servers, 1);

    facts.topic = &topic;
    facts.topic_count = 1;
    assert_found(&facts, "consumers", DOCTOR_OK, "nothing");
    topic.stats.due = 5;
    assert_found(&facts, "consumers", DOCTOR_WARNING, "no member consumes it, and 5 messages");
    topic.paused = true;
    assert_found(&facts, "consumers", DOCTOR_OK, "nothing");
    topic = topic_bound("standalone", 3, 77);
    topic.stats = (smq_stats){.due = 5, .oldest_due_age_ms = 12999};
    topic.idle_owner = "";
    assert_found(&facts, "consumers", DOCTOR_OK, "nothing");
    topic.idle_owner = "worker-1";
    topic.idle_slot = 3;
    assert_found(
        &facts, "consumers", DOCTOR_WARNING,
        "5 messages are due, for 12 s, although member worker-1 owns slot 3: it claims none");
    topic.rate_per_s = 2;
    assert_found(&facts, "consumers", DOCTOR_WARNING,
                 "it claims none, and rate_per_s of the topic is 2");
    topic = topic_bound("", 0, 0);
    topic.stats.due = 5;
    assert_found(&facts, "consumers", DOCTOR_WARNING, "never consumed, and 5 messages");
    topic.unlisted = true;
    assert_found(&facts, "list", DOCTOR_ERROR, "lost its name");
    topic.unlisted = false;
    facts.scanned =
        (struct doctor_outcome){.tried = true, .status = SMQ_DENIED, .text = "scan is denied"};
    assert_found(&facts, "list", DOCTOR_UNKNOWN, "scan is denied");
    topic.stats.slots_damaged = 2;
    assert_found(&facts, "damage", DOCTOR_ERROR, "lost a part of 2 of its slots");
    topic = (struct doctor_topic){.name = "t", .damaged = true};
    assert_found(&facts, "damage", DOCTOR_ERROR, "lost its definition");
    topic = (struct doctor_topic){.name = "t", .unreadable = "another version made it"};
    assert_found(&facts, "definitions", DOCTOR_ERROR, "another version made it");
    facts.listed = (struct doctor_outcome){true, SMQ_DENIED, "NOPERM"};
    assert_found(&facts, "definitions", DOCTOR_ERROR, "NOPERM");
    facts.listed = (struct doctor_outcome){false, SMQ_OK, ""};
    assert_found(&facts, "damage", DOCTOR_UNKNOWN, "when all Redis masters answer");
}

/* What slotmq check cannot tell: its caller names what is not there or may not be read, or does not
 * name the ZooKeeper of a fleet. */
static void test_what_a_probe_cannot_tell(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    struct doctor_topic topic = topic_bound("zookeeper:/q abc", 3, 77);
    struct doctor_facts facts = healthy(servers, 1);

    facts.probe = true;
    facts.topic = &topic;
    facts.topic_count = 1;
    assert_found(&facts, "bindings", DOCTOR_UNKNOWN, "bound to zookeeper:/q abc");
    facts.only = "t";
    assert_found(&facts, "bindings", DOCTOR_BLIND, "bound to zookeeper:/q abc");
    facts.only = NULL;
    facts.described = (struct doctor_outcome){true, SMQ_INVALID, "built without ZooKeeper"};
    assert_found(&facts, "zookeeper", DOCTOR_ERROR, "built without ZooKeeper");
    facts.has_fleet = facts.is_named = false;
    facts.described.tried = false;
    assert_found(&facts, "bindings", DOCTOR_BLIND, "bound to zookeeper:/q abc");
    topic =
        (struct doctor_topic){.name = "t", .unreadable = "NOPERM", .unreadable_status = SMQ_DENIED};
    assert_found(&facts, "definitions", DOCTOR_BLIND, "NOPERM");
    topic.unreadable_status = SMQ_DAMAGED;
    assert_found(&facts, "definitions", DOCTOR_ERROR, "NOPERM");
    facts.listed = (struct doctor_outcome){true, SMQ_DENIED, "NOPERM"};
    assert_found(&facts, "definitions", DOCTOR_BLIND, "the topics cannot be listed: NOPERM");
    facts.only = "t";
    facts.listed = (struct doctor_outcome){true, SMQ_NO_TOPIC, "no topic t"};
    assert_found(&facts, "definitions", DOCTOR_BLIND, "no topic t");
    facts.listed = (struct doctor_outcome){true, SMQ_UNAVAILABLE, "no answer"};
    assert_found(&facts, "definitions", DOCTOR_ERROR, "no answer");
    facts.redis = (struct doctor_outcome){true, SMQ_DENIED, "WRONGPASS"};
    assert_found(&facts, "redis", DOCTOR_BLIND, "WRONGPASS");
    facts.probe = false;
    assert_found(&facts, "redis", DOCTOR_ERROR, "WRONGPASS");
    facts = healthy(servers, 1);
    facts.probe = true;
    servers[0].maxmemory_policy = "allkeys-lru";
    servers[0].used_memory = 990000;
    assert_found(&facts, "memory", DOCTOR_ERROR, "maxmemory-policy is allkeys-lru");
    servers[0].maxmemory = 0;
    assert_found(&facts, "memory", DOCTOR_OK, "nothing");
    servers[0].maxmemory = 1000000;
    servers[0].maxmemory_policy = "noeviction";
    assert_found(&facts, "memory", DOCTOR_OK, "nothing");
    facts = healthy(servers, 1);
    servers[0].used_memory = 100;
    facts.topics_left = 3;
    assert_found(&facts, "damage", DOCTOR_UNKNOWN, "give a longer --timeout");
    facts.probe = true;
    assert_found(&facts, "damage", DOCTOR_BLIND, "give a longer --timeout");
}

static void test_judgement_of_rights_of_senders(void **state)
{
    static const struct {
        struct doctor_sender sender;
        const char *text;
    } rows[] = {
        {{"app", "jobs", "&wake{jobs_*", 0}, "send to jobs, but lacks &wake{jobs_*: it wakes no"},
        {{"app", "jobs", "+spublish", 2}, "to jobs and to 2 topics more, but lacks +spublish: it"},
        {{"app", "jobs", "+pubsub|shardnumsub", 0}, "costs one script more"},
        {{"app", "jobs", "&wake{jobs_* +pubsub|shardnumsub", 0}, "it wakes no consumer"},
        {{"app", "jobs", "+info ~tree{slotmq:/r}", 0}, "are no members of the fleet in Redis"},
        {{"app", "jobs", "+hkeys", 0}, "lacks +hkeys: members of the fleet in Redis need it"},
    };
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    struct doctor_facts facts = healthy(servers, 1);

    facts.sender_count = 1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct doctor_sender sender = rows[i].sender;

        facts.sender = &sender;
        assert_found(&facts, "rights", DOCTOR_WARNING, rows[i].text);
    }
    facts.sender_count = 0;
    assert_found(&facts, "rights", DOCTOR_OK, "nothing");
    facts.senders = (struct doctor_outcome){true, SMQ_DENIED, "NOPERM"};
    assert_found(&facts, "rights", DOCTOR_UNKNOWN, "may not be asked: NOPERM");
    facts.probe = facts.rights = true;
    assert_found(&facts, "rights", DOCTOR_BLIND, "may not be asked: NOPERM");
}

static void test_judgement_of_zones(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    struct doctor_facts facts = healthy(servers, 1);
    struct doctor_zone zone = {"jobs", "Mars/Olympus", 3};

    assert_found(&facts, "zones", DOCTOR_OK, "nothing");
    facts.zone = &zone;
    facts.zone_count = 1;
    assert_found(&facts, "zones", DOCTOR_WARNING, "3 of its schedules use the zone Mars/Olympus");
}

/* === The fleet ========================================================== */

static void test_judgement_of_members(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    smq_fleet_member member = {.name = "m", .host = "h", .state = SMQ_MEMBER_ACTIVE, .why = ""};
    smq_fleet_share share = {
        .topic = "t", .member = "m", .ranges = "", .stands_by = "it reaches no Redis"};
    struct doctor_facts facts = healthy(servers, 1);

    facts.member = &member;
    facts.member_count = 1;
    assert_worst(&facts, DOCTOR_OK);
    facts.fleet.assigner = "";
    assert_found(&facts, "fleet", DOCTOR_WARNING, "no member is the assigner");
    member.state = SMQ_MEMBER_UNREACHABLE;
    assert_found(&facts, "members", DOCTOR_ERROR, "reaches no Redis");
    member = (smq_fleet_member){
        .name = "m", .host = "", .state = SMQ_MEMBER_UNREADABLE, .why = "access is denied"};
    assert_found(&facts, "nodes", DOCTOR_ERROR, "access is denied");
    facts.share = &share;
    facts.share_count = 1;
    assert_found(&facts, "members", DOCTOR_WARNING, "no slot of topic t");
}

static void test_judgement_of_slots_that_move(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    smq_fleet_topic topic = {
        .name = "t", .slots = 8, .members = 1, .why = "", .since_at_ms = NOW_MS};
    smq_fleet_move move = {.topic = "t",
                           .from = "m",
                           .wait = SMQ_WAIT_ACKNOWLEDGE,
                           .slots = 3,
                           .ranges = "0-2",
                           .why = "member m has not acknowledged",
                           .since_at_ms = NOW_MS - DOCTOR_MOVE_WARNING_MS + 1};
    struct doctor_facts facts = healthy(servers, 1);

    facts.fleet_topic = &topic;
    facts.fleet_topic_count = 1;
    facts.move = &move;
    facts.move_count = 1;
    assert_worst(&facts, DOCTOR_OK);
    move.since_at_ms--;
    assert_found(&facts, "moves", DOCTOR_WARNING, "3 slots have been moving for 60 s: member m");
    topic.unowned = 2;
    assert_found(&facts, "fleet", DOCTOR_WARNING, "2 of its slots have no owner");
    topic.since_at_ms = NOW_MS - DOCTOR_MOVE_WARNING_MS;
    assert_found(&facts, "fleet", DOCTOR_ERROR, "2 of its slots have no owner");
    topic.why = "it is damaged";
    assert_found(&facts, "nodes", DOCTOR_ERROR, "it is damaged");
}

/* Those of a topic that lives stay, and an assigner removes the others. */
static void test_nodes_of_deleted_topics_are_counted(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    struct doctor_topic known = {.name = "t/a", .idle_owner = ""};
    smq_fleet_topic topics[] = {{.name = "t/a", .slots = 8, .why = ""},
                                {.name = "gone", .slots = 8, .why = ""},
                                {.name = "asked", .slots = 8, .members = 1, .why = ""}};
    struct doctor_facts facts = healthy(servers, 1);

    facts.topic = &known;
    facts.topic_count = 1;
    facts.fleet_topic = topics;
    facts.fleet_topic_count = 3;
    assert_found(&facts, "nodes", DOCTOR_OK, "nothing");
    facts.fleet.assigner = "";
    assert_found(&facts, "nodes", DOCTOR_WARNING, "ZooKeeper has nodes of 1 deleted topic");
    facts.only = "t/a";
    assert_found(&facts, "nodes", DOCTOR_OK, "nothing");
    facts.only = NULL;
    facts.listed.status = SMQ_UNAVAILABLE;
    assert_found(&facts, "nodes", DOCTOR_OK, "nothing");
}

static void test_judgement_of_zookeeper(void **state)
{
    smq_server_info servers[] = {MASTER(.status = SMQ_OK)};
    struct doctor_facts facts = healthy(servers, 1);

    assert_found(&facts, "zookeeper", DOCTOR_OK, "everyone who reaches it can write");
    facts.has_auth = true;
    assert_found(&facts, "zookeeper", DOCTOR_OK, "in ZooKeeper, with 0 members");
    facts.described = (struct doctor_outcome){true, SMQ_UNAVAILABLE, "no quorum"};
    assert_found(&facts, "zookeeper", DOCTOR_ERROR, "no quorum");
    assert_found(&facts, "members", DOCTOR_UNKNOWN, "the fleet was not read");
    facts.described = (struct doctor_outcome){true, SMQ_INVALID, "built without ZooKeeper"};
    assert_found(&facts, "zookeeper", DOCTOR_ERROR, "built without ZooKeeper");
    facts.has_fleet = facts.is_named = false;
    facts.described.tried = false;
    assert_found(&facts, "zookeeper", DOCTOR_UNKNOWN, "no ZooKeeper was given");
    assert_found(&facts, "members", DOCTOR_OK, "nothing");
}

TEST_GROUP(doctor_checks)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_found),
        cmocka_unit_test(test_judgement_of_one_master),
        cmocka_unit_test(test_nothing_is_given_away_while_a_master_is_away),
        cmocka_unit_test(test_masters_that_differ),
        cmocka_unit_test(test_no_client_can_be_made),
        cmocka_unit_test(test_the_tree_of_a_fleet_in_redis),
        cmocka_unit_test(test_judgement_of_tokens),
        cmocka_unit_test(test_a_root_that_is_missing),
        cmocka_unit_test(test_work_of_those_who_are_gone),
        cmocka_unit_test(test_judgement_of_topics),
        cmocka_unit_test(test_what_a_probe_cannot_tell),
        cmocka_unit_test(test_judgement_of_rights_of_senders),
        cmocka_unit_test(test_judgement_of_zones),
        cmocka_unit_test(test_judgement_of_members),
        cmocka_unit_test(test_judgement_of_slots_that_move),
        cmocka_unit_test(test_nodes_of_deleted_topics_are_counted),
        cmocka_unit_test(test_judgement_of_zookeeper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
