/* test_message_line.c - lines of JSON become messages. */
#include <string.h>

#include "cli/message/message_line.h"
#include "support/group.h"

enum { NOW_MS = 1000000 };

static const struct topic_facts timed = {
    .type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED, .max_body = 100, .max_retries = 16};
static const struct topic_facts merge = {
    .type = SMQ_TYPE_RANGE_MERGE, .layout = SMQ_LAYOUT_INLINE, .max_body = 100, .max_retries = 16};
static const struct topic_facts ranked = {
    .type = SMQ_TYPE_PRIORITY, .layout = SMQ_LAYOUT_INLINE, .max_body = 100, .max_retries = 16};
static const struct topic_facts lined = {
    .type = SMQ_TYPE_FIFO, .layout = SMQ_LAYOUT_KEYED, .max_retries = 16};

static void assert_bytes(smq_bytes bytes, const char *wanted)
{
    if (!wanted) {
        assert_null(bytes.data);
        return;
    }
    assert_non_null(bytes.data);
    assert_int_equal(bytes.len, strlen(wanted));
    assert_memory_equal(bytes.data, wanted, bytes.len);
}

struct row {
    const struct topic_facts *topic;
    bool restore;
    const char *line;
    const char *body, *key, *id;
    struct {
        int64_t priority, delay_ms, due_at_ms, ttl_ms, sent_at_ms, expires_at_ms;
        int32_t max_retries, attempt;
    } rest; /* all other fields */
};

static void assert_restored(const struct row *row, const smq_message_copy *copy)
{
    assert_bytes(copy->body, row->body);
    assert_bytes(copy->key, row->key);
    assert_bytes(copy->id, row->id);
    assert_int_equal(copy->struct_size, sizeof(smq_message_copy));
    assert_int_equal(copy->priority, row->rest.priority);
    assert_int_equal(copy->due_at_ms, row->rest.due_at_ms);
    assert_int_equal(copy->max_retries, row->rest.max_retries);
    assert_int_equal(copy->sent_at_ms, row->rest.sent_at_ms);
    assert_int_equal(copy->expires_at_ms, row->rest.expires_at_ms);
    assert_int_equal(copy->attempt, row->rest.attempt);
}

static void assert_read(const struct row *row)
{
    const struct message_rules rules = {
        .topic = row->topic, .restore = row->restore, .defaults = SMQ_MESSAGE_INIT};
    char error[MEMBERS_ERROR] = "";
    struct message_line line;

    if (!message_line_read(&line, error, row->line, strlen(row->line), &rules, NOW_MS)) {
        fail_msg("%s: %s", row->line, error);
    }
    assert_bytes(line.message.body, row->body);
    assert_bytes(line.message.key, row->key);
    assert_bytes(line.message.id, row->id);
    assert_int_equal(line.message.struct_size, sizeof(smq_message));
    if (row->restore) {
        assert_restored(row, &line.copy);
    } else {
        assert_int_equal(line.message.priority, row->rest.priority);
        assert_int_equal(line.message.delay_ms, row->rest.delay_ms);
        assert_int_equal(line.message.due_at_ms, row->rest.due_at_ms);
        assert_int_equal(line.message.ttl_ms, row->rest.ttl_ms);
        assert_int_equal(line.message.max_retries, row->rest.max_retries);
    }
    message_line_fini(&line);
}

/* What peek prints, but for the state. */
#define PRINTED                                                                                    \
    "\"topic\":\"t\",\"slot\":1,\"body\":\"b\",\"key\":\"k\",\"id\":\"i\",\"priority\":0,"         \
    "\"due_at_ms\":900,\"sent_at_ms\":800,\"expires_at_ms\":7000,\"lease_at_ms\":0,"               \
    "\"dead_at_ms\":0,\"claimed_at_ms\":null,\"claimed_by\":null,\"attempt\":2,\"token\":\"\","    \
    "\"reason\":\"exit 1\",\"cursor\":\"c\""

static const struct row new_rows[] = {
    {&timed, false, "{\"body\":\"b\"}", "b", NULL, NULL, {.priority = 0}},
    {&timed,
     false,
     " { \"body\" : \"\\u00e9\" , \"key\":null } ",
     "\xc3\xa9",
     NULL,
     NULL,
     {.priority = 0}},
    {&timed,
     false,
     "{\"body_base64\":\"Zm9v\",\"key_base64\":\"YQ==\",\"id\":\"i\"}",
     "foo",
     "a",
     "i",
     {.priority = 0}},
    {&timed,
     false,
     "{\"body\":\"b\",\"due_at\":\"1970-01-01T00:00:05Z\"}",
     "b",
     NULL,
     NULL,
     {.due_at_ms = 5000}},
    {&timed,
     false,
     "{\"body\":\"b\",\"due_at_ms\":5000,\"ttl\":\"1m\"}",
     "b",
     NULL,
     NULL,
     {.due_at_ms = 5000, .ttl_ms = 60000}},
    {&timed,
     false,
     "{\"body\":\"b\",\"delay\":\"5s\",\"max_retries\":3}",
     "b",
     NULL,
     NULL,
     {.delay_ms = 5000, .max_retries = 3}},
    {&timed,
     false,
     "{\"body\":\"b\",\"delay_ms\":0,\"max_retries\":0,\"ttl_ms\":0}",
     "b",
     NULL,
     NULL,
     {.max_retries = SMQ_NONE, .ttl_ms = SMQ_NONE}},
    {&merge, false, "{\"body\":\"b\",\"due_at_ms\":1000500}", "b", NULL, NULL, {.delay_ms = 500}},
    {&merge, false, "{\"body\":\"b\",\"due_at_ms\":900}", "b", NULL, NULL, {.delay_ms = 0}},
    {&ranked,
     false,
     "{\"body\":\"b\",\"id\":\"b\",\"priority\":-3}",
     "b",
     NULL,
     NULL,
     {.priority = -3}},
    /* as it was printed: times that its type has not, and what new messages have not */
    {&timed,
     false,
     "{\"state\":\"dead\",\"retries_left\":1," PRINTED "}",
     "b",
     "k",
     "i",
     {.due_at_ms = 900}},
    {&ranked,
     false,
     "{\"state\":\"resting\",\"body\":\"b\",\"due_at_ms\":900}",
     "b",
     NULL,
     NULL,
     {.due_at_ms = 900}},
};

static void test_a_new_message_has_what_the_line_says(void **state)
{
    for (size_t i = 0; i < sizeof(new_rows) / sizeof(new_rows[0]); i++) {
        assert_read(&new_rows[i]);
    }
}

static const struct row restored_rows[] = {
    {&timed,
     true,
     "{\"state\":\"waiting\",\"retries_left\":14," PRINTED "}",
     "b",
     "k",
     "i",
     {.due_at_ms = 900, .sent_at_ms = 800, .expires_at_ms = 7000, .attempt = 2}},
    {&timed,
     true,
     "{\"state\":\"waiting\",\"retries_left\":1," PRINTED "}",
     "b",
     "k",
     "i",
     {.due_at_ms = 900, .sent_at_ms = 800, .expires_at_ms = 7000, .attempt = 2, .max_retries = 3}},
    {&timed,
     true,
     "{\"state\":\"claimed\",\"retries_left\":15," PRINTED "}",
     "b",
     "k",
     "i",
     {.due_at_ms = 900, .sent_at_ms = 800, .expires_at_ms = 7000, .attempt = 1}},
    {&timed,
     true,
     "{\"state\":\"dead\",\"retries_left\":0," PRINTED "}",
     "b",
     "k",
     "i",
     {.due_at_ms = 900, .sent_at_ms = 800, .max_retries = 1}},
    {&timed, true, "{\"body\":\"b\",\"id\":\"i\"}", "b", NULL, "i", {.priority = 0}},
    {&merge,
     true,
     "{\"body\":\"b\",\"due_at_ms\":900,\"attempt\":1,\"retries_left\":15}",
     "b",
     NULL,
     NULL,
     {.due_at_ms = 900, .attempt = 1}},
    {&ranked,
     true,
     "{\"state\":\"resting\",\"body\":\"b\",\"priority\":4,\"due_at_ms\":900}",
     "b",
     NULL,
     NULL,
     {.priority = 4, .due_at_ms = 900}},
};

static void test_a_restored_message_has_all_that_was_printed(void **state)
{
    for (size_t i = 0; i < sizeof(restored_rows) / sizeof(restored_rows[0]); i++) {
        assert_read(&restored_rows[i]);
    }
}

static void test_what_is_no_message_is_refused_with_the_reason(void **state)
{
    static const char *const rows[][2] = {
        {"{\"body\":\"a\",\"key\":\"\"}", "a key or id that is empty"},
        {"{\"body\":\"a\",\"priority\":1}", "the topic is fixed_time: it has no \"priority\""},
        {"", "not JSON"},
        {"order 7", "; without --json each line is a body"},
        {"[7]", "; without --json each line is a body"},
        {"{\"order\":7}", "a message has no \"order\"; without --json each line is a body"},
        {"{\"key\":\"k\"}", "without --json each line is a body"},
        {"body", "not JSON"},
        {"{\"body\":\"a\"} {}", "not JSON"},
        {"{\"body\":\"a\",\"body\":\"b\"}", "not JSON: duplicate object key"},
        {"[]", "not a JSON object; give one message a line"},
        {"{}", "there is no \"body\""},
        {"{\"body\":null}", "there is no \"body\""},
        {"{\"body\":5}", "\"body\" cannot be used; give a string"},
        {"{\"body_base64\":\"?\"}", "\"body_base64\" cannot be used; give base64 in a string"},
        {"{\"body\":\"a\",\"body_base64\":\"YQ==\"}", "given twice, as text and as base64"},
        {"{\"body\":\"a\",\"due_at\":\"tomorrow\"}",
         "\"due_at\" cannot be used; give milliseconds"},
        {"{\"body\":\"a\",\"due_at\":\"5\",\"due_at_ms\":5}", "given twice, with and without _ms"},
        {"{\"body\":\"a\",\"due_at_ms\":5,\"delay\":5}", "both say when"},
        {"{\"body\":\"a\",\"delay\":-5}", "\"delay\" cannot be used; give milliseconds, or"},
        {"{\"body\":\"a\",\"delay\":1.5}", "\"delay\" cannot be used"},
        {"{\"body\":\"a\",\"priority\":\"high\"}", "\"priority\" cannot be used; give a whole"},
        {"{\"body\":\"a\",\"max_retries\":4294967297}", "a number from 0 to 64"},
        {"{\"body\":\"a\",\"attempt\":-1}", "\"attempt\" cannot be used; give a number from 0"},
        {"{\"body\":\"a\",\"state\":\"lost\"}", "\"state\" cannot be used; give \"waiting\""},
        {"{\"body\":\"a\",\"headers\":[]}", "\"headers\" cannot be used; give an object"},
        {"{\"body\":\"a\",\"headers\":{\"x\":5}}", "\"x\" cannot be used; give a string"},
        {"{\"body\":\"a\",\"headers_base64\":{\"x\":\"?\"}}", "give base64 in a string"},
        {"{\"body\":\"a\",\"kee\":\"a\"}", "a message has no \"kee\"; did you mean \"key\"?"},
        {"{\"body\":\"a\",\"slot_base64\":\"a\"}", "a message has no \"slot_base64\""},
    };
    const struct message_rules rules = {.topic = &timed, .defaults = SMQ_MESSAGE_INIT};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char error[MEMBERS_ERROR] = "";
        struct message_line line;
        if (message_line_read(&line, error, rows[i][0], strlen(rows[i][0]), &rules, NOW_MS) ||
            !strstr(error, rows[i][1])) {
            fail_msg("%s: %s", rows[i][0], error);
        }
        message_line_fini(&line);
    }
}

static void test_what_a_topic_has_not_is_refused(void **state)
{
    static const struct {
        const struct topic_facts *topic;
        const char *line, *text;
    } rows[] = {
        {&ranked, "{\"body\":\"a\",\"id\":\"b\"}", "it has no \"id\""},
        {&ranked, "{\"body\":\"a\",\"ttl\":5}", "it has no \"ttl\""},
        {&lined, "{\"body\":\"a\",\"delay\":5}", "the topic is fifo: it has no \"due_at\""},
        {&ranked, "{\"body\":\"a\",\"priority\":8192}", "give a number from -8191 to 8191"},
        {&merge, "{\"body\":\"a\",\"headers\":{\"x\":\"y\"}}", "it has no \"headers\""},
        {&merge, "{\"body\":\"a\",\"priority\":1}", "the topic is range_merge: it has no"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct message_rules rules = {.topic = rows[i].topic, .defaults = SMQ_MESSAGE_INIT};
        char error[MEMBERS_ERROR] = "";
        struct message_line line;
        if (message_line_read(&line, error, rows[i].line, strlen(rows[i].line), &rules, NOW_MS) ||
            !strstr(error, rows[i].text)) {
            fail_msg("%s: %s", rows[i].line, error);
        }
        message_line_fini(&line);
    }
}

TEST_GROUP(message_line)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_message_has_what_the_line_says),
        cmocka_unit_test(test_a_restored_message_has_all_that_was_printed),
        cmocka_unit_test(test_what_is_no_message_is_refused_with_the_reason),
        cmocka_unit_test(test_what_a_topic_has_not_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
