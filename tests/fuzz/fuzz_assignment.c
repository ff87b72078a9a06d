/* fuzz_assignment.c - the table of a topic's slots in ZooKeeper: as it is, and with the checksum
 * that its bytes should have, behind which hardly an input would come. */
#include <string.h>

#include <zlib.h>

#include "coord/node/assignment.h"
#include "fuzz/fuzz.h"

/* There is one form of a table. */
static void read_table(const char *data, size_t len)
{
    struct assignment assignment;
    struct buf again = {0};

    if (!assignment_decode(&assignment, data, len)) {
        FUZZ_CHECK(assignment.members == NULL && assignment.slots == NULL);
        return;
    }
    for (int32_t i = 0; i < assignment.slot_count; i++) {
        FUZZ_CHECK((assignment.slots[i] & ASSIGNMENT_MEMBER) <= assignment.member_count);
    }
    for (size_t i = 0; i < assignment.member_count; i++) {
        const struct assignment_member *member = &assignment.members[i];
        FUZZ_CHECK(assignment_find(&assignment, member->incarnation) <= i + 1);
    }
    assignment_encode(&again, &assignment);
    FUZZ_CHECK(again.len == len && memcmp(again.data, data, len) == 0);
    buf_fini(&again);
    assignment_fini(&assignment);
}

FUZZ_TARGET(assignment)
{
    uint32_t crc = (uint32_t) crc32(0, data, (uInt) size);
    unsigned char tail[4] = {(unsigned char) (crc >> 24), (unsigned char) (crc >> 16),
                             (unsigned char) (crc >> 8), (unsigned char) crc};
    struct buf whole = {0};

    read_table((const char *) data, size);
    buf_add(&whole, data, size);
    buf_add(&whole, tail, sizeof(tail));
    read_table(whole.data, whole.len);
    buf_fini(&whole);
}
