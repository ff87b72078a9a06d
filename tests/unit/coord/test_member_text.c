/* test_member_text.c - the text of a member's node comes back, and untrusted text is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "coord/member_text.h"

static void member_comes_back(void **state)
{
    static bool held[MEMBER_SLOTS_MAX];
    static bool owned[MEMBER_SLOTS_MAX];
    struct member_info info = {.uuid = "u",
                               .host = "h",
                               .boot = "b",
                               .pid_namespace = "pid:[7]",
                               .pid = 42,
                               .started = 99};
    struct member_topic topic = {.name = "t.g",
                                 .nonce = "n",
                                 .weight = 3,
                                 .drain_timeout_ms = 30000,
                                 .leaving = true,
                                 .applied = 1LL << 33,
                                 .held = held,
                                 .stated = 1LL << 34,
                                 .owned = owned};
    struct buf text = {0};
    struct member_info got;
    const struct member_topic *found = NULL;

    (void) state;
    held[0] = held[5] = held[6] = held[MEMBER_SLOTS_MAX - 1] = true;
    owned[1] = owned[2] = true;
    member_text_head(&text, &info);
    member_text_topic(&text, &topic);
    assert_true(member_text_parse(&got, text.data, text.len));
    assert_int_equal(got.pid, 42);
    assert_string_equal(got.pid_namespace, "pid:[7]");
    assert_int_equal(got.started, 99);
    assert_null(member_info_topic(&got, "t.g", "other"));
    found = member_info_topic(&got, "t.g", "n");
    assert_non_null(found);
    assert_int_equal(found->applied, 1LL << 33);
    assert_true(found->leaving);
    assert_memory_equal(found->held, held, sizeof(held));
    assert_int_equal(found->stated, 1LL << 34);
    assert_memory_equal(found->owned, owned, sizeof(owned));
    member_info_fini(&got);
    buf_fini(&text);
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
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - x -\n",
        "slotmq-member 1\nuuid u\ntopic t n 1 1 0 0 - 1 2\n",
    };

    (void) state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct member_info got;

        assert_false(member_text_parse(&got, texts[i], strlen(texts[i])));
        assert_null(got.topics);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(member_comes_back),
        cmocka_unit_test(bad_members_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
