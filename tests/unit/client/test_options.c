/* test_options.c - options by name: every field can be set, and every mistake is reported. */
#include <string.h>

#include "support/group.h"

#include <slotmq/slotmq.h>

/* All sets, each begun as its header says. */
struct all {
    smq_client_options client;
    smq_topic_options topic;
    smq_producer_options producer;
    smq_consumer_options consumer;
};

static struct all all_begun(void)
{
    return (struct all){
        .client = SMQ_CLIENT_OPTIONS_INIT,
        .topic = SMQ_TOPIC_OPTIONS_INIT,
        .producer = SMQ_PRODUCER_OPTIONS_INIT,
        .consumer = SMQ_CONSUMER_OPTIONS_INIT,
    };
}

static void *set_of(struct all *all, smq_option_set set)
{
    void *const sets[] = {
        [SMQ_OPTION_SET_CLIENT] = &all->client,
        [SMQ_OPTION_SET_TOPIC] = &all->topic,
        [SMQ_OPTION_SET_PRODUCER] = &all->producer,
        [SMQ_OPTION_SET_CONSUMER] = &all->consumer,
    };

    return sets[set];
}

static void texts_become_fields(void **state)
{
    struct all all = all_begun();
    static const struct {
        smq_option_set set;
        const char *name, *value;
    } rows[] = {
        {SMQ_OPTION_SET_CLIENT, "redis", "h:1"},
        {SMQ_OPTION_SET_CLIENT, "request_timeout_ms", "2s"},
        {SMQ_OPTION_SET_CLIENT, "on_coordination_loss", "stop"},
        {SMQ_OPTION_SET_CLIENT, "event_level", "debug"},
        {SMQ_OPTION_SET_TOPIC, "type", "fixed_time"},
        {SMQ_OPTION_SET_TOPIC, "slots", "8"},
        {SMQ_OPTION_SET_TOPIC, "shared", "true"},
        {SMQ_OPTION_SET_TOPIC, "lease_ms", "1d"},
        {SMQ_OPTION_SET_TOPIC, "delay_ms", "250"},
        {SMQ_OPTION_SET_PRODUCER, "max_pending_bytes", "1099511627776"},
        {SMQ_OPTION_SET_PRODUCER, "full_timeout_ms", "forever"},
        {SMQ_OPTION_SET_CONSUMER, "batch_size", "1000"},
        {SMQ_OPTION_SET_CONSUMER, "drain_timeout_ms", "5m"},
        {SMQ_OPTION_SET_CONSUMER, "per_slot", "20"},
        {SMQ_OPTION_SET_CONSUMER, "max_poll_gap_ms", "1m"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_error err;
        if (smq_option_parse(set_of(&all, rows[i].set), rows[i].set, rows[i].name, rows[i].value,
                             &err) != SMQ_OK) {
            fail_msg("%s", err.text);
        }
    }
    assert_string_equal(all.client.redis, "h:1");
    assert_int_equal(all.client.request_timeout_ms, 2000);
    assert_int_equal(all.client.on_coordination_loss, SMQ_COORDINATION_LOSS_STOP);
    assert_int_equal(all.client.event_level, SMQ_LEVEL_DEBUG);
    assert_int_equal(all.topic.type, SMQ_TYPE_FIXED_TIME);
    assert_int_equal(all.topic.slots, 8);
    assert_true(all.topic.shared);
    assert_int_equal(all.topic.lease_ms, 86400000);
    assert_int_equal(all.topic.delay_ms, 250);
    assert_int_equal(all.producer.max_pending_bytes, INT64_C(1) << 40);
    assert_int_equal(all.producer.full_timeout_ms, SMQ_FOREVER);
    assert_int_equal(all.consumer.batch_size, 1000);
    assert_int_equal(all.consumer.drain_timeout_ms, 300000);
    assert_int_equal(all.consumer.per_slot, 20);
    assert_int_equal(all.consumer.max_poll_gap_ms, 60000);
}

static void none_is_not_the_default(void **state)
{
    struct all all = all_begun();

    assert_int_equal(smq_option_parse(&all.topic, SMQ_OPTION_SET_TOPIC, "max_retries", "0", NULL),
                     SMQ_OK);
    assert_int_equal(all.topic.max_retries, SMQ_NONE);
    assert_int_equal(smq_option_parse(&all.topic, SMQ_OPTION_SET_TOPIC, "delay_ms", "none", NULL),
                     SMQ_OK);
    assert_int_equal(all.topic.delay_ms, 0);
    assert_int_equal(smq_option_parse(&all.topic, SMQ_OPTION_SET_TOPIC, "delay_ms", "0", NULL),
                     SMQ_OK);
    assert_int_equal(all.topic.delay_ms, SMQ_NONE);
}

/* What is not given is the default, and each text is one that gives the same. */
static void fields_become_texts(void **state)
{
    static const struct {
        smq_option_set set;
        const char *name, *given, *text; /* given NULL: nothing */
    } rows[] = {
        {SMQ_OPTION_SET_CLIENT, "redis", "h:1", "h:1"},
        {SMQ_OPTION_SET_CLIENT, "zookeeper", NULL, ""},
        {SMQ_OPTION_SET_CLIENT, "on_coordination_loss", NULL, "continue"},
        {SMQ_OPTION_SET_CLIENT, "request_timeout_ms", "2s", "2000"},
        {SMQ_OPTION_SET_TOPIC, "type", NULL, "fixed_time"},
        {SMQ_OPTION_SET_TOPIC, "layout", NULL, "keyed"},
        {SMQ_OPTION_SET_TOPIC, "slots", NULL, "64"},
        {SMQ_OPTION_SET_TOPIC, "shared", "true", "true"},
        {SMQ_OPTION_SET_TOPIC, "max_retries", NULL, "16"},
        {SMQ_OPTION_SET_TOPIC, "max_retries", "0", "none"},
        {SMQ_OPTION_SET_TOPIC, "backoff", NULL, "exp:1000:600000"},
        {SMQ_OPTION_SET_TOPIC, "delay_ms", NULL, "none"},
        {SMQ_OPTION_SET_TOPIC, "delay_ms", "0", "0"},
        {SMQ_OPTION_SET_TOPIC, "max_body", NULL, "1048576"},
        {SMQ_OPTION_SET_TOPIC, "groups", "a,b", "a,b"},
        {SMQ_OPTION_SET_TOPIC, "expires_ms", "none", "none"},
        {SMQ_OPTION_SET_PRODUCER, "linger_ms", "0", "0"},
        {SMQ_OPTION_SET_PRODUCER, "full_timeout_ms", "forever", "forever"},
        {SMQ_OPTION_SET_CONSUMER, "max_in_flight", NULL, "1000"},
        {SMQ_OPTION_SET_CONSUMER, "threads", NULL, ""}, /* with handlers only */
    };
    char text[32];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct all all = all_begun();
        void *set = set_of(&all, rows[i].set);
        smq_error err = SMQ_ERROR_INIT;

        if (rows[i].given != NULL) {
            assert_int_equal(smq_option_parse(set, rows[i].set, rows[i].name, rows[i].given, &err),
                             SMQ_OK);
        }
        for (int again = 0; again < 2; again++) {
            if (smq_option_get(set, rows[i].set, rows[i].name, text, sizeof(text), &err) !=
                SMQ_OK) {
                fail_msg("%s: %s", rows[i].name, err.text);
            }
            assert_string_equal(text, rows[i].text);
            if (text[0] != '\0') {
                assert_int_equal(smq_option_parse(set, rows[i].set, rows[i].name, text, &err),
                                 SMQ_OK);
            }
        }
    }
}

static void what_cannot_become_a_text_is_refused(void **state)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS(.slots = 3, .groups = "a,b");
    char text[8];
    smq_error err;

    assert_int_equal(
        smq_option_get(&topic, SMQ_OPTION_SET_TOPIC, "slots", text, sizeof(text), &err),
        SMQ_INVALID);
    assert_non_null(strstr(err.text, "a power of two"));
    assert_int_equal(smq_option_get(&topic, SMQ_OPTION_SET_TOPIC, "groups", text, 3, &err),
                     SMQ_INVALID);
    assert_string_equal(err.text,
                        "groups has 3 bytes, and there is room for 2: give a larger size");
    assert_int_equal(smq_option_get(&topic, SMQ_OPTION_SET_TOPIC, "groups", text, 4, &err), SMQ_OK);
    assert_int_equal(smq_option_get(&topic, SMQ_OPTION_SET_TOPIC, "groups", NULL, 4, &err),
                     SMQ_INVALID);
    assert_int_equal(smq_option_get(NULL, SMQ_OPTION_SET_TOPIC, "slots", text, 8, &err),
                     SMQ_INVALID);
    assert_int_equal(smq_option_get(&topic, SMQ_OPTION_SET_TOPIC, "slot", text, 8, &err),
                     SMQ_INVALID);
    assert_non_null(strstr(err.text, "did you mean \"slots\"?"));
}

static void mistakes_say_what_to_do_and_change_nothing(void **state)
{
    static const struct {
        smq_option_set set;
        const char *name, *value;
        const char *said; /* a part of it */
    } rows[] = {
        {SMQ_OPTION_SET_TOPIC, "max_retrys", "5",
         "no topic option \"max_retrys\"; did you mean \"max_retries\"?"},
        {SMQ_OPTION_SET_TOPIC, "batch_size", "5", "no topic option \"batch_size\""},
        {SMQ_OPTION_SET_CLIENT, "request_timeout", "5", "did you mean \"request_timeout_ms\"?"},
        {SMQ_OPTION_SET_CLIENT, "", "5", "no client option \"\""},
        {SMQ_OPTION_SET_TOPIC, "max_retries", "64",
         "max_retries \"64\" cannot be used; give a whole number, 0 to 63"},
        {SMQ_OPTION_SET_TOPIC, "max_retries", "-1", "0 to 63"},
        {SMQ_OPTION_SET_TOPIC, "max_retries", "", "0 to 63"},
        {SMQ_OPTION_SET_TOPIC, "max_retries", "5x", "0 to 63"},
        {SMQ_OPTION_SET_TOPIC, "max_retries", " 5", "0 to 63"},
        {SMQ_OPTION_SET_TOPIC, "max_retries", "99999999999999999999", "0 to 63"},
        {SMQ_OPTION_SET_TOPIC, "lease_ms", "99ms", "500ms, 30s or 5m, 100ms to 1d"},
        {SMQ_OPTION_SET_TOPIC, "lease_ms", "9223372036854775807d", "100ms to 1d"},
        {SMQ_OPTION_SET_TOPIC, "lease_ms", "5 s", "100ms to 1d"},
        {SMQ_OPTION_SET_TOPIC, "ttl_ms", "0", "1ms to 101806d, or none"},
        {SMQ_OPTION_SET_TOPIC, "type", "fif", "give one of range_merge, priority"},
        {SMQ_OPTION_SET_TOPIC, "type", "range_merge|priority", "give one of"},
        {SMQ_OPTION_SET_TOPIC, "type", "", "give one of"},
        {SMQ_OPTION_SET_TOPIC, "shared", "yes", "give one of false, true"},
        {SMQ_OPTION_SET_CONSUMER, "max_messages", "0", "give a whole number, at least 1, or none"},
        {SMQ_OPTION_SET_PRODUCER, "full_timeout_ms", "2d", "0 to 1d, or forever"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct all before = all_begun();
        struct all all = before;
        smq_error err;
        assert_int_equal(smq_option_parse(set_of(&all, rows[i].set), rows[i].set, rows[i].name,
                                          rows[i].value, &err),
                         SMQ_INVALID);
        if (!strstr(err.text, rows[i].said)) {
            fail_msg("\"%s\" is not in: %s", rows[i].said, err.text);
        }
        assert_memory_equal(&all.topic, &before.topic, sizeof(all.topic));
    }
}

static void misuse_is_refused(void **state)
{
    smq_topic_options topic = SMQ_TOPIC_OPTIONS_INIT;
    smq_error err;

    assert_int_equal(smq_option_parse(NULL, SMQ_OPTION_SET_TOPIC, "slots", "8", NULL), SMQ_INVALID);
    assert_int_equal(smq_option_parse(&topic, SMQ_OPTION_SET_TOPIC, NULL, "8", NULL), SMQ_INVALID);
    assert_int_equal(smq_option_parse(&topic, SMQ_OPTION_SET_TOPIC, "slots", NULL, NULL),
                     SMQ_INVALID);
    assert_int_equal(smq_option_parse(&topic, (smq_option_set) 0, "slots", "8", NULL), SMQ_INVALID);
    assert_int_equal(smq_option_parse(&topic, (smq_option_set) 99, "slots", "8", NULL),
                     SMQ_INVALID);
    topic.struct_size = offsetof(smq_topic_options, takeover);
    assert_int_equal(smq_option_parse(&topic, SMQ_OPTION_SET_TOPIC, "takeover", "strict", &err),
                     SMQ_INVALID);
    assert_non_null(strstr(err.text, "struct_size"));
    assert_int_equal(topic.takeover, SMQ_TAKEOVER_FAST);
    smq_option_each(NULL, NULL);
}

struct seen {
    int all, topics;
    unsigned places; /* of topics: a bit for each */
};

/* A default that is a value of its option can be given. */
static bool take_default(const smq_option_info *option, void *user)
{
    struct all all = all_begun();
    struct seen *seen = user;

    if (option->set == SMQ_OPTION_SET_TOPIC) {
        seen->places |= 1U << option->place;
        seen->topics++;
    } else {
        assert_int_equal(option->place, 0);
        assert_false(option->fixed);
    }
    seen->all++;
    assert_int_equal(option->struct_size, sizeof(*option));
    assert_true(option->text[0] >= 'A' && option->text[0] <= 'Z');
    assert_int_equal(option->text[strlen(option->text) - 1], '.');
    if (strspn(option->default_value, "0123456789") > 0 && !strchr(option->default_value, ' ')) {
        assert_int_equal(smq_option_parse(set_of(&all, option->set), option->set, option->name,
                                          option->default_value, NULL),
                         SMQ_OK);
    }
    return true;
}

static bool stop_at_once(const smq_option_info *option, void *user)
{
    (void) option;
    ++*(int *) user;
    return false;
}

static void every_option_is_described(void **state)
{
    struct seen seen = {0};
    int once = 0;

    smq_option_each(take_default, &seen);
    assert_true(seen.all > 20);
    assert_int_equal(seen.places, (2U << seen.topics) - 2); /* 1, 2 and so on, each once */
    smq_option_each(stop_at_once, &once);
    assert_int_equal(once, 1);
}

TEST_GROUP(options)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_fields),
        cmocka_unit_test(none_is_not_the_default),
        cmocka_unit_test(fields_become_texts),
        cmocka_unit_test(what_cannot_become_a_text_is_refused),
        cmocka_unit_test(mistakes_say_what_to_do_and_change_nothing),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(every_option_is_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
