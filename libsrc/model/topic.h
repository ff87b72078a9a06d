/* topic.h - the definition of a topic: checked, compared, written as text and read back.
 *
 * Pure. */
#ifndef MODEL_TOPIC_H
#define MODEL_TOPIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slotmq/topic.h>

#include "base/buf.h"
#include "model/backoff.h"
#include "model/group.h"

/* Plain digits, which the table of options also shows as text. */
#define TOPIC_SLOTS_MAX          65536
#define TOPIC_RETRIES_MAX        63
#define TOPIC_REPLICAS_MAX       16
#define TOPIC_BODY_INLINE_MAX    65536 /* also the default */
#define TOPIC_BODY_KEYED_DEFAULT 1048576
#define TOPIC_BODY_KEYED_MAX     268435456
#define TOPIC_PRIORITY_ARRIVAL   8191          /* the largest with ties by arrival */
#define TOPIC_PRIORITY_BYTES     1099511627776 /* with ties by bytes, 2^40 */
#define TOPIC_TIME_MAX_MS                                                                          \
    (INT64_C(1) << 43) /* limit of delays, times to live and points in time                        \
                        */

#define TOPIC_FORMAT_LEAST  4 /* also the default */
#define TOPIC_FORMAT_NEWEST 5
#define TOPIC_WHOLE_MAX     1024
#define TOPIC_WHOLE_DEFAULT 256
#define TOPIC_FIELD_FROM    256 /* in format 5: shorter bodies cost less behind their headers */

enum {
    TOPIC_NAME_MAX = 120,
    TOPIC_NONCE_LEN = 16,
    TOPIC_STAMP_MAX = TOPIC_NONCE_LEN + 12,
    TOPIC_KEY_MAX = 1024, /* limit of keys and ids */
    /* of the stored text and of the slots' contents.  In 5 messages may be whole in their members
     * (model/whole.h), and bodies stand behind their headers (lua/lib/body.lua); in 3 a slot of
     * layout keyed has the key done{T_i}; in 2 members contain the key, in both layouts; 1 was
     * written without a number */
    TOPIC_FORMAT_WHOLE = 5
};

/* A checked definition with all defaults filled in.  `nonce` ("" until it is stored) names one
 * creation of the topic; `version` counts its alterations from 1; `generation` >= 1 is the lower
 * bound of its tokens' generation. */
struct topic {
    char name[TOPIC_NAME_MAX + 1];
    /* The options, complete: one that may be none is 0 then, but delay_ms SMQ_NONE, for which 0 is
     * at once. */
#define TOPIC_OPTION(type, name, ...) type name;
#define TOPIC_TEXT(name, ...)
#include "model/topic_rows.h"
    struct backoff backoff;
    /* Its groups, as group_list_parse() writes them; "": none.  A topic with groups has no slots of
     * its own: each group has as many, with the stamp of this definition. */
    char groups[GROUP_LIST_MAX];
    char nonce[TOPIC_NONCE_LEN + 1];
    uint32_t version;
    uint32_t generation;
    /* stored next to the definition, and not a part of it */
    bool paused;
    uint32_t pauses;  /* how many pauses and resumes there were */
    uint32_t deletes; /* deletions that were begun, of all creations */
    bool disused;     /* it is being deleted because it was not used */
};

/* Is `name` letters, digits, '.', '_', '-', 1 .. 120 bytes, or TOPIC/GROUP of such names?  Fails:
 * INVALID. */
smq_status topic_check_name(const char *name, smq_error *err);

/* The same, and not the name of a group, because the caller wants to `what` it.  Fails: INVALID. */
smq_status topic_check_whole(const char *name, const char *what, smq_error *err);

/* The same, and not "." or "..", which only topics of earlier versions have: ZooKeeper has no node
 * of such a name, so no fleet can consume them.  Fails: INVALID. */
smq_status topic_check_new(const char *name, const char *what, smq_error *err);

/* Does the topic hold messages itself, so that it can be consumed and counted?  Fails: INVALID: it
 * has groups, and the text lists them. */
smq_status topic_check_holds(const struct topic *topic, smq_error *err);

/* The parts of a topic that hold messages: its groups, or itself if it has none.  How many they
 * are, 1 .. 16, and the name of one, by its index from 0. */
int topic_parts(const struct topic *topic);
void topic_part_name(char out[TOPIC_NAME_MAX + 1], const struct topic *topic, int index);

/* The definition of a part.  A group has its own generation, pauses and deletions, so these are 0
 * here. */
void topic_part(struct topic *out, const struct topic *topic, int index);

/* Is `name` the name of one of its parts? */
bool topic_has_part(const struct topic *topic, const char *name);

/* Fails: INVALID; the text names the option and its range.  Lease 100 ms .. 1 day. */
smq_status topic_from_options(struct topic *out, const smq_topic_options *options, smq_error *err);

/* Without a type the topic is a job queue. */
void topic_choose_type(smq_topic_options *given);

/* `out->backoff` points into `text`, `out->name` into `topic`. */
void topic_to_options(smq_topic_options *out, char text[BACKOFF_TEXT_MAX],
                      const struct topic *topic);

/* The default of max_body: inline 64 KiB, keyed 1 MiB. */
static inline int64_t topic_default_body(smq_layout layout)
{
    return layout == SMQ_LAYOUT_KEYED ? TOPIC_BODY_KEYED_DEFAULT : TOPIC_BODY_INLINE_MAX;
}

/* The stored text: fixed order, without name, nonce, version and generation, and without the
 * options from debounce_ms on that have their default; the format is at the begin:
 * "format=4 type=range_merge layout=inline slots=64 shared=no ties=arrival max_retries=16
 * backoff=exp:1000:600000 lease_ms=30000 delay_ms=none takeover=fast".  topic_parse() is for
 * untrusted text: another format fails as TOPIC_DIFFERS, and says what to do; unknown, missing or
 * doubled fields fail as INTERNAL ("the stored definition ... cannot be read"). */
void topic_format(struct buf *out, const struct topic *topic);
smq_status topic_parse(struct topic *out, const char *name, const char *text, size_t len,
                       smq_error *err);

/* The first field in which two definitions differ, as "slots is 64, not 32" (stored, requested).
 * false: they are equal. */
bool topic_difference(char *out, size_t size, const struct topic *stored,
                      const struct topic *asked);

/* As topic_difference(), only for the options that cannot be changed; also if only one of them has
 * groups. */
bool topic_fixed_difference(char *out, size_t size, const struct topic *stored,
                            const struct topic *asked);

/* Give the topic those of the options whose fields are named: "max_retries,ttl_ms".  Version and
 * nonce do not change.  Fails: INVALID (unknown, cannot be changed, out of range, or does not fit
 * the other options); then nothing has changed. */
smq_status topic_alter(struct topic *topic, const smq_topic_options *options, const char *fields,
                       smq_error *err);

/* The stamp that each script checks: "<nonce>.<version>". */
void topic_stamp(char out[TOPIC_STAMP_MAX], const struct topic *topic);

/* The letter that tells scripts the order of a topic: 'm' range_merge, 't' fixed_time, 'p' priority
 * with ties by arrival, 'b' priority with ties by bytes, 'f' fifo. */
char topic_kind(const struct topic *topic);

/* From how many bytes on the body of a message that is not whole has a field of its own; 0: each
 * has one. */
int64_t topic_field_from(const struct topic *topic);

#endif
