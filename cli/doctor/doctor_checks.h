/* doctor_checks.h - the checks of slotmq doctor: facts in, findings out.  A new check is one row of
 * the table in doctor_checks.c.
 *
 * Pure. */
#ifndef CLI_DOCTOR_CHECKS_H
#define CLI_DOCTOR_CHECKS_H

#include "cli/doctor/doctor_facts.h"
#include "cli/doctor/doctor_report.h"

/* What the checks go by; docs/operations.md lists these. */
enum {
    DOCTOR_CLOCK_WARNING_MS = 1000,
    DOCTOR_CLOCK_ERROR_MS = 30000,
    DOCTOR_LAG_WARNING_BYTES = 16 * 1024 * 1024,
    DOCTOR_MEMORY_WARNING_PERCENT = 80,
    DOCTOR_MEMORY_ERROR_PERCENT = 95,
    DOCTOR_MOVE_WARNING_MS = 60000
};

/* What to do when the user lacks a right. */
#define DOCTOR_GIVE_RIGHTS "give the user the rights of its role in SECURITY.md, at all nodes"

typedef void doctor_check_fn(struct doctor_report *report, const struct doctor_facts *facts);

struct doctor_check {
    const char *name;
    doctor_check_fn *run;
    bool work; /* what it finds keeps messages from being sent or handled now */
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_check_count;

/* Runs all checks, or for a probe only those of `work` and what facts->rights asks for.  A check
 * that finds nothing adds one finding OK without a subject. */
void doctor_checks_run(struct doctor_report *report, const struct doctor_facts *facts);

/* Does a server that has answered refuse all writes?  A finding says why. */
bool doctor_refuses_writes(const smq_server_info *server);

/* doctor_redis.c */
doctor_check_fn doctor_check_redis, doctor_check_writes, doctor_check_versions, doctor_check_memory,
    doctor_check_persistence, doctor_check_replicas, doctor_check_cluster, doctor_check_clocks;

/* doctor_topics.c */
doctor_check_fn doctor_check_definitions, doctor_check_list, doctor_check_damage,
    doctor_check_bindings, doctor_check_tokens, doctor_check_consumers, doctor_check_work,
    doctor_check_rights, doctor_check_zones;

/* doctor_fleet.c */
doctor_check_fn doctor_check_zookeeper, doctor_check_tree, doctor_check_fleet, doctor_check_members,
    doctor_check_moves, doctor_check_nodes;

#endif
