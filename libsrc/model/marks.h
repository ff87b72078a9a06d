/* marks.h - what tells one cluster from another: short hashes of the ids of its nodes.
 *
 * Of many nodes those with the smallest hashes are kept, so that two sets of which most nodes are
 * the same also keep mostly the same hashes, however many there are.
 *
 * Pure. */
#ifndef MODEL_MARKS_H
#define MODEL_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MARKS_MAX = 16,
    MARKS_TEXT_MAX = MARKS_MAX * 9 /* with the NUL */
};

/* Invariant: ascending, each once.  None: the cluster is not known. */
struct marks {
    size_t count;
    uint32_t mark[MARKS_MAX];
};

/* The cluster has a node with this id. */
void marks_add(struct marks *marks, const char *id, size_t len);

bool marks_equal(const struct marks *left, const struct marks *right);

/* "0a1b2c3d,99aabbcc"; "" for none. */
void marks_format(char out[MARKS_TEXT_MAX], const struct marks *marks);

/* Read untrusted text; false, and `out` has none, unless it is of that form. */
bool marks_parse(struct marks *out, const char *text);

/* Put sets that share a mark, directly or through others, into one group: groups[i] is 0 for a set
 * without marks, else the number of a group, from 1.  How many groups there are. */
size_t marks_group(size_t *groups, const struct marks *const *sets, size_t count);

#endif
