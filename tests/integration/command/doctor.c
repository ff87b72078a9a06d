/* doctor.c - one run of slotmq doctor, and what it found. */
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *doctor_run(int code, const char *const *arguments)
{
    const char *line[16] = {"doctor", "--json"};
    json_t *document = NULL;
    struct run run;

    for (size_t i = 0; arguments[i] != NULL; i++) {
        assert_true(i + 3 < sizeof(line) / sizeof(line[0]));
        line[i + 2] = arguments[i];
    }
    command_run(&run, NULL, line);
    if (run.exit_code != code) {
        fail_msg("exit %d, not %d: %s%s", run.exit_code, code, run.out, run.err);
    }
    document = json_loads(run.out, 0, NULL);
    assert_non_null(document);
    run_fini(&run);
    return document;
}

static bool doctor_is(const json_t *finding, const char *name, const char *part)
{
    return strstr(json_text(finding, name), part) != NULL;
}

bool doctor_found(const json_t *document, const char *check, const char *severity,
                  const char *subject, const char *text)
{
    const json_t *findings = json_object_get(document, "findings");

    for (size_t i = 0; i < json_array_size(findings); i++) {
        const json_t *finding = json_array_get(findings, i);

        if (strcmp(json_text(finding, "check"), check) == 0 &&
            strcmp(json_text(finding, "severity"), severity) == 0 &&
            doctor_is(finding, "subject", subject) && doctor_is(finding, "finding", text)) {
            return true;
        }
    }
    return false;
}

static void fail_with(const json_t *document, const char *what, const char *check)
{
    char *shown = json_dumps(document, JSON_INDENT(1));

    print_error("%s\n", shown);
    free(shown);
    fail_msg("%s: %s", check, what);
}

void assert_found(const json_t *document, const char *check, const char *severity,
                  const char *subject, const char *text)
{
    if (!doctor_found(document, check, severity, subject, text)) {
        fail_with(document, text, check);
    }
}

void assert_not_found(const json_t *document, const char *check)
{
    if (doctor_found(document, check, "warning", "", "") ||
        doctor_found(document, check, "error", "", "")) {
        fail_with(document, "something was found", check);
    }
}
