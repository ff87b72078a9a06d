/* check_bounds.c - see check_bounds.h. */
#include "cli/doctor/check_bounds.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/text/parse.h"
#include "cli/text/say.h"
#include "cli/text/units.h"
#include "cli/verb/flags.h"

/* Longer than any bound. */
enum { TEXT_MAX = 64, ADVICE_MAX = 200 };

static const struct {
    const char *name, *flag;
    const char *advice, *advice_end; /* the topic between them */
} kinds[CHECK_BOUND_COUNT] = {
    [CHECK_LAG] = {"lag", "max-lag", "start consumers, or see why they are slow: slotmq top ", ""},
    [CHECK_DUE] = {"due", "max-due", "start consumers, or see why they are slow: slotmq top ", ""},
    [CHECK_WAITING] = {"waiting", "max-waiting", "see what waits: slotmq peek ", ""},
    [CHECK_RESTING] = {"resting", "max-resting", "see why they fail: slotmq peek ",
                       " --state resting"},
    [CHECK_DEAD] = {"dead", "max-dead", "see why they failed: slotmq dead list ", ""},
    [CHECK_WORK] = {"work", "max-work", "see which message it is, and who has it: slotmq work ",
                    ""},
};

bool check_bound_is_time(int number)
{
    return number == CHECK_LAG || number == CHECK_WORK;
}

const char *check_bound_name(int number)
{
    return kinds[number].name;
}

/* === Reading ============================================================ */

static bool check_read_amount(int64_t *out, int number, const char *text)
{
    const bool is_time = check_bound_is_time(number);
    const bool good = is_time ? parse_duration(out, text) : parse_number(out, text);

    if (good && is_time) {
        flag_say_unit(kinds[number].flag, text);
    }
    return good && *out >= 0;
}

static bool check_read_bound(struct check_bound *out, int number, const char *text)
{
    char warning[TEXT_MAX];
    const char *comma = strchr(text, ',');

    *out = (struct check_bound){.given = true};
    if (!comma) {
        const bool good = check_read_amount(&out->error, number, text);
        out->warning = out->error;
        return good;
    }
    snprintf(warning, sizeof(warning), "%.*s", (int) (comma - text), text);
    return check_read_amount(&out->warning, number, warning) &&
           check_read_amount(&out->error, number, comma + 1) && out->warning <= out->error;
}

enum exit_code check_bounds_read(struct check_bound out[CHECK_BOUND_COUNT],
                                 const char *const texts[CHECK_BOUND_COUNT])
{
    for (int i = 0; i < CHECK_BOUND_COUNT; i++) {
        out[i] = (struct check_bound){.given = false};
        if (texts[i] && !check_read_bound(&out[i], i, texts[i])) {
            return say_error(
                EXIT_USAGE,
                "--%s \"%s\" cannot be used; give %s, or two with a comma between, the "
                "smaller one first",
                kinds[i].flag, texts[i],
                check_bound_is_time(i) ? "a duration such as 5m" : "a whole number");
        }
    }
    return EXIT_DONE;
}

/* === Judging ============================================================ */

bool check_bound_value(int64_t *out, int number, const smq_stats *stats)
{
    const int64_t values[CHECK_BOUND_COUNT] = {
        [CHECK_LAG] = stats->oldest_due_age_ms,     [CHECK_DUE] = (int64_t) stats->due,
        [CHECK_WAITING] = (int64_t) stats->waiting, [CHECK_RESTING] = (int64_t) stats->resting,
        [CHECK_DEAD] = (int64_t) stats->dead,       [CHECK_WORK] = stats->oldest_claim_age_ms,
    };

    *out = values[number];
    return number != CHECK_LAG || *out != SMQ_AGE_UNKNOWN;
}

static void check_amount_text(char text[TEXT_MAX], int number, int64_t value)
{
    if (check_bound_is_time(number)) {
        units_age(text, value);
    } else {
        snprintf(text, TEXT_MAX, "%" PRId64, value);
    }
}

static void check_add(struct doctor_report *report, int number, const struct check_bound *bound,
                      const char *topic, bool paused, int64_t value)
{
    const bool error = value > bound->error;
    char is[TEXT_MAX];
    char may[TEXT_MAX];
    char advice[ADVICE_MAX];

    check_amount_text(is, number, value);
    check_amount_text(may, number, error ? bound->error : bound->warning);
    snprintf(advice, sizeof(advice), "%s%s%s", kinds[number].advice, topic,
             kinds[number].advice_end);
    report->check = kinds[number].name;
    doctor_report_add(report, error ? DOCTOR_ERROR : DOCTOR_WARNING, topic, advice,
                      "%s %s is more than %s%s", kinds[number].name, is, may,
                      paused ? "; the topic is paused" : "");
}

void check_bounds_judge(struct doctor_report *report, const struct check_bound *bounds,
                        const struct doctor_topic *topic, bool named)
{
    for (int i = 0; i < CHECK_BOUND_COUNT; i++) {
        int64_t value = 0;

        if (!bounds[i].given) {
            continue;
        }
        if (!check_bound_value(&value, i, &topic->stats)) {
            report->check = kinds[i].name;
            doctor_report_add(report, named && topic->stats.due > 0 ? DOCTOR_BLIND : DOCTOR_UNKNOWN,
                              topic->name, "",
                              "the lag is not known: this priority topic of layout inline stores "
                              "no times; use --max-due");
        } else if (value > bounds[i].warning) {
            check_add(report, i, &bounds[i], topic->name, topic->paused, value);
        }
    }
}
