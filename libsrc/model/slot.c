/* slot.c - which slot a key belongs to, and the Redis keys of a slot.
 *
 * Pure. */
#include "model/slot.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "model/group.h"

int32_t slot_of_key(const void *key, size_t len, int32_t slots)
{
    return (int32_t) (crc32_z(0, key, len) & (uint32_t) (slots - 1));
}

/* What the keys of a slot are made of. */
struct slot_key_parts {
    const char *group; /* of `group_len` bytes; NULL: none */
    size_t group_len;
    char tag[SLOT_KEY_MAX]; /* T_i */
    size_t tag_len;
};

/* Make "dead{T_i}" of "dead" and "T_i", or "dead.G{T_i}". */
static void slot_key_fill(char *out, const char *noun, const struct slot_key_parts *parts)
{
    for (; *noun != '\0'; noun++) {
        *out++ = *noun;
    }
    if (parts->group != NULL) {
        *out++ = '.';
        memcpy(out, parts->group, parts->group_len);
        out += parts->group_len;
    }
    *out++ = '{';
    memcpy(out, parts->tag, parts->tag_len);
    memcpy(out + parts->tag_len, "}", 2);
}

/* Of a name that is too long the rest is left out. */
static void slot_key_split(struct slot_key_parts *out, const char *name)
{
    size_t len = strnlen(name, TOPIC_NAME_MAX);

    out->group = group_in(name);
    out->tag_len = group_topic_len(name);
    if (out->tag_len >= len) {
        out->tag_len = len;
        out->group = NULL;
    }
    out->group_len = out->group != NULL ? len - out->tag_len - 1 : 0;
    memcpy(out->tag, name, out->tag_len);
    out->tag[out->tag_len] = '\0';
}

void slot_keys_fill(struct slot_keys *out, const char *topic, int32_t slot)
{
    struct slot_key_parts parts;

    slot_key_split(&parts, topic);
    parts.tag_len +=
        (size_t) snprintf(parts.tag + parts.tag_len, SLOT_KEY_MAX - parts.tag_len, "_%d", slot);
    if (parts.group == NULL) {
        memcpy(out->store, parts.tag, parts.tag_len + 1);
    } else {
        slot_key_fill(out->store, "store", &parts);
    }
    slot_key_fill(out->prepare, "prepare", &parts);
    slot_key_fill(out->dead, "dead", &parts);
    slot_key_fill(out->why, "why", &parts);
    slot_key_fill(out->slot, "slot", &parts);
    slot_key_fill(out->body, "body", &parts);
    slot_key_fill(out->schedule, "schedule", &parts);
    slot_key_fill(out->done, "done", &parts);
    slot_key_fill(out->wake, "wake", &parts);
    out->hash_slot = slot_hash(parts.tag, parts.tag_len);
}

void slot_topic_key(char *out, const char *topic)
{
    struct slot_key_parts parts;

    slot_key_split(&parts, topic);
    slot_key_fill(out, "topic", &parts);
}

void slot_topic_tombstone(char *out, const char *topic)
{
    struct slot_key_parts parts;

    slot_key_split(&parts, topic);
    slot_key_fill(out, SLOT_TOMBSTONE, &parts);
}

void slot_key_shown(char *out, const char *topic)
{
    struct slot_key_parts parts;

    slot_key_split(&parts, topic);
    memcpy(parts.tag + parts.tag_len, "_I", 3);
    parts.tag_len += 2;
    slot_key_fill(out, "slot", &parts);
}

/* Read what begins with `noun` and ends with a tag: the length of the group, 0 for none; -1: it is
 * something else. */
static int slot_key_noun(const char *noun, const char *key, const char *open)
{
    size_t len = strlen(noun);

    if ((size_t) (open - key) < len || memcmp(key, noun, len) != 0) {
        return -1;
    }
    if (key + len == open) {
        return 0;
    }
    return key[len] == '.' && open - key - 1 > (int) len ? (int) (open - key - 1 - (int) len) : -1;
}

/* The number at the end of the tag, and the length of what is before it; -1: there is none. */
static int32_t slot_key_number(size_t *len, const char *tag)
{
    size_t at = *len;
    int32_t number = 0, unit = 1;

    for (; at > 0 && tag[at - 1] >= '0' && tag[at - 1] <= '9' && unit <= TOPIC_SLOTS_MAX; at--) {
        number += (tag[at - 1] - '0') * unit;
        unit *= 10;
    }
    if (unit == 1 || at < 2 || tag[at - 1] != '_' || number >= TOPIC_SLOTS_MAX) {
        return -1;
    }
    *len = at - 1;
    return number;
}

bool slot_key_read(struct slot_key_named *out, const char *key, size_t len)
{
    const char *open = memchr(key, '{', len);
    size_t tag_len;
    int group_len;

    if (open == NULL || key[len - 1] != '}') {
        return false;
    }
    tag_len = len - (size_t) (open + 1 - key) - 1;
    out->slot = -1;
    group_len = slot_key_noun("topic", key, open);
    if (group_len < 0) {
        group_len = slot_key_noun("slot", key, open);
        out->slot = slot_key_number(&tag_len, open + 1);
        if (group_len < 0 || out->slot < 0) {
            return false;
        }
    }
    if (tag_len == 0 || tag_len + 1 + (size_t) group_len > TOPIC_NAME_MAX) {
        return false;
    }
    (void) snprintf(out->topic, sizeof(out->topic), "%.*s%s%.*s", (int) tag_len, open + 1,
                    group_len > 0 ? "/" : "", group_len, open - group_len);
    return topic_check_name(out->topic, NULL) == SMQ_OK;
}

void slot_channels_right(char *out, const char *channel, size_t len)
{
    const char *number = memrchr(channel, '_', len);

    (void) snprintf(out, SLOT_KEY_MAX + 2, "&%.*s*",
                    (int) (number != NULL ? number + 1 - channel : 0), channel);
}

/* CRC16 as in Redis: polynomial 0x1021, initial value 0 ("XMODEM"); four bits per step. */
static uint16_t slot_crc16(const unsigned char *data, size_t len)
{
    static const uint16_t table[16] = {0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5,
                                       0x60c6, 0x70e7, 0x8108, 0x9129, 0xa14a, 0xb16b,
                                       0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
    uint16_t crc = 0;

    for (size_t i = 0; i < len; i++) {
        crc = (uint16_t) (crc << 4 ^ table[crc >> 12 ^ data[i] >> 4]);
        crc = (uint16_t) (crc << 4 ^ table[crc >> 12 ^ (data[i] & 0xf)]);
    }
    return crc;
}

/* The hash tag is the text between the first '{' and the next '}'; if that is empty or missing, it
 * is the whole key. */
uint16_t slot_hash(const void *key, size_t len)
{
    const char *tag = key;
    const char *open = memchr(key, '{', len);
    const char *close = open == NULL ? NULL : memchr(open, '}', len - (size_t) (open - tag));

    if (close != NULL && close > open + 1) {
        tag = open + 1;
        len = (size_t) (close - tag);
    }
    return slot_crc16((const unsigned char *) tag, len) % SLOT_HASH_SLOTS;
}
