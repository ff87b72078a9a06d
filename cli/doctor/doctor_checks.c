/* doctor_checks.c - the table of the checks.
 *
 * Pure. */
#include "cli/doctor/doctor_checks.h"

const struct doctor_check doctor_checks[] = {
    {"redis", doctor_check_redis, true},
    {"writes", doctor_check_writes, true},
    {"versions", doctor_check_versions, false},
    {"memory", doctor_check_memory, true},
    {"persistence", doctor_check_persistence, false},
    {"replicas", doctor_check_replicas, false},
    {"cluster", doctor_check_cluster, true},
    {"clocks", doctor_check_clocks, false},
    {"zookeeper", doctor_check_zookeeper, true},
    {"tree", doctor_check_tree, true},
    {"definitions", doctor_check_definitions, true},
    {"list", doctor_check_list, true},
    {"damage", doctor_check_damage, true},
    {"bindings", doctor_check_bindings, true},
    {"tokens", doctor_check_tokens, true},
    {"fleet", doctor_check_fleet, true},
    {"members", doctor_check_members, false},
    {"moves", doctor_check_moves, false},
    {"nodes", doctor_check_nodes, false},
    {"consumers", doctor_check_consumers, true},
    {"work", doctor_check_work, true},
    {"rights", doctor_check_rights, false},
    {"zones", doctor_check_zones, false},
};

const size_t doctor_check_count = sizeof(doctor_checks) / sizeof(doctor_checks[0]);

void doctor_checks_run(struct doctor_report *report, const struct doctor_facts *facts)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        const size_t before = report->count;

        const bool asked = facts->rights && doctor_checks[i].run == doctor_check_rights;

        if (facts->probe && !doctor_checks[i].work && !asked) {
            continue;
        }
        report->check = doctor_checks[i].name;
        doctor_checks[i].run(report, facts);
        if (report->count == before) {
            doctor_report_add(report, DOCTOR_OK, "", "", "nothing was found");
        }
    }
}
