/* test_schedule.c - what becomes of a tick that has come, and schedules as they are stored. */
#include <string.h>

#include "model/schedule.h"
#include "support/group.h"

/* Every 10 s: what was missed is what the next tick has overtaken, or what is a minute late. */
static void a_tick_fires_or_was_missed(void **state)
{
    static const struct {
        smq_missed missed;
        int64_t every_ms, limit, ticks, end_ms, now_ms;
        bool fires;
        int64_t next_ms;
    } rows[] = {
        {SMQ_MISSED_ONE, 10000, 0, 0, 0, 10000, true, 20000},
        {SMQ_MISSED_ONE, 10000, 0, 0, 0, 19999, true, 20000},
        {SMQ_MISSED_ONE, 10000, 0, 0, 0, 20000, true, 30000},
        {SMQ_MISSED_ONE, 10000, 0, 0, 0, 95000, true, 100000},
        {SMQ_MISSED_NONE, 10000, 0, 0, 0, 19999, true, 20000},
        {SMQ_MISSED_NONE, 10000, 0, 0, 0, 20000, false, 30000},
        {SMQ_MISSED_NONE, 10000, 0, 0, 0, 95000, false, 100000},
        {SMQ_MISSED_NONE, 1000000, 0, 0, 0, 1060000, true, 2000000},
        {SMQ_MISSED_NONE, 1000000, 0, 0, 0, 1060001, false, 2000000},
        {SMQ_MISSED_ONE, 10000, 3, 1, 0, 10000, true, 20000},
        {SMQ_MISSED_ONE, 10000, 3, 2, 0, 10000, true, -1},
        {SMQ_MISSED_NONE, 10000, 3, 2, 0, 20000, false, 30000}, /* a missed one does not count */
        {SMQ_MISSED_ONE, 10000, 0, 0, 15000, 10000, true, -1},
        {SMQ_MISSED_NONE, 10000, 0, 0, 25000, 40000, false, -1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct ticks ticks = {.every_ms = rows[i].every_ms, .end_ms = rows[i].end_ms};
        const smq_schedule schedule = {.limit = rows[i].limit, .missed = rows[i].missed};
        const struct schedule_state before = {.due_ms = rows[i].every_ms, .ticks = rows[i].ticks};
        const struct schedule_step step =
            schedule_step_of(&ticks, &(struct zone){0}, &schedule, &before, rows[i].now_ms);

        if (step.fires != rows[i].fires || step.next_ms != rows[i].next_ms) {
            fail_msg("row %zu: fires %d, next %lld", i, step.fires, (long long) step.next_ms);
        }
    }
}

/* What is read is what was written, for each layout and whatever the message has. */
static void a_definition_is_read_as_it_was_written(void **state)
{
    static const smq_header header = {"kind", {"pdf", 3}};
    static const smq_message messages[] = {
        {.struct_size = sizeof(smq_message), .body = {"x", 1}},
        {.struct_size = sizeof(smq_message), .body = {"a\0b", 3}, .key = {"k:1", 3}},
        {.struct_size = sizeof(smq_message), .body = {"x", 1}, .priority = -7},
        {.struct_size = sizeof(smq_message),
         .ttl_ms = 5,
         .max_retries = SMQ_NONE,
         .headers = &header,
         .header_count = 1},
        {.struct_size = sizeof(smq_message), .body = {"x", 1}, .max_retries = 3},
        {.struct_size = sizeof(smq_message), .body = {"x", 1}, .ttl_ms = SMQ_NONE},
    };

    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        const struct topic topic = {.type = SMQ_TYPE_PRIORITY,
                                    .ties = SMQ_TIES_ARRIVAL,
                                    .layout =
                                        i < 3 && i % 2 == 1 ? SMQ_LAYOUT_INLINE : SMQ_LAYOUT_KEYED,
                                    .slots = 4,
                                    .max_body = 100,
                                    .ttl_ms = 70000};
        const smq_schedule schedule = {
            .every_ms = 1000, .limit = 2, .missed = SMQ_MISSED_NONE, .message = &messages[i]};
        char times[SCHEDULE_TIMES_MAX];
        smq_header headers[SMQ_HEADERS_MAX];
        struct buf text = {0};
        smq_schedule read;
        smq_message message;
        smq_error err;
        int32_t slot;

        assert_int_equal(schedule_define(&text, &slot, &topic, "id", &schedule, &err), SMQ_OK);
        assert_true(schedule_read(times, &message, headers, &topic, text.data, text.len));
        assert_true(schedule_parse_times(&read, times));
        assert_int_equal(read.every_ms, 1000);
        assert_int_equal(read.limit, 2);
        assert_int_equal(read.missed, SMQ_MISSED_NONE);
        assert_null(read.cron);
        assert_int_equal(message.body.len, messages[i].body.len);
        assert_memory_equal(message.body.data, messages[i].body.data, message.body.len);
        assert_int_equal(message.priority, messages[i].priority);
        assert_int_equal(message.ttl_ms, messages[i].ttl_ms);
        assert_int_equal(message.max_retries, messages[i].max_retries);
        assert_int_equal(message.header_count, messages[i].header_count);
        if (messages[i].key.data != NULL) {
            assert_memory_equal(message.key.data, messages[i].key.data, message.key.len);
        } else {
            assert_memory_equal(message.key.data, "id", message.key.len);
        }
        buf_fini(&text);
    }
}

static void other_texts_are_no_states(void **state)
{
    static const char *const bad[] = {
        "", "1", "1,2,3,4,5", "x,2,3,4,0,", "-1,2,3,4,0,", "1,2,,4,0,", "1,02,3,4,0,"};
    struct schedule_state read;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (schedule_parse_state(&read, bad[i])) {
            fail_msg("\"%s\" is taken", bad[i]);
        }
    }
    assert_true(schedule_parse_state(&read, "5,,0,,1,a note, with a comma"));
    assert_true(read.version == 5 && read.due_ms == -1 && read.ticks == 0 && read.last_ms == -1);
    assert_true(read.paused);
    assert_string_equal(read.note, "a note, with a comma");
}

/* What is half put is paused, and becomes again what it was. */
static void what_is_half_put_becomes_what_it_was(void **state)
{
    static const struct {
        bool paused;
        const char *note, *half;
    } rows[] = {
        {false, "", "half put: put it again"},
        {true, "", "half put: put it again; paused: "},
        {true, "for now", "half put: put it again; paused: for now"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct schedule_state it = {.due_ms = 7, .paused = rows[i].paused, .note = rows[i].note};
        char note[SCHEDULE_HALF_MAX];

        assert_false(schedule_is_half(&it));
        schedule_make_half(&it, note);
        assert_true(schedule_is_half(&it) && it.paused);
        assert_string_equal(it.note, rows[i].half);
        for (int times = 0; times < 2; times++) {
            schedule_make_whole(&it);
            assert_false(schedule_is_half(&it));
            assert_int_equal(it.paused, rows[i].paused);
            assert_string_equal(it.note, rows[i].note);
        }
    }
}

TEST_GROUP(schedule)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_fires_or_was_missed),
        cmocka_unit_test(a_definition_is_read_as_it_was_written),
        cmocka_unit_test(other_texts_are_no_states),
        cmocka_unit_test(what_is_half_put_becomes_what_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
