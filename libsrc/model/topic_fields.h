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

/* Where an option is in struct topic, and how it is stored.  The table of options has its
 * values. */
struct topic_field {
    const char *name;
    size_t offset, size;
    bool fixed; /* it cannot be changed */
    /* left out of the stored text while it has its default, so that older versions of slotmq can
     * read the text */
    bool later;
};

enum { TOPIC_FIELDS = 21 };

/* The fields in the order of the stored text. */
extern const struct topic_field topic_fields[TOPIC_FIELDS];

const struct option *topic_field_option(const struct topic_field *field);

/* The value of a field that is not a back-off, as a number. */
int64_t topic_field_get(const struct topic_field *field, const struct topic *topic);
void topic_field_set(const struct topic_field *field, struct topic *topic, int64_t value);

/* The text of a field as it is stored, and back; false: it is not such a text. */
void topic_field_format(char out[TOPIC_VALUE_MAX], const struct topic_field *field,
                        const struct topic *topic);
bool topic_field_read(struct topic *out, const struct topic_field *field, const char *text);

/* Check that the value is none, one of the words, or in the range.  Fails: INVALID, as
 * option_check(). */
smq_status topic_field_check(const struct topic_field *field, const struct topic *topic,
                             smq_error *err);

/* Complete the options, and copy all but the name.  Fails: INVALID; `out` is undefined then. */
smq_status topic_fill(struct topic *out, smq_topic_options *options, smq_error *err);

/* Check every field, and fields that depend on each other.  Fails: INVALID. */
smq_status topic_check(const struct topic *topic, smq_error *err);

#endif
