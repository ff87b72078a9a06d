/* member_text.h - the text of a member's node.
 *
 * Lines: "slotmq-member 1", "uuid U", "host H", "boot B", "pid P", "pid_namespace N", "started S",
 * "state ACTIVE" or "state UNREACHABLE", "marks 0a1b2c3d,99aabbcc" unless none are known, "format
 * 5" (versions before 0.3.0 write none, which means 4), and per topic "topic NAME NONCE WEIGHT
 * DRAIN_MS LEAVING APPLIED HELD STATED OWNED" with HELD and OWNED "-" or "0-5,9-9", or "0-5=TOKEN"
 * where tokens decide between two members.
 *
 * Below: member_slots.h.  Pure. */
#ifndef COORD_NODE_MEMBER_TEXT_H
#define COORD_NODE_MEMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "coord/node/member_slots.h"
#include "model/fingerprint.h"

enum {
    MEMBER_TEXT_MAX = 512 * 1024, /* readers of all versions take longer texts for damaged */
    MEMBER_TOPICS_MAX = MEMBER_TEXT_MAX / 16 * 15, /* of all lines of topics without their slots */
    MEMBER_WORD_MAX = 255,
    MEMBER_STATE_MAX = 15,
    MEMBER_DRAIN_MAX_MS = 1000000000 /* about 11 days */
};

struct member_topic {
    char name[MEMBER_WORD_MAX + 1];
    char nonce[MEMBER_WORD_MAX + 1];
    int32_t weight;
    int64_t drain_timeout_ms;
    bool leaving;
    int64_t applied; /* mzxid of the last assignment that was applied; 0: none */
    struct member_slots held;
    int64_t stated; /* mzxid of the damaged assignment for which `owned` is stated; 0: none */
    struct member_slots owned;
};

struct member_info {
    char uuid[MEMBER_WORD_MAX + 1]; /* of this start of the process */
    char host[MEMBER_WORD_MAX + 1];
    char boot[MEMBER_WORD_MAX + 1];
    char pid_namespace[MEMBER_WORD_MAX + 1]; /* the pid namespace of `pid`; "-": unknown */
    int64_t pid;
    int64_t started;                  /* when the process began, in clock ticks since the boot */
    char state[MEMBER_STATE_MAX + 1]; /* as it was read; other words than these two mean ACTIVE */
    struct fingerprint
        fingerprint; /* of the cluster on which it works; empty: unknown or not readable */
    int32_t format;  /* the newest format of topics that it knows */
    struct member_topic *topics; /* by name, then by nonce */
    size_t topic_count;
};

void member_info_fini(struct member_info *info);

/* Does any Redis node answer this member? */
bool member_info_is_reachable(const struct member_info *info);
void member_info_set_reachable(struct member_info *info, bool reachable);

/* Append the first lines; one member_text_topic() per topic follows. */
void member_text_head(struct buf *out, const struct member_info *info);
void member_text_topic(struct buf *out, const struct member_topic *topic);

/* The most bytes of a topic's line that states one range of held slots and no owned ones. */
size_t member_text_topic_size(const char *name, const char *nonce);

/* Read untrusted text; false: it is no member, and *out is empty. */
bool member_text_parse(struct member_info *out, const char *data, size_t len);

/* The topic with this name and nonce, or NULL. */
const struct member_topic *member_info_topic(const struct member_info *info, const char *name,
                                             const char *nonce);

/* Does the member ask for a topic of this name, with any nonce? */
bool member_info_asks(const struct member_info *info, const char *name);

#endif
