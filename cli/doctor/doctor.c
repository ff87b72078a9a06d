/* doctor.c - doctor: looks at everything, and says for each finding what to do. */
#include "cli/doctor/doctor.h"

#include <stdio.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/verb/connect.h"
#include "cli/verb/look_flags.h"

static const char *const doctor_words[] = {[DOCTOR_OK] = "ok",
                                           [DOCTOR_UNKNOWN] = "unknown",
                                           [DOCTOR_BLIND] = "unknown",
                                           [DOCTOR_WARNING] = "warning",
                                           [DOCTOR_ERROR] = "error"};

json_t *doctor_findings_json(const struct doctor_report *report)
{
    json_t *findings = json_array();

    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->finding[i];
        json_t *object = json_object();

        output_set(object, "check", json_string(finding->check));
        output_set(object, "severity", json_string(doctor_words[finding->severity]));
        output_set_bytes(object, "subject", finding->subject, strlen(finding->subject));
        output_set_bytes(object, "finding", finding->text, strlen(finding->text));
        output_set_bytes(object, "advice", finding->advice, strlen(finding->advice));
        output_append(findings, object);
    }
    return findings;
}

json_t *doctor_json(const struct doctor_report *report)
{
    json_t *document = json_object();

    output_set(document, "severity", json_string(doctor_words[report->worst]));
    output_set(document, "findings", doctor_findings_json(report));
    return document;
}

struct table *doctor_table(const struct doctor_report *report)
{
    static const struct table_column columns[] = {
        {.title = "SEVERITY", .weight = 3},
        {.title = "CHECK", .weight = 1},
        {.title = "SUBJECT", .narrow = TABLE_WRAP, .weight = 2, .least = 14},
        {.title = "FINDING", .narrow = TABLE_WRAP, .weight = 4, .least = 24}};
    struct table *table = table_new(columns, sizeof(columns) / sizeof(columns[0]));

    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->finding[i];
        const char *const row[] = {doctor_words[finding->severity], finding->check,
                                   finding->subject, finding->text};

        table_row(table, row, sizeof(row) / sizeof(row[0]));
        if (finding->severity >= DOCTOR_WARNING) {
            table_emphasise(table, 0,
                            finding->severity == DOCTOR_ERROR ? TABLE_ERROR : TABLE_WARNING);
        }
        if (finding->advice[0] != '\0') {
            char advice[sizeof(finding->advice) + 8];

            snprintf(advice, sizeof(advice), "-> %s", finding->advice);
            table_row(table, (const char *const[]){"", "", "", advice}, 4);
        }
    }
    return table;
}

/* Warnings are 1, as what is not done, and errors 2. */
static enum exit_code doctor_code(enum doctor_severity worst)
{
    if (worst == DOCTOR_ERROR) {
        return EXIT_ERRORS;
    }
    return worst == DOCTOR_WARNING ? EXIT_NOT_DONE : EXIT_DONE;
}

enum exit_code doctor_probe_code(enum doctor_severity worst)
{
    switch (worst) {
    case DOCTOR_ERROR:
        return EXIT_ERRORS;
    case DOCTOR_WARNING:
        return EXIT_NOT_DONE;
    case DOCTOR_BLIND:
        return EXIT_UNKNOWN;
    default:
        return EXIT_DONE;
    }
}

enum exit_code doctor_examine(struct doctor_report *report, struct doctor_facts *facts,
                              const struct command *command)
{
    const smq_client_options *client_options = &command->global.client;
    const char *zookeeper = client_options->zookeeper;
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;
    const enum exit_code code = connect_check(command);

    if (code != EXIT_DONE) {
        return code;
    }
    facts->within_ms = ((const struct look *) command->options)->timeout.value;
    facts->in_redis = !zookeeper;
    facts->is_named =
        zookeeper || client_options->root || client_options->coordination == SMQ_COORDINATION_REDIS;
    facts->stops = client_options->on_coordination_loss == SMQ_COORDINATION_LOSS_STOP;
    facts->session_ms = client_options->session_timeout_ms;
    facts->has_auth =
        command->global.client.zookeeper_auth || command->global.client.zookeeper_auth_file;
    facts->redis.tried = true;
    facts->redis.status = connect_open(&client, command, &err);
    if (facts->redis.status == SMQ_INVALID) {
        return say_failure(&err);
    }
    facts->redis.text = "";
    if (facts->redis.status == SMQ_OK) {
        doctor_facts_gather(facts, client);
    } else {
        doctor_facts_lack_client(facts, &err);
    }
    smq_client_free(client);
    doctor_checks_run(report, facts);
    return EXIT_DONE;
}

static enum exit_code doctor_run(const struct command *command)
{
    struct doctor_facts facts = {.deep = true};
    struct doctor_report report = {.count = 0};
    enum exit_code code = doctor_examine(&report, &facts, command);

    if (code == EXIT_DONE) {
        if (command->global.json) {
            output_json(doctor_json(&report));
        } else {
            table_print(doctor_table(&report));
        }
        code = doctor_code(report.worst);
    }
    doctor_report_fini(&report);
    doctor_facts_fini(&facts);
    return code;
}

static const struct flag doctor_flags[] = {LOOK_FLAG(NULL)};

const struct verb doctor_verb = {
    .name = "doctor",
    .operands = "",
    .summary = "look at servers, topics and the fleet, and say what is wrong",
    .text = "Each check shows what it has found, and what to do. The exit code is 0 when nothing "
            "was found, 1 for warnings, and 2 for errors. What may not be read is shown as "
            "unknown, which is no error. Without --zookeeper only Redis and its topics are looked "
            "at.",
    VERB_FLAGS(doctor_flags, struct look),
    .looks = true,
    .run = doctor_run,
};
