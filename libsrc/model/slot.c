/* slot.c - which slot a key belongs to, and the Redis keys of a slot.
 *
 * Pure. */
#include "model/slot.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

int32_t slot_of_key(const void *key, size_t len, int32_t slots)
{
    return (int32_t) (crc32_z(0, key, len) & (uint32_t) (slots - 1));
}

/* Make "dead{T_i}" of "dead{" and "T_i". */
static void slot_key_fill(char *out, const char *noun, const char *store, size_t len)
{
    for (; *noun != '\0'; noun++) {
        *out++ = *noun;
    }
    memcpy(out, store, len);
    memcpy(out + len, "}", 2);
}

void slot_keys_fill(struct slot_keys *out, const char *topic, int32_t slot)
{
    size_t len =
        (size_t) snprintf(out->store, SLOT_KEY_MAX, "%.*s_%d", TOPIC_NAME_MAX, topic, slot);

    slot_key_fill(out->prepare, "prepare{", out->store, len);
    slot_key_fill(out->dead, "dead{", out->store, len);
    slot_key_fill(out->why, "why{", out->store, len);
    slot_key_fill(out->slot, "slot{", out->store, len);
    slot_key_fill(out->body, "body{", out->store, len);
    slot_key_fill(out->wake, "wake{", out->store, len);
    out->hash_slot = slot_hash(out->store, len);
}

void slot_topic_key(char *out, const char *topic)
{
    snprintf(out, SLOT_KEY_MAX, "topic{%.*s}", TOPIC_NAME_MAX, topic);
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
