/* fingerprint.c - the fingerprint of a cluster, which distinguishes it from others.
 *
 * Pure. */
#include "model/fingerprint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"

enum { HASH_DIGITS = 8 };

void fingerprint_add(struct fingerprint *fingerprint, const char *id, size_t len)
{
    uint32_t hash = (uint32_t) crc32_z(0, (const Bytef *) id, len);
    size_t at = 0;
    size_t moved = 0;

    while (at < fingerprint->count && fingerprint->hash[at] < hash) {
        at++;
    }
    if (at == FINGERPRINT_MAX || (at < fingerprint->count && fingerprint->hash[at] == hash)) {
        return;
    }
    fingerprint->count += fingerprint->count < FINGERPRINT_MAX ? 1 : 0;
    moved = fingerprint->count - 1 - at; /* the largest hash is dropped when there are too many */
    memmove(&fingerprint->hash[at + 1], &fingerprint->hash[at],
            moved * sizeof(fingerprint->hash[0]));
    fingerprint->hash[at] = hash;
}

bool fingerprint_equal(const struct fingerprint *left, const struct fingerprint *right)
{
    return left->count == right->count &&
           memcmp(left->hash, right->hash, left->count * sizeof(left->hash[0])) == 0;
}

void fingerprint_format(char out[FINGERPRINT_TEXT_MAX], const struct fingerprint *fingerprint)
{
    *out = '\0';
    for (size_t i = 0; i < fingerprint->count; i++) {
        out += sprintf(out, "%s%08" PRIx32, i > 0 ? "," : "", fingerprint->hash[i]);
    }
}

bool fingerprint_parse(struct fingerprint *out, const char *text)
{
    *out = (struct fingerprint){0};
    for (;;) {
        uint32_t hash = (uint32_t) strtoul(text, NULL, 16);

        if (strspn(text, "0123456789abcdef") != HASH_DIGITS || out->count == FINGERPRINT_MAX ||
            (out->count > 0 && hash <= out->hash[out->count - 1])) {
            break;
        }
        out->hash[out->count++] = hash;
        text += HASH_DIGITS;
        if (*text == '\0') {
            return true;
        }
        if (*text++ != ',') {
            break;
        }
    }
    *out = (struct fingerprint){0};
    return false;
}

/* --- groups --- */

/* One hash of one fingerprint. */
struct fingerprint_entry {
    uint32_t hash;
    size_t set;
};

static int fingerprint_compare(const void *left, const void *right)
{
    const struct fingerprint_entry *a = left;
    const struct fingerprint_entry *b = right;

    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

/* The first set of the group, as far as it is known; `above` leads to it. */
static size_t fingerprint_first(size_t *above, size_t set)
{
    while (above[set] != set) {
        above[set] = above[above[set]];
        set = above[set];
    }
    return set;
}

static void fingerprint_join(size_t *above, size_t left, size_t right)
{
    size_t a = fingerprint_first(above, left);
    size_t b = fingerprint_first(above, right);

    above[a > b ? a : b] = a > b ? b : a;
}

size_t fingerprint_group(size_t *groups, const struct fingerprint *const *sets, size_t count)
{
    struct fingerprint_entry *entries =
        memory_new((count * FINGERPRINT_MAX + 1) * sizeof(*entries));
    size_t *above = memory_new((count + 1) * sizeof(*above));
    size_t entry_count = 0;
    size_t group_count = 0;

    for (size_t i = 0; i < count; i++) {
        above[i] = i;
        for (size_t k = 0; k < sets[i]->count; k++) {
            entries[entry_count++] = (struct fingerprint_entry){.hash = sets[i]->hash[k], .set = i};
        }
    }
    qsort(entries, entry_count, sizeof(*entries), fingerprint_compare);
    for (size_t i = 1; i < entry_count; i++) {
        if (entries[i].hash == entries[i - 1].hash) {
            fingerprint_join(above, entries[i].set, entries[i - 1].set);
        }
    }
    for (size_t i = 0; i < count; i++) { /* the first one of a group comes before its others */
        size_t first = fingerprint_first(above, i);

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
