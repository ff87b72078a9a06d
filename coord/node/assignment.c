/* assignment.c - encoding and reading the table of a topic's slots.
 *
 * Pure. */
#include "coord/node/assignment.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "model/topic.h"

enum { ASSIGNMENT_VERSION = 2, ASSIGNMENT_CRC_SIZE = 4 };

static const char assignment_magic[4] = {'S', 'M', 'Q', 'A'};

/* The bytes that are still to be read.  Invariant: once `bad` is set everything reads as 0. */
struct assignment_reader {
    const unsigned char *at;
    size_t left;
    bool bad;
};

void assignment_fini(struct assignment *assignment)
{
    for (size_t i = 0; i < assignment->member_count; i++) {
        free(assignment->members[i].id);
    }
    free(assignment->members);
    free(assignment->slots);
    *assignment = (struct assignment){0};
}

uint16_t assignment_find(const struct assignment *assignment, int64_t incarnation)
{
    for (size_t i = 0; i < assignment->member_count; i++) {
        if (assignment->members[i].incarnation == incarnation) {
            return (uint16_t) (i + 1);
        }
    }
    return 0;
}

int64_t assignment_newest(const struct assignment *assignment, const char *id)
{
    int64_t newest = 0;

    for (size_t i = 0; i < assignment->member_count; i++) {
        const struct assignment_member *member = &assignment->members[i];

        if (member->incarnation > newest && strcmp(member->id, id) == 0) {
            newest = member->incarnation;
        }
    }
    return newest;
}

static void assignment_put(struct buf *out, uint64_t value, size_t bytes)
{
    char *at = buf_room(out, bytes);

    for (size_t i = 0; i < bytes; i++) {
        at[i] = (char) (unsigned char) (value >> (8 * (bytes - 1 - i)));
    }
    out->len += bytes;
}

static uint32_t assignment_crc(const char *data, size_t len)
{
    return (uint32_t) crc32(0, (const Bytef *) data, (uInt) len);
}

void assignment_encode(struct buf *out, const struct assignment *assignment)
{
    size_t start = out->len;

    buf_add(out, assignment_magic, sizeof(assignment_magic));
    assignment_put(out, ASSIGNMENT_VERSION, 2);
    assignment_put(out, 0, 2);
    assignment_put(out, (uint32_t) assignment->epoch, 4);
    assignment_put(out, assignment->member_count, 4);
    assignment_put(out, (uint32_t) assignment->slot_count, 4);
    for (size_t i = 0; i < assignment->member_count; i++) {
        const struct assignment_member *member = &assignment->members[i];
        size_t len = strlen(member->id);

        assignment_put(out, (uint64_t) member->incarnation, 8);
        assignment_put(out, (uint32_t) member->weight, 4);
        assignment_put(out, len, 2);
        buf_add(out, member->id, len);
    }
    for (int32_t i = 0; i < assignment->slot_count; i++) {
        assignment_put(out, assignment->slots[i], 2);
    }
    assignment_put(out, assignment_crc(out->data + start, out->len - start), ASSIGNMENT_CRC_SIZE);
}

static uint64_t assignment_get(struct assignment_reader *reader, size_t bytes)
{
    uint64_t value = 0;

    if (reader->bad || reader->left < bytes) {
        reader->bad = true;
        return 0;
    }
    for (size_t i = 0; i < bytes; i++) {
        value = value << 8 | reader->at[i];
    }
    reader->at += bytes;
    reader->left -= bytes;
    return value;
}

static bool assignment_read_member(struct assignment_member *out, struct assignment_reader *reader)
{
    size_t len = 0;

    out->incarnation = (int64_t) assignment_get(reader, 8);
    out->weight = (int32_t) assignment_get(reader, 4);
    len = assignment_get(reader, 2);
    if (reader->bad || len == 0 || len > ASSIGNMENT_ID_MAX || len > reader->left ||
        memchr(reader->at, '\0', len) != NULL) {
        return false;
    }
    out->id = memory_copy(reader->at, len);
    reader->at += len;
    reader->left -= len;
    return true;
}

static bool assignment_read(struct assignment *out, struct assignment_reader *reader)
{
    size_t members = 0;
    size_t slots = 0;

    out->epoch = (int32_t) assignment_get(reader, 4);
    members = assignment_get(reader, 4);
    slots = assignment_get(reader, 4);
    if (reader->bad || members > ASSIGNMENT_MEMBERS_MAX || slots < 1 || slots > TOPIC_SLOTS_MAX ||
        members * 15 + slots * 2 > reader->left) {
        return false;
    }
    out->members = memory_new((members + 1) * sizeof(*out->members));
    for (; out->member_count < members; out->member_count++) {
        if (!assignment_read_member(&out->members[out->member_count], reader)) {
            return false;
        }
    }
    if (reader->left != slots * 2) {
        return false;
    }
    out->slots = memory_new(slots * sizeof(*out->slots));
    out->slot_count = (int32_t) slots;
    for (size_t i = 0; i < slots; i++) {
        uint16_t entry = (uint16_t) assignment_get(reader, 2);

        if ((entry & ASSIGNMENT_MEMBER) > members || entry == ASSIGNMENT_REVOKING) {
            return false;
        }
        out->slots[i] = entry;
    }
    return true;
}

bool assignment_decode(struct assignment *out, const char *data, size_t len)
{
    struct assignment_reader reader = {.at = (const unsigned char *) data, .left = len};
    struct assignment_reader tail = {.left = ASSIGNMENT_CRC_SIZE};

    *out = (struct assignment){0};
    if (len < sizeof(assignment_magic) + 4 + ASSIGNMENT_CRC_SIZE || len > ASSIGNMENT_SIZE_MAX ||
        memcmp(data, assignment_magic, sizeof(assignment_magic)) != 0) {
        return false;
    }
    tail.at = reader.at + len - ASSIGNMENT_CRC_SIZE;
    if (assignment_get(&tail, ASSIGNMENT_CRC_SIZE) !=
        assignment_crc(data, len - ASSIGNMENT_CRC_SIZE)) {
        return false;
    }
    reader.left -= ASSIGNMENT_CRC_SIZE;
    (void) assignment_get(&reader, sizeof(assignment_magic));
    uint64_t version = assignment_get(&reader, 2);
    uint64_t reserved = assignment_get(&reader, 2);
    if (version != ASSIGNMENT_VERSION || reserved != 0 || !assignment_read(out, &reader)) {
        assignment_fini(out);
        return false;
    }
    return true;
}
