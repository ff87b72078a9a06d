/* fingerprint.h - marks, which distinguish one cluster from another: short hashes of the ids of its
 * nodes.
 *
 * Of many nodes only the smallest hashes are kept.  So two sets of mostly the same nodes also keep
 * mostly the same hashes, however many nodes there are.
 *
 * Pure. */
#ifndef MODEL_FINGERPRINT_H
#define MODEL_FINGERPRINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MARKS_MAX = 16,
    MARKS_TEXT_MAX = MARKS_MAX * 9 /* with the NUL */
};

/* Invariant: in ascending order, each once.  Without marks the cluster is unknown. */
struct marks {
    size_t count;
    uint32_t mark[MARKS_MAX];
};

/* Add the node with this id. */
void marks_add(struct marks *marks, const char *id, size_t len);

bool marks_equal(const struct marks *left, const struct marks *right);

/* Write the marks as "0a1b2c3d,99aabbcc"; "" if there are none. */
void marks_format(char out[MARKS_TEXT_MAX], const struct marks *marks);

/* Read untrusted text; false: it has another form, and `out` has no marks. */
bool marks_parse(struct marks *out, const char *text);

/* Put sets that share a mark, directly or through others, into one group: groups[i] is 0 for a set
 * without marks, else the number of a group, from 1.  Returns the number of groups. */
size_t marks_group(size_t *groups, const struct marks *const *sets, size_t count);

#endif
