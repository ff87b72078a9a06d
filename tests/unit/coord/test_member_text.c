/* test_member_text.c - the text of a member's node is read as it was written, and untrusted text is
 * refused. */
#include <string.h>

#include "coord/node/member_text.h"
#include "support/group.h"

static void add_slots(struct member_slots *out, const int32_t *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        member_slots_add(out, slots[i]);
    }
}

/* These, and no other. */
static void assert_slots(const struct member_slots *found, const int32_t *slots, size_t count)
{
    size_t next = 0;

    for (int32_t i = 0; i < MEMBER_SLOTS_MAX; i++) {
        bool wanted = next < count && slots[next] == i;

        next += wanted;
        assert_int_equal(member_slots_has(found, i), wanted);
    }
}

static void member_comes_back(void **state)
{
    static const int32_t held[] = {0, 5, 6, MEMBER_SLOTS_MAX - 1}, owned[] = {1, 2, 3};
    static const struct token tokens[] = {{.epoch = 5}, {.generation = 9, .epoch = UINT64_MAX}};
    struct member_info info = {.uuid = "u",
                               .host = "h",
                               .boot = "b",
                               .pid_namespace = "pid:[7]",
                               .pid = 42,
                               .started = 99,
                               .fingerprint = {.count = 2, .hash = {0x0a1b2c3d, 0x99aabbcc}}};
    struct member_topic topic = {.name = "t.g",
                                 .nonce = "n",
                                 .weight = 3,
                                 .drain_timeout_ms = 30000,
                                 .leaving = true,
                                 .applied = 1LL << 33,
                                 .stated = 1LL << 34};
    struct buf text = {0};
    struct member_info got;
    const struct member_topic *found = NULL;

    add_slots(&topic.held, held, sizeof(held) / sizeof(held[0]));
    for (int32_t slot = 1; slot <= 3; slot++) {
        member_slots_add_token(&topic.owned, slot, tokens[slot == 3]);
    }
    member_text_head(&text, &info);
    member_text_topic(&text, &topic);
    assert_true(member_text_parse(&got, text.data, text.len));
    assert_int_equal(got.pid, 42);
    assert_string_equal(got.pid_namespace, "pid:[7]");
    assert_int_equal(got.started, 99);
    assert_true(fingerprint_equal(&got.fingerprint, &info.fingerprint));
    assert_null(member_info_topic(&got, "t.g", "other"));
    found = member_info_topic(&got, "t.g", "n");
    assert_non_null(found);
    assert_int_equal(found->applied, 1LL << 33);
    assert_true(found->leaving);
    assert_slots(&found->held, held, sizeof(held) / sizeof(held[0]));
    assert_int_equal(found->stated, 1LL << 34);
    assert_slots(&found->owned, owned, sizeof(owned) / sizeof(owned[0]));
    assert_int_equal(found->owned.count, 2);
    for (int32_t slot = 1; slot <= 3; slot++) {
        assert_int_equal(
            token_compare(member_slots_find(&found->owned, slot)->token, tokens[slot == 3]), 0);
    }
    member_info_fini(&got);
    member_slots_fini(&topic.held);
    member_slots_fini(&topic.owned);
    buf_fini(&text);
}

/* A state of a later version is none that moves slots. */
static void what_is_said_of_redis_comes_back(void **state)
{
    static const struct {
        const char *line;
        bool reachable;
    } cases[] = {{"", true},
                 {"state ACTIVE\n", true},
                 {"state UNREACHABLE\n", false},
                 {"state UNREACHABLE_TO_MAIL\n", true},
                 {"state LEAVING\n", true}};
    struct buf text = {0};
    struct member_info got;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        buf_clear(&text);
        buf_printf(&text, "slotmq-member 1\nuuid u\n%s", cases[i].line);
        assert_true(member_text_parse(&got, text.data, text.len));
        assert_int_equal(member_info_is_reachable(&got), cases[i].reachable);
        member_info_fini(&got);
    }
    for (int reachable = 0; reachable < 2; reachable++) {
        struct member_info info = {.uuid = "u", .host = "h", .boot = "b", .pid_namespace = "-"};

        member_info_set_reachable(&info, reachable);
        buf_clear(&text);
        member_text_head(&text, &info);
        assert_true(member_text_parse(&got, text.data, text.len));
        assert_int_equal(member_info_is_reachable(&got), reachable);
        member_info_fini(&got);
    }
    buf_fini(&text);
}

/* The fingerprint only serves a warning: a member whose fingerprint is missing, as of an older
 * version, or cannot be read is a member all the same, of which it is not known. */
static void a_bad_fingerprint_is_not_known(void **state)
{
    static const struct {
        const char *text;
        size_t count;
    } cases[] = {
        {"slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - 0 -\n", 0},
        {"slotmq-member 1\nuuid u\nmarks 0a1b2c3d\ntopic t n 1 1 0 0 - 0 -\n", 1},
        {"slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - 0 -\nmarks 0a1b2c3d,99aabbcc", 2},
        {"slotmq-member 1\nuuid u\nmarks \ntopic t n 1 1 0 0 - 0 -\n", 0},
        {"slotmq-member 1\nuuid u\nmarks\ntopic t n 1 1 0 0 - 0 -\n", 0},
        {"slotmq-member 1\nuuid u\nmarks x\ntopic t n 1 1 0 0 - 0 -\n", 0},
        {"slotmq-member 1\nuuid u\nmarks 0a1b2c3d,99aabbc\ntopic t n 1 1 0 0 - 0 -\n", 0},
        {"slotmq-member 1\nuuid u\nmarks 0a1b2c3d 5\ntopic t n 1 1 0 0 - 0 -\n", 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct member_info got;

        print_message("%s\n", cases[i].text);
        assert_true(member_text_parse(&got, cases[i].text, strlen(cases[i].text)));
        assert_non_null(member_info_topic(&got, "t", "n"));
        assert_int_equal(got.fingerprint.count, cases[i].count);
        member_info_fini(&got);
    }
}

static void bad_members_are_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "slotmq-member 2\nuuid u\n",
        "slotmq-member 1\n",
        "slotmq-member 1\nuuid u\ntopic t n\n",
        "slotmq-member 1\nuuid u\ntopic t n 0 1 0 0 - 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 -1 0 0 - 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 9223372036854775807 0 0 - 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 5 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 5-4 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 0-65536 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 1-2, 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 1-2\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 5-9,2-3 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 5-9,9-12 0 -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - 0 0-65535,0-65535\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - x -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - 1 2\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - 1 2-2=\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - 1 2-2=0000000000000000000000z1\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - 1 2-2=0000000000000000000001,\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct member_info got;

        assert_false(member_text_parse(&got, texts[i], strlen(texts[i])));
        assert_null(got.topics);
    }
}

TEST_GROUP(member_text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(member_comes_back),
        cmocka_unit_test(what_is_said_of_redis_comes_back),
        cmocka_unit_test(a_bad_fingerprint_is_not_known),
        cmocka_unit_test(bad_members_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
