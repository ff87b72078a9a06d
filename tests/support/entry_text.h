/* entry_text.h - entries and scores as the scripts write them, for tests that read them back.
 *
 * Pure. */
#ifndef SUPPORT_ENTRY_TEXT_H
#define SUPPORT_ENTRY_TEXT_H

#include "base/buf.h"
#include "model/entry.h"

void entry_encode(struct buf *out, const struct entry *entry);
void entry_score_format(char out[40], int64_t integer, struct attempts attempts);

#endif
