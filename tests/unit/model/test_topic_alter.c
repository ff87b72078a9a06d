/* test_topic_alter.c - one option of a definition changed by its name. */
#include <string.h>

#include "model/option.h"
#include "model/topic.h"
#include "support/group.h"

#define INLINE                                                                                     \
    "format=4 type=range_merge layout=inline slots=64 shared=no ties=arrival max_retries=16 "      \
    "backoff=none lease_ms=30000 "                                                                 \
    "delay_ms=none takeover=fast"
#define KEYED                                                                                      \
    "format=4 type=range_merge layout=keyed slots=64 shared=no ties=arrival max_retries=16 "       \
    "backoff=none "                                                                                \
    "lease_ms=30000 delay_ms=none takeover=fast"
#define DELAYED                                                                                    \
    "format=4 type=range_merge layout=keyed slots=64 shared=no ties=arrival max_retries=16 "       \
    "backoff=none "                                                                                \
    "lease_ms=30000 delay_ms=1000 takeover=fast"
#define FIFO                                                                                       \
    "format=4 type=fifo layout=keyed slots=64 shared=no ties=arrival max_retries=16 backoff=none " \
    "lease_ms=30000 delay_ms=none takeover=fast"
#define FORMAT_5                                                                                   \
    "format=5 type=fixed_time layout=keyed slots=64 shared=no ties=arrival max_retries=16 "        \
    "backoff=none lease_ms=30000 delay_ms=none takeover=fast"
#define SHARED                                                                                     \
    "format=4 type=priority layout=inline slots=64 shared=yes ties=arrival max_retries=16 "        \
    "backoff=none lease_ms=30000 "                                                                 \
    "delay_ms=none takeover=fast"

/* The option of the topic as the text says. */
static smq_status alter(struct topic *topic, const char *option, const char *value, smq_error *err)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS_INIT;
    smq_status status = option_parse(&options, SMQ_OPTION_SET_TOPIC, option, value, err);

    return status == SMQ_OK ? topic_alter(topic, &options, option, err) : status;
}

static struct topic read_topic(const char *text)
{
    struct topic topic;
    smq_error err = SMQ_ERROR_INIT;

    if (topic_parse(&topic, "orders", text, strlen(text), &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
    strcpy(topic.nonce, "0123456789abcdef");
    topic.version = 3;
    return topic;
}

static void altered_options_differ(void **state)
{
    static const struct {
        const char *topic, *option, *value, *difference;
    } cases[] = {
        {INLINE, "max_retries", "5", "max_retries is 5, not 16"},
        {INLINE, "max_retries", "0", "max_retries is 0, not 16"},
        {INLINE, "max_retries", "none", "max_retries is 0, not 16"},
        {INLINE, "backoff", "fixed:7", "backoff is fixed:7, not none"},
        {INLINE, "lease_ms", "100", "lease_ms is 100, not 30000"},
        {INLINE, "lease_ms", "1d", "lease_ms is 86400000, not 30000"},
        {INLINE, "delay_ms", "5m", "delay_ms is 300000, not none"},
        {INLINE, "delay_ms", "0", "delay_ms is 0, not none"},
        {DELAYED, "delay_ms", "none", "delay_ms is none, not 1000"},
        {INLINE, "takeover", "strict", "takeover is strict, not fast"},
        {INLINE, "takeover_replicas", "2", "takeover_replicas is 2, not 0"},
        {INLINE " takeover_replicas=2", "takeover_replicas", "0", "takeover_replicas is 0, not 2"},
        {INLINE, "max_body", "65535", "max_body is 65535, not 65536"},
        {INLINE, "max_waiting", "1000", "max_waiting is 1000, not none"},
        {INLINE, "rate_per_s", "200", "rate_per_s is 200, not none"},
        {KEYED, "debounce_ms", "500ms", "debounce_ms is 500, not none"},
        {KEYED " debounce_ms=5", "debounce_ms", "none", "debounce_ms is none, not 5"},
        {KEYED, "ttl_ms", "1h", "ttl_ms is 3600000, not none"},
        {KEYED " ttl_ms=5", "ttl_ms", "none", "ttl_ms is none, not 5"},
        {KEYED, "dedup_window_ms", "60s", "dedup_window_ms is 60000, not none"},
        {FIFO " dedup_window_ms=5", "dedup_window_ms", "none", "dedup_window_ms is none, not 5"},
        {INLINE, "expires_ms", "1h", "expires_ms is 3600000, not none"},
        {FIFO " expires_ms=5000", "expires_ms", "none", "expires_ms is none, not 5000"},
        {KEYED " expires_ms=5000", "expires_with_messages", "true",
         "expires_with_messages is yes, not no"},
        {KEYED, "format", "5", "format is 5, not 4"},
        {FORMAT_5, "whole_max", "none", "whole_max is 0, not 256"},
        {KEYED, "expired_to_dead", "true", "expired_to_dead is yes, not no"},
        {KEYED, "max_body", "67108864", "max_body is 67108864, not 1048576"},
        {KEYED, "max_body", "64MiB", "max_body is 67108864, not 1048576"},
        {FIFO, "skip_failed", "true", "skip_failed is yes, not no"},
        {FIFO " skip_failed=yes", "skip_failed", "false", "skip_failed is no, not yes"},
        {INLINE " max_waiting=5", "max_waiting", "none", "max_waiting is none, not 5"},
        {INLINE " rate_per_s=5", "rate_per_s", "none", "rate_per_s is none, not 5"},
        {KEYED " groups=.,a", "groups", "a,b,.", "groups is .,a,b, not .,a"},
        {KEYED " groups=.,a", "groups", "a", "groups is a, not .,a"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct topic before = read_topic(cases[i].topic);
        struct topic topic = before;
        char difference[256] = "";
        smq_error err = SMQ_ERROR_INIT;

        if (alter(&topic, cases[i].option, cases[i].value, &err) != SMQ_OK) {
            fail_msg("%s", err.text);
        }
        assert_true(topic_difference(difference, sizeof(difference), &topic, &before));
        assert_string_equal(difference, cases[i].difference);
        assert_string_equal(topic.nonce, before.nonce);
        assert_int_equal(topic.version, before.version);
    }
}

static void same_value_changes_nothing(void **state)
{
    struct topic before = read_topic(KEYED);
    struct topic topic = before;
    char difference[256] = "";

    assert_int_equal(alter(&topic, "max_retries", "16", NULL), SMQ_OK);
    assert_int_equal(alter(&topic, "ttl_ms", "none", NULL), SMQ_OK);
    assert_false(topic_difference(difference, sizeof(difference), &topic, &before));
}

#define FIXED " is fixed for the life of a topic: it cannot be altered"
static const struct {
    const char *topic, *option, *value, *text;
} bad_alterations[] = {
    {INLINE, "colour", "red", "there is no topic option \"colour\""},
    {INLINE, "", "red", "there is no topic option \"\""},
    {INLINE, "name", "new", "there is no topic option \"name\""},
    {INLINE, "type", "fifo", "type" FIXED},
    {INLINE, "layout", "keyed", "layout" FIXED},
    {INLINE, "slots", "128", "slots" FIXED},
    {INLINE, "shared", "true", "shared" FIXED},
    {INLINE, "ties", "bytes", "ties" FIXED},
    {INLINE, "max_retries", "64",
     "max_retries \"64\" cannot be used; give a whole number, 0 to 63, or none"},
    {INLINE, "max_retries", "-1",
     "max_retries \"-1\" cannot be used; give a whole number, 0 to 63, or none"},
    {INLINE, "max_retries", "4294967297",
     "max_retries \"4294967297\" cannot be used; give a whole number, 0 to 63, or none"},
    {INLINE, "max_retries", "",
     "max_retries \"\" cannot be used; give a whole number, 0 to 63, or none"},
    {INLINE, "backoff", "soon",
     "backoff must be none, fixed:MS, exp:MS:MAX or ladder:MS,MS,... (at most 16 steps of at "
     "most 1099511627776 ms), not \"soon\""},
    {INLINE, "lease_ms", "99",
     "lease_ms \"99\" cannot be used; give a duration such as 500ms, 30s or 5m, 100ms to 1d"},
    {INLINE, "lease_ms", "none",
     "lease_ms \"none\" cannot be used; give a duration such as 500ms, 30s or 5m, 100ms to 1d"},
    {INLINE, "delay_ms", "soon",
     "delay_ms \"soon\" cannot be used; give a duration such as 500ms, 30s or 5m, 0 to "
     "101806d, or none"},
    {FIFO, "delay_ms", "5", "delay_ms is for topics of type range_merge, not fifo"},
    {INLINE, "takeover", "slow", "takeover \"slow\" cannot be used; give one of fast, strict"},
    {INLINE, "debounce_ms", "5", "debounce_ms is for topics of layout keyed, not inline"},
    {FIFO, "debounce_ms", "5", "debounce_ms is for topics of type range_merge, not fifo"},
    {KEYED, "debounce_ms", "0",
     "debounce_ms \"0\" cannot be used; give a duration such as 500ms, 30s or 5m, 1ms to "
     "101806d, or none"},
    {DELAYED, "debounce_ms", "999",
     "debounce_ms, 999, is less than delay_ms, 1000: no send could postpone the message"},
    {INLINE, "dedup_window_ms", "5", "dedup_window_ms is for topics of layout keyed, not inline"},
    {KEYED, "dedup_window_ms", "8d",
     "dedup_window_ms \"8d\" cannot be used; give a duration such as 500ms, 30s or 5m, 1ms to 7d, "
     "or none"},
    {INLINE, "expires_ms", "999",
     "expires_ms \"999\" cannot be used; give a duration such as 500ms, 30s or 5m, 1s to 101806d, "
     "or none"},
    {INLINE, "expires_with_messages", "true",
     "expires_with_messages is for topics that expire: give expires_ms, too"},
    {INLINE " expires_ms=5000 expires_with_messages=yes", "expires_ms", "none",
     "expires_with_messages is for topics that expire: give expires_ms, too"},
    {KEYED, "whole_max", "9", "whole_max is for topics of format 5: give format, too"},
    {FORMAT_5, "whole_max", "1025",
     "whole_max \"1025\" cannot be used; give a whole number, 1 to 1024, or none"},
    {FORMAT_5, "format", "4",
     "format becomes 4 only by slotmq topic upgrade orders --back, which looks for messages that "
     "versions before 0.3.0 would misread"},
    {KEYED, "format", "6", "format \"6\" cannot be used; give a whole number, 4 to 5"},
    {INLINE, "ttl_ms", "5", "ttl_ms is for topics of layout keyed, not inline"},
    {KEYED, "ttl_ms", "0",
     "ttl_ms \"0\" cannot be used; give a duration such as 500ms, 30s or 5m, 1ms to 101806d, "
     "or none"},
    {KEYED, "ttl_ms", "0s",
     "ttl_ms \"0s\" cannot be used; give a duration such as 500ms, 30s or 5m, 1ms to 101806d, "
     "or none"},
    {KEYED, "expired_to_dead", "1",
     "expired_to_dead \"1\" cannot be used; give one of false, true"},
    {KEYED, "expired_to_dead", "yes",
     "expired_to_dead \"yes\" cannot be used; give one of false, true"},
    {KEYED, "skip_failed", "true", "skip_failed is for topics of type fifo, not range_merge"},
    {INLINE, "max_body", "65537",
     "max_body must be from 1 to 65536 in layout inline, not 65537; larger bodies need layout "
     "keyed"},
    {KEYED, "max_body", "0",
     "max_body \"0\" cannot be used; give a size in bytes, or such as 64KiB or 1MiB, 1 to "
     "268435456 (inline 65536)"},
    {KEYED, "max_body", "none",
     "max_body \"none\" cannot be used; give a size in bytes, or such as 64KiB or 1MiB, 1 to "
     "268435456 (inline 65536)"},
    {INLINE, "max_waiting", "0",
     "max_waiting \"0\" cannot be used; give a whole number, 1 to 1099511627776, or none"},
    {INLINE, "rate_per_s", "0",
     "rate_per_s \"0\" cannot be used; give a whole number, 1 to 1000000000, or none"},
    {KEYED " groups=a", "groups", "a,..", "a group cannot be named \"..\": choose another name"},
    {SHARED, "rate_per_s", "5",
     "rate_per_s is for topics whose slots have owners, not for shared ones"},
};

static void bad_alterations_are_named(void **state)
{
    for (size_t i = 0; i < sizeof(bad_alterations) / sizeof(bad_alterations[0]); i++) {
        struct topic before = read_topic(bad_alterations[i].topic);
        struct topic topic = before;
        char difference[256] = "";
        smq_error err = SMQ_ERROR_INIT;

        assert_int_equal(alter(&topic, bad_alterations[i].option, bad_alterations[i].value, &err),
                         SMQ_INVALID);
        assert_string_equal(err.text, bad_alterations[i].text);
        assert_false(topic_difference(difference, sizeof(difference), &topic, &before));
    }
}

static void fields_are_altered_together_or_not_at_all(void **state)
{
    static const smq_topic_options options = {
        .max_retries = SMQ_NONE, .lease_ms = 5000, .ttl_ms = 0, .slots = 8, .backoff = "fixed:5"};
    static const struct {
        const char *fields, *difference; /* the first of them */
        int64_t lease_ms;
    } rows[] = {
        {"max_retries", "max_retries is 0, not 16", 30000},
        {"lease_ms,max_retries", "max_retries is 0, not 16", 5000},
        {"lease_ms", "lease_ms is 5000, not 30000", 5000},
        {"ttl_ms,lease_ms", "lease_ms is 5000, not 30000", 5000},
        {"backoff", "backoff is fixed:5, not none", 30000},
        {"ttl_ms", "ttl_ms is none, not 9", 30000},
    };
    static const char *const bad[] = {NULL,
                                      "",
                                      ",",
                                      "lease_ms,",
                                      "lease_ms,slots",
                                      "lease_ms max_retries",
                                      "lease_ms,max_retrys"};
    struct topic before = read_topic(KEYED " ttl_ms=9");
    char difference[256];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct topic topic = before;

        assert_int_equal(topic_alter(&topic, &options, rows[i].fields, NULL), SMQ_OK);
        assert_true(topic_difference(difference, sizeof(difference), &topic, &before));
        assert_string_equal(difference, rows[i].difference);
        assert_int_equal(topic.lease_ms, rows[i].lease_ms);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct topic topic = before;

        assert_int_equal(topic_alter(&topic, &options, bad[i], NULL), SMQ_INVALID);
        assert_false(topic_difference(difference, sizeof(difference), &topic, &before));
    }
}

TEST_GROUP(topic_alter)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(altered_options_differ),
        cmocka_unit_test(same_value_changes_nothing),
        cmocka_unit_test(bad_alterations_are_named),
        cmocka_unit_test(fields_are_altered_together_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
