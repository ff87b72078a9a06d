/* entry.c - entries of the sorted sets of a slot, and their scores.
 *
 * Pure.  Nothing here depends on the locale of the program: its decimal point may be a comma. */
#include "model/entry.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "model/number.h"

/* The absolute value of integer parts is smaller than this, so that 7 bits of attempts fit into a
 * double. */
#define ENTRY_INTEGER_END (INT64_C(1) << 45)

enum {
    ENTRY_TICKS = 128,         /* attempts are counted in 1/128 */
    ENTRY_SCORE_TEXT_MAX = 32, /* Redis writes at most 24 bytes */
    ENTRY_ARRIVALS_BITS = 32   /* of a priority with ties by arrival */
};

/* --- entries --- */

/* Parse a number such as "-20"; returns its length, 0: there is none. */
static size_t entry_parse_before(int64_t *out, const char *text, size_t len)
{
    bool negative = len > 0 && text[0] == '-';
    int64_t amount = 0;
    size_t digits =
        number_read_prefix(&amount, text + negative, len - negative, ENTRY_INTEGER_END - 1);

    if (digits == 0 || (negative && amount == 0)) {
        return 0;
    }
    *out = negative ? -amount : amount;
    return digits + negative;
}

static bool entry_is_kind(char letter)
{
    return letter == ENTRY_CLAIMED || letter == ENTRY_RESTING || letter == ENTRY_SCHEDULED ||
           letter == ENTRY_DEAD;
}

bool entry_decode(struct entry *out, const char *data, size_t len)
{
    struct entry entry = {0};
    int64_t claim = 0;
    size_t at = entry_parse_before(&entry.before, data, len);

    if (at == 0 || at == len || !entry_is_kind(data[at])) {
        return false;
    }
    entry.kind = (enum entry_kind) data[at++];
    if (entry.kind == ENTRY_CLAIMED ||
        entry.kind == ENTRY_RESTING) { /* the claim number: at least 1 */
        at += number_read_prefix(&claim, data + at, len - at, INT64_MAX);
        if (claim == 0) {
            return false;
        }
    }
    if (len - at < 2 || data[at] != ':') {
        return false; /* an entry has a member */
    }
    entry.claim = (uint64_t) claim;
    entry.member = data + at + 1;
    entry.member_len = len - at - 1;
    *out = entry;
    return true;
}

/* --- scores --- */

/* Read a finite decimal number as strtod() does in the C locale. */
static bool entry_parse_double(double *out, const char *text, size_t len)
{
    char copy[ENTRY_SCORE_TEXT_MAX + 1];
    char *end = NULL;
    locale_t c_locale = NULL;

    if (len == 0 || len > ENTRY_SCORE_TEXT_MAX || text[0] == '+') {
        return false;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    if (strspn(copy, "0123456789.eE+-") != len) {
        return false; /* "inf", "nan", hexadecimal, spaces, NUL */
    }
    c_locale = newlocale(LC_ALL_MASK, "C", NULL);
    if (c_locale == NULL) {
        abort();
    }
    *out = strtod_l(copy, &end, c_locale);
    freelocale(c_locale);
    return end == copy + len;
}

bool entry_score_parse(int64_t *integer, struct attempts *attempts, const char *text, size_t len)
{
    double score = 0;
    double ticks = 0;
    int64_t whole = 0;

    if (!entry_parse_double(&score, text, len) || score <= (double) -ENTRY_INTEGER_END ||
        score >= (double) ENTRY_INTEGER_END) {
        return false;
    }
    whole = (int64_t) score;
    if ((double) whole > score) {
        whole--; /* floor: the fraction is never negative */
    }
    ticks = (score - (double) whole) * ENTRY_TICKS;
    /* for a tiny negative score the distance to its floor rounds to 1 */
    if (whole <= -ENTRY_INTEGER_END || ticks >= ENTRY_TICKS || ticks != (double) (int) ticks) {
        return false;
    }
    *integer = whole;
    attempts->retries = (int) ticks / 2;
    attempts->suspect = (int) ticks % 2 == 1;
    return true;
}

int64_t entry_priority(char kind, int64_t before)
{
    const int64_t arrivals = INT64_C(1) << ENTRY_ARRIVALS_BITS;

    if (kind != 'p') {
        return before;
    }
    return before / arrivals - (before % arrivals < 0);
}
