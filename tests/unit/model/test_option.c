/* test_option.c - every option in its struct: its default, the ends of its range and what lies
 * outside. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <slotmq/slotmq.h>

#include "model/option.h"
#include "model/topic.h"
#include "support/group.h"

#define DAY       INT64_C(86400000)
#define TIME_MOST (INT64_C(1) << 43)
#define NUMBERS   INT64_C(1099511627776)

/* What SMQ_NONE means: nothing, it is refused; and 0 is the way to say it. */
#define REFUSED INT64_MIN
#define ZERO    (INT64_MIN + 1)

/* One of them at a time; each begins with its size. */
union structs {
    size_t struct_size;
    smq_client_options client;
    smq_topic_options topic;
    smq_producer_options producer;
    smq_consumer_options consumer;
};

/* A number; 0 means `meaning`. */
static const struct {
    smq_option_set set;
    const char *name;
    int64_t meaning, smallest, largest, none;
} numbers[] = {
    {SMQ_OPTION_SET_CLIENT, "connect_timeout_ms", 5000, 10, 600000, REFUSED},
    {SMQ_OPTION_SET_CLIENT, "request_timeout_ms", 3000, 10, 600000, REFUSED},
    {SMQ_OPTION_SET_CLIENT, "session_timeout_ms", 10000, 10, 600000, REFUSED},
    {SMQ_OPTION_SET_TOPIC, "slots", 64, 1, TOPIC_SLOTS_MAX, REFUSED},
    {SMQ_OPTION_SET_TOPIC, "max_retries", 16, 1, 63, 0},
    {SMQ_OPTION_SET_TOPIC, "lease_ms", 30000, 100, DAY, REFUSED},
    {SMQ_OPTION_SET_TOPIC, "delay_ms", SMQ_NONE, 0, TIME_MOST, 0},
    {SMQ_OPTION_SET_TOPIC, "debounce_ms", 0, 1, TIME_MOST, 0},
    {SMQ_OPTION_SET_TOPIC, "ttl_ms", 0, 1, TIME_MOST, 0},
    {SMQ_OPTION_SET_TOPIC, "takeover_replicas", 0, 0, 16, REFUSED},
    {SMQ_OPTION_SET_TOPIC, "max_body", 65536, 1, 268435456, REFUSED},
    {SMQ_OPTION_SET_TOPIC, "max_waiting", 0, 1, NUMBERS, 0},
    {SMQ_OPTION_SET_TOPIC, "rate_per_s", 0, 1, 1000000000, 0},
    {SMQ_OPTION_SET_TOPIC, "format", 4, 4, 5, REFUSED},
    {SMQ_OPTION_SET_TOPIC, "whole_max", 256, 1, 1024, 0},
    {SMQ_OPTION_SET_TOPIC, "dedup_window_ms", 0, 1, 604800000, 0},
    {SMQ_OPTION_SET_TOPIC, "expires_ms", 0, 1000, TIME_MOST, 0},
    {SMQ_OPTION_SET_PRODUCER, "replicas", 0, 0, 16, REFUSED},
    {SMQ_OPTION_SET_PRODUCER, "send_timeout_ms", 10000, 1, DAY, REFUSED},
    {SMQ_OPTION_SET_PRODUCER, "max_pending", 100000, 1, 1000000000, REFUSED},
    {SMQ_OPTION_SET_PRODUCER, "max_pending_bytes", 67108864, 1, NUMBERS, REFUSED},
    {SMQ_OPTION_SET_PRODUCER, "full_timeout_ms", 0, 0, DAY, SMQ_FOREVER},
    {SMQ_OPTION_SET_PRODUCER, "linger_ms", 2, 1, 120000, 0},
    {SMQ_OPTION_SET_CONSUMER, "threads", -7 /* the machine's */, 1, 1024, REFUSED},
    {SMQ_OPTION_SET_CONSUMER, "batch_size", 100, 1, 1000, REFUSED},
    {SMQ_OPTION_SET_CONSUMER, "max_messages", 0, 1, INT64_MAX, ZERO},
    {SMQ_OPTION_SET_CONSUMER, "weight", 1, 1, 1024, REFUSED},
    {SMQ_OPTION_SET_CONSUMER, "per_slot", 1000, 1, 1000, REFUSED},
    {SMQ_OPTION_SET_CONSUMER, "max_poll_gap_ms", 300000, 100, DAY, REFUSED},
    {SMQ_OPTION_SET_CONSUMER, "max_in_flight", 1000, 1, INT32_MAX, REFUSED},
    {SMQ_OPTION_SET_CONSUMER, "rate_per_s", 0, 1, 1000000000, ZERO},
    {SMQ_OPTION_SET_CONSUMER, "handler_timeout_ms", 0, 1, DAY, ZERO},
    {SMQ_OPTION_SET_CONSUMER, "drain_timeout_ms", 30000, 1, DAY, 0},
    {SMQ_OPTION_SET_CONSUMER, "push_slots", 64, 1, 65536, 0},
    {SMQ_OPTION_SET_CONSUMER, "linger_ms", 2, 1, 120000, 0},
};

static const struct {
    smq_option_set set;
    const char *name;
    int meaning, first, last;
    const char *words;
} choices[] = {
    {SMQ_OPTION_SET_CLIENT, "on_coordination_loss", SMQ_COORDINATION_LOSS_CONTINUE,
     SMQ_COORDINATION_LOSS_CONTINUE, SMQ_COORDINATION_LOSS_STOP, "continue or stop"},
    {SMQ_OPTION_SET_CLIENT, "coordination", SMQ_COORDINATION_AUTO, SMQ_COORDINATION_AUTO,
     SMQ_COORDINATION_REDIS, "auto or redis"},
    {SMQ_OPTION_SET_CLIENT, "event_level", SMQ_LEVEL_INFO, SMQ_LEVEL_ERROR, SMQ_LEVEL_TRACE,
     "error, warn, info, debug or trace"},
    {SMQ_OPTION_SET_TOPIC, "layout", SMQ_LAYOUT_INLINE, SMQ_LAYOUT_INLINE, SMQ_LAYOUT_KEYED,
     "inline or keyed"},
    {SMQ_OPTION_SET_TOPIC, "ties", SMQ_TIES_ARRIVAL, SMQ_TIES_ARRIVAL, SMQ_TIES_BYTES,
     "arrival or bytes"},
    {SMQ_OPTION_SET_TOPIC, "takeover", SMQ_TAKEOVER_FAST, SMQ_TAKEOVER_FAST, SMQ_TAKEOVER_STRICT,
     "fast or strict"},
    {SMQ_OPTION_SET_TOPIC, "type", SMQ_TYPE_FIXED_TIME, SMQ_TYPE_RANGE_MERGE, SMQ_TYPE_FIFO,
     "range_merge, priority, fixed_time or fifo"},
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static smq_verdict done(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

/* A struct of which only the option is set, and what it asks for. */
static union structs begun(const struct option *option, int64_t value)
{
    union structs structs;

    memset(&structs, 0, sizeof(structs));
    structs.struct_size = sizeof(structs);
    if (option->info.set == SMQ_OPTION_SET_TOPIC) {
        structs.topic.type = SMQ_TYPE_RANGE_MERGE;
    }
    if (option->applies != NULL && !option->applies(&structs)) {
        structs.consumer.handler = done;
    }
    option_set(option, &structs, value);
    return structs;
}

static const struct option *found(smq_option_set set, const char *name)
{
    const struct option *option = option_find(set, name);

    assert_non_null(option);
    return option;
}

static void means(const struct option *option, int64_t given, int64_t meaning)
{
    union structs structs = begun(option, given);
    smq_error err;

    if (option_complete(&structs, option->info.set, &err) != SMQ_OK) {
        fail_msg("%s: %s", option->info.name, err.text);
    }
    assert_int_equal(option_get(option, &structs), meaning);
}

static void is_refused(const struct option *option, int64_t given, const char *range)
{
    union structs structs = begun(option, given);
    smq_error err = {.text = ""};
    char text[252];

    if (option_get(option, &structs) != given) {
        return; /* the field itself ends before */
    }
    snprintf(text, sizeof(text), "%s must be %s, not %lld", option->info.name, range,
             (long long) given);
    assert_int_equal(option_complete(&structs, option->info.set, &err), SMQ_INVALID);
    assert_string_equal(err.text, text);
    assert_int_equal(option_get(option, &structs), given);
}

static void numbers_keep_their_ranges(void **state)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        const struct option *option = found(numbers[i].set, numbers[i].name);
        bool has_none = numbers[i].none > ZERO;
        int64_t below = numbers[i].smallest - 1;
        const char *only = strcmp(numbers[i].name, "slots") == 0 ? "a power of two " : "";
        const char *none = numbers[i].none == REFUSED       ? ""
                           : numbers[i].none == ZERO        ? ", or 0 for none"
                           : numbers[i].none == SMQ_FOREVER ? ", or SMQ_FOREVER"
                                                            : ", or SMQ_NONE";
        char range[128];

        snprintf(range, sizeof(range), "%sfrom %lld to %lld%s", only,
                 (long long) numbers[i].smallest, (long long) numbers[i].largest, none);
        if (numbers[i].largest == INT64_MAX) {
            snprintf(range, sizeof(range), "at least 1%s", none);
        } else {
            is_refused(option, numbers[i].largest + 1, range);
            is_refused(option, INT64_MAX, range);
        }
        if (numbers[i].meaning != -7) {
            means(option, 0, numbers[i].meaning);
        }
        if (numbers[i].smallest != 0) {
            means(option, numbers[i].smallest, numbers[i].smallest);
        }
        means(option, numbers[i].largest, numbers[i].largest);
        if (has_none) {
            means(option, SMQ_NONE, numbers[i].none);
        }
        below = below == 0 ? -1 : below; /* 0 is the default */
        is_refused(option, has_none && below == SMQ_NONE ? -2 : below, range);
        is_refused(option, option->size == 4 ? INT32_MIN : INT64_MIN, range);
    }
}

static void choices_keep_their_words(void **state)
{
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const struct option *option = found(choices[i].set, choices[i].name);
        char word[OPTION_WORD_SIZE];

        means(option, 0, choices[i].meaning);
        for (int value = choices[i].first; value <= choices[i].last; value++) {
            means(option, value, value);
            assert_true(option_word(word, option, value));
        }
        assert_false(option_word(word, option, choices[i].last + 1));
        is_refused(option, choices[i].last + 1, choices[i].words);
        is_refused(option, -1, choices[i].words);
    }
}

static void switches_and_texts_are_kept(void **state)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_PRIORITY, .shared = true);
    assert_int_equal(option_complete(&topic, SMQ_OPTION_SET_TOPIC, NULL), SMQ_OK);
    assert_true(topic.shared);
    assert_false(topic.skip_failed);
    assert_string_equal(topic.backoff, "exp:1000:600000");
    assert_null(topic.name);
    topic.backoff = "none";
    assert_int_equal(option_complete(&topic, SMQ_OPTION_SET_TOPIC, NULL), SMQ_OK);
    assert_string_equal(topic.backoff, "none");
}

static void only_powers_of_two_are_slots(void **state)
{
    const struct option *slots = found(SMQ_OPTION_SET_TOPIC, "slots");

    for (int64_t count = 1; count <= TOPIC_SLOTS_MAX; count *= 2) {
        means(slots, count, count);
        if (count > 2) {
            is_refused(slots, count - 1, "a power of two from 1 to 65536");
        }
    }
}

static void some_defaults_follow_other_options(void **state)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    smq_consumer_options worker = SMQ_CONSUMER_OPTIONS(.handler = done);
    smq_consumer_options consumer = SMQ_CONSUMER_OPTIONS_INIT;

    assert_int_equal(option_complete(&consumer, SMQ_OPTION_SET_CONSUMER, NULL), SMQ_OK);
    assert_int_equal(consumer.max_in_flight, 1000);
    assert_int_equal(option_complete(&worker, SMQ_OPTION_SET_CONSUMER, NULL), SMQ_OK);
    assert_int_equal(worker.threads, cores >= 1 && cores <= 1024 ? cores : 1);
    assert_int_equal(worker.max_in_flight, 10 * worker.threads * 100);
    worker = SMQ_CONSUMER_OPTIONS(.handler = done);
    worker.threads = 1024;
    worker.batch_size = 1000;
    assert_int_equal(option_complete(&worker, SMQ_OPTION_SET_CONSUMER, NULL), SMQ_OK);
    assert_int_equal(worker.max_in_flight, 10240000);
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIFO);
    assert_int_equal(option_complete(&topic, SMQ_OPTION_SET_TOPIC, NULL), SMQ_OK);
    assert_int_equal(topic.layout, SMQ_LAYOUT_KEYED);
    assert_int_equal(topic.max_body, 1048576);
}

/* A field that is set for the other form of a consumer is refused, and left as it was. */
static void options_belong_to_one_form_of_consumer(void **state)
{
    static const struct {
        const char *name;
        bool handlers;
    } rows[] = {{"threads", true}, {"batch_size", true}, {"max_messages", true},
                {"weight", false}, {"per_slot", false},  {"max_poll_gap_ms", false}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct option *option = found(SMQ_OPTION_SET_CONSUMER, rows[i].name);
        smq_consumer_options other = {
            .struct_size = sizeof(other), .batch = NULL, .handler = rows[i].handlers ? NULL : done};
        smq_error err;
        char text[128];

        assert_int_equal(option_complete(&other, SMQ_OPTION_SET_CONSUMER, &err), SMQ_OK);
        assert_int_equal(option_get(option, &other), 0);
        option_set(option, &other, option->min);
        snprintf(text, sizeof(text), "%s is only for consumers %s", rows[i].name,
                 rows[i].handlers ? "with handler or batch" : "without handler and batch");
        assert_int_equal(option_complete(&other, SMQ_OPTION_SET_CONSUMER, &err), SMQ_INVALID);
        assert_string_equal(err.text, text);
        assert_int_equal(option_get(option, &other), option->min);
    }
}

/* A row of the library that none of these tables knows is a row that is not tested. */
static void every_option_is_in_a_table(void **state)
{
    size_t others = 0;
    unsigned stored = 0, topics = 0;

    for (size_t i = 0; i < option_count; i++) {
        topics += option_table[i].info.set == SMQ_OPTION_SET_TOPIC;
        stored |= 1U << option_table[i].stored;
        others += option_table[i].kind == OPTION_STRING || option_table[i].size == sizeof(bool);
        assert_ptr_equal(option_find(option_table[i].info.set, option_table[i].info.name),
                         &option_table[i]);
    }
    assert_int_equal(COUNT_OF(numbers) + COUNT_OF(choices) + others, option_count);
    assert_int_equal(stored, (1U << topics) - 1); /* 0: groups; then 1, 2 and so on */
    assert_null(option_find(SMQ_OPTION_SET_TOPIC, "threads"));
}

/* What is described as the default and as the range is what the numbers of the row say. */
static void descriptions_are_true(void **state)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        union structs structs = begun(option, 0);
        char low[32], high[32];

        if (option->kind != OPTION_STRING && option->choose == NULL &&
            option->info.default_value[0] != '\0') {
            assert_int_equal(option_parse(&structs, option->info.set, option->info.name,
                                          option->info.default_value, NULL),
                             SMQ_OK);
            assert_int_equal(option_meaning(option, NULL, option_get(option, &structs)),
                             option->fallback);
        }
        if (sscanf(option->info.range, "%31s .. %31[^ ,]", low, high) != 2) {
            continue;
        }
        assert_int_equal(option_parse(&structs, option->info.set, option->info.name, low, NULL),
                         SMQ_OK);
        if (strcmp(low, "0") != 0) {
            assert_int_equal(option_get(option, &structs), option->min);
        }
        assert_int_equal(option_parse(&structs, option->info.set, option->info.name, high, NULL),
                         SMQ_OK);
        if (strcmp(high, "101806d") != 0) { /* rounded down from 2^43 ms */
            assert_int_equal(option_get(option, &structs), option->max);
        }
    }
}

TEST_GROUP(option)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_keep_their_ranges),
        cmocka_unit_test(choices_keep_their_words),
        cmocka_unit_test(switches_and_texts_are_kept),
        cmocka_unit_test(only_powers_of_two_are_slots),
        cmocka_unit_test(some_defaults_follow_other_options),
        cmocka_unit_test(options_belong_to_one_form_of_consumer),
        cmocka_unit_test(every_option_is_in_a_table),
        cmocka_unit_test(descriptions_are_true),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
