/* assignment.h - the table of a topic's slots, as it is stored in ZooKeeper.
 *
 * Layout, big endian: "SMQA", u16 version, u16 0, u32 assigner epoch, u32 members, u32 slots; per
 * member i64 incarnation, i32 weight, u16 length and bytes of the id; per slot u16; u32 CRC32 of
 * everything before.
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_NODE_ASSIGNMENT_H
#define COORD_NODE_ASSIGNMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    ASSIGNMENT_SIZE_MAX = 256 * 1024,
    ASSIGNMENT_MEMBERS_MAX = 0x7fff,
    ASSIGNMENT_REVOKING = 0x8000, /* flag of an entry: the slot is being revoked from the member */
    ASSIGNMENT_MEMBER = 0x7fff,   /* mask of an entry: number of the member from 1, or 0 */
    ASSIGNMENT_ID_MAX = 255
};

struct assignment_member {
    int64_t incarnation;
    int32_t weight;
    char *id;
};

/* A zeroed assignment is empty and valid.  Invariant: the member of every entry is 0 ..
 * member_count. */
struct assignment {
    int32_t epoch;                     /* of the assigner that wrote it: its low 32 bits */
    struct assignment_member *members; /* number i is members[i - 1] */
    size_t member_count;
    uint16_t *slots;
    int32_t slot_count;
};

void assignment_fini(struct assignment *assignment);

/* The number of the member with this incarnation; 0: there is none. */
uint16_t assignment_find(const struct assignment *assignment, int64_t incarnation);

/* The newest incarnation of the member with this name; 0: there is none. */
int64_t assignment_newest(const struct assignment *assignment, const char *id);

/* Append the encoded assignment to `out`. */
void assignment_encode(struct buf *out, const struct assignment *assignment);

/* Read untrusted bytes; false: they are no assignment, and *out is empty. */
bool assignment_decode(struct assignment *out, const char *data, size_t len);

#endif
