/* test_assignment.c - the table of a topic's slots: what is written is read, nothing else is. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "coord/node/assignment.h"
#include "model/topic.h"
#include "support/group.h"

enum { CRC_SIZE = 4 };

static struct assignment example(void)
{
    static const uint16_t slots[] = {0, 1, 2, ASSIGNMENT_REVOKING | 1, ASSIGNMENT_REVOKING | 2, 2};
    struct assignment assignment = {
        .epoch = 7,
        .members = memory_new(2 * sizeof(struct assignment_member)),
        .member_count = 2,
        .slots = memory_new(sizeof(slots)),
        .slot_count = 6,
    };

    memcpy(assignment.slots, slots, sizeof(slots));
    assignment.members[0] = (struct assignment_member){
        .incarnation = 0x100000002, .weight = 4, .id = memory_string("host-1-a")};
    assignment.members[1] = (struct assignment_member){
        .incarnation = INT64_MAX, .weight = 65535, .id = memory_string("b")};
    return assignment;
}

static struct buf example_bytes(void)
{
    struct assignment assignment = example();
    struct buf bytes = {0};

    assignment_encode(&bytes, &assignment);
    assignment_fini(&assignment);
    return bytes;
}

static bool reads(const char *data, size_t len)
{
    struct assignment assignment;
    char *room = malloc(len + 1);
    char *exact = room + 1; /* so that a read behind the end is seen */
    bool good = false;

    assert_non_null(room);
    memcpy(exact, data, len);
    good = assignment_decode(&assignment, exact, len);
    if (!good) {
        assert_int_equal(assignment.slot_count, 0);
        assert_int_equal(assignment.member_count, 0);
    }
    assignment_fini(&assignment);
    free(room);
    return good;
}

/* Make the checksum right again, as a writer with a defect would. */
static void seal(struct buf *bytes)
{
    uLong crc = crc32(0, (const Bytef *) bytes->data, (uInt) (bytes->len - CRC_SIZE));

    for (int i = 0; i < CRC_SIZE; i++) {
        bytes->data[bytes->len - CRC_SIZE + (size_t) i] = (char) (crc >> (24 - 8 * i));
    }
}

static void what_is_written_is_read(void **state)
{
    struct assignment written = example();
    struct assignment read;
    struct buf bytes = {0};

    assignment_encode(&bytes, &written);
    assert_true(assignment_decode(&read, bytes.data, bytes.len));
    assert_int_equal(read.epoch, 7);
    assert_int_equal(read.member_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(read.members[i].incarnation == written.members[i].incarnation);
        assert_int_equal(read.members[i].weight, written.members[i].weight);
        assert_string_equal(read.members[i].id, written.members[i].id);
    }
    assert_int_equal(read.slot_count, 6);
    assert_memory_equal(read.slots, written.slots, 6 * sizeof(*read.slots));
    assert_int_equal(assignment_find(&read, INT64_MAX), 2);
    assert_int_equal(assignment_find(&read, 1), 0);
    assignment_fini(&written);
    assignment_fini(&read);
    buf_fini(&bytes);
}

static void the_largest_topic_fits(void **state)
{
    struct assignment assignment = {.slots = memory_new(TOPIC_SLOTS_MAX * sizeof(uint16_t)),
                                    .slot_count = TOPIC_SLOTS_MAX};
    struct buf bytes = {0};

    assignment_encode(&bytes, &assignment);
    assert_true(bytes.len <= ASSIGNMENT_SIZE_MAX);
    assert_true(reads(bytes.data, bytes.len));
    assignment_fini(&assignment);
    buf_fini(&bytes);
}

static void a_part_is_refused_at_every_length(void **state)
{
    struct buf bytes = example_bytes();

    for (size_t len = 0; len < bytes.len; len++) {
        assert_false(reads(bytes.data, len));
    }
    assert_true(reads(bytes.data, bytes.len));
    buf_fini(&bytes);
}

/* Also when the checksum of the part is right. */
static void a_part_with_a_right_checksum_is_refused(void **state)
{
    struct buf whole = example_bytes();

    for (size_t len = CRC_SIZE; len < whole.len; len++) {
        struct buf part = {0};

        buf_add(&part, whole.data, len);
        seal(&part);
        assert_false(reads(part.data, part.len));
        buf_fini(&part);
    }
    buf_fini(&whole);
}

static void every_flipped_bit_is_refused(void **state)
{
    struct buf bytes = example_bytes();

    for (size_t bit = 0; bit < bytes.len * 8; bit++) {
        bytes.data[bit / 8] = (char) (bytes.data[bit / 8] ^ (1 << bit % 8));
        assert_false(reads(bytes.data, bytes.len));
        bytes.data[bit / 8] = (char) (bytes.data[bit / 8] ^ (1 << bit % 8));
    }
    buf_fini(&bytes);
}

/* With the checksum made right, a changed byte may be read or not, but never out of bounds. */
static void every_changed_byte_is_read_safely(void **state)
{
    struct buf bytes = example_bytes();

    for (size_t at = 0; at < bytes.len - CRC_SIZE; at++) {
        char old = bytes.data[at];

        for (int value = 0; value < 256; value++) {
            bytes.data[at] = (char) value;
            seal(&bytes);
            (void) reads(bytes.data, bytes.len);
        }
        bytes.data[at] = old;
    }
    buf_fini(&bytes);
}

static void an_owner_that_is_not_listed_is_refused(void **state)
{
    static const uint16_t bad[] = {3, ASSIGNMENT_REVOKING | 3, ASSIGNMENT_REVOKING,
                                   ASSIGNMENT_MEMBER};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct assignment assignment = example();
        struct buf bytes = {0};

        assignment.slots[3] = bad[i];
        assignment_encode(&bytes, &assignment);
        assert_false(reads(bytes.data, bytes.len));
        assignment_fini(&assignment);
        buf_fini(&bytes);
    }
}

static void another_format_is_refused(void **state)
{
    static const struct {
        size_t at;
        char value;
    } cases[] = {{0, 'X'}, {5, 1}, {5, 3}, {7, 1}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf bytes = example_bytes();

        bytes.data[cases[i].at] = cases[i].value;
        seal(&bytes);
        assert_false(reads(bytes.data, bytes.len));
        buf_fini(&bytes);
    }
}

TEST_GROUP(assignment)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(the_largest_topic_fits),
        cmocka_unit_test(a_part_is_refused_at_every_length),
        cmocka_unit_test(a_part_with_a_right_checksum_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(every_changed_byte_is_read_safely),
        cmocka_unit_test(an_owner_that_is_not_listed_is_refused),
        cmocka_unit_test(another_format_is_refused),
    };

    return cmocka_run_group_tests_name("assignment", tests, NULL, NULL);
}
