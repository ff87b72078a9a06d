/* doctor_redis.c - checks of the Redis masters.
 *
 * Pure. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor_checks.h"

enum { HASH_SLOTS = 16384 };

/* The next master from `*next` on that has answered, at first 0; NULL: there are no more.  When
 * none has answered it says that nothing is known. */
static const smq_server_info *doctor_next_master(struct doctor_report *report,
                                                 const struct doctor_facts *facts, size_t *next)
{
    const bool is_first = *next == 0;

    while (*next < facts->server_count) {
        const smq_server_info *server = &facts->server[(*next)++];

        if (server->status == SMQ_OK) {
            return server;
        }
    }
    if (is_first) {
        doctor_report_add(report, DOCTOR_UNKNOWN, "", "",
                          "not known: no Redis master has answered");
    }
    return NULL;
}

/* === Reach ============================================================== */

static const char *doctor_advise_unusable(smq_status status)
{
    switch (status) {
    case SMQ_BAD_SERVER:
        return "change its configuration or version as the text says; no queue is safe there";
    case SMQ_DENIED:
        return "give the right user and password with -r; and " DOCTOR_GIVE_RIGHTS;
    default:
        return "start the server or fix the network, or let a replica take over; its messages "
               "wait until then";
    }
}

void doctor_check_redis(struct doctor_report *report, const struct doctor_facts *facts)
{
    if (facts->redis.status != SMQ_OK) {
        doctor_report_add(report, doctor_facts_severity(facts, facts->redis.status), "",
                          doctor_advise_unusable(facts->redis.status), "no client can be made: %s",
                          facts->redis.text);
        return;
    }
    if (facts->servers.status != SMQ_OK) {
        doctor_report_add(report, DOCTOR_ERROR, "", "run slotmq doctor again",
                          "the servers cannot be asked: %s", facts->servers.text);
    }
    for (size_t i = 0; i < facts->server_count; i++) {
        const smq_server_info *server = &facts->server[i];

        if (server->status != SMQ_OK) {
            doctor_report_add(report, DOCTOR_ERROR, server->address,
                              doctor_advise_unusable(server->status), "%s", server->why);
        }
    }
}

/* === Writes ============================================================= */

/* What to do when a server refuses writes with an error that begins so. */
static const char *doctor_advise_writes(const smq_server_info *server)
{
    static const struct {
        const char *begin, *advice;
    } rows[] = {
        {"NOREPLICAS",
         "start its replicas; or, until they run, CONFIG SET min-replicas-to-write 0"},
        {"MISCONF", "look at its log and its disk; it takes writes again after one that succeeds"},
        {"OOM", "drain topics, add masters, or raise maxmemory; consumers continue until then"},
        {"READONLY", "name its master with -r, or let it become one"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strncmp(server->writes_why, rows[i].begin, strlen(rows[i].begin)) == 0) {
            return rows[i].advice;
        }
    }
    return "look at its log and its configuration; nothing is sent or handled there until then";
}

bool doctor_refuses_writes(const smq_server_info *server)
{
    return server->writes == SMQ_FULL || server->writes == SMQ_UNAVAILABLE ||
           (server->cluster_state[0] != '\0' && strcmp(server->cluster_state, "ok") != 0);
}

void doctor_check_writes(struct doctor_report *report, const struct doctor_facts *facts)
{
    const smq_server_info *server = NULL;
    size_t next = 0;

    while ((server = doctor_next_master(report, facts, &next)) != NULL) {
        if (server->writes == SMQ_FULL || server->writes == SMQ_UNAVAILABLE) {
            doctor_report_add(report, DOCTOR_ERROR, server->address, doctor_advise_writes(server),
                              "it refuses writes: %s", server->writes_why);
        } else if (server->writes != SMQ_OK) {
            doctor_report_add(
                report, facts->probe ? DOCTOR_BLIND : DOCTOR_UNKNOWN, server->address,
                facts->probe && server->writes == SMQ_DENIED ? DOCTOR_GIVE_RIGHTS : "",
                "not known: whether it takes writes may not be asked: %s", server->writes_why);
        }
    }
}

/* === Versions =========================================================== */

static void doctor_judge_version(struct doctor_report *report, const smq_server_info *server)
{
    const bool valkey = server->kind == SMQ_SERVER_VALKEY;
    char *end = NULL;
    const long major = strtol(server->version, &end, 10);
    const long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

    if (server->version[0] == '\0') {
        doctor_report_add(report, DOCTOR_UNKNOWN, server->address, "", "not known: %s",
                          server->version_why);
    } else if (major < 7 || (valkey && major == 7 && minor < 2)) {
        doctor_report_add(report, DOCTOR_ERROR, server->address,
                          "upgrade it to Redis 7.0 or Valkey 7.2 or newer", "version %s is too old",
                          server->version);
    } else if (major > 9) {
        doctor_report_add(report, DOCTOR_WARNING, server->address,
                          "look for a newer slotmq, or try this version out first",
                          "version %s is newer than those that slotmq was tested with (7.0 to 9.x)",
                          server->version);
    }
}

void doctor_check_versions(struct doctor_report *report, const struct doctor_facts *facts)
{
    const smq_server_info *first = NULL;
    const smq_server_info *server = NULL;
    size_t next = 0;
    bool same = true;

    while ((server = doctor_next_master(report, facts, &next)) != NULL) {
        doctor_judge_version(report, server);
        first = first ? first : server;
        same = same && server->kind == first->kind && strcmp(server->version, first->version) == 0;
    }
    if (!same) {
        doctor_report_add(report, DOCTOR_WARNING, "", "complete the upgrade",
                          "the masters have different versions");
    }
}

/* === Memory ============================================================= */

/* Policies named volatile-* evict keys with a time to live only, and no key of slotmq has one. */
static bool doctor_evicts(const char *policy)
{
    return policy[0] != '\0' && strcmp(policy, "noeviction") != 0 &&
           strncmp(policy, "volatile-", strlen("volatile-")) != 0;
}

static void doctor_judge_room(struct doctor_report *report, const smq_server_info *server)
{
    const int64_t percent = server->maxmemory > 0 && server->used_memory >= 0
                                ? server->used_memory / (server->maxmemory / 100 + 1)
                                : 0;

    if (percent >= DOCTOR_MEMORY_WARNING_PERCENT) {
        doctor_report_add(report,
                          percent >= DOCTOR_MEMORY_ERROR_PERCENT ? DOCTOR_ERROR : DOCTOR_WARNING,
                          server->address,
                          "drain topics, add masters, or raise maxmemory; at 100 % sends are "
                          "refused, and consumers continue",
                          "%" PRId64 " %% of maxmemory is used", percent);
    }
}

void doctor_check_memory(struct doctor_report *report, const struct doctor_facts *facts)
{
    const smq_server_info *server = NULL;
    size_t next = 0;

    while ((server = doctor_next_master(report, facts, &next)) != NULL) {
        if (facts->probe && (server->maxmemory <= 0 || !doctor_evicts(server->maxmemory_policy))) {
            continue; /* what may become a fault is no matter of a probe */
        }
        if (server->maxmemory_policy[0] == '\0' || server->maxmemory < 0) {
            doctor_report_add(report, DOCTOR_UNKNOWN, server->address, "",
                              "not known: maxmemory and its policy may not be read");
        } else if (doctor_evicts(server->maxmemory_policy)) {
            doctor_report_add(
                report, server->maxmemory > 0 ? DOCTOR_ERROR : DOCTOR_WARNING, server->address,
                "CONFIG SET maxmemory-policy noeviction, and in its configuration "
                "file, on all masters and replicas",
                "maxmemory-policy is %s: messages are lost when maxmemory%s is "
                "reached",
                server->maxmemory_policy, server->maxmemory > 0 ? "" : ", once it is set,");
        }
        if (!facts->probe) {
            doctor_judge_room(report, server);
        }
    }
}

/* === Persistence ======================================================== */

static const char doctor_use_aof[] = "CONFIG SET appendonly yes with appendfsync everysec, and in "
                                     "its configuration file";

static void doctor_judge_files(struct doctor_report *report, const smq_server_info *server)
{
    if (server->appendonly == 1) {
        if (server->config_why[0] == '\0' && strcmp(server->appendfsync, "no") == 0) {
            doctor_report_add(report, DOCTOR_WARNING, server->address,
                              "CONFIG SET appendfsync everysec, and in its configuration file",
                              "appendfsync is no: a power failure loses up to 30 s of messages");
        }
    } else if (server->appendonly != 0) {
        doctor_report_add(report, DOCTOR_UNKNOWN, server->address, "",
                          "not known: INFO does not say whether the append-only file is on");
    } else if (server->config_why[0] != '\0') {
        doctor_report_add(report, DOCTOR_WARNING, server->address, doctor_use_aof,
                          "appendonly is no: what came after the last snapshot, if any are made, "
                          "is lost when the server ends");
    } else {
        doctor_report_add(report, DOCTOR_WARNING, server->address, doctor_use_aof,
                          server->save[0] == '\0'
                              ? "nothing is kept on disk: when the server ends, its messages are "
                                "lost unless a replica has them"
                              : "appendonly is no: what came after the last snapshot is lost when "
                                "the server ends");
    }
}

void doctor_check_persistence(struct doctor_report *report, const struct doctor_facts *facts)
{
    const smq_server_info *server = NULL;
    size_t next = 0;

    while ((server = doctor_next_master(report, facts, &next)) != NULL) {
        if (server->write_failed) {
            doctor_report_add(report, DOCTOR_ERROR, server->address, "look at its log and its disk",
                              "its last write to disk failed");
        }
        if (server->config_why[0] != '\0') {
            doctor_report_add(report, DOCTOR_UNKNOWN, server->address, "",
                              "not known: appendfsync and save may not be read: %s",
                              server->config_why);
        }
        doctor_judge_files(report, server);
    }
}

/* === Replicas =========================================================== */

static void doctor_judge_replicas(struct doctor_report *report, const smq_server_info *server)
{
    if (server->replicas < 0) {
        doctor_report_add(report, DOCTOR_UNKNOWN, server->address, "",
                          "not known: INFO does not tell its replicas");
    } else if (server->replicas < server->replicas_known) {
        doctor_report_add(report, server->replicas == 0 ? DOCTOR_ERROR : DOCTOR_WARNING,
                          server->address,
                          "start the replicas that are down, or CLUSTER FORGET those that are gone",
                          "%" PRId64 " of its %" PRId64 " replicas are in sync", server->replicas,
                          server->replicas_known);
    } else if (server->replicas == 0) {
        doctor_report_add(report, DOCTOR_WARNING, server->address, "add a replica of it",
                          "it has no replica: its slots stand still while it is away");
    }
    if (server->lag_bytes >= DOCTOR_LAG_WARNING_BYTES) {
        doctor_report_add(report, DOCTOR_WARNING, server->address,
                          "look at the network and the load of the replica",
                          "a replica is %" PRId64 " bytes behind: a failover would lose them",
                          server->lag_bytes);
    }
}

void doctor_check_replicas(struct doctor_report *report, const struct doctor_facts *facts)
{
    const smq_server_info *server = NULL;
    size_t next = 0;

    while ((server = doctor_next_master(report, facts, &next)) != NULL) {
        doctor_judge_replicas(report, server);
    }
}

/* === Cluster ============================================================ */

/* The first master that does not answer; NULL: all do. */
static const smq_server_info *doctor_away_master(const struct doctor_facts *facts)
{
    for (size_t i = 0; i < facts->server_count; i++) {
        if (facts->server[i].status != SMQ_OK) {
            return &facts->server[i];
        }
    }
    return NULL;
}

/* A finding about hash slots, with the address of the server between both parts of its advice.
 * While a master is away no command may give its hash slots to others: they are served again, with
 * their messages, as soon as it runs. */
static void doctor_report_hash_slots(struct doctor_report *report, enum doctor_severity severity,
                                     const struct doctor_facts *facts,
                                     const smq_server_info *server, const char *before,
                                     const char *after, const char *text)
{
    const smq_server_info *away = doctor_away_master(facts);
    char advice[300];

    if (away) {
        snprintf(advice, sizeof(advice),
                 "start or wake %s, or let a replica of it take over; then run slotmq doctor again",
                 away->address);
    } else {
        snprintf(advice, sizeof(advice), "%s%s%s", before, server->address, after);
    }
    doctor_report_add(report, severity, server->address, advice, "%s", text);
}

static void doctor_judge_cluster(struct doctor_report *report, const struct doctor_facts *facts,
                                 const smq_server_info *server)
{
    char text[120];

    if (server->cluster_why[0] != '\0') {
        doctor_report_add(report, DOCTOR_UNKNOWN, server->address, "", "not known: %s",
                          server->cluster_why);
    }
    if (server->cluster_state[0] != '\0' && strcmp(server->cluster_state, "ok") != 0) {
        snprintf(text, sizeof(text), "cluster_state is %s: it serves nothing",
                 server->cluster_state);
        doctor_report_hash_slots(report, DOCTOR_ERROR, facts, server, "redis-cli --cluster check ",
                                 " names what is missing; start the masters that are down", text);
    }
    if (server->cluster_slots_ok >= 0 && server->cluster_slots_ok < HASH_SLOTS) {
        snprintf(text, sizeof(text), "%" PRId64 " of 16384 hash slots are not served",
                 HASH_SLOTS - server->cluster_slots_ok);
        doctor_report_hash_slots(report, DOCTOR_ERROR, facts, server, "redis-cli --cluster fix ",
                                 ", if it is still so a minute after the last master began to "
                                 "answer",
                                 text);
    }
    if (server->migrations > 0) {
        snprintf(text, sizeof(text), "%" PRId64 " hash slots are moving from or to it",
                 server->migrations);
        doctor_report_hash_slots(report, DOCTOR_WARNING, facts, server,
                                 "let the resharding end; if none runs: redis-cli --cluster fix ",
                                 "", text);
    }
}

void doctor_check_cluster(struct doctor_report *report, const struct doctor_facts *facts)
{
    const smq_server_info *server = NULL;
    size_t next = 0;

    while ((server = doctor_next_master(report, facts, &next)) != NULL) {
        if (server->cluster) {
            doctor_judge_cluster(report, facts, server);
        }
    }
}

/* === Clocks ============================================================= */

/* How far two times are apart at least, when each is accurate to plus or minus its error. */
static int64_t doctor_apart(int64_t one_ms, int64_t other_ms, int64_t error_ms)
{
    const int64_t apart_ms = one_ms > other_ms ? one_ms - other_ms : other_ms - one_ms;

    return apart_ms > error_ms ? apart_ms - error_ms : 0;
}

static enum doctor_severity doctor_clock_severity(int64_t apart_ms)
{
    if (apart_ms < DOCTOR_CLOCK_WARNING_MS) {
        return DOCTOR_OK;
    }
    return apart_ms < DOCTOR_CLOCK_ERROR_MS ? DOCTOR_WARNING : DOCTOR_ERROR;
}

static void doctor_judge_clock(struct doctor_report *report, const smq_server_info *server)
{
    const int64_t apart_ms = doctor_apart(server->clock_offset_ms, 0, server->clock_error_ms);
    const enum doctor_severity severity = doctor_clock_severity(apart_ms);

    if (severity != DOCTOR_OK) {
        doctor_report_add(report, severity, server->address,
                          "run a time service (NTP) on that host and on this one",
                          "its clock is %" PRId64 " ms %s that of this machine: what is sent with "
                          "a time from here comes that much %s",
                          apart_ms, server->clock_offset_ms > 0 ? "ahead of" : "behind",
                          server->clock_offset_ms > 0 ? "early" : "late");
    }
}

void doctor_check_clocks(struct doctor_report *report, const struct doctor_facts *facts)
{
    const smq_server_info *first = NULL;
    const smq_server_info *last = NULL;
    const smq_server_info *server = NULL;
    size_t next = 0;

    while ((server = doctor_next_master(report, facts, &next)) != NULL) {
        if (server->clock_why[0] != '\0') {
            doctor_report_add(report, DOCTOR_UNKNOWN, server->address, "",
                              "not known: its time may not be read: %s", server->clock_why);
            continue;
        }
        doctor_judge_clock(report, server);
        first = !first || server->clock_offset_ms < first->clock_offset_ms ? server : first;
        last = !last || server->clock_offset_ms > last->clock_offset_ms ? server : last;
    }
    if (!first) {
        return;
    }
    const int64_t apart_ms = doctor_apart(last->clock_offset_ms, first->clock_offset_ms,
                                          last->clock_error_ms + first->clock_error_ms);
    if (doctor_clock_severity(apart_ms) != DOCTOR_OK) {
        doctor_report_add(report, doctor_clock_severity(apart_ms), last->address,
                          "run a time service (NTP) on the hosts of all masters",
                          "its clock is %" PRId64 " ms ahead of that of %s", apart_ms,
                          first->address);
    }
}
