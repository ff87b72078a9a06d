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

enum {
    TOPIC_NAME_MAX = 120,
    TOPIC_SLOTS_MAX = 65536,
    TOPIC_SLOTS_DEFAULT = 64,
    TOPIC_RETRIES_MAX = 63,
    TOPIC_RETRIES_DEFAULT = 16,
    TOPIC_LEASE_DEFAULT_MS = 30000,
    TOPIC_NONCE_LEN = 16,
    TOPIC_STAMP_MAX = TOPIC_NONCE_LEN + 12,
    TOPIC_BODY_MAX = 64 * 1024,
    TOPIC_KEY_MAX = 1024
};

/* A checked definition, every default filled in.  `nonce` ("" until stored) names one creation of
 * the topic; `version` counts its alterations from 1; `generation` >= 1 is the floor of its
 * tokens'. */
struct topic {
    char name[TOPIC_NAME_MAX + 1];
    smq_topic_type type;
    int32_t slots;
    bool shared;
    smq_ties ties;
    int32_t max_retries; /* 0 .. 63 */
    struct backoff backoff;
    int64_t lease_ms;
    int64_t delay_ms; /* SMQ_NONE: sends must bring their own */
    smq_takeover takeover;
    char nonce[TOPIC_NONCE_LEN + 1];
    uint32_t version;
    uint32_t generation;
};

/* Is `name` letters, digits, '.', '_', '-', 1 .. 120 bytes?  Fails: INVALID. */
smq_status topic_check_name(const char *name, smq_error *err);

/* Fails: INVALID; the text names the option and its range.  Lease 100 ms .. 1 day. */
smq_status topic_from_options(struct topic *out, const smq_topic_options *options, smq_error *err);

/* `out->backoff` points into `text`, `out->name` into `topic`. */
void topic_to_options(smq_topic_options *out, char text[BACKOFF_TEXT_MAX],
                      const struct topic *topic);

/* The stored text: fixed order, every field, without name, nonce, version and generation:
 * "type=range_merge slots=64 shared=no ties=arrival max_retries=16 backoff=exp:1000:600000
 * lease_ms=30000 delay_ms=none takeover=fast".  topic_parse() is for untrusted text: unknown,
 * missing or doubled fields fail as INTERNAL ("the stored definition ... cannot be read"). */
void topic_format(struct buf *out, const struct topic *topic);
smq_status topic_parse(struct topic *out, const char *name, const char *text, size_t len,
                       smq_error *err);

/* The first field in which two definitions differ: "slots is 64, not 32" (stored, asked). false:
 * none. */
bool topic_difference(char *out, size_t size, const struct topic *stored,
                      const struct topic *asked);

/* The stamp that each script checks: "<nonce>.<version>". */
void topic_stamp(char out[TOPIC_STAMP_MAX], const struct topic *topic);

/* The letter by which scripts know the order of a topic: 'm' range_merge, 't' fixed_time,
 * 'p' priority with ties by arrival, 'b' priority with ties by bytes. */
char topic_kind(const struct topic *topic);

#endif
