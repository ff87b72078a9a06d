/* reason_fold.h - what reasons of one cause have in common: they may differ in numbers and in what
 * they quote.
 *
 * Pure. */
#ifndef CLI_REASON_FOLD_H
#define CLI_REASON_FOLD_H

#include <slotmq/slotmq.h>

/* Writes the reason with # in place of each word that has a digit, and of each text in quotes:
 * `no "#" of #` of `no "tea" of 4kg`.  `out` has as many bytes as the reason.  *common: the longest
 * part of the reason that it has in common with all that fold to the same. */
void reason_fold(char *out, smq_bytes *common, const char *reason);

#endif
