/* test_stat.c - stat and dead: shapes, counts, requeue. */
#include "command.h"
#include "gate.h"
#include "support/group.h"
#include "support/wait.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define COUNTS                                                                                     \
    "paused", "waiting", "due", "claimed", "stalled", "resting", "dead", "oldest_due_age_ms",      \
        "oldest_claim_age_ms", "stalled_age_ms", "tick_late_ms", "sent", "merged", "done",         \
        "retried", "rejected", "expired", "released", "lease_lost", "dead_rejected",               \
        "dead_failed", "dead_crashed", "dead_timed_out", "dead_expired", "dead_bodiless",          \
        "duplicates"

static void create(const char *name, const char *type)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", type, "--slots", "2", "--backoff",
                            "none", "--max-retries", "0"));
}

/* Every message of the topic is dead after this. */
static void kill_all(const char *topic, const char *code)
{
    command_done(NULL, ARGS("consume", topic, "--exit-when-empty", "--", "sh", "-c", code));
}

/* Member "topics" of what `slotmq stat` says, with one topic in it. */
static json_t *stat_of(const char *const *arguments)
{
    json_t *document = command_json(NULL, arguments);

    assert_members(document, ARGS("topics"));
    json_t *topics = json_object_get(document, "topics");
    assert_int_equal(json_array_size(topics), 1);
    json_t *topic = json_incref(json_array_get(topics, 0));
    json_decref(document);
    return topic;
}

static void test_stat_has_exactly_the_members_of_the_contract(void **state)
{
    create("shape", "fixed_time");
    command_done("past\n", ARGS("send", "shape", "--at", "1000")); /* past: at once */
    command_done("far\n", ARGS("send", "shape", "--delay", "1h"));
    json_t *topic = stat_of(ARGS("stat", "shape", "--json"));
    assert_members(topic, ARGS("topic", "type", "owners", "slots_unowned", "slots_damaged",
                               "slots_silent", COUNTS));
    assert_string_equal(json_text(topic, "topic"), "shape");
    assert_int_equal(json_number(topic, "waiting"), 2);
    assert_int_equal(json_number(topic, "due"), 1);
    assert_true(json_number(topic, "oldest_due_age_ms") >= 0);
    json_decref(topic);
}

static void test_stat_of_slots_has_owner_and_token(void **state)
{
    json_t *slot = NULL;
    size_t index = 0;
    json_int_t waiting = 0;

    create("slots", "priority");
    command_done("a\nb\nc\nd\n", ARGS("send", "slots"));
    json_t *topic = stat_of(ARGS("stat", "slots", "--slots", "--json"));
    assert_members(topic, ARGS("topic", "type", "owners", "slots_unowned", "slots", "slots_damaged",
                               "slots_silent", COUNTS));
    json_t *slots = json_object_get(topic, "slots");
    assert_int_equal(json_array_size(slots), 2);
    json_array_foreach(slots, index, slot)
    {
        assert_members(slot, ARGS("slot", "owner", "token", COUNTS));
        assert_int_equal(json_number(slot, "slot"), index);
        assert_string_equal(json_text(slot, "owner"), "");
        (void) json_text(slot, "token");
        waiting += json_number(slot, "waiting");
    }
    assert_int_equal(waiting, 4);
    json_decref(topic);
}

static void test_stat_is_about_each_topic_that_is_named(void **state)
{
    command_done(NULL, ARGS("topic", "create", "left", "--slots", "2"));
    command_done(NULL, ARGS("topic", "create", "right", "--groups", "a,b", "--slots", "2"));
    json_t *document = command_json(NULL, ARGS("stat", "right", "left", "--json"));
    const json_t *topics = json_object_get(document, "topics");
    assert_int_equal(json_array_size(topics), 3);
    assert_string_equal(json_text(json_array_get(topics, 0), "topic"), "right/a");
    assert_string_equal(json_text(json_array_get(topics, 2), "topic"), "left");
    json_decref(document);
    char *out = command_out(NULL, ARGS("stat", "left", "right/b", "--prometheus"));
    assert_non_null(strstr(out, "slotmq_topic_unreadable{topic=\"right/b\"} 0"));
    assert_null(strstr(out, "topic=\"right/a\""));
    free(out);
    out = command_partly(1, "no topic nowhere", ARGS("stat", "left", "nowhere"));
    assert_non_null(strstr(out, "left "));
    free(out);
}

/* How many processes own slots of the topic "owned", and how many slots have no owner. */
static void assert_owned(unsigned owners, unsigned unowned)
{
    char *text = command_out(NULL, ARGS("stat", "owned", "common", "--prometheus"));
    char lines[2][80];

    snprintf(lines[0], sizeof(lines[0]), "\nslotmq_topic_owners{topic=\"owned\"} %u\n", owners);
    snprintf(lines[1], sizeof(lines[1]), "\nslotmq_topic_slots_unowned{topic=\"owned\"} %u\n",
             unowned);
    assert_non_null(strstr(text, lines[0]));
    assert_non_null(strstr(text, lines[1]));
    assert_null(strstr(text, "slotmq_topic_owners{topic=\"common\"}"));
    assert_null(strstr(text, "slotmq_topic_slots_unowned{topic=\"common\"}"));
    free(text);
}

/* That nobody consumes a topic is seen without a look at ZooKeeper. */
static void test_a_topic_without_an_owner_is_seen(void **state)
{
    struct run run;

    command_done(NULL, ARGS("topic", "create", "owned", "--slots", "2", "--type", "priority"));
    command_done(NULL, ARGS("topic", "create", "common", "--slots", "2", "--shared"));
    json_t *topic = stat_of(ARGS("stat", "owned", "--json"));
    assert_string_equal(json_text(topic, "type"), "priority");
    assert_int_equal(json_number(topic, "owners"), 0);
    assert_int_equal(json_number(topic, "slots_unowned"), 2);
    json_decref(topic);
    topic = stat_of(ARGS("stat", "common", "--json"));
    assert_true(json_is_null(json_object_get(topic, "owners")));
    json_decref(topic);
    char *out = command_out(NULL, ARGS("stat", "owned", "common"));
    assert_non_null(strstr(out, "owned  unowned "));
    assert_non_null(strstr(out, "common -  "));
    free(out);
    assert_owned(0, 2);
    out = command_out(NULL, ARGS("top", "owned", "--count", "1"));
    assert_non_null(strstr(out, "owned unowned "));
    free(out);
    command_start(&run, NULL, ARGS("consume", "owned"));
    command_done(NULL, ARGS("send", "owned", "a"));
    assert_true(run_wait_out(&run, "a\n", TIMEOUT_MS));
    topic = stat_of(ARGS("stat", "owned", "--json"));
    assert_int_equal(json_number(topic, "owners"), 1);
    assert_int_equal(json_number(topic, "slots_unowned"), 0);
    json_decref(topic);
    assert_owned(1, 0);
    run_signal(&run, SIGTERM);
    command_end(&run);
    run_fini(&run);
    out = command_out(NULL, ARGS("stat", "owned"));
    assert_non_null(strstr(out, "owned unowned "));
    free(out);
    assert_owned(0, 2);
}

static void test_stat_without_a_name_is_about_all(void **state)
{
    json_t *topic = NULL;
    size_t index = 0;
    size_t found = 0;

    create("all-1", "priority");
    create("all-2", "priority");
    json_t *document = command_json(NULL, ARGS("stat", "--json"));
    json_array_foreach(json_object_get(document, "topics"), index, topic)
    {
        found += strncmp(json_text(topic, "topic"), "all-", 4) == 0 ? 1 : 0;
    }
    assert_int_equal(found, 2);
    json_decref(document);
    char *table = command_out(NULL, ARGS("stat"));
    assert_non_null(strstr(table, "WAITING"));
    assert_non_null(strstr(table, "all-2"));
    free(table);
    table = command_out(NULL, ARGS("stat", "all-1", "--slots"));
    assert_non_null(strstr(table, "OWNER"));
    free(table);
}

static void test_stat_as_prometheus_text_is_about_topics_only(void **state)
{
    create("scraped", "priority");
    create("other", "priority");
    command_done("a\nb\n", ARGS("send", "scraped"));
    char *text = command_out(NULL, ARGS("stat", "scraped", "--prometheus"));
    assert_int_equal(strncmp(text, "# HELP slotmq_topic_", 20), 0);
    assert_non_null(strstr(text, "\nslotmq_topic_messages_waiting{topic=\"scraped\"} 2\n"));
    assert_null(strstr(text, "slotmq_messages_"));
    assert_null(strstr(text, "other"));
    free(text);
    text = command_out(NULL, ARGS("stat", "--prometheus"));
    assert_non_null(strstr(text, "\nslotmq_topic_messages_sent_total{topic=\"scraped\"} 2\n"));
    assert_non_null(strstr(text, "\nslotmq_topic_messages_sent_total{topic=\"other\"} 0\n"));
    free(text);
    command_refused(1, "nowhere", NULL, ARGS("stat", "nowhere", "--prometheus"));
    command_refused(64, "a topic's name", NULL, ARGS("stat", "a,", "--prometheus"));
}

/* Nothing breaks at the edge of a terminal: a long name loses its middle, and columns that matter
 * less are left out there, but not in a pipe. */
static void test_tables_fit_a_terminal(void **state)
{
    static const char *const titles[] = {"STATE", "WAITING", "CLAIMED", "DEAD", "LAG"};
    static const char name[] = "a-topic-with-a-name-that-is-longer-than-most-others";

    create(name, "priority");
    const char *const *const calls[] = {ARGS("stat"), ARGS("stat", "--slots")};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        char *shown = command_drawn(80, calls[i]);
        assert_width(shown, 80);
        for (size_t t = 0; t < sizeof(titles) / sizeof(titles[0]); t++) {
            assert_non_null(strstr(shown, titles[t]));
        }
        assert_null(strstr(shown, "LEASE_LOST"));
        assert_null(strstr(shown, name));
        assert_non_null(strstr(shown, "thers "));
        free(shown);
        shown = command_drawn(250, calls[i]);
        assert_non_null(strstr(shown, "LEASE_LOST"));
        assert_non_null(strstr(shown, name));
        free(shown);
        shown = command_out(NULL, calls[i]);
        assert_non_null(strstr(shown, "LEASE_LOST"));
        assert_non_null(strstr(shown, name));
        free(shown);
    }
    char *shown = command_drawn(80, ARGS("topic", "list"));
    assert_width(shown, 80);
    assert_non_null(strstr(shown, "LEASE_MS"));
    free(shown);
}

static void test_what_needs_a_person_is_emphasised_on_a_terminal_only(void **state)
{
    static const char red[] = "\033[1;31m", yellow[] = "\033[1;33mpaused";

    create("emphasised", "priority");
    command_done("a\n", ARGS("send", "emphasised"));
    kill_all("emphasised", "exit 3");
    command_done(NULL, ARGS("pause", "emphasised"));
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    char *shown = command_drawn(80, ARGS("stat", "emphasised"));
    assert_width(shown, 80);
    assert_non_null(strstr(shown, red));
    assert_non_null(strstr(shown, yellow));
    free(shown);
    shown = command_drawn(80, ARGS("topic", "list"));
    assert_non_null(strstr(shown, yellow));
    free(shown);
    shown = command_out(NULL, ARGS("stat", "emphasised"));
    assert_null(strchr(shown, '\033'));
    free(shown);
    assert_int_equal(setenv("NO_COLOR", "1", 1), 0);
    shown = command_drawn(80, ARGS("stat", "emphasised"));
    assert_int_equal(unsetenv("NO_COLOR"), 0);
    assert_null(strchr(shown, '\033'));
    free(shown);
    command_done(NULL, ARGS("resume", "emphasised"));
}

static void test_a_paused_topic_is_seen_everywhere(void **state)
{
    const char *const *const calls[] = {ARGS("stat", "halted"), ARGS("stat", "halted", "--slots"),
                                        ARGS("topic", "list"),
                                        ARGS("top", "halted", "--count", "1")};

    create("halted", "priority");
    for (int paused = 0; paused < 2; paused++) {
        json_t *topic = stat_of(ARGS("stat", "halted", "--slots", "--json"));
        json_t *slot = json_array_get(json_object_get(topic, "slots"), 1);
        assert_int_equal(json_is_true(json_object_get(topic, "paused")), paused);
        assert_int_equal(json_is_true(json_object_get(slot, "paused")), paused);
        json_decref(topic);
        for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
            char *out = command_out(NULL, calls[i]);
            assert_int_equal(strstr(out, "paused") != NULL, paused);
            free(out);
        }
        char *text = command_out(NULL, ARGS("stat", "halted", "--prometheus"));
        assert_non_null(strstr(text, paused ? "\nslotmq_topic_slots_paused{topic=\"halted\"} 2\n"
                                            : "\nslotmq_topic_slots_paused{topic=\"halted\"} 0\n"));
        free(text);
        command_done(NULL, ARGS("pause", "halted"));
    }
    command_done(NULL, ARGS("resume", "halted"));
}

static void test_a_lag_that_is_not_known_is_not_a_number(void **state)
{
    command_done(NULL, ARGS("topic", "create", "timeless", "--type", "priority", "--slots", "2"));
    command_done("a\n", ARGS("send", "timeless"));
    json_t *topic = stat_of(ARGS("stat", "timeless", "--json"));
    assert_true(json_is_null(json_object_get(topic, "oldest_due_age_ms")));
    json_decref(topic);
    char *out = command_out(NULL, ARGS("stat", "timeless"));
    assert_non_null(strstr(out, "unknown"));
    free(out);
    out = command_out(NULL, ARGS("stat", "timeless", "--prometheus"));
    assert_null(strstr(out, "oldest_due_age_seconds{"));
    free(out);
}

static void test_an_unknown_topic_is_not_found(void **state)
{
    command_refused(1, "nowhere", NULL, ARGS("stat", "nowhere"));
    command_refused(1, "nowhere", NULL, ARGS("stat", "nowhere", "--json", "--slots"));
    command_refused(1, "nowhere", NULL, ARGS("dead", "list", "nowhere"));
    command_refused(1, "nowhere", NULL, ARGS("dead", "requeue", "nowhere", "--all"));
}

static void test_dead_letters_are_listed_and_sent_back(void **state)
{
    create("letters", "priority");
    command_done("one\n", ARGS("send", "letters", "--priority", "7", "--key", "k"));
    kill_all("letters", "exit 3");
    json_t *letter = command_json(NULL, ARGS("dead", "list", "letters", "--json"));
    assert_members(letter, command_message_members);
    assert_string_equal(json_text(letter, "state"), "dead");
    assert_string_equal(json_text(letter, "key"), "k");
    assert_int_equal(json_number(letter, "priority"), 7);
    assert_string_equal(json_text(letter, "reason"), "exit 3");
    assert_string_equal(json_text(letter, "body"), "one");
    assert_true(json_number(letter, "dead_at_ms") > 1000000000000);
    json_decref(letter);
    char *table = command_out(NULL, ARGS("dead", "list", "letters"));
    assert_non_null(strstr(table, "exit 3"));
    free(table);
    json_t *answer = command_json(NULL, ARGS("dead", "requeue", "letters", "--all", "--json"));
    assert_int_equal(json_number(answer, "requeued"), 1);
    json_decref(answer);
    assert_int_equal(command_stat("letters", "dead"), 0);
    assert_int_equal(command_stat("letters", "waiting"), 1);
    json_t *message = command_json(NULL, ARGS("consume", "letters", "--count", "1", "--json"));
    assert_int_equal(json_number(message, "attempt"), 1);
    json_decref(message);
}

static void test_a_requeued_letter_keeps_its_time(void **state)
{
    create("kept", "fixed_time");
    command_done("one\n", ARGS("send", "kept"));
    kill_all("kept", "exit 65");
    json_t *letter = command_json(NULL, ARGS("dead", "list", "kept", "--json"));
    command_done(NULL, ARGS("dead", "requeue", "kept", "--all"));
    json_t *message = command_json(NULL, ARGS("consume", "kept", "--count", "1", "--json"));
    assert_int_equal(json_number(message, "due_at_ms"), json_number(letter, "due_at_ms"));
    json_decref(letter);
    json_decref(message);
}

static void test_no_dead_letters_is_a_result(void **state)
{
    create("healthy", "priority");
    char *out = command_out(NULL, ARGS("dead", "list", "healthy", "--json"));
    assert_string_equal(out, "");
    free(out);
    char *err = command_err(NULL, ARGS("dead", "requeue", "healthy", "--all"));
    assert_string_equal(err, "requeued 0\n");
    free(err);
}

static void test_options_of_the_client_can_be_given_by_name(void **state)
{
    char redis[600];

    snprintf(redis, sizeof(redis), "redis=%s", servers_redis(command_servers()));
    command_done(NULL, ARGS("topic", "create", "named", "--type", "priority"));
    json_t *document = command_json(NULL, ARGS("-r", "127.0.0.1:1", "-X", redis, "stat", "named",
                                               "-X", "request_timeout_ms=10s", "--json"));
    assert_int_equal(json_array_size(json_object_get(document, "topics")), 1);
    json_decref(document);
    command_refused(64, "member name", NULL, ARGS("-X", "name=a b", "stat", "named"));
}

/* What `slotmq work` says of the only slot that has something in work. */
static json_t *only_work(const char *topic)
{
    json_t *document = command_json(NULL, ARGS("work", topic, "--json"));

    assert_members(document, ARGS("work"));
    json_t *work = json_object_get(document, "work");
    assert_int_equal(json_array_size(work), 1);
    work = json_incref(json_array_get(work, 0));
    json_decref(document);
    return work;
}

/* Its consumer has renewed the lease. */
static bool work_is_noted(void *arg)
{
    json_t *work = only_work(arg);
    const bool noted = json_is_integer(json_object_get(work, "claimed_at_ms"));

    json_decref(work);
    return noted;
}

/* Of the only message in this state. */
static void assert_claimed_by(const char *topic, const char *state, const char *by)
{
    json_t *message = command_json(NULL, ARGS("peek", topic, "--state", state, "--json"));

    if (by) {
        assert_string_equal(json_text(message, "claimed_by"), by);
        assert_true(json_number(message, "claimed_at_ms") > json_number(message, "sent_at_ms") - 1);
    } else {
        assert_true(json_is_null(json_object_get(message, "claimed_by")));
        assert_true(json_is_null(json_object_get(message, "claimed_at_ms")));
    }
    json_decref(message);
}

/* Of several processes of a shared topic, only what they note tells which one it is. */
static void test_work_is_shown_with_its_message_and_process(void **state)
{
    char topic[] = "jobs";
    struct run run;
    struct gate gate;

    command_done(NULL, ARGS("topic", "create", topic, "--shared", "--slots", "1", "--lease", "9s"));
    command_done(NULL, ARGS("send", topic, "a book", "--key", "k", "--id", "7"));
    command_done(NULL, ARGS("send", topic, "a pen", "--key", "k", "--delay", "1h"));
    gate_close(&gate);
    command_start(&run, NULL,
                  ARGS("consume", topic, "-X", "name=worker-1", "--count", "1", "--", "sh", "-c",
                       gate.program));
    command_wait_stat(topic, "claimed", 1);
    assert_true(wait_until(work_is_noted, topic, TIMEOUT_MS));
    json_t *work = only_work(topic);
    assert_members(work, ARGS("topic", "slot", "member", "age_ms", "claimed", "stalled", "gone",
                              "claimed_at_ms", "attempt", "key", "id"));
    assert_string_equal(json_text(work, "topic"), "jobs");
    assert_string_equal(json_text(work, "member"), "worker-1");
    assert_string_equal(json_text(work, "key"), "k");
    assert_string_equal(json_text(work, "id"), "7");
    assert_int_equal(json_number(work, "attempt"), 1);
    assert_int_equal(json_number(work, "claimed"), 1);
    assert_int_equal(json_number(work, "stalled"), 0);
    assert_true(json_number(work, "age_ms") > 0);
    json_decref(work);
    assert_claimed_by(topic, "claimed", "worker-1");
    assert_claimed_by(topic, "waiting", NULL);
    char *out = command_out(NULL, ARGS("get", topic, "7", "--key", "k"));
    assert_non_null(strstr(out, "claimed_at"));
    assert_non_null(strstr(out, "worker-1"));
    free(out);
    gate_open(&gate);
    command_end(&run);
    run_fini(&run);
    char *text = command_out(NULL, ARGS("work", topic, "--json"));
    assert_string_equal(text, "{\"work\":[]}\n");
    free(text);
    command_done(NULL, ARGS("work"));
    command_refused(1, "no topic nowhere", NULL, ARGS("work", "nowhere"));
}

TEST_GROUP(stat)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stat_has_exactly_the_members_of_the_contract),
        cmocka_unit_test(test_stat_of_slots_has_owner_and_token),
        cmocka_unit_test(test_stat_is_about_each_topic_that_is_named),
        cmocka_unit_test(test_a_topic_without_an_owner_is_seen),
        cmocka_unit_test(test_stat_without_a_name_is_about_all),
        cmocka_unit_test(test_stat_as_prometheus_text_is_about_topics_only),
        cmocka_unit_test(test_tables_fit_a_terminal),
        cmocka_unit_test(test_what_needs_a_person_is_emphasised_on_a_terminal_only),
        cmocka_unit_test(test_a_paused_topic_is_seen_everywhere),
        cmocka_unit_test(test_a_lag_that_is_not_known_is_not_a_number),
        cmocka_unit_test(test_work_is_shown_with_its_message_and_process),
        cmocka_unit_test(test_an_unknown_topic_is_not_found),
        cmocka_unit_test(test_dead_letters_are_listed_and_sent_back),
        cmocka_unit_test(test_a_requeued_letter_keeps_its_time),
        cmocka_unit_test(test_no_dead_letters_is_a_result),
        cmocka_unit_test(test_options_of_the_client_can_be_given_by_name),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
