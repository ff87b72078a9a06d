/* fingerprint.c - marks, which distinguish one cluster from another.
 *
 * Pure. */
#include "model/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"

enum { MARK_DIGITS = 8 };

void marks_add(struct marks *marks, const char *id, size_t len)
{
    uint32_t mark = (uint32_t) crc32_z(0, (const Bytef *) id, len);
    size_t at = 0;
    size_t moved = 0;

    while (at < marks->count && marks->mark[at] < mark) {
        at++;
    }
    if (at == MARKS_MAX || (at < marks->count && marks->mark[at] == mark)) {
        return;
    }
    marks->count += marks->count < MARKS_MAX ? 1 : 0;
    moved = marks->count - 1 - at; /* the largest mark is dropped when there are too many */
    memmove(&marks->mark[at + 1], &marks->mark[at], moved * sizeof(marks->mark[0]));
    marks->mark[at] = mark;
}

bool marks_equal(const struct marks *left, const struct marks *right)
{
    return left->count == right->count &&
           memcmp(left->mark, right->mark, left->count * sizeof(left->mark[0])) == 0;
}

void marks_format(char out[MARKS_TEXT_MAX], const struct marks *marks)
{
    *out = '\0';
    for (size_t i = 0; i < marks->count; i++) {
        out += sprintf(out, "%s%08" PRIx32, i > 0 ? "," : "", marks->mark[i]);
    }
}

bool marks_parse(struct marks *out, const char *text)
{
    *out = (struct marks){0};
    for (;;) {
        uint32_t mark = (uint32_t) strtoul(text, NULL, 16);

        if (strspn(text, "0123456789abcdef") != MARK_DIGITS || out->count == MARKS_MAX ||
            (out->count > 0 && mark <= out->mark[out->count - 1])) {
            break;
        }
        out->mark[out->count++] = mark;
        text += MARK_DIGITS;
        if (*text == '\0') {
            return true;
        }
        if (*text++ != ',') {
            break;
        }
    }
    *out = (struct marks){0};
    return false;
}

/* --- groups --- */

/* One mark of one set. */
struct marks_entry {
    uint32_t mark;
    size_t set;
};

static int marks_compare(const void *left, const void *right)
{
    const struct marks_entry *a = left;
    const struct marks_entry *b = right;

    return a->mark < b->mark ? -1 : a->mark > b->mark;
}

/* The first set of the group, as far as it is known; `above` leads to it. */
static size_t marks_first(size_t *above, size_t set)
{
    while (above[set] != set) {
        above[set] = above[above[set]];
        set = above[set];
    }
    return set;
}

static void marks_join(size_t *above, size_t left, size_t right)
{
    size_t a = marks_first(above, left);
    size_t b = marks_first(above, right);

    above[a > b ? a : b] = a > b ? b : a;
}

size_t marks_group(size_t *groups, const struct marks *const *sets, size_t count)
{
    struct marks_entry *entries = memory_new((count * MARKS_MAX + 1) * sizeof(*entries));
    size_t *above = memory_new((count + 1) * sizeof(*above));
    size_t entry_count = 0;
    size_t group_count = 0;

    for (size_t i = 0; i < count; i++) {
        above[i] = i;
        for (size_t k = 0; k < sets[i]->count; k++) {
            entries[entry_count++] = (struct marks_entry){.mark = sets[i]->mark[k], .set = i};
        }
    }
    qsort(entries, entry_count, sizeof(*entries), marks_compare);
    for (size_t i = 1; i < entry_count; i++) {
        if (entries[i].mark == entries[i - 1].mark) {
            marks_join(above, entries[i].set, entries[i - 1].set);
        }
    }
    for (size_t i = 0; i < count; i++) { /* the first set of a group comes before its others */
        size_t first = marks_first(above, i);

        if (sets[i]->count == 0) {
            groups[i] = 0;
        } else {
            groups[i] = first < i ? groups[first] : ++group_count;
        }
    }
    free(entries);
    free(above);
    return group_count;
}
