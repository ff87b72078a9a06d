/* zone.c - reads TZif files.
 *
 * Pure. */
#include "model/zone.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum {
    HEADER = 44,
    COUNTS = 20, /* of the header: where the counts begin */
    TYPE = 6,
    CHANGES_MOST = 100000,
    OFFSET_MOST = 26 * 3600,
    RULE_TEXT_MOST = 255,
};

static int64_t zone_number(const unsigned char *data, size_t bytes)
{
    uint64_t value = (data[0] & 0x80) != 0 ? UINT64_MAX : 0;

    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | data[i];
    }
    return (int64_t) value;
}

/* The block behind a header, whose times have `width` bytes. */
struct zone_block {
    size_t changes, types, len;
    bool has_leaps;
};

static bool zone_read_header(struct zone_block *out, const unsigned char *data, size_t len,
                             size_t width)
{
    int64_t counts[6]; /* UT marks, standard marks, leap seconds, changes, types, letters */

    if (len < HEADER || memcmp(data, "TZif", 4) != 0 || data[4] < '2') {
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        counts[i] = zone_number(data + COUNTS + 4 * i, 4);
        if (counts[i] < 0 || counts[i] > CHANGES_MOST) {
            return false;
        }
    }
    out->changes = (size_t) counts[3];
    out->types = (size_t) counts[4];
    out->has_leaps = counts[2] > 0;
    out->len = out->changes * (width + 1) + out->types * TYPE + (size_t) counts[5] +
               (size_t) counts[2] * (width + 4) + (size_t) (counts[1] + counts[0]);
    return out->types > 0 && len - HEADER >= out->len;
}

static bool zone_read_offset(int32_t *out, const unsigned char *type)
{
    *out = (int32_t) zone_number(type, 4);
    return *out > -OFFSET_MOST && *out < OFFSET_MOST;
}

static bool zone_read_changes(struct zone *out, const struct zone_block *block,
                              const unsigned char *data)
{
    const unsigned char *indexes = data + block->changes * 8;
    const unsigned char *types = indexes + block->changes;

    out->from_s = memory_new((block->changes + 1) * sizeof(out->from_s[0]));
    out->offset_s = memory_new((block->changes + 1) * sizeof(out->offset_s[0]));
    if (!zone_read_offset(&out->first_offset_s, types)) {
        return false;
    }
    for (size_t i = 0; i < block->changes; i++) {
        out->from_s[i] = zone_number(data + i * 8, 8);
        if (indexes[i] >= block->types || (i > 0 && out->from_s[i] <= out->from_s[i - 1]) ||
            !zone_read_offset(&out->offset_s[i], types + (size_t) indexes[i] * TYPE)) {
            return false;
        }
    }
    out->count = block->changes;
    return true;
}

/* Read a number of at most three digits. */
static bool zone_read_digits(const char **text, int most, int *out)
{
    const char *begin = *text;

    for (*out = 0; **text >= '0' && **text <= '9' && *text - begin < 3; (*text)++) {
        *out = *out * 10 + (**text - '0');
    }
    return *text > begin && *out <= most;
}

/* Read [+-]hh[:mm[:ss]]. */
static bool zone_read_time(const char **text, int most, int32_t *out)
{
    const int sign = **text == '-' ? -1 : 1;
    int part;

    *text += **text == '-' || **text == '+';
    if (!zone_read_digits(text, most, &part)) {
        return false;
    }
    *out = part * 3600;
    for (int unit = 60; unit > 0 && **text == ':'; unit /= 60) {
        (*text)++;
        if (!zone_read_digits(text, 59, &part)) {
            return false;
        }
        *out += part * unit;
    }
    *out *= sign;
    return true;
}

/* Skip the name of an offset: letters, or what is in < and >. */
static bool zone_skip_name(const char **text)
{
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const char *begin = *text;

    *text += **text == '<' ? strcspn(*text, ">") + 1 : strspn(*text, LETTERS);
    return *text - begin >= 3 && (*begin != '<' || (*text)[-1] == '>');
}

/* Read `,rule[/time]`. */
static bool zone_read_rule(const char **text, struct zone_rule *out)
{
    const char *at = *text + 1;
    bool is_good;

    if (**text != ',') {
        return false;
    }
    *out = (struct zone_rule){.kind = ZONE_RULE_DAY, .at_s = 2 * 3600};
    if (*at == 'M') {
        at++;
        out->kind = ZONE_RULE_WEEKDAY;
        is_good = zone_read_digits(&at, 12, &out->month) && out->month > 0 && *at++ == '.' &&
                  zone_read_digits(&at, 5, &out->week) && out->week > 0 && *at++ == '.' &&
                  zone_read_digits(&at, 6, &out->day);
    } else {
        at += *at == 'J';
        out->kind = at[-1] == 'J' ? ZONE_RULE_JULIAN : ZONE_RULE_DAY;
        is_good =
            zone_read_digits(&at, 365, &out->day) && (out->kind == ZONE_RULE_DAY || out->day > 0);
    }
    *text = at + (*at == '/');
    return is_good && (*at != '/' || zone_read_time(text, 167, &out->at_s));
}

/* Read the rule at the end of a file, as "CET-1CEST,M3.5.0,M10.5.0/3". */
static bool zone_read_rules(struct zone *out, const char *text)
{
    if (!zone_skip_name(&text) || !zone_read_time(&text, 24, &out->winter_s)) {
        return false;
    }
    out->winter_s = -out->winter_s;
    out->summer_s = out->winter_s + 3600;
    out->has_rules = true;
    if (*text == '\0') {
        return true;
    }
    out->has_summer = true;
    if (!zone_skip_name(&text)) {
        return false;
    }
    if (*text != ',') {
        if (!zone_read_time(&text, 24, &out->summer_s)) {
            return false;
        }
        out->summer_s = -out->summer_s;
    }
    return zone_read_rule(&text, &out->summer_begins) && zone_read_rule(&text, &out->summer_ends) &&
           *text == '\0';
}

/* What stands behind the last block: a rule between two ends of lines, or nothing between them. */
static bool zone_read_end(struct zone *out, const unsigned char *data, size_t len)
{
    char text[RULE_TEXT_MOST + 1] = {0};
    char *end;

    memcpy(text, data, len < RULE_TEXT_MOST ? len : RULE_TEXT_MOST);
    end = text[0] == '\n' ? strchr(text + 1, '\n') : NULL;
    if (end == NULL) {
        return false;
    }
    *end = '\0';
    return end == text + 1 || zone_read_rules(out, text + 1);
}

/* A file of version 2 or later: a block with times of 4 bytes, one with times of 8, and the rule.
 */
static bool zone_read(struct zone *out, const unsigned char *data, size_t len)
{
    struct zone_block block;

    for (size_t width = 4; width <= 8; width += 4) {
        if (!zone_read_header(&block, data, len, width)) {
            return false;
        }
        data += HEADER + (width == 4 ? block.len : 0);
        len -= HEADER + (width == 4 ? block.len : 0);
    }
    return !block.has_leaps && zone_read_changes(out, &block, data) &&
           zone_read_end(out, data + block.len, len - block.len);
}

bool zone_parse(struct zone *out, const unsigned char *data, size_t len)
{
    *out = (struct zone){0};
    if (zone_read(out, data, len)) {
        return true;
    }
    zone_fini(out);
    return false;
}

void zone_fini(struct zone *zone)
{
    free(zone->from_s);
    free(zone->offset_s);
    *zone = (struct zone){0};
}
