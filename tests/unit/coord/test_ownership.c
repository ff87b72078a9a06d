/* test_ownership.c - when a member looks again at those that have its topic's node, what
 * its own node says, what it says of them, and what it knows of its slots. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coord/member/ownership_internal.h"
#include "coord/member/slot_state.h"
#include "support/group.h"

static void the_back_off_does_not_put_off_the_end_of_the_wait(void **state)
{
    static const struct {
        int64_t backoff_ms, waited_ms, limit_ms, delay_ms;
    } cases[] = {
        {200, 0, 8000, 200},       {3200, 3000, 8000, 3200}, {3200, 4800, 8000, 3200},
        {5000, 6400, 8000, 1600},  {5000, 7999, 8000, 1},    {5000, 8000, 8000, 5000},
        {5000, 90000, 8000, 5000}, /* it owns slots, and continues */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            ownership_holder_delay(cases[i].backoff_ms, cases[i].waited_ms, cases[i].limit_ms),
            cases[i].delay_ms);
    }
}

static void it_is_said_once_that_a_topic_is_new(void **state)
{
    for (int status = 0; status < SESSION_STATUSES; status++) {
        assert_int_equal(ownership_fresh_after(7, (enum session_status) status),
                         status == SESSION_EXISTS ? 7 : 0);
        assert_int_equal(ownership_fresh_after(0, (enum session_status) status), 0);
    }
}

static struct fingerprint cluster(const char *nodes)
{
    struct fingerprint fingerprint = {0};

    for (; *nodes != '\0'; nodes++) {
        fingerprint_add(&fingerprint, nodes, 1);
    }
    return fingerprint;
}

static void another_redis_is_only_named_if_it_is_another(void **state)
{
    static const struct {
        const char *own, *holder, *words;
    } cases[] = {
        {"abc", "abc", "end that process; it is of another version of slotmq"},
        {"abc", "cde", "end that process; it is of another version of slotmq"},
        {"abc", "xyz", "in another Redis: give each fleet a root of its own"},
        {"abc", "", "if it uses this Redis"},
        {"", "abc", "if it uses this Redis"},
        {"", "", "if it uses this Redis"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fingerprint own = cluster(cases[i].own);
        struct fingerprint holder = cluster(cases[i].holder);

        assert_non_null(strstr(ownership_holder_advice(&own, &holder), cases[i].words));
    }
}

static void a_refusal_shows_something_once_the_newest_assignment_was_refused_too(void **state)
{
    static const struct {
        enum refusal_input inputs[6];
        size_t count;
        bool shown;
    } cases[] = {
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_READ_DONE, REFUSAL_SAME}, 4, true},
        {{REFUSAL_OTHER, REFUSAL_SAME}, 2, false},
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_SAME}, 3, false},
        /* the read had begun before the first refusal */
        {{REFUSAL_READ_BEGUN, REFUSAL_OTHER, REFUSAL_READ_DONE, REFUSAL_SAME}, 4, false},
        /* a read fails, the next one does not */
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_READ_BEGUN, REFUSAL_READ_DONE, REFUSAL_SAME},
         5,
         true},
        /* another token comes between */
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_READ_DONE, REFUSAL_OTHER, REFUSAL_SAME},
         5,
         false},
        {{REFUSAL_OTHER, REFUSAL_READ_BEGUN, REFUSAL_OTHER, REFUSAL_READ_DONE, REFUSAL_SAME},
         5,
         false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        enum refusal_state now = REFUSAL_NONE;
        bool shown = false;

        for (size_t j = 0; j < cases[i].count; j++) {
            shown = refusal_shows(now, cases[i].inputs[j]);
            now = refusal_next(now, cases[i].inputs[j]);
        }
        assert_int_equal(shown, cases[i].shown);
    }
}

/* A topic of which every second slot is being given up. */
static void fragment(struct ownership_set *set, struct ownership *topic, char *name)
{
    topic->set = set;
    topic->name = name;
    topic->nonce = name;
    topic->weight = 1;
    topic->slots = topic->busy_slots = MEMBER_SLOTS_MAX;
    topic->damaged = 9;
    topic->states = memory_new(MEMBER_SLOTS_MAX);
    topic->granted = memory_new(MEMBER_SLOTS_MAX * sizeof(bool));
    for (int32_t slot = 0; slot < MEMBER_SLOTS_MAX; slot += 2) {
        topic->states[slot] = SLOT_STOPPING;
        topic->granted[slot] = true;
    }
    set->text += member_text_topic_size(name, name);
    LIST_INSERT_HEAD(&set->topics, topic, link);
}

/* A reader would take it for damaged otherwise. */
static void the_text_of_a_member_is_never_too_long(void **state)
{
    enum { TOPICS = 4 };

    static struct ownership topics[TOPICS];
    static char names[TOPICS][8];
    struct ownership_set set = {.text = 0};
    struct member_info head = {.uuid = "u", .host = "h", .boot = "b", .pid_namespace = "-"};
    struct member_info read;
    struct buf out = {0};

    LIST_INIT(&set.topics);
    for (int i = 0; i < TOPICS; i++) {
        (void) snprintf(names[i], sizeof(names[i]), "t%d", i);
        fragment(&set, &topics[i], names[i]);
    }
    member_text_head(&out, &head);
    ownership_encode_all(&set, &out);
    assert_in_range(out.len, 1, MEMBER_TEXT_MAX);
    assert_true(member_text_parse(&read, out.data, out.len));
    assert_int_equal(read.topic_count, TOPICS);
    for (int i = 0; i < TOPICS; i++) {
        for (int32_t slot = 0; slot < MEMBER_SLOTS_MAX; slot += 2) {
            assert_true(member_slots_has(&read.topics[i].held, slot));
        }
        assert_true(read.topics[i].stated == 0 || read.topics[i].owned.count > 1);
        free(topics[i].states);
        free(topics[i].granted);
    }
    member_info_fini(&read);
    buf_fini(&out);
}

static void the_reason_for_no_slot_is_what_is_known(void **state)
{
    static const struct {
        struct no_slot_facts facts;
        enum coord_no_slot reason;
    } cases[] = {
        {{.slots = 8, .others = 8}, COORD_NO_SLOT_STANDBY},
        {{.slots = 8, .others = 7}, COORD_NO_SLOT_ASSIGNER},
        {{.slots = 8}, COORD_NO_SLOT_ASSIGNER},
        {{.slots = 8, .granting = true}, COORD_NO_SLOT_GRANTING},
        {{.slots = 8, .others = 8, .granting = true}, COORD_NO_SLOT_STANDBY},
        {{.slots = 8, .others = 8, .former = 8}, COORD_NO_SLOT_FORMER},
        {{.slots = 8, .others = 8, .former = 1}, COORD_NO_SLOT_FORMER},
        {{.slots = 8, .granted = 1, .former = 7}, COORD_NO_SLOT_TAKEOVER},
        {{.slots = 8, .granted = 8}, COORD_NO_SLOT_TAKEOVER},
        {{.slots = 8, .granted = 8, .granting = true}, COORD_NO_SLOT_TAKEOVER},
        {{.slots = 8, .granted = 8, .fresh = true}, COORD_NO_SLOT_GRANTING},
        {{.slots = 8, .granted = 8, .refused = true}, COORD_NO_SLOT_REFUSED},
        {{.slots = 8, .others = 8, .unreachable = true}, COORD_NO_SLOT_REDIS},
        {{.slots = 8, .unusable = true}, COORD_NO_SLOT_TOPIC},
        {{.slots = 8, .unusable = true, .unreachable = true}, COORD_NO_SLOT_TOPIC},
        {{.slots = 8, .unusable = true, .outside = true}, COORD_NO_SLOT_ENTRY},
        {{.slots = 8, .unusable = true, .outside = true, .named = true}, COORD_NO_SLOT_NAME},
        {{.unusable = true, .outside = true, .silent = true}, COORD_NO_SLOT_ZOOKEEPER},
        {{.outside = true, .named = true, .silent = true}, COORD_NO_SLOT_ZOOKEEPER},
        {{.slots = 8, .others = 8, .silent = true}, COORD_NO_SLOT_ZOOKEEPER},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(no_slot_reason(&cases[i].facts), cases[i].reason);
    }
}

TEST_GROUP(ownership)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_back_off_does_not_put_off_the_end_of_the_wait),
        cmocka_unit_test(it_is_said_once_that_a_topic_is_new),
        cmocka_unit_test(another_redis_is_only_named_if_it_is_another),
        cmocka_unit_test(the_text_of_a_member_is_never_too_long),
        cmocka_unit_test(the_reason_for_no_slot_is_what_is_known),
        cmocka_unit_test(a_refusal_shows_something_once_the_newest_assignment_was_refused_too),
    };

    return cmocka_run_group_tests_name("ownership", tests, NULL, NULL);
}
