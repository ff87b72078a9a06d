/* topic_fields.h - the options of a topic as fields of its definition: checked, stored as text,
 * compared.
 *
 * Pure. */
#ifndef MODEL_TOPIC_FIELDS_H
#define MODEL_TOPIC_FIELDS_H

#include <slotmq/core.h>

#include "model/option.h"
#include "model/topic.h"

enum { TOPIC_VALUE_MAX = BACKOFF_TEXT_MAX };

/* The field at a place of the stored text, from 1; NULL: it has fewer. */
const struct option *topic_field(int place);

/* Is it left out of the stored text while it has its default, so that versions of slotmq which do
 * not have it can read the text? */
bool topic_field_is_later(const struct option *field);

/* Is it the format, with which the stored text begins? */
bool topic_field_is_format(const struct option *field);

/* The value of a field that is not a back-off, as a number. */
int64_t topic_field_get(const struct option *field, const struct topic *topic);
void topic_field_set(const struct option *field, struct topic *topic, int64_t value);

/* What it is in a topic that does not say it. */
int64_t topic_field_default(const struct option *field, const struct topic *topic);

/* The text of a field as it is stored, and back; false: it is not such a text. */
void topic_field_format(char out[TOPIC_VALUE_MAX], const struct option *field,
                        const struct topic *topic);
bool topic_field_read(struct topic *out, const struct option *field, const char *text);

/* Check that the value is none, one of the words, or in the range.  Fails: INVALID, as
 * option_check(). */
smq_status topic_field_check(const struct option *field, const struct topic *topic, smq_error *err);

/* Complete the options, and copy all but the name.  Fails: INVALID; `out` is undefined then. */
smq_status topic_fill(struct topic *out, smq_topic_options *options, smq_error *err);

/* Check every field, and fields that depend on each other.  Fails: INVALID. */
smq_status topic_check(const struct topic *topic, smq_error *err);

#endif
