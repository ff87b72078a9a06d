/* test_send.c - one message against a topic. */
#include <stdlib.h>
#include <string.h>

#include "model/send.h"
#include "model/slot.h"
#include "support/group.h"

#define MESSAGE .body = {"abc", 3}

enum { TIME_MAX_BITS = 43 };
static const int64_t time_max = INT64_C(1) << TIME_MAX_BITS;

static const smq_header one_header[] = {{"name", {"value", 5}}};

static char big[TOPIC_BODY_INLINE_MAX + 2];

static int fill_big(void **state)
{
    memset(big, 'x', sizeof(big) - 1);
    return 0;
}

/* --- what does not depend on the topic --- */

static void largest_message_is_taken(void **state)
{
    struct message message = {.body = {big, TOPIC_BODY_INLINE_MAX},
                              .key = {big, TOPIC_KEY_MAX},
                              .id = {big, TOPIC_KEY_MAX},
                              .ttl_ms = time_max,
                              .max_retries = TOPIC_RETRIES_MAX,
                              .delay_ms = time_max};

    assert_int_equal(send_check(&message, NULL), SMQ_OK);
}

static const struct {
    struct message message;
    smq_status status;
    const char *text;
} bad_messages[] = {
    {{.body = {NULL, 3}}, SMQ_INVALID, "the body has a length but no pointer"},
    {{.body = {NULL, SIZE_MAX}}, SMQ_INVALID, "the body has a length but no pointer"},
    {{.body = {"", TOPIC_BODY_KEYED_MAX + 1}},
     SMQ_TOO_BIG,
     "the body has 268435457 bytes, and no topic accepts more than 268435456"},
    {{MESSAGE, .key = {"k", 0}}, SMQ_INVALID, "the key is empty: at least 1 byte is needed"},
    {{MESSAGE, .key = {NULL, 1}}, SMQ_INVALID, "the key has a length but no pointer"},
    {{MESSAGE, .key = {big, TOPIC_KEY_MAX + 1}},
     SMQ_TOO_BIG,
     "the key has 1025 bytes: at most 1024 are allowed"},
    {{MESSAGE, .id = {"i", 0}}, SMQ_INVALID, "the id is empty: at least 1 byte is needed"},
    {{MESSAGE, .id = {NULL, 1}}, SMQ_INVALID, "the id has a length but no pointer"},
    {{MESSAGE, .id = {big, TOPIC_KEY_MAX + 1}},
     SMQ_TOO_BIG,
     "the id has 1025 bytes: at most 1024 are allowed"},
    {{MESSAGE, .ttl_ms = -2},
     SMQ_INVALID,
     "ttl_ms must be from 1 to 8796093022208, 0 for the topic's, or SMQ_NONE, not -2"},
    {{MESSAGE, .ttl_ms = INT64_C(8796093022209)},
     SMQ_INVALID,
     "ttl_ms must be from 1 to 8796093022208, 0 for the topic's, or SMQ_NONE, not "
     "8796093022209"},
    {{MESSAGE, .max_retries = 64},
     SMQ_INVALID,
     "max_retries must be from 1 to 63, 0 for the topic's, or SMQ_NONE, not 64"},
    {{MESSAGE, .max_retries = -2},
     SMQ_INVALID,
     "max_retries must be from 1 to 63, 0 for the topic's, or SMQ_NONE, not -2"},
    {{MESSAGE, .delay_ms = 5, .due_at_ms = 5},
     SMQ_INVALID,
     "set either delay_ms or due_at_ms, not both"},
    {{MESSAGE, .delay_ms = SMQ_TOPIC_DELAY, .due_at_ms = 5},
     SMQ_INVALID,
     "set either delay_ms or due_at_ms, not both"},
    {{MESSAGE, .delay_ms = -3},
     SMQ_INVALID,
     "delay_ms must be from 0 to 8796093022208, or SMQ_TOPIC_DELAY, not -3"},
    {{MESSAGE, .delay_ms = SMQ_NONE},
     SMQ_INVALID,
     "delay_ms is SMQ_NONE: at once is 0, and the delay of the topic SMQ_TOPIC_DELAY"},
    {{MESSAGE, .delay_ms = INT64_MIN},
     SMQ_INVALID,
     "delay_ms must be from 0 to 8796093022208, or SMQ_TOPIC_DELAY, not -9223372036854775808"},
    {{MESSAGE, .delay_ms = INT64_C(8796093022209)},
     SMQ_INVALID,
     "delay_ms must be from 0 to 8796093022208, or SMQ_TOPIC_DELAY, not 8796093022209"},
    {{MESSAGE, .due_at_ms = INT64_C(8796093022209)},
     SMQ_INVALID,
     "due_at_ms must be from 0 to 8796093022208, not 8796093022209"},
    {{MESSAGE, .due_at_ms = -7}, SMQ_INVALID, "due_at_ms must be from 0 to 8796093022208, not -7"},
    {{MESSAGE, .due_at_ms = INT64_C(-8796093022209), .restored = true},
     SMQ_INVALID,
     "due_at_ms must be from -8796093022208 to 8796093022208, not -8796093022209"},
    {{MESSAGE, .restored = true, .attempt = 64},
     SMQ_INVALID,
     "attempt must be from 0 to 63, not 64"},
    {{MESSAGE, .restored = true, .sent_at_ms = -1},
     SMQ_INVALID,
     "sent_at_ms must be from 0 to 8796093022208, not -1"},
    {{MESSAGE, .restored = true, .expires_at_ms = INT64_C(8796093022209)},
     SMQ_INVALID,
     "expires_at_ms must be from 0 to 8796093022208, not 8796093022209"},
};

static void bad_messages_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof(bad_messages) / sizeof(bad_messages[0]); i++) {
        smq_error err = SMQ_ERROR_INIT;

        assert_int_equal(send_check(&bad_messages[i].message, &err), bad_messages[i].status);
        assert_int_equal(err.status, bad_messages[i].status);
        assert_string_equal(err.text, bad_messages[i].text);
    }
}

/* --- what depends on the topic --- */

static const struct topic merge = {.name = "m",
                                   .type = SMQ_TYPE_RANGE_MERGE,
                                   .layout = SMQ_LAYOUT_INLINE,
                                   .slots = 64,
                                   .delay_ms = SMQ_NONE,
                                   .max_body = TOPIC_BODY_INLINE_MAX};
static const struct topic late = {.name = "l",
                                  .type = SMQ_TYPE_RANGE_MERGE,
                                  .layout = SMQ_LAYOUT_INLINE,
                                  .slots = 64,
                                  .delay_ms = 3000,
                                  .max_body = TOPIC_BODY_INLINE_MAX};
static const struct topic soon = {.name = "s",
                                  .type = SMQ_TYPE_RANGE_MERGE,
                                  .layout = SMQ_LAYOUT_INLINE,
                                  .slots = 64,
                                  .delay_ms = 0,
                                  .max_body = TOPIC_BODY_INLINE_MAX};
static const struct topic timed = {.name = "t",
                                   .type = SMQ_TYPE_FIXED_TIME,
                                   .layout = SMQ_LAYOUT_INLINE,
                                   .slots = 64,
                                   .delay_ms = SMQ_NONE,
                                   .max_body = TOPIC_BODY_INLINE_MAX};
static const struct topic arrival = {.name = "p",
                                     .type = SMQ_TYPE_PRIORITY,
                                     .layout = SMQ_LAYOUT_INLINE,
                                     .slots = 64,
                                     .delay_ms = SMQ_NONE,
                                     .max_body = TOPIC_BODY_INLINE_MAX};
static const struct topic bytes = {.name = "b",
                                   .type = SMQ_TYPE_PRIORITY,
                                   .layout = SMQ_LAYOUT_INLINE,
                                   .slots = 64,
                                   .ties = SMQ_TIES_BYTES,
                                   .delay_ms = SMQ_NONE,
                                   .max_body = TOPIC_BODY_INLINE_MAX};

static const struct topic keyed = {.name = "k",
                                   .type = SMQ_TYPE_FIXED_TIME,
                                   .layout = SMQ_LAYOUT_KEYED,
                                   .slots = 64,
                                   .delay_ms = SMQ_NONE,
                                   .ttl_ms = 700,
                                   .max_body = 100};
static const struct topic fifo = {.name = "f",
                                  .type = SMQ_TYPE_FIFO,
                                  .layout = SMQ_LAYOUT_KEYED,
                                  .slots = 64,
                                  .delay_ms = SMQ_NONE,
                                  .max_body = 100};

static void when_is_what_the_script_gets(void **state)
{
    static const struct {
        const struct topic *topic;
        struct message message;
        const char *when;
    } cases[] = {
        {&merge, {MESSAGE, .delay_ms = 5000}, "+5000"},
        {&merge, {MESSAGE}, "+0"},
        {&merge, {MESSAGE, .delay_ms = SMQ_TOPIC_DELAY}, "+0"},
        {&merge, {MESSAGE, .delay_ms = INT64_C(1) << TIME_MAX_BITS}, "+8796093022208"},
        {&late, {MESSAGE}, "+0"},
        {&late, {MESSAGE, .delay_ms = SMQ_TOPIC_DELAY}, "+3000"},
        {&late, {MESSAGE, .delay_ms = 5}, "+5"},
        {&timed, {MESSAGE}, "0"},
        {&timed, {MESSAGE, .delay_ms = SMQ_TOPIC_DELAY}, "0"},
        {&timed, {MESSAGE, .delay_ms = 5000}, "+5000"},
        {&timed, {MESSAGE, .due_at_ms = INT64_C(1700000000020)}, "1700000000020"},
        {&timed, {MESSAGE, .due_at_ms = -5}, "-5"},
        {&timed, {MESSAGE, .due_at_ms = -(INT64_C(1) << TIME_MAX_BITS)}, "-8796093022208"},
        {&arrival, {MESSAGE}, "0"},
        {&soon, {MESSAGE, .delay_ms = SMQ_TOPIC_DELAY}, "+0"},
        {&soon, {MESSAGE, .delay_ms = 5}, "+5"},
        {&arrival, {MESSAGE, .priority = 7, .delay_ms = SMQ_TOPIC_DELAY}, "7"},
        {&fifo, {MESSAGE, .id = {"abc", 3}, .delay_ms = SMQ_TOPIC_DELAY}, "0"},
        {&arrival, {MESSAGE, .priority = 8191}, "8191"},
        {&arrival, {MESSAGE, .priority = -8191}, "-8191"},
        {&bytes, {MESSAGE, .priority = INT64_C(1) << 40}, "1099511627776"},
        {&bytes, {MESSAGE, .priority = -(INT64_C(1) << 40)}, "-1099511627776"},
        {&keyed, {MESSAGE, .id = {"abc", 3}, .delay_ms = 5}, "+5"},
        {&fifo, {MESSAGE, .id = {"abc", 3}}, "0"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct send_place place = {.slot = -1};
        smq_error err = SMQ_ERROR_INIT;

        if (send_place(&place, cases[i].topic, &cases[i].message, &err) != SMQ_OK) {
            fail_msg("case %zu: %s", i, err.text);
        }
        assert_string_equal(place.when, cases[i].when);
        assert_int_equal(place.slot, slot_of_key("abc", 3, 64));
    }
}

/* What is restored follows the place; all others get the place alone. */
static void when_of_restored_messages_has_what_was_stored(void **state)
{
    static const struct {
        const struct topic *topic;
        struct message message;
        const char *when;
    } cases[] = {
        {&timed, {MESSAGE, .due_at_ms = 20}, "20"},
        {&timed, {MESSAGE, .due_at_ms = 20, .restored = true}, "20/0//"},
        {&timed, {MESSAGE, .due_at_ms = 20, .restored = true, .attempt = 3}, "20/6//"},
        {&merge, {MESSAGE, .due_at_ms = 20, .restored = true}, "20/0//"},
        {&late,
         {MESSAGE, .delay_ms = SMQ_TOPIC_DELAY, .restored = true, .attempt = 63},
         "+3000/126//"},
        {&arrival, {MESSAGE, .priority = -7, .restored = true}, "-7/0//"},
        {&arrival, {MESSAGE, .priority = -7, .delay_ms = 5}, "-7@+5"},
        {&bytes, {MESSAGE, .due_at_ms = 1700}, "0@1700"},
        {&bytes, {MESSAGE, .due_at_ms = -1700, .restored = true}, "0/0//"},
        {&arrival, {MESSAGE, .priority = 8191, .delay_ms = SMQ_TOPIC_DELAY}, "8191"},
        {&arrival,
         {MESSAGE, .priority = 9, .due_at_ms = 1700, .restored = true, .attempt = 2},
         "9@1700/4//"},
        {&keyed,
         {MESSAGE, .id = {"abc", 3}, .due_at_ms = 20, .restored = true, .sent_at_ms = 8,
          .expires_at_ms = 90},
         "20/0/8/90"},
        {&fifo, {MESSAGE, .id = {"abc", 3}, .restored = true, .sent_at_ms = 8}, "0/0/8/"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct send_place place = {.slot = -1};
        char scratch[SEND_RESTORED_MAX];

        assert_int_equal(send_check(&cases[i].message, NULL), SMQ_OK);
        assert_int_equal(send_place(&place, cases[i].topic, &cases[i].message, NULL), SMQ_OK);
        assert_string_equal(send_when(scratch, &place, &cases[i].message), cases[i].when);
    }
}

static const struct {
    const struct topic *topic;
    struct message message;
    smq_status status;
    const char *text;
} misplaced[] = {
    {&merge,
     {MESSAGE, .due_at_ms = 5},
     SMQ_WRONG_TYPE,
     "topic m does not have type fixed_time or priority, which due_at_ms needs"},
    {&late,
     {MESSAGE, .priority = 5},
     SMQ_WRONG_TYPE,
     "topic l does not have type priority, which priority needs"},
    {&timed,
     {MESSAGE, .priority = -5},
     SMQ_WRONG_TYPE,
     "topic t does not have type priority, which priority needs"},
    {&arrival,
     {MESSAGE, .priority = 8192},
     SMQ_INVALID,
     "priority must be from -8191 to 8191 in topic p (ties by arrival), not 8192"},
    {&arrival,
     {MESSAGE, .priority = INT64_MIN},
     SMQ_INVALID,
     "priority must be from -8191 to 8191 in topic p (ties by arrival), not "
     "-9223372036854775808"},
    {&bytes,
     {MESSAGE, .priority = INT64_C(-1099511627777)},
     SMQ_INVALID,
     "priority must be from -1099511627776 to 1099511627776 in topic b (ties by bytes), not "
     "-1099511627777"},
    {&timed,
     {MESSAGE, .id = {"i", 1}},
     SMQ_WRONG_TYPE,
     "topic t does not have layout keyed, which id needs"},
    {&timed,
     {MESSAGE, .ttl_ms = 5},
     SMQ_WRONG_TYPE,
     "topic t does not have layout keyed, which ttl_ms needs"},
    {&timed,
     {MESSAGE, .headers = one_header, .header_count = 1},
     SMQ_WRONG_TYPE,
     "topic t does not have layout keyed, which a header needs"},
    {&timed,
     {MESSAGE, .ttl_ms = SMQ_NONE},
     SMQ_WRONG_TYPE,
     "topic t does not have layout keyed, which ttl_ms needs"},
    {&timed,
     {MESSAGE, .max_retries = 5},
     SMQ_WRONG_TYPE,
     "topic t does not have layout keyed, which max_retries needs"},
    {&timed,
     {MESSAGE, .restored = true, .sent_at_ms = 5},
     SMQ_WRONG_TYPE,
     "topic t does not have layout keyed, which sent_at_ms needs"},
    {&timed,
     {MESSAGE, .restored = true, .expires_at_ms = 5},
     SMQ_WRONG_TYPE,
     "topic t does not have layout keyed, which expires_at_ms needs"},
    {&timed,
     {.body = {NULL, 0}},
     SMQ_INVALID,
     "the body is empty: topic t of layout inline needs at least 1 byte"},
    {&timed,
     {.body = {big, TOPIC_BODY_INLINE_MAX + 1}},
     SMQ_TOO_BIG,
     "the body has 65537 bytes: topic t accepts at most 65536 (max_body); larger ones need a topic "
     "of "
     "layout keyed"},
    {&keyed,
     {.body = {big, 101}, .id = {"i", 1}},
     SMQ_TOO_BIG,
     "the body has 101 bytes: topic k accepts at most 100 (max_body)"},
    {&fifo,
     {MESSAGE, .id = {"i", 1}, .delay_ms = 5},
     SMQ_WRONG_TYPE,
     "topic f does not have type range_merge, fixed_time or priority, which delay_ms needs"},
    {&fifo,
     {MESSAGE, .id = {"i", 1}, .due_at_ms = 5},
     SMQ_WRONG_TYPE,
     "topic f does not have type fixed_time or priority, which due_at_ms needs"},
    {&fifo,
     {MESSAGE, .id = {"i", 1}, .priority = 5},
     SMQ_WRONG_TYPE,
     "topic f does not have type priority, which priority needs"},
};

static void options_of_other_types_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof(misplaced) / sizeof(misplaced[0]); i++) {
        struct send_place place = {.slot = -77};
        smq_error err = SMQ_ERROR_INIT;

        assert_int_equal(send_place(&place, misplaced[i].topic, &misplaced[i].message, &err),
                         misplaced[i].status);
        assert_string_equal(err.text, misplaced[i].text);
        assert_int_equal(place.slot, -77);
    }
}

static void key_decides_the_slot(void **state)
{
    struct message message = {MESSAGE, .key = {"a\0b", 3}};
    struct send_place place = {.slot = -1};

    assert_int_equal(send_place(&place, &timed, &message, NULL), SMQ_OK);
    assert_int_equal(place.slot, slot_of_key("a\0b", 3, 64));
    assert_int_not_equal(place.slot, slot_of_key("abc", 3, 64));
    message.id = (smq_bytes){"id", 2};
    assert_int_equal(send_place(&place, &keyed, &message, NULL), SMQ_OK);
    assert_int_equal(place.slot, slot_of_key("a\0b", 3, 64));
    message.key = (smq_bytes){NULL, 0};
    assert_int_equal(send_place(&place, &keyed, &message, NULL), SMQ_OK);
    assert_int_equal(place.slot, slot_of_key("id", 2, 64));
}

static void limits_of_the_message_win(void **state)
{
    static const struct {
        const struct topic *topic;
        struct message message;
        int64_t ttl_ms;
        int32_t max_retries;
    } cases[] = {
        {&keyed, {MESSAGE, .id = {"i", 1}}, 700, -1},
        {&keyed, {MESSAGE, .id = {"i", 1}, .ttl_ms = 5, .max_retries = 3}, 5, 3},
        {&keyed, {MESSAGE, .id = {"i", 1}, .ttl_ms = SMQ_NONE, .max_retries = SMQ_NONE}, -1, 0},
        {&fifo, {MESSAGE, .id = {"i", 1}}, -1, -1},
        {&keyed, {MESSAGE, .id = {"i", 1}, .restored = true, .expires_at_ms = 9}, -1, -1},
        {&keyed, {MESSAGE, .id = {"i", 1}, .restored = true}, -1, -1},
        {&timed, {MESSAGE}, -1, -1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct send_place place = {.slot = -1};

        assert_int_equal(send_place(&place, cases[i].topic, &cases[i].message, NULL), SMQ_OK);
        assert_int_equal(place.ttl_ms, cases[i].ttl_ms);
        assert_int_equal(place.max_retries, cases[i].max_retries);
    }
}

static void empty_bodies_are_for_keyed(void **state)
{
    struct message message = {.id = {"i", 1}, .body = smq_text("")};
    struct send_place place;

    assert_int_equal(send_check(&message, NULL), SMQ_OK);
    assert_int_equal(send_place(&place, &keyed, &message, NULL), SMQ_OK);
    message.body = (smq_bytes){NULL, 0};
    assert_int_equal(send_check(&message, NULL), SMQ_OK);
    assert_int_equal(send_place(&place, &keyed, &message, NULL), SMQ_OK);
}

/* What needs no other form is not copied. */
static void member_is_the_body_or_the_id_and_the_key(void **state)
{
    static const struct {
        const struct topic *topic;
        const char *key;
        const char *member;
        size_t len;
        bool copied;
    } rows[] = {
        {&timed, NULL, "abc", 3, false},      {&timed, "abc", "abc", 3, false},
        {&timed, "k", "\0001:kabc", 7, true}, {&keyed, NULL, "id", 2, false},
        {&keyed, "id", "id", 2, false},       {&keyed, "k", "\0001:kid", 6, true},
    };
    struct buf scratch = {0};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool in_keyed = rows[i].topic == &keyed;
        struct message message = {
            MESSAGE, .key = {rows[i].key, rows[i].key != NULL ? strlen(rows[i].key) : 0},
            .id = {in_keyed ? "id" : NULL, in_keyed ? 2 : 0}};
        const void *member = NULL;
        size_t len = 0;

        send_member(&member, &len, &scratch, rows[i].topic, &message);
        assert_int_equal(len, rows[i].len);
        assert_memory_equal(member, rows[i].member, len);
        assert_int_equal(member == message.body.data || member == message.id.data, !rows[i].copied);
    }
    buf_fini(&scratch);
}

static void only_keyed_messages_lack_an_id(void **state)
{
    struct message message = {MESSAGE, .key = {"k", 1}};

    assert_true(send_lacks_id(&keyed, &message));
    assert_false(send_lacks_id(&timed, &message));
    message.id = (smq_bytes){"i", 1};
    assert_false(send_lacks_id(&keyed, &message));
}

/* All of a message is in its member if no other send has its id, its place says when it expires,
 * and it is not larger than the topic allows. */
static void which_messages_are_whole(void **state)
{
    static const struct {
        struct message message;
        smq_topic_type type;
        int32_t format, whole_max;
        int64_t dedup_ms, debounce_ms;
        bool whole;
    } rows[] = {
        {{MESSAGE}, SMQ_TYPE_FIXED_TIME, 5, 256, 0, 0, true},
        {{MESSAGE}, SMQ_TYPE_FIFO, 5, 256, 0, 0, true},
        {{MESSAGE, .delay_ms = SMQ_TOPIC_DELAY}, SMQ_TYPE_RANGE_MERGE, 5, 256, 0, 0, true},
        {{MESSAGE, .priority = 3}, SMQ_TYPE_PRIORITY, 5, 256, 0, 0, true},
        {{MESSAGE}, SMQ_TYPE_FIXED_TIME, 4, 256, 0, 0, false},
        {{MESSAGE}, SMQ_TYPE_FIXED_TIME, 5, 0, 0, 0, false},
        {{MESSAGE}, SMQ_TYPE_FIXED_TIME, 5, 3, 0, 0, true},
        {{MESSAGE}, SMQ_TYPE_FIXED_TIME, 5, 2, 0, 0, false},
        {{MESSAGE, .headers = one_header, .header_count = 1},
         SMQ_TYPE_FIXED_TIME,
         5,
         9,
         0,
         0,
         false},
        {{MESSAGE}, SMQ_TYPE_FIXED_TIME, 5, 256, 5, 0, false},
        {{MESSAGE, .delay_ms = SMQ_TOPIC_DELAY}, SMQ_TYPE_RANGE_MERGE, 5, 256, 0, 5, false},
        {{MESSAGE, .delay_ms = 1}, SMQ_TYPE_FIXED_TIME, 5, 256, 0, 0, false},
        {{MESSAGE, .due_at_ms = 1}, SMQ_TYPE_FIXED_TIME, 5, 256, 0, 0, false},
        {{MESSAGE, .due_at_ms = 1}, SMQ_TYPE_PRIORITY, 5, 256, 0, 0, false},
        {{MESSAGE, .delay_ms = 1}, SMQ_TYPE_RANGE_MERGE, 5, 256, 0, 0, false},
        {{MESSAGE, .ttl_ms = 1}, SMQ_TYPE_FIXED_TIME, 5, 256, 0, 0, true},
        {{MESSAGE, .ttl_ms = 1}, SMQ_TYPE_FIFO, 5, 256, 0, 0, false},
        {{MESSAGE, .restored = true}, SMQ_TYPE_FIXED_TIME, 5, 256, 0, 0, false},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct topic topic = keyed;
        struct message message = rows[i].message;
        struct send_place place;

        topic.type = rows[i].type;
        topic.format = rows[i].format;
        topic.whole_max = rows[i].whole_max;
        topic.dedup_window_ms = rows[i].dedup_ms;
        topic.debounce_ms = rows[i].debounce_ms;
        topic.delay_ms = SMQ_NONE;
        topic.ttl_ms = 0;
        message.id = (smq_bytes){"0000000003e8abcdef0000000000000a", 32};
        message.made = true;
        assert_int_equal(send_place(&place, &topic, &message, NULL), SMQ_OK);
        assert_int_equal(place.whole, rows[i].whole);
        message.made = false;
        assert_int_equal(send_place(&place, &topic, &message, NULL), SMQ_OK);
        assert_false(place.whole);
    }
}

TEST_GROUP(send)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_message_is_taken),
        cmocka_unit_test(bad_messages_are_refused),
        cmocka_unit_test(when_is_what_the_script_gets),
        cmocka_unit_test(when_of_restored_messages_has_what_was_stored),
        cmocka_unit_test(options_of_other_types_are_refused),
        cmocka_unit_test(key_decides_the_slot),
        cmocka_unit_test(limits_of_the_message_win),
        cmocka_unit_test(empty_bodies_are_for_keyed),
        cmocka_unit_test(member_is_the_body_or_the_id_and_the_key),
        cmocka_unit_test(only_keyed_messages_lack_an_id),
        cmocka_unit_test(which_messages_are_whole),
    };

    return cmocka_run_group_tests(tests, fill_big, NULL);
}
