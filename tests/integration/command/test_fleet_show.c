/* test_fleet_show.c - fleet show and fleet evict. */
#include "command.h"
#include "gate.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/group.h"
#include "support/process.h"
#include "support/wait.h"

static const char *zookeeper;

static int setup(void **state)
{
    const int failed = command_setup(state);

    zookeeper = failed != 0 ? NULL : servers_zookeeper(command_servers());
    return failed;
}

/* === Members of the fleet =============================================== */

/* Start a consumer as the member `name`; `program` NULL: it prints.  With a program each of
 * eight messages has a handler, so that a slot which moves waits for one. */
static void join(struct run *run, const char *topic, const char *name, const char *program)
{
    char option[64];

    snprintf(option, sizeof(option), "name=%s", name);
    if (program) {
        command_start(run, NULL,
                      ARGS("consume", topic, "-z", zookeeper, "-X", option, "-X",
                           "session_timeout_ms=30000", "--threads", "8", "--", "sh", "-c",
                           program));
    } else {
        command_start(run, NULL,
                      ARGS("consume", topic, "-z", zookeeper, "-X", option, "-X",
                           "session_timeout_ms=30000", "--threads", "8"));
    }
}

static void leave(struct run *run)
{
    run_signal(run, SIGTERM);
    assert_true(run_wait(run, TIMEOUT_MS));
    run_fini(run);
}

static json_t *show(const char *topic)
{
    return command_json(
        NULL, ARGS("fleet", "show", "-z", zookeeper, "--slots", "--json", "--topic", topic));
}

/* The element of an array whose text `name` is `value`; NULL: there is none. */
static const json_t *find(const json_t *array, const char *name, const char *value)
{
    const json_t *element = NULL;
    size_t i = 0;

    json_array_foreach(array, i, element)
    {
        if (strcmp(json_text(element, name), value) == 0) {
            return element;
        }
    }
    return NULL;
}

static const json_t *only_topic(const json_t *document)
{
    const json_t *topics = json_object_get(document, "topics");

    assert_int_equal(json_array_size(topics), 1);
    return json_array_get(topics, 0);
}

/* What is waited for: that a member has this many slots of a topic. */
struct owns {
    const char *topic, *member;
    json_int_t slots;
};

static bool owns_now(void *arg)
{
    const struct owns *owns = arg;
    struct run run;
    json_t *document = NULL;
    const json_t *share = NULL;
    bool so = false;

    command_run(&run, NULL,
                ARGS("fleet", "show", "-z", zookeeper, "--json", "--topic", owns->topic));
    if (run.exit_code == 0) {
        document = json_loads(run.out, 0, NULL);
        share = find(json_object_get(only_topic(document), "shares"), "member", owns->member);
        so = share ? json_number(share, "slots") == owns->slots : owns->slots == -1;
    }
    json_decref(document);
    run_fini(&run);
    return so;
}

static void await_slots(const char *topic, const char *member, json_int_t slots)
{
    struct owns owns = {topic, member, slots};

    assert_true(wait_until(owns_now, &owns, TIMEOUT_MS));
}

/* === Tests ============================================================== */

static void test_there_is_no_fleet_yet(void **state)
{
    command_refused(1, "there is no fleet at", NULL, ARGS("fleet", "show", "-z", zookeeper));
    command_refused(1, "there is no fleet at /slotmq", NULL, ARGS("fleet", "show"));
    command_refused(64, "fleet evict needs MEMBER", NULL, ARGS("fleet", "evict"));
}

static void test_members_and_what_they_own(void **state)
{
    struct run one, two;
    json_t *document = NULL;
    const json_t *topic = NULL;
    const json_t *member = NULL;

    command_done(NULL, ARGS("topic", "create", "shares", "--slots", "8"));
    join(&one, "shares", "ann", NULL);
    await_slots("shares", "ann", 8);
    join(&two, "shares", "bob", NULL);
    await_slots("shares", "bob", 4);
    document = show("shares");
    topic = only_topic(document);
    assert_string_equal(json_text(document, "root"), "/slotmq");
    assert_string_equal(json_text(document, "assigner"), "ann");
    assert_int_equal(json_number(document, "unreadable"), 0);
    assert_int_equal(json_number(topic, "unowned"), 0);
    assert_int_equal(json_number(topic, "moving"), 0);
    assert_int_equal(json_number(topic, "members"), 2);
    member = find(json_object_get(document, "members"), "name", "bob");
    assert_non_null(member);
    assert_int_equal(json_number(member, "pid"), two.pid);
    assert_int_equal(json_number(member, "slots"), 4);
    assert_string_equal(json_text(member, "state"), "active");
    assert_true(json_number(member, "since_at_ms") > 1600000000000);
    json_decref(document);
    leave(&two);
    await_slots("shares", "bob", -1);
    await_slots("shares", "ann", 8);
    document = show("shares");
    member = find(json_object_get(only_topic(document), "shares"), "member", "ann");
    assert_string_equal(json_text(member, "ranges"), "0-7");
    json_decref(document);
    leave(&one);
}

static void test_a_topic_is_shown_with_its_groups(void **state)
{
    struct run run;
    json_t *document = NULL;

    command_done(NULL, ARGS("topic", "create", "ship", "--groups", "eu,us", "--slots", "2"));
    command_done(NULL, ARGS("topic", "create", "ships", "--slots", "2"));
    join(&run, "ship/eu", "ann", NULL);
    await_slots("ship/eu", "ann", 2);
    document = show("ship");
    assert_string_equal(json_text(only_topic(document), "topic"), "ship/eu");
    json_decref(document);
    command_refused(1, "no member of the fleet asks for topic ship/us", NULL,
                    ARGS("fleet", "show", "-z", zookeeper, "--topic", "ship/us"));
    command_refused(1, "no member of the fleet asks for topic ships", NULL,
                    ARGS("fleet", "show", "-z", zookeeper, "--topic", "ships"));
    leave(&run);
}

static void test_a_table_of_80_columns(void **state)
{
    struct run one;
    char *shown = NULL;

    command_done(NULL, ARGS("topic", "create", "narrow", "--slots", "1"));
    join(&one, "narrow", "carla-of-a-host-with-a-long-name.example.com-12345", NULL);
    await_slots("narrow", "carla-of-a-host-with-a-long-name.example.com-12345", 1);
    shown = command_drawn(80, ARGS("fleet", "show", "-z", zookeeper));
    assert_width(shown, 80);
    assert_non_null(strstr(shown, "fence generation"));
    assert_non_null(strstr(shown, "active"));
    free(shown);
    leave(&one);
}

static bool says_standby(void *arg)
{
    json_t *document = show(arg);
    const json_t *share = find(json_object_get(only_topic(document), "shares"), "member", "second");
    const bool so = share && strcmp(json_text(share, "stands_by"),
                                    "more members ask for the topic than it has slots") == 0;

    json_decref(document);
    return so;
}

static void test_who_stands_by(void **state)
{
    struct run one, two;
    char topic[] = "single";

    command_done(NULL, ARGS("topic", "create", topic, "--slots", "1"));
    join(&one, topic, "first", NULL);
    await_slots(topic, "first", 1);
    join(&two, topic, "second", NULL);
    assert_true(wait_until(says_standby, topic, TIMEOUT_MS));
    leave(&two);
    leave(&one);
}

/* One message is in flight at its handler, which waits for the test. */
static bool waits_for_handler(void *arg)
{
    json_t *document = show("held");
    const json_t *topic = only_topic(document);
    const json_t *move = find(json_object_get(topic, "moves"), "waits_for", "drain");
    const bool so = move != NULL && strcmp(json_text(move, "from"), "holder") == 0;

    (void) arg;
    if (so) {
        assert_int_equal(json_number(move, "slots"), 1);
        assert_non_null(strstr(json_text(move, "why"), "in flight at member holder"));
        assert_true(json_number(move, "since_at_ms") > 1600000000000);
    }
    json_decref(document);
    return so;
}

static void test_what_a_moving_slot_waits_for(void **state)
{
    struct gate gate;
    struct run one, two;

    gate_close(&gate);
    command_done(NULL, ARGS("topic", "create", "held", "--slots", "2"));
    for (int i = 0; i < 8; i++) { /* both slots have some */
        char key[8];

        snprintf(key, sizeof(key), "k%d", i);
        command_done(NULL, ARGS("send", "held", "x", "--key", key));
    }
    join(&one, "held", "holder", gate.program);
    await_slots("held", "holder", 2);
    command_wait_stat("held", "claimed", 8);
    join(&two, "held", "taker", NULL);
    assert_true(wait_until(waits_for_handler, NULL, TIMEOUT_MS));
    gate_open(&gate);
    await_slots("held", "taker", 1);
    leave(&two);
    leave(&one);
}

static void test_a_frozen_member_is_evicted(void **state)
{
    struct run one, two;
    json_t *document = NULL;
    json_int_t before = 0;

    command_done(NULL, ARGS("topic", "create", "frozen", "--slots", "4"));
    join(&one, "frozen", "assigner", NULL);
    await_slots("frozen", "assigner", 4);
    join(&two, "frozen", "other", NULL);
    await_slots("frozen", "other", 2);
    document = show("frozen");
    before =
        json_number(find(json_object_get(document, "members"), "name", "assigner"), "incarnation");
    assert_string_equal(json_text(document, "assigner"), "assigner");
    json_decref(document);
    assert_true(process_pause(one.pid)); /* the session lasts for 30 s more */
    command_refused(64, "give --yes", NULL, ARGS("fleet", "evict", "assigner", "-z", zookeeper));
    document =
        command_json(NULL, ARGS("fleet", "evict", "assigner", "-z", zookeeper, "--yes", "--json"));
    assert_string_equal(json_text(document, "evicted"), "assigner");
    assert_int_equal(json_number(document, "incarnation"), before);
    assert_int_equal(json_number(document, "slots"), 2);
    json_decref(document);
    await_slots("frozen", "other", 4);
    assert_true(process_resume(one.pid));
    await_slots("frozen", "assigner", 2);
    document = show("frozen");
    assert_string_equal(json_text(document, "assigner"), "other");
    assert_true(json_number(find(json_object_get(document, "members"), "name", "assigner"),
                            "incarnation") > before);
    json_decref(document);
    leave(&two);
    leave(&one);
}

static void test_there_is_no_such_member(void **state)
{
    command_refused(1, "the fleet has no member nobody", NULL,
                    ARGS("fleet", "evict", "nobody", "-z", zookeeper, "--yes"));
    command_refused(1, "no member of the fleet asks for topic nothing", NULL,
                    ARGS("fleet", "show", "-z", zookeeper, "--topic", "nothing"));
    command_refused(1, "there is no fleet at /elsewhere", NULL,
                    ARGS("fleet", "show", "-z", zookeeper, "--root", "/elsewhere"));
}

TEST_GROUP(fleet_show)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_there_is_no_fleet_yet),
        cmocka_unit_test(test_members_and_what_they_own),
        cmocka_unit_test(test_a_topic_is_shown_with_its_groups),
        cmocka_unit_test(test_a_table_of_80_columns),
        cmocka_unit_test(test_who_stands_by),
        cmocka_unit_test(test_what_a_moving_slot_waits_for),
        cmocka_unit_test(test_a_frozen_member_is_evicted),
        cmocka_unit_test(test_there_is_no_such_member),
    };

    return cmocka_run_group_tests(tests, setup, command_teardown);
}
