/* cron.c - a cron expression as one set of bits for each field.
 *
 * Pure. */
#include "model/cron.h"

#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "model/civil.h"

enum { FIELDS = 6, NAME_LEN = 3, DAY_S = 86400, ERA_DAYS = 146097 };

/* `names`: three letters each, the first for the number `from`. */
struct cron_field {
    const char *name;
    unsigned from, to;
    const char *names;
};

static const struct cron_field CRON_FIELDS[FIELDS] = {
    {"second", 0, 59, ""},
    {"minute", 0, 59, ""},
    {"hour", 0, 23, ""},
    {"day of month", 1, 31, ""},
    {"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC"},
    {"day of week", 0, 7, "SUNMONTUEWEDTHUFRISAT"},
};
enum { SECOND, MINUTE, HOUR, DAY, MONTH, WEEKDAY };

static const struct {
    const char *name, *text;
} CRON_NAMES[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

/* What is read of a field, from `at` up to `end`. */
struct cron_reader {
    const struct cron_field *field;
    const char *at, *end;
};

static bool cron_takes(struct cron_reader *reader, char wanted)
{
    if (reader->at == reader->end || *reader->at != wanted) {
        return false;
    }
    reader->at++;
    return true;
}

/* Read up to three digits. */
static bool cron_read_digits(struct cron_reader *reader, unsigned *out)
{
    const char *begin = reader->at;

    for (*out = 0; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
         reader->at++) {
        *out = *out * 10 + (unsigned) (*reader->at - '0');
        if (reader->at - begin == 3) {
            return false;
        }
    }
    return reader->at > begin;
}

/* Read a number, or one of the names of the field. */
static bool cron_read_number(struct cron_reader *reader, unsigned *out)
{
    const struct cron_field *field = reader->field;

    if (cron_read_digits(reader, out)) {
        return *out >= field->from && *out <= field->to;
    }
    if (reader->end - reader->at < NAME_LEN) {
        return false;
    }
    for (size_t i = 0; field->names[i] != '\0'; i += NAME_LEN) {
        if (strncasecmp(field->names + i, reader->at, NAME_LEN) == 0) {
            reader->at += NAME_LEN;
            *out = field->from + (unsigned) (i / NAME_LEN);
            return true;
        }
    }
    return false;
}

/* Read '*', a number or a range, perhaps with a step, and add its numbers to the set. */
static bool cron_read_range(struct cron_reader *reader, uint64_t *set)
{
    const struct cron_field *field = reader->field;
    unsigned from = field->from, to = field->to, step = 1;

    if (!cron_takes(reader, '*')) {
        if (!cron_read_number(reader, &from)) {
            return false;
        }
        to = from;
        if (cron_takes(reader, '-')) {
            if (!cron_read_number(reader, &to)) {
                return false;
            }
            if (field == &CRON_FIELDS[WEEKDAY] && to == 0 && from > 0) {
                to = 7; /* up to Sunday */
            }
        } else if (reader->at < reader->end && *reader->at == '/') {
            to = field->to;
        }
    } else if (field == &CRON_FIELDS[WEEKDAY]) {
        to = 6;
    }
    if (cron_takes(reader, '/') &&
        (!cron_read_digits(reader, &step) || step < 1 || step > field->to)) {
        return false;
    }
    for (unsigned number = from; number <= to; number += step) {
        *set |= UINT64_C(1) << number;
    }
    return from <= to;
}

static bool cron_read_field(struct cron_reader *reader, uint64_t *set)
{
    do {
        if (!cron_read_range(reader, set)) {
            return false;
        }
    } while (cron_takes(reader, ','));
    return reader->at == reader->end;
}

static smq_status cron_refuse_field(const char *text, const struct cron_field *field,
                                    const char *begin, const char *end, smq_error *err)
{
    return status_set(err, SMQ_INVALID,
                      "cron \"%.*s>>>%.*s<<<%s\": the %s is * or %u to %u%s, in ranges as %u-%u, "
                      "steps as */%u, and lists of these with commas",
                      (int) (begin - text), text, (int) (end - begin), begin, end, field->name,
                      field->from, field->to,
                      field->names[0] != '\0' ? " or a name of 3 letters" : "", field->from,
                      field->to, field->to / 4 + 1);
}

/* Where the next field begins (`*begin`) and ends; false: there is none. */
static bool cron_next_field(const char **begin, const char **end)
{
    *begin = *end + strspn(*end, " \t");
    *end = *begin + strcspn(*begin, " \t");
    return *end > *begin;
}

static smq_status cron_refuse_count(const char *text, smq_error *err)
{
    return status_set(err, SMQ_INVALID,
                      "cron \"%s\" has not 5 fields (minute, hour, day of month, month, day of "
                      "week), nor 6 with the second in front, nor is it @yearly, @monthly, "
                      "@weekly, @daily or @hourly",
                      text);
}

static smq_status cron_read(struct cron *out, const char *text, const char *shown, smq_error *err)
{
    uint64_t sets[FIELDS] = {1}; /* the second 0, if there is none */
    bool any[FIELDS] = {false}, steps[FIELDS] = {false};
    const char *begin, *end = text;
    size_t count = 0, field;

    while (cron_next_field(&begin, &end)) {
        count++;
    }
    if (count != FIELDS && count != FIELDS - 1) {
        return cron_refuse_count(shown, err);
    }
    end = text;
    for (field = FIELDS - count; cron_next_field(&begin, &end); field++) {
        struct cron_reader reader = {&CRON_FIELDS[field], begin, end};

        sets[field] = 0;
        if (!cron_read_field(&reader, &sets[field])) {
            return cron_refuse_field(text, reader.field, begin, end, err);
        }
        any[field] = *begin == '*';
        steps[field] = any[field] || memchr(begin, '/', (size_t) (end - begin)) != NULL;
    }
    *out = (struct cron){.second = sets[SECOND],
                         .minute = sets[MINUTE],
                         .hour = sets[HOUR],
                         .day = sets[DAY],
                         .month = sets[MONTH],
                         .weekday = sets[WEEKDAY] | (sets[WEEKDAY] >> 7 & 1),
                         .any_day = any[DAY],
                         .any_weekday = any[WEEKDAY],
                         .is_interval = steps[MINUTE] || steps[HOUR]};
    return SMQ_OK;
}

smq_status cron_parse(struct cron *out, const char *text, smq_error *err)
{
    const char *fields = text;
    smq_status status;

    if (strlen(text) > CRON_TEXT_MAX) {
        return status_set(err, SMQ_INVALID, "a cron expression has at most %d bytes",
                          CRON_TEXT_MAX);
    }
    for (size_t i = 0; i < sizeof(CRON_NAMES) / sizeof(CRON_NAMES[0]); i++) {
        if (strcasecmp(text, CRON_NAMES[i].name) == 0) {
            fields = CRON_NAMES[i].text;
        }
    }
    status = cron_read(out, fields, text, err);
    if (status == SMQ_OK && cron_after(out, 0) == CRON_NEVER) {
        status = status_set(err, SMQ_INVALID,
                            "cron \"%s\" never fires: no month that it names has such a day", text);
    }
    return status;
}

/* The smallest number of a set that is not less than `from`; -1: there is none. */
static int cron_next(uint64_t set, int from)
{
    const uint64_t left = from < 64 ? set >> from : 0;

    return left == 0 ? -1 : from + __builtin_ctzll(left);
}

/* The first second of a day from `from` on; -1: there is none. */
static int cron_in_day(const struct cron *cron, int from)
{
    const int hour = from / 3600, minute = from / 60 % 60;

    for (int h = cron_next(cron->hour, hour); h >= 0; h = cron_next(cron->hour, h + 1)) {
        int m = cron_next(cron->minute, h == hour ? minute : 0);

        for (; m >= 0; m = cron_next(cron->minute, m + 1)) {
            const int s = cron_next(cron->second, h == hour && m == minute ? from % 60 : 0);

            if (s >= 0) {
                return h * 3600 + m * 60 + s;
            }
        }
    }
    return -1;
}

static bool cron_has_day(const struct cron *cron, int64_t days, int day)
{
    const bool by_day = cron->day >> day & 1;
    const bool by_weekday = cron->weekday >> civil_weekday(days) & 1;

    if (cron->any_day || cron->any_weekday) {
        return by_day && by_weekday;
    }
    return by_day || by_weekday;
}

int64_t cron_after(const struct cron *cron, int64_t local)
{
    int64_t rest;
    int64_t days = civil_divide(local + 1, DAY_S, &rest);
    const int64_t last = days + ERA_DAYS;
    int from = (int) rest;

    while (days <= last) {
        const struct civil date = civil_of_days(days);

        if ((cron->month >> date.month & 1) == 0) {
            days = civil_to_days(date.year, date.month + 1, 1);
        } else {
            const int second = cron_has_day(cron, days, date.day) ? cron_in_day(cron, from) : -1;

            if (second >= 0) {
                return days * DAY_S + second;
            }
            days++;
        }
        from = 0;
    }
    return CRON_NEVER;
}
