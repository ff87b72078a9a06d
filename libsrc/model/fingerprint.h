/* fingerprint.h - the fingerprint of a cluster, which distinguishes it from others: short hashes of
 * the ids of its nodes.
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
    FINGERPRINT_MAX = 16,
    FINGERPRINT_TEXT_MAX = FINGERPRINT_MAX * 9 /* with the NUL */
};

/* Invariant: in ascending order, each once.  Without hashes the cluster is unknown. */
struct fingerprint {
    size_t count;
    uint32_t hash[FINGERPRINT_MAX];
};

/* Add the node with this id. */
void fingerprint_add(struct fingerprint *fingerprint, const char *id, size_t len);

bool fingerprint_equal(const struct fingerprint *left, const struct fingerprint *right);

/* Write the hashes as "0a1b2c3d,99aabbcc"; "" if there are none. */
void fingerprint_format(char out[FINGERPRINT_TEXT_MAX], const struct fingerprint *fingerprint);

/* Read untrusted text; false: it has another form, and `out` has no hashes. */
bool fingerprint_parse(struct fingerprint *out, const char *text);

/* Put fingerprints that share a hash, directly or through others, into one group: groups[i] is 0
 * for one without hashes, else the number of a group, from 1.  Returns the number of groups. */
size_t fingerprint_group(size_t *groups, const struct fingerprint *const *sets, size_t count);

#endif
