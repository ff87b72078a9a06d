/* test_topic.c - definitions of topics: options, stored text, differences. */
#include <string.h>

#include "model/topic.h"
#include "support/group.h"

#define PLAIN                                                                                      \
    .struct_size = sizeof(smq_topic_options), .name = "orders", .type = SMQ_TYPE_RANGE_MERGE

static const smq_topic_options plain = {PLAIN};

static struct topic made(const smq_topic_options *options)
{
    struct topic topic;
    smq_error err = SMQ_ERROR_INIT;

    if (topic_from_options(&topic, options, &err) != SMQ_OK) {
        fail_msg("%s", err.text);
    }
    return topic;
}

static void text_is(const struct topic *topic, const char *expected)
{
    struct buf text = {0};

    topic_format(&text, topic);
    assert_string_equal(text.data, expected);
    buf_fini(&text);
}

/* --- names --- */

static void names_are_checked(void **state)
{
    static const char *const good[] = {"a",  "orders", "0",    "a.b_c-D9", "-",
                                       "..", "a/b",    "a./-", "azAZ09"};
    static const char *const bad[] = {"",      "a b",  "a{b", "a}",          "a/", "/b",
                                      "a/b/c", "a:b",  "a\n", "caf\xc3\xa9", "*",  "a\x7f",
                                      "a/b{",  "a//b", "a@",  "a[",          "a`", "a,"};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(topic_check_name(good[i], NULL), SMQ_OK);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        smq_error err = SMQ_ERROR_INIT;

        assert_int_equal(topic_check_name(bad[i], &err), SMQ_INVALID);
        assert_int_equal(err.status, SMQ_INVALID);
        assert_non_null(strstr(err.text, "name"));
        assert_null(strchr(err.text, '\n'));
    }
    assert_int_equal(topic_check_name(NULL, NULL), SMQ_INVALID);
}

/* Topics of earlier versions may have them, and can still be read, altered and deleted. */
static void dots_are_no_name_for_a_new_topic(void **state)
{
    static const struct {
        const char *name, *groups, *refused; /* refused: NULL: created */
    } rows[] = {
        {"...", NULL, NULL},
        {".a", "...,.b", NULL},
        {".", NULL, "a topic cannot be named \".\""},
        {"..", NULL, "a topic cannot be named \"..\""},
        {"orders", ".", "a group cannot be named \".\""},
        {"orders", "a,..", "a group cannot be named \"..\""},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_topic_options options =
            SMQ_TOPIC_OPTIONS(.name = rows[i].name, .groups = rows[i].groups);
        smq_error err = SMQ_ERROR_INIT;
        struct topic topic;
        smq_status status = topic_from_options(&topic, &options, &err);

        if (rows[i].refused == NULL) {
            assert_int_equal(status, SMQ_OK);
            assert_int_equal(topic_check_new(rows[i].name, "send to", NULL), SMQ_OK);
        } else if (status != SMQ_INVALID || strstr(err.text, rows[i].refused) == NULL) {
            fail_msg("row %zu: %d, \"%s\"", i, (int) status, err.text);
        }
    }
    assert_int_equal(topic_check_new("..", "send to", NULL), SMQ_INVALID);
    assert_int_equal(topic_check_new("orders/a", "send to", NULL), SMQ_INVALID);
    assert_int_equal(topic_check_whole("..", "alter", NULL), SMQ_OK);
}

static void names_have_1_to_120_bytes(void **state)
{
    char name[TOPIC_NAME_MAX + 2];

    memset(name, 'x', sizeof(name));
    name[TOPIC_NAME_MAX + 1] = '\0';
    assert_int_equal(topic_check_name(name, NULL), SMQ_INVALID);
    name[TOPIC_NAME_MAX] = '\0';
    assert_int_equal(topic_check_name(name, NULL), SMQ_OK);
    name[1] = '\0';
    assert_int_equal(topic_check_name(name, NULL), SMQ_OK);
}

/* --- options --- */

static void zero_means_default(void **state)
{
    struct topic topic = made(&plain);

    assert_string_equal(topic.name, "orders");
    assert_int_equal(topic.version, 1);
    assert_int_equal(topic.generation, 1);
    assert_string_equal(topic.nonce, "");
    text_is(
        &topic,
        "format=4 type=range_merge layout=inline slots=64 shared=no ties=arrival max_retries=16 "
        "backoff=exp:1000:600000 lease_ms=30000 delay_ms=none takeover=fast");
}

static void a_name_alone_is_a_job_queue(void **state)
{
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = "jobs");
    struct topic topic;

    assert_int_equal(topic_from_options(&topic, &options, NULL), SMQ_OK);
    assert_int_equal(topic.type, SMQ_TYPE_FIXED_TIME);
    assert_int_equal(topic.layout, SMQ_LAYOUT_KEYED);
    assert_int_equal(topic.max_body, TOPIC_BODY_KEYED_DEFAULT);
    options.layout = SMQ_LAYOUT_INLINE;
    assert_int_equal(topic_from_options(&topic, &options, NULL), SMQ_OK);
    assert_int_equal(topic.layout, SMQ_LAYOUT_INLINE);
}

static void every_option_is_taken(void **state)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = "jobs", .type = SMQ_TYPE_PRIORITY, .slots = TOPIC_SLOTS_MAX,
                          .shared = true, .ties = SMQ_TIES_BYTES, .max_retries = 63,
                          .backoff = "ladder:1,2,3", .lease_ms = 86400000, .delay_ms = SMQ_NONE,
                          .takeover = SMQ_TAKEOVER_STRICT);
    struct topic topic = made(&options);

    text_is(&topic,
            "format=4 type=priority layout=inline slots=65536 shared=yes ties=bytes max_retries=63 "
            "backoff=ladder:1,2,3 lease_ms=86400000 delay_ms=none takeover=strict");
    options = plain;
    options.slots = 1;
    options.max_retries = SMQ_NONE;
    options.backoff = "none";
    options.lease_ms = 100;
    options.delay_ms = INT64_C(1) << 43;
    topic = made(&options);
    text_is(&topic, "format=4 type=range_merge layout=inline slots=1 shared=no ties=arrival "
                    "max_retries=0 backoff=none "
                    "lease_ms=100 delay_ms=8796093022208 takeover=fast");
    options = plain;
    options.layout = SMQ_LAYOUT_KEYED;
    options.delay_ms = 1;
    options.debounce_ms = 2;
    options.ttl_ms = 3;
    options.expired_to_dead = true;
    options.max_body = 4;
    options.max_waiting = 5;
    options.rate_per_s = 6;
    topic = made(&options);
    text_is(&topic,
            "format=4 type=range_merge layout=keyed slots=64 shared=no ties=arrival max_retries=16 "
            "backoff=exp:1000:600000 lease_ms=30000 delay_ms=1 takeover=fast debounce_ms=2 "
            "ttl_ms=3 expired_to_dead=yes max_body=4 max_waiting=5 rate_per_s=6");
    options = plain;
    options.type = SMQ_TYPE_FIFO;
    options.layout = SMQ_LAYOUT_KEYED;
    options.dedup_window_ms = 604800000;
    options.expires_ms = 1000;
    options.expires_with_messages = true;
    topic = made(&options);
    text_is(&topic, "format=4 type=fifo layout=keyed slots=64 shared=no ties=arrival "
                    "max_retries=16 backoff=exp:1000:600000 lease_ms=30000 delay_ms=none "
                    "takeover=fast dedup_window_ms=604800000 expires_ms=1000 "
                    "expires_with_messages=yes");
}

/* 0 is the default; a delay of 0 is SMQ_NONE, as in a message. */
static void a_delay_of_none_is_at_once(void **state)
{
    static const struct {
        smq_topic_type type;
        int64_t given, taken, shown;
    } rows[] = {
        {SMQ_TYPE_RANGE_MERGE, 0, SMQ_NONE, 0},
        {SMQ_TYPE_RANGE_MERGE, SMQ_NONE, 0, SMQ_NONE},
        {SMQ_TYPE_RANGE_MERGE, 5, 5, 5},
        {SMQ_TYPE_PRIORITY, 0, SMQ_NONE, 0},
        {SMQ_TYPE_PRIORITY, SMQ_NONE, SMQ_NONE, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char backoff[BACKOFF_TEXT_MAX];
        smq_topic_options options = plain;
        struct topic topic;

        options.type = rows[i].type;
        options.delay_ms = rows[i].given;
        topic = made(&options);
        assert_int_equal(topic.delay_ms, rows[i].taken);
        topic_to_options(&options, backoff, &topic);
        assert_int_equal(options.delay_ms, rows[i].shown);
    }
}

static void fifo_is_keyed(void **state)
{
    smq_topic_options options = plain;
    struct topic topic;

    options.type = SMQ_TYPE_FIFO;
    options.skip_failed = true;
    topic = made(&options);
    for (int i = 0; i < 2; i++) {
        text_is(&topic, "format=4 type=fifo layout=keyed slots=64 shared=no ties=arrival "
                        "max_retries=16 backoff=exp:1000:600000 lease_ms=30000 delay_ms=none "
                        "takeover=fast skip_failed=yes");
        options.layout = SMQ_LAYOUT_KEYED;
        topic = made(&options);
    }
}

static void largest_body_follows_the_layout(void **state)
{
    smq_topic_options options = plain;

    assert_int_equal(made(&options).max_body, 64 * 1024);
    options.layout = SMQ_LAYOUT_KEYED;
    assert_int_equal(made(&options).max_body, 1024 * 1024);
    options.max_body = TOPIC_BODY_KEYED_MAX;
    assert_int_equal(made(&options).max_body, 268435456);
}

static void none_is_the_default_of_limits(void **state)
{
    smq_topic_options options = plain;
    struct topic stored = made(&plain);
    struct topic asked;
    char text[64];

    options.debounce_ms = SMQ_NONE;
    options.ttl_ms = SMQ_NONE;
    options.dedup_window_ms = SMQ_NONE;
    options.expires_ms = SMQ_NONE;
    options.max_waiting = SMQ_NONE;
    options.rate_per_s = SMQ_NONE;
    asked = made(&options);
    assert_false(topic_difference(text, sizeof(text), &stored, &asked));
}

static const struct {
    smq_topic_options options;
    const char *text;
} bad_options[] = {
    {{.struct_size = sizeof(plain), .type = SMQ_TYPE_PRIORITY}, "the name of the topic is missing"},
    {{.struct_size = sizeof(plain), .name = "a{b", .type = SMQ_TYPE_PRIORITY},
     "a topic's name must be 1 to 120 letters, digits, '.', '_', '-', not \"a{b\""},
    {{.struct_size = sizeof(plain), .name = "t", .type = -1},
     "type must be range_merge, priority, fixed_time or fifo, not -1"},
    {{.struct_size = sizeof(plain), .name = "t", .type = 5},
     "type must be range_merge, priority, fixed_time or fifo, not 5"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .slots = 48},
     "slots must be a power of two from 1 to 65536, not 48"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .slots = 131072},
     "slots must be a power of two from 1 to 65536, not 131072"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .slots = -1},
     "slots must be a power of two from 1 to 65536, not -1"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .slots = INT32_MIN},
     "slots must be a power of two from 1 to 65536, not -2147483648"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .ties = 2},
     "ties must be arrival or bytes, not 2"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_FIXED_TIME, .ties = 1},
     "ties is for topics of type priority, not fixed_time"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .max_retries = 64},
     "max_retries must be from 1 to 63, or SMQ_NONE, not 64"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .max_retries = -2},
     "max_retries must be from 1 to 63, or SMQ_NONE, not -2"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .backoff = "exp"},
     "backoff must be none, fixed:MS, exp:MS:MAX or ladder:MS,MS,... (at most 16 steps of at "
     "most 1099511627776 ms), not \"exp\""},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .lease_ms = 99},
     "lease_ms must be from 100 to 86400000, not 99"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .lease_ms = 86400001},
     "lease_ms must be from 100 to 86400000, not 86400001"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .lease_ms = SMQ_NONE},
     "lease_ms must be from 100 to 86400000, not -1"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_FIXED_TIME, .delay_ms = 5},
     "delay_ms is for topics of type range_merge, not fixed_time"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_RANGE_MERGE, .delay_ms = -2},
     "delay_ms must be from 0 to 8796093022208, or SMQ_NONE, not -2"},
    {{.struct_size = sizeof(plain),
      .name = "t",
      .type = SMQ_TYPE_RANGE_MERGE,
      .delay_ms = INT64_C(8796093022209)},
     "delay_ms must be from 0 to 8796093022208, or SMQ_NONE, not 8796093022209"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_PRIORITY, .takeover = 2},
     "takeover must be fast or strict, not 2"},
    {{PLAIN, .takeover_replicas = 17}, "takeover_replicas must be from 0 to 16, not 17"},
    {{PLAIN, .takeover_replicas = SMQ_NONE}, "takeover_replicas must be from 0 to 16, not -1"},
    {{PLAIN, .shared = true, .takeover_replicas = 1},
     "takeover_replicas is for topics whose slots have owners, not for shared ones"},
    {{PLAIN, .layout = 3}, "layout must be inline or keyed, not 3"},
    {{PLAIN, .debounce_ms = 5}, "debounce_ms is for topics of layout keyed, not inline"},
    {{PLAIN, .dedup_window_ms = 5}, "dedup_window_ms is for topics of layout keyed, not inline"},
    {{PLAIN, .layout = SMQ_LAYOUT_KEYED, .dedup_window_ms = 604800001},
     "dedup_window_ms must be from 1 to 604800000, or SMQ_NONE, not 604800001"},
    {{PLAIN, .ttl_ms = 5}, "ttl_ms is for topics of layout keyed, not inline"},
    {{PLAIN, .expired_to_dead = true}, "expired_to_dead is for topics of layout keyed, not inline"},
    {{.struct_size = sizeof(plain),
      .name = "t",
      .type = SMQ_TYPE_PRIORITY,
      .layout = SMQ_LAYOUT_KEYED,
      .debounce_ms = 5},
     "debounce_ms is for topics of type range_merge, not priority"},
    {{PLAIN, .layout = SMQ_LAYOUT_KEYED, .debounce_ms = -2},
     "debounce_ms must be from 1 to 8796093022208, or SMQ_NONE, not -2"},
    {{PLAIN, .layout = SMQ_LAYOUT_KEYED, .delay_ms = 10, .debounce_ms = 9},
     "debounce_ms, 9, is less than delay_ms, 10: no send could postpone the message"},
    {{PLAIN, .layout = SMQ_LAYOUT_KEYED, .ttl_ms = INT64_C(8796093022209)},
     "ttl_ms must be from 1 to 8796093022208, or SMQ_NONE, not 8796093022209"},
    {{PLAIN, .layout = SMQ_LAYOUT_KEYED, .skip_failed = true},
     "skip_failed is for topics of type fifo, not range_merge"},
    {{.struct_size = sizeof(plain),
      .name = "t",
      .type = SMQ_TYPE_FIFO,
      .layout = SMQ_LAYOUT_INLINE},
     "a topic of type fifo needs layout keyed, not inline: leave the layout out, or give keyed"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_FIFO, .shared = true},
     "a topic of type fifo cannot be shared: only an owner keeps the order"},
    {{.struct_size = sizeof(plain), .name = "t", .type = SMQ_TYPE_FIFO, .delay_ms = 5},
     "delay_ms is for topics of type range_merge, not fifo"},
    {{PLAIN, .max_body = 65537},
     "max_body must be from 1 to 65536 in layout inline, not 65537; larger bodies need layout "
     "keyed"},
    {{PLAIN, .layout = SMQ_LAYOUT_KEYED, .max_body = 268435457},
     "max_body must be from 1 to 268435456, not 268435457"},
    {{PLAIN, .max_body = SMQ_NONE}, "max_body must be from 1 to 268435456, not -1"},
    {{PLAIN, .max_waiting = -2},
     "max_waiting must be from 1 to 1099511627776, or SMQ_NONE, not -2"},
    {{PLAIN, .rate_per_s = 1000000001},
     "rate_per_s must be from 1 to 1000000000, or SMQ_NONE, not 1000000001"},
    {{PLAIN, .shared = true, .rate_per_s = 5},
     "rate_per_s is for topics whose slots have owners, not for shared ones"},
};

static void bad_options_are_named(void **state)
{
    for (size_t i = 0; i < sizeof(bad_options) / sizeof(bad_options[0]); i++) {
        struct topic topic = {.slots = 77};
        smq_error err = SMQ_ERROR_INIT;

        assert_int_equal(topic_from_options(&topic, &bad_options[i].options, &err), SMQ_INVALID);
        assert_string_equal(err.text, bad_options[i].text);
        assert_int_equal(topic.slots, 77);
    }
}

static void size_of_the_options_is_checked(void **state)
{
    smq_topic_options options = plain;
    struct topic topic;
    smq_error err = SMQ_ERROR_INIT;

    options.struct_size = 0;
    assert_int_equal(topic_from_options(&topic, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "SMQ_TOPIC_OPTIONS_INIT"));
    options.struct_size = sizeof(options) + 8;
    assert_int_equal(topic_from_options(&topic, &options, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "SMQ_TOPIC_OPTIONS_INIT"));
}

static void options_of_an_older_header_end_earlier(void **state)
{
    smq_topic_options options = plain;
    struct topic topic;

    options.slots = 2;
    options.struct_size = offsetof(smq_topic_options, max_retries);
    options.max_retries = 99; /* behind the end: not there */
    options.lease_ms = 1;
    topic = made(&options);
    assert_int_equal(topic.slots, 2);
    assert_int_equal(topic.max_retries, 16);
    assert_int_equal(topic.lease_ms, 30000);
}

static void described_options_make_the_same_topic(void **state)
{
    static const char *const texts[] = {
        "format=4 type=range_merge layout=inline slots=1 shared=yes ties=arrival max_retries=0 "
        "backoff=none lease_ms=100 "
        "delay_ms=none takeover=fast",
        "format=4 type=range_merge layout=inline slots=64 shared=no ties=arrival max_retries=16 "
        "backoff=exp:1:2 "
        "lease_ms=30000 delay_ms=1 takeover=strict",
        "format=4 type=fixed_time layout=inline slots=2 shared=no ties=arrival max_retries=1 "
        "backoff=fixed:0 "
        "lease_ms=30000 delay_ms=none takeover=fast",
        "format=4 type=priority layout=inline slots=65536 shared=no ties=bytes max_retries=63 "
        "backoff=ladder:1,2 "
        "lease_ms=86400000 delay_ms=none takeover=fast",
        "format=4 type=range_merge layout=keyed slots=64 shared=no ties=arrival max_retries=16 "
        "backoff=none lease_ms=30000 delay_ms=1 takeover=fast debounce_ms=2 ttl_ms=3 "
        "expired_to_dead=yes max_body=4 max_waiting=5 rate_per_s=6 takeover_replicas=7 "
        "dedup_window_ms=8 expires_ms=9000 expires_with_messages=yes",
        "format=4 type=fifo layout=keyed slots=64 shared=no ties=arrival max_retries=16 "
        "backoff=none "
        "lease_ms=30000 delay_ms=none takeover=fast skip_failed=yes",
        "format=5 type=fixed_time layout=keyed slots=64 shared=no ties=arrival max_retries=16 "
        "backoff=none lease_ms=30000 delay_ms=none takeover=fast",
        "format=5 type=fixed_time layout=keyed slots=64 shared=no ties=arrival max_retries=16 "
        "backoff=none lease_ms=30000 delay_ms=none takeover=fast whole_max=0",
        "format=4 type=priority layout=inline slots=64 shared=no ties=arrival max_retries=16 "
        "backoff=none lease_ms=30000 "
        "delay_ms=none takeover=fast max_body=100",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        char backoff[BACKOFF_TEXT_MAX];
        smq_topic_options options;
        struct topic topic;

        assert_int_equal(topic_parse(&topic, "t", texts[i], strlen(texts[i]), NULL), SMQ_OK);
        topic_to_options(&options, backoff, &topic);
        assert_string_equal(options.name, "t");
        topic = made(&options);
        text_is(&topic, texts[i]);
    }
}

/* --- the stored text --- */

#define HEAD                                                                                       \
    "format=4 type=priority layout=inline slots=64 shared=no ties=arrival max_retries=16 "         \
    "backoff=none "
#define KEYED                                                                                      \
    "format=4 type=priority layout=keyed slots=64 shared=no ties=arrival max_retries=16 "          \
    "backoff=none lease_ms=30000 delay_ms=none "
static const struct {
    const char *text;
    size_t len;
} unreadable[] = {
#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }
    TEXT(""),
    TEXT(" "),
    TEXT("format=4"),
    TEXT("format=4 "),
    TEXT("format=4 type=priority"),
    TEXT("format= type=priority"),
    TEXT("format=02 type=priority"),
    TEXT("format=-1 type=priority"),
    TEXT("format=5"),
    TEXT("format=5x "),
    TEXT("format=4 type=fixed_time layout=keyed slots=64 shared=no ties=arrival max_retries=16 "
         "backoff=none lease_ms=30000 delay_ms=none takeover=fast whole_max=9"),
    TEXT("format=4 type=fixed_time layout=keyed slots=64 shared=no ties=arrival max_retries=16 "
         "backoff=none lease_ms=30000 delay_ms=none takeover=fast format=5"),
    TEXT("format=99999999999999999999 type=priority"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast "),
    TEXT(" " HEAD "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT(HEAD " lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast takeover=fast"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast colour=red"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=slow"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover="),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast\0"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast\n"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fa\0st"),
    TEXT(HEAD "lease_ms=30000 delay_ms=7 takeover=fast"),
    TEXT(HEAD "lease_ms=30000 delay_ms=0 takeover=fast"),
    TEXT(HEAD "lease_ms=30000 delay_ms=-1 takeover=fast"),
    TEXT(HEAD "lease_ms=99 delay_ms=none takeover=fast"),
    TEXT(HEAD "lease_ms=99999999999999999999 delay_ms=none takeover=fast"),
    TEXT("format=4 type=queue layout=inline slots=64 shared=no ties=arrival max_retries=16 "
         "backoff=none "
         "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=priority layout=inline slots=63 shared=no ties=arrival max_retries=16 "
         "backoff=none "
         "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=priority layout=inline slots=4294967297 shared=no ties=arrival "
         "max_retries=16 backoff=none "
         "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=priority layout=inline slots=0 shared=no ties=arrival max_retries=16 "
         "backoff=none "
         "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=priority layout=inline slots=64 shared=maybe ties=arrival "
         "max_retries=16 backoff=none "
         "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=fixed_time layout=inline slots=64 shared=no ties=bytes max_retries=16 "
         "backoff=none "
         "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=priority layout=inline slots=64 shared=no ties=arrival max_retries=64 "
         "backoff=none "
         "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=priority layout=inline slots=64 shared=no ties=arrival max_retries=16 "
         "backoff=soon "
         "lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=fifo layout=inline slots=64 shared=no ties=arrival max_retries=16 "
         "backoff=none lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT("format=4 type=priority slots=64 shared=no ties=arrival max_retries=16 "
         "backoff=none lease_ms=30000 delay_ms=none takeover=fast"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast format=4"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast layout=inline"),
    TEXT(KEYED "takeover=fast layout=row"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast ttl_ms=5"),
    TEXT(KEYED "takeover=fast ttl_ms=-1"),
    TEXT(KEYED "takeover=fast ttl_ms=5s"),
    TEXT(KEYED "takeover=fast skip_failed=true"),
    TEXT(KEYED "takeover=fast takeover_replicas=none"),
    TEXT(KEYED "takeover=fast takeover_replicas=17"),
    TEXT(HEAD "lease_ms=30000 delay_ms=none takeover=fast max_body=65537"),
#undef TEXT
};
#undef HEAD
#undef KEYED

static void stored_text_is_not_trusted(void **state)
{
    for (size_t i = 0; i < sizeof(unreadable) / sizeof(unreadable[0]); i++) {
        struct topic topic = {.slots = 77};
        smq_error err = SMQ_ERROR_INIT;

        if (topic_parse(&topic, "jobs", unreadable[i].text, unreadable[i].len, &err) !=
            SMQ_INTERNAL) {
            fail_msg("\"%s\" was taken", unreadable[i].text);
        }
        assert_non_null(strstr(err.text, "the stored definition of topic jobs cannot be read: "));
        assert_int_equal(topic.slots, 77);
    }
}

/* Neither handled wrongly nor taken for damage. */
static void definitions_of_other_versions_say_what_to_do(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"format=6 type=stack", "topic jobs was made by a newer slotmq: its format is 6, and this "
                                "version reads 5; update this program"},
        {"format=2147483647 ?", "update this program"},
        {"format=1 type=priority", "made by an older slotmq"},
        {"format=2 type=priority", "made by an older slotmq"},
        {"format=3 type=priority", "made by an older slotmq"},
        {"type=priority slots=64 shared=no ties=arrival max_retries=16 backoff=none "
         "lease_ms=30000 delay_ms=none takeover=fast",
         "topic jobs was made by an older slotmq, whose messages this version does not read; "
         "docs/upgrading.md says how they come over"},
        {"type=priority layout=keyed slots=64", "made by an older slotmq"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct topic topic = {.slots = 77};
        smq_error err = SMQ_ERROR_INIT;

        assert_int_equal(topic_parse(&topic, "jobs", rows[i].text, strlen(rows[i].text), &err),
                         SMQ_TOPIC_DIFFERS);
        assert_non_null(strstr(err.text, rows[i].said));
        assert_int_equal(topic.slots, 77);
    }
}

static void stored_value_may_be_longer_than_any_field(void **state)
{
    struct buf text = {0};
    struct topic topic;

    buf_printf(&text, "format=4 backoff=ladder:1");
    for (int i = 0; i < 1000; i++) {
        buf_printf(&text, ",1");
    }
    assert_int_equal(topic_parse(&topic, "jobs", text.data, text.len, NULL), SMQ_INTERNAL);
    buf_fini(&text);
}

static void stored_fields_may_stand_in_any_order(void **state)
{
    static const char text[] = "format=4 takeover=fast delay_ms=none lease_ms=30000 backoff=none "
                               "max_retries=16 ties=arrival shared=no slots=64 layout=inline "
                               "type=priority";
    struct topic topic;

    assert_int_equal(topic_parse(&topic, "jobs", text, strlen(text), NULL), SMQ_OK);
    assert_int_equal(topic.type, SMQ_TYPE_PRIORITY);
    assert_int_equal(topic.slots, 64);
}

/* --- comparing, stamps, kinds --- */

static void difference_names_the_first_field(void **state)
{
    smq_topic_options options = plain;
    struct topic stored = made(&plain);
    struct topic asked = stored;
    char text[256] = "";

    assert_false(topic_difference(text, sizeof(text), &stored, &asked));
    asked.slots = 32;
    asked.takeover = SMQ_TAKEOVER_STRICT;
    assert_true(topic_difference(text, sizeof(text), &stored, &asked));
    assert_string_equal(text, "slots is 64, not 32");
    options.backoff = "fixed:5";
    asked = made(&options);
    assert_true(topic_difference(text, sizeof(text), &stored, &asked));
    assert_string_equal(text, "backoff is exp:1000:600000, not fixed:5");
    options = plain;
    options.delay_ms = 5;
    asked = made(&options);
    assert_true(topic_difference(text, sizeof(text), &stored, &asked));
    assert_string_equal(text, "delay_ms is none, not 5");
    options = plain;
    options.type = SMQ_TYPE_PRIORITY;
    asked = made(&options);
    assert_true(topic_difference(text, 12, &stored, &asked));
    assert_string_equal(text, "type is ran"); /* cut to fit */
    options = plain;
    options.layout = SMQ_LAYOUT_KEYED;
    stored = made(&options);
    options.ttl_ms = 5;
    asked = made(&options);
    assert_true(topic_difference(text, sizeof(text), &stored, &asked));
    assert_string_equal(text, "ttl_ms is none, not 5");
}

static void nonce_and_version_are_no_difference(void **state)
{
    struct topic stored = made(&plain);
    struct topic asked = stored;
    char text[256] = "";

    strcpy(stored.nonce, "0123456789abcdef");
    stored.version = 4;
    stored.generation = 9;
    assert_false(topic_difference(text, sizeof(text), &stored, &asked));
}

static void stamp_is_nonce_and_version(void **state)
{
    struct topic topic = made(&plain);
    char stamp[TOPIC_STAMP_MAX];

    strcpy(topic.nonce, "0123456789abcdef");
    topic_stamp(stamp, &topic);
    assert_string_equal(stamp, "0123456789abcdef.1");
    topic.version = UINT32_MAX;
    topic_stamp(stamp, &topic);
    assert_string_equal(stamp, "0123456789abcdef.4294967295");
}

static void kind_follows_type_and_ties(void **state)
{
    assert_int_equal(topic_kind(&(struct topic){.type = SMQ_TYPE_RANGE_MERGE}), 'm');
    assert_int_equal(topic_kind(&(struct topic){.type = SMQ_TYPE_FIXED_TIME}), 't');
    assert_int_equal(topic_kind(&(struct topic){.type = SMQ_TYPE_PRIORITY}), 'p');
    assert_int_equal(topic_kind(&(struct topic){.type = SMQ_TYPE_PRIORITY, .ties = SMQ_TIES_BYTES}),
                     'b');
    assert_int_equal(topic_kind(&(struct topic){.type = SMQ_TYPE_FIFO}), 'f');
}

static void bodies_stand_behind_headers_in_format_5(void **state)
{
    assert_int_equal(topic_field_from(&(struct topic){.format = 4, .whole_max = 256}), 0);
    assert_int_equal(topic_field_from(&(struct topic){.format = 5, .whole_max = 0}), 0);
    assert_int_equal(topic_field_from(&(struct topic){.format = 5, .whole_max = 1}), 256);
}

TEST_GROUP(topic)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(dots_are_no_name_for_a_new_topic),
        cmocka_unit_test(names_have_1_to_120_bytes),
        cmocka_unit_test(zero_means_default),
        cmocka_unit_test(a_name_alone_is_a_job_queue),
        cmocka_unit_test(every_option_is_taken),
        cmocka_unit_test(a_delay_of_none_is_at_once),
        cmocka_unit_test(fifo_is_keyed),
        cmocka_unit_test(largest_body_follows_the_layout),
        cmocka_unit_test(none_is_the_default_of_limits),
        cmocka_unit_test(bad_options_are_named),
        cmocka_unit_test(size_of_the_options_is_checked),
        cmocka_unit_test(options_of_an_older_header_end_earlier),
        cmocka_unit_test(described_options_make_the_same_topic),
        cmocka_unit_test(stored_text_is_not_trusted),
        cmocka_unit_test(definitions_of_other_versions_say_what_to_do),
        cmocka_unit_test(stored_value_may_be_longer_than_any_field),
        cmocka_unit_test(stored_fields_may_stand_in_any_order),
        cmocka_unit_test(difference_names_the_first_field),
        cmocka_unit_test(nonce_and_version_are_no_difference),
        cmocka_unit_test(stamp_is_nonce_and_version),
        cmocka_unit_test(kind_follows_type_and_ties),
        cmocka_unit_test(bodies_stand_behind_headers_in_format_5),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
