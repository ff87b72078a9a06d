/* check.c - a probe for monitoring: does it work, and are topics within bounds?  One line and an
 * exit code, as plugins of Nagios have them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor/check_bounds.h"
#include "cli/doctor/doctor.h"
#include "cli/text/output.h"
#include "cli/text/printable.h"
#include "cli/verb/look_flags.h"

struct check_options {
    struct look look;                     /* first */
    const char *bound[CHECK_BOUND_COUNT]; /* as they were typed; NULL: none */
    bool rights;
};

#define BOUND(number, flag, what, text)                                                            \
    {                                                                                              \
        .name = (flag), .type = FLAG_TEXT,                                                         \
        .offset = offsetof(struct check_options, bound[number]), .operand = (what), .help = (text) \
    }

static const struct flag check_flags[] = {
    LOOK_FLAG("7s"),
    BOUND(CHECK_LAG, "max-lag", "TIME",
          "how long the oldest due message may be due, as 5m, or 1m,5m: a warning from 1m on"),
    BOUND(CHECK_DUE, "max-due", "N", "how many messages may be due; N,M: warning, error"),
    BOUND(CHECK_WAITING, "max-waiting", "N", "how many messages may wait, due or not"),
    BOUND(CHECK_RESTING, "max-resting", "N", "how many messages that failed may rest"),
    BOUND(CHECK_DEAD, "max-dead", "N", "how many dead letters there may be"),
    BOUND(CHECK_WORK, "max-work", "TIME", "how long a message may be in work, as 10m"),
    SWITCH_FLAG("rights", offsetof(struct check_options, rights),
                "also the rights that users of Redis lack to wake consumers, or to be members of a "
                "fleet in Redis"),
};

/* Up to this number of topics each one has its numbers in the line; above it only the sums. */
enum { NUMBERS_TOPICS = 4 };

/* === The result ========================================================= */

/* What plugins call it. */
static const char *check_word(enum exit_code code)
{
    switch (code) {
    case EXIT_DONE:
        return "OK";
    case EXIT_NOT_DONE:
        return "WARNING";
    case EXIT_ERRORS:
        return "CRITICAL";
    default:
        return "UNKNOWN";
    }
}

/* A text in a line of a plugin, where a bar begins the numbers. */
static void check_put_text(const char *text)
{
    char shown[PRINTABLE_ROOM(512)];
    const size_t size = strlen(text);

    (void) printable_text(shown, text, size < 512 ? size : 512, false);
    for (char *at = shown; *at != '\0'; at++) {
        putchar(*at == '|' ? '/' : *at);
    }
}

static void check_put_finding(const struct doctor_finding *finding)
{
    check_put_text(finding->subject[0] != '\0' ? finding->subject : finding->check);
    fputs(": ", stdout);
    check_put_text(finding->text);
}

/* The first finding of the worst kind; how many others there are. */
static void check_put_summary(const struct doctor_report *report, enum exit_code code,
                              size_t topic_count)
{
    const struct doctor_finding *first = NULL;
    size_t others = 0;

    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->finding[i];
        if (finding->severity < DOCTOR_BLIND) {
            continue;
        }
        if (!first && finding->severity == report->worst) {
            first = finding;
        } else {
            others++;
        }
    }
    printf("SLOTMQ %s - ", check_word(code));
    if (!first) {
        printf("%zu %s", topic_count, topic_count == 1 ? "topic" : "topics");
        return;
    }
    check_put_finding(first);
    if (others > 0) {
        printf(" (and %zu more)", others);
    }
}

/* "'mail waiting'=7;10;100;0": what Nagios and its like draw.  `bound` NULL: it has none. */
static void check_put_number(const char *topic, int number, int64_t value,
                             const struct check_bound *bound)
{
    printf(" '%s%s%s'=%" PRId64 "%s;", topic, topic[0] != '\0' ? " " : "", check_bound_name(number),
           value, check_bound_is_time(number) ? "ms" : "");
    if (bound && bound->given && bound->warning != bound->error) {
        printf("%" PRId64, bound->warning);
    }
    if (bound && bound->given) {
        printf(";%" PRId64 ";0", bound->error);
    } else {
        fputs(";;0", stdout);
    }
}

/* Of all topics together: the longest times, and the sums, for which there is no bound. */
static void check_put_totals(const struct doctor_facts *facts, const struct check_bound *bounds)
{
    for (int b = 0; b < CHECK_BOUND_COUNT; b++) {
        const bool is_time = check_bound_is_time(b);
        int64_t total = 0, value = 0;

        for (size_t i = 0; i < facts->topic_count; i++) {
            const struct doctor_topic *topic = &facts->topic[i];
            if (topic->looked.tried && topic->looked.status == SMQ_OK &&
                check_bound_value(&value, b, &topic->stats)) {
                total = !is_time ? total + value : value > total ? value : total;
            }
        }
        check_put_number("", b, total, is_time ? &bounds[b] : NULL);
    }
}

/* Agents cut a line at 1 kB. */
static void check_put_numbers(const struct doctor_facts *facts, const struct check_bound *bounds)
{
    fputs(facts->topic_count > 0 ? " |" : "", stdout);
    if (facts->topic_count > NUMBERS_TOPICS) {
        check_put_totals(facts, bounds);
    }
    for (size_t i = 0; i < facts->topic_count && facts->topic_count <= NUMBERS_TOPICS; i++) {
        const struct doctor_topic *topic = &facts->topic[i];
        for (int b = 0; b < CHECK_BOUND_COUNT && topic->looked.status == SMQ_OK; b++) {
            int64_t value = 0;
            if (topic->looked.tried && check_bound_value(&value, b, &topic->stats)) {
                check_put_number(topic->name, b, value, &bounds[b]);
            }
        }
    }
    putchar('\n');
}

static void check_print(const struct doctor_report *report, const struct doctor_facts *facts,
                        const struct check_bound *bounds, enum exit_code code)
{
    check_put_summary(report, code, facts->topic_count);
    check_put_numbers(facts, bounds);
    for (size_t i = 0; i < report->count; i++) {
        const struct doctor_finding *finding = &report->finding[i];
        if (finding->severity < DOCTOR_BLIND) {
            continue;
        }
        printf("%s: ", check_word(doctor_probe_code(finding->severity)));
        check_put_finding(finding);
        fputs(finding->advice[0] != '\0' ? " -> " : "", stdout);
        check_put_text(finding->advice);
        putchar('\n');
    }
}

static void check_print_json(const struct doctor_report *report, enum exit_code code)
{
    json_t *document = json_object();
    char word[16] = "";
    const char *from = check_word(code);

    for (size_t i = 0; from[i] != '\0' && i + 1 < sizeof(word); i++) {
        word[i] = (char) (from[i] + ('a' - 'A'));
    }
    output_set(document, "status", json_string(word));
    output_set(document, "findings", doctor_findings_json(report));
    output_json(document);
}

/* === The verb =========================================================== */

static void check_judge(struct doctor_report *report, const struct doctor_facts *facts,
                        const struct check_bound *bounds)
{
    for (size_t i = 0; i < facts->topic_count; i++) {
        const struct doctor_topic *topic = &facts->topic[i];
        if (topic->looked.tried && topic->looked.status == SMQ_OK) {
            check_bounds_judge(report, bounds, topic, facts->only != NULL);
        }
    }
}

static enum exit_code check_run(const struct command *command)
{
    const struct check_options *flags = command->options;
    struct check_bound bounds[CHECK_BOUND_COUNT];
    struct doctor_facts facts = {.probe = true,
                                 .rights = flags->rights,
                                 .only = command->word_count > 0 ? command->words[0] : NULL};
    struct doctor_report report = {.count = 0};
    enum exit_code code = check_bounds_read(bounds, flags->bound);

    if (code == EXIT_DONE) {
        code = doctor_examine(&report, &facts, command);
    }
    if (code == EXIT_DONE) {
        check_judge(&report, &facts, bounds);
        code = doctor_probe_code(report.worst);
        if (command->global.json) {
            check_print_json(&report, code);
        } else {
            check_print(&report, &facts, bounds, code);
        }
    }
    doctor_report_fini(&report);
    doctor_facts_fini(&facts);
    return code;
}

const struct verb check_verb = {
    .name = "check",
    .operands = "[NAME]",
    .summary = "a probe for monitoring: 0 ok, 1 warning, 2 critical, 3 unknown",
    .text =
        "Does it work now: do all Redis masters answer and take writes, is the cluster whole, are "
        "all topics, or "
        "the one that is named, whole, has each slot an owner, have messages that are due a "
        "consumer, and does the process of those in work live? Further, each bound that is given "
        "holds for each topic; N,M makes a warning "
        "above N and an error above M, N alone an error. It prints one line, with numbers behind "
        "a bar, as plugins of Nagios do, and a line for each finding. slotmq doctor also looks "
        "at what may become a fault.",
    VERB_FLAGS(check_flags, struct check_options),
    .looks = true,
    .max_words = 1,
    .is_probe = true,
    .run = check_run,
};
