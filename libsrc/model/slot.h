/* slot.h - which slot a key belongs to, and the Redis keys of a slot.
 *
 * Pure. */
#ifndef MODEL_SLOT_H
#define MODEL_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/topic.h"

enum { SLOT_KEY_MAX = TOPIC_NAME_MAX + 24, SLOT_HASH_SLOTS = 16384 };

/* The keys of slot i of topic T.  All share the hash tag T_i, so they live on one node.  Those of a
 * group G of the topic have the same tag, and `.G` in front of it: store.G{T_i}, prepare.G{T_i}. */
struct slot_keys {
    char store[SLOT_KEY_MAX];    /* T_i          */
    char prepare[SLOT_KEY_MAX];  /* prepare{T_i} */
    char dead[SLOT_KEY_MAX];     /* dead{T_i}    */
    char why[SLOT_KEY_MAX];      /* why{T_i}     */
    char slot[SLOT_KEY_MAX];     /* slot{T_i}    */
    char body[SLOT_KEY_MAX];     /* body{T_i}, of keyed topics only, as done */
    char done[SLOT_KEY_MAX];     /* done{T_i}    */
    char schedule[SLOT_KEY_MAX]; /* schedule{T_i}, if the slot ever had schedules */
    char wake[SLOT_KEY_MAX];     /* wake{T_i}, a channel */
    uint16_t hash_slot;
};

/* crc32(key) & (slots - 1), zlib's crc32.  `slots` is a power of two. */
int32_t slot_of_key(const void *key, size_t len, int32_t slots);

/* `topic` is the name of a topic, or TOPIC/GROUP. */
void slot_keys_fill(struct slot_keys *out, const char *topic, int32_t slot);

/* "topic{T}", the hash with the definition; of a group "topic.G{T}".  `out` has SLOT_KEY_MAX
 * bytes. */
void slot_topic_key(char *out, const char *topic);

/* "tombstone{T}", what a deletion leaves for a while; of a slot "tombstone{T_I}", of a group
 * "tombstone.G{T}".  `out` has SLOT_KEY_MAX bytes. */
#define SLOT_TOMBSTONE "tombstone"
void slot_topic_tombstone(char *out, const char *topic);

/* "slot{T_I}", the name for people of the hashes of all slots; of a group "slot.G{T_I}".  `out` has
 * SLOT_KEY_MAX bytes. */
void slot_key_shown(char *out, const char *topic);

/* The right of Redis to publish to all slots of the topic that has this channel: "&wake{orders_*"
 * of "wake{orders_3}".  `out` has SLOT_KEY_MAX + 2 bytes. */
void slot_channels_right(char *out, const char *channel, size_t len);

/* The hash slot of a Redis key: CRC16 (XMODEM) of its hash tag, modulo 16384. */
uint16_t slot_hash(const void *key, size_t len);

/* What the keys of all topics begin with: a pattern of SCAN, for slot_key_read(). */
#define SLOT_KEY_PATTERN "[st][lo][op]*{*}"

/* A key of Redis that names a topic: topic{T}, slot{T_I}, and those of a group. */
struct slot_key_named {
    char topic[TOPIC_NAME_MAX + 1]; /* a topic, or TOPIC/GROUP */
    int32_t slot;                   /* -1: topic{T} */
};

/* Read such a key; false: it is none. */
bool slot_key_read(struct slot_key_named *out, const char *key, size_t len);

/* A hash with a field for each topic, or each group in the place of its topic.  It also has the
 * field SLOT_REGISTRY_LOST if names were found missing, and nobody has looked for all topics
 * since. */
#define SLOT_REGISTRY_KEY  "slotmq{topics}"
#define SLOT_REGISTRY_LOST ""

/* A sorted set of the topics that expire, by the time when somebody is to look whether they are
 * still used. */
#define SLOT_EXPIRING_KEY "slotmq{expiring}"

#endif
