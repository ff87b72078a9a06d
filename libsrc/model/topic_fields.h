/* topic_fields.h - the table of a topic's fields, which serves the check, the stored text, the
 * comparison and the altering of a definition.
 *
 * Pure. */
#ifndef MODEL_TOPIC_FIELDS_H
#define MODEL_TOPIC_FIELDS_H

#include <slotmq/core.h>

#include "model/topic.h"

enum { TOPIC_VALUE_MAX = BACKOFF_TEXT_MAX };

#define TOPIC_NEVER_NONE INT64_MIN

enum topic_field_kind {
    TOPIC_FIELD_WORD,   /* an enum, one of `words`          */
    TOPIC_FIELD_SWITCH, /* a bool, "no" or "yes"            */
    TOPIC_FIELD_COUNT,  /* an int32_t; its `none` reads "0" */
    TOPIC_FIELD_NUMBER, /* an int64_t                       */
    TOPIC_FIELD_TIME,   /* an int64_t of milliseconds       */
    TOPIC_FIELD_BACKOFF
};

/* One member of struct topic.  A number is `none` (TOPIC_NEVER_NONE: has none), or from `min` to
 * `max`. */
struct topic_field {
    const char *name;
    enum topic_field_kind kind;
    size_t offset;
    const char *const *words;
    int word_count;
    int64_t min, max, none;
    bool fixed; /* for the life of the topic                          */
    bool later; /* not in the stored text while it has its default, so
                   that older versions of slotmq can read it          */
};

enum { TOPIC_FIELDS = 17 };

/* In the order of the stored text. */
extern const struct topic_field topic_fields[TOPIC_FIELDS];

/* "fifo"; `type` has been checked. */
const char *topic_type_word(smq_topic_type type);

/* The value of a field that is not a back-off, as a number. */
int64_t topic_field_get(const struct topic_field *field, const struct topic *topic);
void topic_field_set(const struct topic_field *field, struct topic *topic, int64_t value);

/* The text of a field as it is stored. */
void topic_field_format(char out[TOPIC_VALUE_MAX], const struct topic_field *field,
                        const struct topic *topic);

/* Is the value one of the words, or in the range?  Fails: INVALID; the text names field and range,
 * with `none` as the word for having none. */
smq_status topic_field_check(const struct topic_field *field, int64_t value, const char *none,
                             smq_error *err);

/* The failure of that check for a number. */
smq_status topic_field_out_of_range(const struct topic_field *field, int64_t value,
                                    const char *none, smq_error *err);

/* The index of a word, or -1. */
int topic_field_word(const struct topic_field *field, const char *text);

/* Every field, and what fields demand of each other.  Fails: INVALID. */
smq_status topic_check(const struct topic *topic, smq_error *err);

#endif
