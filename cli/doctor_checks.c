/* doctor_checks.c - the table of the checks.
 *
 * Pure. */
#include "doctor_checks.h"

const struct doctor_check doctor_checks[] = {
    {"redis", doctor_check_redis},
    {"versions", doctor_check_versions},
    {"memory", doctor_check_memory},
    {"persistence", doctor_check_persistence},
    {"replicas", doctor_check_replicas},
    {"cluster", doctor_check_cluster},
    {"clocks", doctor_check_clocks},
    {"zookeeper", doctor_check_zookeeper},
    {"definitions", doctor_check_definitions},
    {"damage", doctor_check_damage},
    {"bindings", doctor_check_bindings},
    {"tokens", doctor_check_tokens},
    {"fleet", doctor_check_fleet},
    {"members", doctor_check_members},
    {"moves", doctor_check_moves},
    {"nodes", doctor_check_nodes},
    {"consumers", doctor_check_consumers},
};

const size_t doctor_check_count = sizeof(doctor_checks) / sizeof(doctor_checks[0]);

void doctor_checks_run(struct doctor_report *report, const struct doctor_facts *facts)
{
    for (size_t i = 0; i < doctor_check_count; i++) {
        const size_t before = report->count;

        report->check = doctor_checks[i].name;
        doctor_checks[i].run(report, facts);
        if (report->count == before) {
            doctor_report_add(report, DOCTOR_OK, "", "", "nothing was found");
        }
    }
}
