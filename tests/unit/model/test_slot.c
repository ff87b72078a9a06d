/* test_slot.c - which slot a key belongs to, and the Redis keys of a slot. */
#include <stdio.h>
#include <string.h>

#include "model/slot.h"
#include "model/topic.h"
#include "support/group.h"

#define TEXT(literal) (literal), sizeof(literal) - 1

/* The CRCs are published check values of CRC-32, or were computed with Python's zlib. */
static void slot_is_the_crc32_of_the_key(void **state)
{
    static const struct {
        const char *key;
        size_t len;
        int32_t slots, slot;
    } cases[] = {
        {TEXT("123456789"), 1, 0},
        {TEXT("123456789"), 64, 0x26},                /* 0xcbf43926 */
        {TEXT("123456789"), TOPIC_SLOTS_MAX, 0x3926}, /* the check value */
        {TEXT("a"), TOPIC_SLOTS_MAX, 0xbe43},         /* 0xe8b7be43 */
        {TEXT("a\0b"), TOPIC_SLOTS_MAX, 0x7871},      /* bytes, not a string */
        {TEXT("\0"), TOPIC_SLOTS_MAX, 0xef8d},        /* 0xd202ef8d */
        {TEXT("\xff\xff\xff\xff"), 256, 255},         /* 0xffffffff */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(slot_of_key(cases[i].key, cases[i].len, cases[i].slots), cases[i].slot);
    }
}

/* The numbers are those of CLUSTER KEYSLOT. */
static void hash_slot_follows_the_hash_tag(void **state)
{
    static const struct {
        const char *key;
        size_t len;
        const char *tag; /* has the same hash slot */
    } same[] = {
        {TEXT("{user1000}.following"), "user1000"},
        {TEXT("foo{bar}{zap}"), "bar"},
        {TEXT("foo{{bar}}zap"), "{bar"},
        {TEXT("prepare{orders_7}"), "orders_7"},
        {TEXT("a}b{c}"), "c"},
    };
    static const struct {
        const char *key; /* without a tag: hashed whole */
        uint16_t hash_slot;
    } whole[] = {
        {"", 0},
        {"foo", 12182},
        {"user1000", 3443},
        {"{bar", 4015},
        {"foo{}{bar}", 8363},
        {"foo{bar", 15278},
        {"foo}bar{", 11073},
        {"{}", 15257},
        {"{", 4092},
        {"}{", 12793},
    };

    assert_int_equal(slot_hash(TEXT("123456789")), 0x31c3);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        assert_int_equal(slot_hash(same[i].key, same[i].len),
                         slot_hash(same[i].tag, strlen(same[i].tag)));
    }
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
        assert_int_equal(slot_hash(whole[i].key, strlen(whole[i].key)), whole[i].hash_slot);
    }
}

static void keys_of_a_slot_share_its_hash_slot(void **state)
{
    struct slot_keys keys = {.hash_slot = 0};
    char topic_key[SLOT_KEY_MAX];

    slot_keys_fill(&keys, "orders.eu-1", 7);
    assert_string_equal(keys.store, "orders.eu-1_7");
    assert_string_equal(keys.prepare, "prepare{orders.eu-1_7}");
    assert_string_equal(keys.dead, "dead{orders.eu-1_7}");
    assert_string_equal(keys.why, "why{orders.eu-1_7}");
    assert_string_equal(keys.slot, "slot{orders.eu-1_7}");
    assert_string_equal(keys.body, "body{orders.eu-1_7}");
    assert_string_equal(keys.done, "done{orders.eu-1_7}");
    assert_string_equal(keys.wake, "wake{orders.eu-1_7}");
    assert_int_equal(keys.hash_slot, slot_hash(keys.store, strlen(keys.store)));
    assert_int_equal(keys.hash_slot, slot_hash(keys.prepare, strlen(keys.prepare)));
    assert_int_equal(keys.hash_slot, slot_hash(keys.wake, strlen(keys.wake)));
    slot_topic_key(topic_key, "orders.eu-1");
    assert_string_equal(topic_key, "topic{orders.eu-1}");
}

static void keys_of_a_group_have_the_tag_of_its_topic(void **state)
{
    struct slot_keys keys = {.hash_slot = 0};
    char topic_key[SLOT_KEY_MAX];

    slot_keys_fill(&keys, "orders/bill.ing", 7);
    assert_string_equal(keys.store, "store.bill.ing{orders_7}");
    assert_string_equal(keys.prepare, "prepare.bill.ing{orders_7}");
    assert_string_equal(keys.dead, "dead.bill.ing{orders_7}");
    assert_string_equal(keys.why, "why.bill.ing{orders_7}");
    assert_string_equal(keys.slot, "slot.bill.ing{orders_7}");
    assert_string_equal(keys.body, "body.bill.ing{orders_7}");
    assert_string_equal(keys.done, "done.bill.ing{orders_7}");
    assert_string_equal(keys.wake, "wake.bill.ing{orders_7}");
    assert_int_equal(keys.hash_slot, slot_hash("orders_7", 8));
    assert_int_equal(keys.hash_slot, slot_hash(keys.store, strlen(keys.store)));
    slot_topic_key(topic_key, "orders/bill.ing");
    assert_string_equal(topic_key, "topic.bill.ing{orders}");
    slot_key_shown(topic_key, "orders/bill.ing");
    assert_string_equal(topic_key, "slot.bill.ing{orders_I}");
    slot_key_shown(topic_key, "orders");
    assert_string_equal(topic_key, "slot{orders_I}");
}

static void keys_have_room_for_the_longest_name(void **state)
{
    char name[TOPIC_NAME_MAX + 1];
    char expected[SLOT_KEY_MAX + 16];
    struct slot_keys keys = {.hash_slot = 0};

    memset(name, 'x', TOPIC_NAME_MAX);
    name[TOPIC_NAME_MAX] = '\0';
    slot_keys_fill(&keys, name, TOPIC_SLOTS_MAX - 1);
    snprintf(expected, sizeof(expected), "prepare{%s_65535}", name);
    assert_string_equal(keys.prepare, expected);
    name[1] = '/';
    slot_keys_fill(&keys, name, TOPIC_SLOTS_MAX - 1);
    snprintf(expected, sizeof(expected), "prepare.%s{x_65535}", name + 2);
    assert_string_equal(keys.prepare, expected);
}

/* What a topic or a slot is named by in Redis, and what only looks like it. */
static void keys_name_their_topic(void **state)
{
    static const struct {
        const char *key, *topic; /* NULL: none */
        int32_t slot;
    } cases[] = {
        {"topic{orders}", "orders", -1},
        {"topic.bill.ing{orders}", "orders/bill.ing", -1},
        {"slot{orders_7}", "orders", 7},
        {"slot{a_1_65535}", "a_1", 65535},
        {"slot.billing{orders_0}", "orders/billing", 0},
        {"topic{a_1}", "a_1", -1},
        {"slot{orders_65536}", NULL, 0},
        {"slot{orders_12345678901234567890}", NULL, 0},
        {"slot{orders}", NULL, 0},
        {"slot{_1}", NULL, 0},
        {"slot{orders_}", NULL, 0},
        {"topic{}", NULL, 0},
        {"topic.{orders}", NULL, 0},
        {"topics{orders}", NULL, 0},
        {"topic{or ders}", NULL, 0},
        {"topic{orders}x", NULL, 0},
        {"topic", NULL, 0},
        {"prepare{orders_7}", NULL, 0},
        {SLOT_REGISTRY_KEY, NULL, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct slot_key_named named;
        bool read = slot_key_read(&named, cases[i].key, strlen(cases[i].key));

        assert_int_equal(read, cases[i].topic != NULL);
        if (read) {
            assert_string_equal(named.topic, cases[i].topic);
            assert_int_equal(named.slot, cases[i].slot);
        }
    }
}

TEST_GROUP(slot)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slot_is_the_crc32_of_the_key),
        cmocka_unit_test(hash_slot_follows_the_hash_tag),
        cmocka_unit_test(keys_of_a_slot_share_its_hash_slot),
        cmocka_unit_test(keys_of_a_group_have_the_tag_of_its_topic),
        cmocka_unit_test(keys_have_room_for_the_longest_name),
        cmocka_unit_test(keys_name_their_topic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
