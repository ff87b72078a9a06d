/* test_consume.c - messages on standard output: order, shape, ends, signals, failures. */
#include "command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/group.h"
#include "support/process.h"
#include "support/wait.h"
#include "terminal.h"

static void create(const char *name, const char *type, const char *slots)
{
    command_done(NULL, ARGS("topic", "create", name, "--type", type, "--slots", slots));
}

static void assert_consumed(const char *const *arguments, const char *const *lines)
{
    char *out = command_out(NULL, arguments);

    assert_lines(out, lines);
    free(out);
}

/* With one thread; several print different keys at once, unless the order is that of slots. */
static void test_lines_come_in_the_order_of_delivery(void **state)
{
    static const char *const options[][2] = {{"--threads", "1"}, {"--max-in-flight", "1"}};

    create("order", "priority", "1");
    for (int i = 0; i < 2; i++) {
        command_done("first\nsecond\nthird\n", ARGS("send", "order"));
        command_done("urgent\n", ARGS("send", "order", "--priority", "9"));
        command_done("idle\n", ARGS("send", "order", "--priority", "-9"));
        assert_consumed(ARGS("consume", "order", "--exit-when-empty", options[i][0], options[i][1]),
                        ARGS("urgent", "first", "second", "third", "idle"));
        assert_int_equal(command_stat("order", "done"), 5 * (i + 1));
    }
}

static void test_an_object_has_exactly_the_members_of_the_contract(void **state)
{
    create("shape", "fixed_time", "2");
    command_done("b\xc3\xb6"
                 "dy\n",
                 ARGS("send", "shape", "--key", "k"));
    json_t *message = command_json(NULL, ARGS("consume", "shape", "--count", "1", "--json"));
    assert_members(message, command_delivery_members);
    assert_string_equal(json_text(message, "key"), "k");
    assert_string_equal(json_text(message, "topic"), "shape");
    assert_string_equal(json_text(message, "body"), "b\xc3\xb6"
                                                    "dy");
    assert_int_equal(json_number(message, "attempt"), 1);
    assert_true(json_number(message, "due_at_ms") > 1700000000000);
    assert_int_equal(strlen(json_text(message, "token")), 24);
    assert_in_range(json_number(message, "slot"), 0, 1);
    json_decref(message);
}

static void test_exit_when_empty_waits_for_what_is_due_later(void **state)
{
    create("later", "range_merge", "4");
    assert_consumed(ARGS("consume", "later", "--exit-when-empty"), ARGS(NULL));
    command_done("soon\n", ARGS("send", "later", "--delay", "300ms"));
    assert_consumed(ARGS("consume", "later", "--exit-when-empty"), ARGS("soon"));
}

static size_t count_lines(const char *text)
{
    size_t count = 0;

    for (const char *c = text; *c; c++) {
        count += *c == '\n' ? 1 : 0;
    }
    return count;
}

static void test_count_never_claims_more(void **state)
{
    create("count", "priority", "4");
    command_done("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n", ARGS("send", "count"));
    char *out = command_out(NULL, ARGS("consume", "count", "--count", "3", "--threads", "4"));
    assert_int_equal(count_lines(out), 3);
    free(out);
    assert_int_equal(command_stat("count", "done"), 3);
    assert_int_equal(command_stat("count", "waiting"), 7);
    assert_int_equal(command_stat("count", "claimed"), 0);
    assert_int_equal(command_stat("count", "released"), 0);
    out = command_out(NULL, ARGS("consume", "count", "--count", "100", "--exit-when-empty"));
    assert_int_equal(count_lines(out), 7);
    free(out);
}

static void test_each_signal_drains(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    create("drain", "priority", "4");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct run run;
        command_start(&run, NULL, ARGS("consume", "drain"));
        command_done("here\n", ARGS("send", "drain"));
        assert_true(run_wait_out(&run, "here\n", TIMEOUT_MS));
        run_signal(&run, numbers[i]);
        command_end(&run);
        assert_string_equal(run.out, "here\n");
        assert_string_equal(run.err, "");
        run_fini(&run);
    }
    assert_int_equal(command_stat("drain", "done"), 3);
    assert_int_equal(command_stat("drain", "claimed"), 0);
    assert_int_equal(command_stat("drain", "lease_lost"), 0);
}

/* Runs a consume whose standard output is `out`, and gives its exit code. */
static int consume_into(const char *topic, int out, int err)
{
    const char *const argv[] = {getenv("SLOTMQ_COMMAND"), "consume", topic, NULL};
    char redis[512];
    int status = 0;

    snprintf(redis, sizeof(redis), "SLOTMQ_REDIS=%s", servers_redis(command_servers()));
    const char *const environment[] = {redis, "SLOTMQ_ZOOKEEPER", NULL};
    const pid_t pid = process_start(&(struct process_options){
        .argv = argv, .environment = environment, .out = out, .err = err});
    assert_true(pid > 0);
    assert_true(process_wait(pid, &status, TIMEOUT_MS));
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Nothing was lost and no retry used: the next one prints all, at its first attempt. */
static void assert_all_wait(const char *topic, json_int_t count)
{
    assert_int_equal(command_stat(topic, "waiting"), count);
    assert_int_equal(command_stat(topic, "claimed"), 0);
    assert_int_equal(command_stat(topic, "resting"), 0);
    assert_int_equal(command_stat(topic, "done"), 0);
    assert_int_equal(command_stat(topic, "retried"), 0);
    json_t *message = command_json(NULL, ARGS("consume", topic, "--count", "1", "--json"));
    assert_int_equal(json_number(message, "attempt"), 1);
    json_decref(message);
}

static void test_a_closed_pipe_gives_messages_back(void **state)
{
    int ends[2];
    FILE *said = tmpfile();
    char line[256] = "";

    assert_non_null(said);
    create("pipe", "priority", "2");
    command_done("one\ntwo\nthree\n", ARGS("send", "pipe"));
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(consume_into("pipe", ends[1], fileno(said)), 74);
    close(ends[1]);
    rewind(said);
    assert_non_null(fgets(line, sizeof(line), said));
    assert_string_equal(line, "slotmq: cannot write to standard output: Broken pipe\n");
    assert_null(fgets(line, sizeof(line), said));
    (void) fclose(said);
    assert_all_wait("pipe", 3);
}

static void test_a_full_disk_gives_messages_back(void **state)
{
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    assert_true(full >= 0);
    create("disk", "priority", "2");
    command_done("one\ntwo\nthree\n", ARGS("send", "disk"));
    assert_int_equal(consume_into("disk", full, 0), 74);
    close(full);
    assert_all_wait("disk", 3);
}

static void test_a_result_that_cannot_be_written_is_an_error(void **state)
{
    const char *const argv[] = {getenv("SLOTMQ_COMMAND"), "--help", NULL};
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    int status = 0;

    assert_true(full >= 0);
    const pid_t pid = process_start(&(struct process_options){.argv = argv, .out = full});
    assert_true(process_wait(pid, &status, TIMEOUT_MS));
    assert_int_equal(WEXITSTATUS(status), 74);
    close(full);
}

/* === Two consumers ====================================================== */

/* How many different owners the slots of a topic have; 0 while one has none. */
static size_t count_owners(const char *topic)
{
    json_t *document = command_json(NULL, ARGS("stat", topic, "--slots", "--json"));
    json_t *slots =
        json_object_get(json_array_get(json_object_get(document, "topics"), 0), "slots");
    json_t *owners = json_object();
    size_t index = 0;
    json_t *slot = NULL;
    bool all = true;

    json_array_foreach(slots, index, slot)
    {
        const char *owner = json_text(slot, "owner");
        all = all && owner[0] != '\0';
        json_object_set(owners, owner, slot);
    }
    const size_t count = all ? json_object_size(owners) : 0;
    json_decref(owners);
    json_decref(document);
    return count;
}

static bool has_two_owners(void *arg)
{
    return count_owners(arg) == 2;
}

static void add_lines(json_t *seen, char *text)
{
    char *rest = text;
    char *line = NULL;

    while ((line = strsep(&rest, "\n")) != NULL) {
        if (line[0] != '\0') {
            assert_null(json_object_get(seen, line)); /* handled once */
            json_object_set_new(seen, line, json_true());
        }
    }
}

static void test_two_consumers_share_the_slots(void **state)
{
    enum { COUNT = 200 };
    const char *zookeeper = servers_zookeeper(command_servers());
    const char *const *arguments = ARGS("-z", zookeeper, "consume", "fleet");
    struct run runs[2];
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);
    json_t *seen = json_object();

    assert_non_null(lines);
    for (int i = 0; i < COUNT; i++) {
        (void) fprintf(lines, "message-%d\n", i);
    }
    assert_int_equal(fclose(lines), 0);
    create("fleet", "priority", "16");
    command_start(&runs[0], NULL, arguments);
    command_start(&runs[1], NULL, arguments);
    assert_true(wait_until(has_two_owners, (void *) "fleet", TIMEOUT_MS));
    command_done(text, ARGS("send", "fleet"));
    command_wait_stat("fleet", "done", COUNT);
    for (int i = 0; i < 2; i++) {
        run_signal(&runs[i], SIGTERM);
        command_end(&runs[i]);
        assert_true(runs[i].out_len > 0);
        add_lines(seen, runs[i].out);
        run_fini(&runs[i]);
    }
    assert_int_equal(json_object_size(seen), COUNT);
    json_decref(seen);
    free(text);
    command_refused(73, "fleet", NULL, ARGS("consume", "fleet"));
}

static void test_without_zookeeper_the_second_stands_by(void **state)
{
    struct run first;
    struct run second;

    create("standby", "priority", "4");
    command_start(&first, NULL, ARGS("consume", "standby"));
    command_done("a\n", ARGS("send", "standby"));
    assert_true(run_wait_out(&first, "a\n", TIMEOUT_MS));
    command_start(&second, NULL, ARGS("consume", "standby"));
    command_done("b\nc\n", ARGS("send", "standby"));
    command_wait_stat("standby", "done", 3);
    run_signal(&first, SIGTERM);
    command_end(&first);
    command_done("d\n", ARGS("send", "standby"));
    assert_true(run_wait_out(&second, "d\n", TIMEOUT_MS));
    run_signal(&second, SIGTERM);
    command_end(&second);
    assert_string_equal(second.out, "d\n");
    run_fini(&first);
    run_fini(&second);
}

static void test_a_shared_topic_has_no_tokens(void **state)
{
    command_done(NULL, ARGS("topic", "create", "shared", "--type", "priority", "--shared"));
    command_done("x\n", ARGS("send", "shared"));
    json_t *message = command_json(NULL, ARGS("consume", "shared", "--count", "1", "--json"));
    assert_string_equal(json_text(message, "token"), "");
    json_decref(message);
}

static void test_an_unknown_topic_is_not_found(void **state)
{
    create("somewhere", "priority", "4");
    command_refused(1, "nowhere", NULL, ARGS("consume", "nowhere"));
    command_refused(1, "no topic nowhere; create it first; a program comes after --", NULL,
                    ARGS("consume", "somewhere", "nowhere"));
    command_refused(64, "this client consumes topic somewhere already", NULL,
                    ARGS("consume", "somewhere", "somewhere"));
    command_refused(64, "--count is for one topic", NULL,
                    ARGS("consume", "somewhere", "nowhere", "--count", "3"));
}

enum { TOPICS = 3, OF_EACH = 60, HALF = TOPICS * OF_EACH / 2, NEARLY = 15 };

static void send_numbers(const char *topic, int count)
{
    char numbers[OF_EACH * 4] = "";

    for (int i = 0; i < count; i++) {
        const size_t length = strlen(numbers);
        (void) snprintf(numbers + length, sizeof(numbers) - length, "%d\n", i);
    }
    command_done(numbers, ARGS("send", topic));
}

/* Each topic has its part of the first half. */
static void test_several_topics_take_turns(void **state)
{
    static const char *const topics[TOPICS] = {"high", "default", "low"};
    int came[TOPICS] = {0};

    for (int i = 0; i < TOPICS; i++) {
        create(topics[i], "priority", "4");
        send_numbers(topics[i], OF_EACH);
    }
    json_t *lines = command_lines(NULL, ARGS("consume", "high", "default", "low", "--json",
                                             "--threads", "2", "--exit-when-empty"));
    assert_int_equal(json_array_size(lines), TOPICS * OF_EACH);
    for (size_t line = 0; line < HALF; line++) {
        for (int i = 0; i < TOPICS; i++) {
            const char *topic = json_text(json_array_get(lines, line), "topic");
            came[i] += strcmp(topic, topics[i]) == 0 ? 1 : 0;
        }
    }
    json_decref(lines);
    for (int i = 0; i < TOPICS; i++) {
        assert_in_range(came[i], HALF / TOPICS - NEARLY, HALF / TOPICS + NEARLY);
        assert_int_equal(command_stat(topics[i], "done"), OF_EACH);
        assert_int_equal(command_stat(topics[i], "released"), 0);
    }
}

static void test_events_are_told_when_asked_for(void **state)
{
    struct run run;

    create("events", "priority", "1");
    command_done("one\n", ARGS("send", "events")); /* so it stays until it has the slot */
    command_run(&run, NULL, ARGS("consume", "events", "--exit-when-empty", "-v"));
    assert_int_equal(run.exit_code, 0);
    assert_string_equal(run.out, "one\n");
    assert_non_null(strstr(run.err, "slotmq: assigned: topic events: 1 slot gained, "));
    assert_null(strstr(run.err, "slot_gained"));
    run_fini(&run);
}

/* Elsewhere nothing is printed while all is well: test_states.c. */
static void test_at_a_terminal_the_number_of_slots_is_printed(void **state)
{
    struct terminal terminal;

    create("watched", "priority", "4");
    terminal_run(&terminal, terminal_wide, ARGS("consume", "watched"));
    terminal_await(&terminal, "slotmq: assigned: topic watched: 4 slots gained, 0 lost; this "
                              "process owns 4 of 4");
    terminal_type(&terminal, "\003");
    terminal_exits(&terminal, 0);
    assert_non_null(strstr(terminal.shown, "0 slots gained, 4 lost; this process owns 0 of 4"));
}

TEST_GROUP(consume)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_come_in_the_order_of_delivery),
        cmocka_unit_test(test_an_object_has_exactly_the_members_of_the_contract),
        cmocka_unit_test(test_exit_when_empty_waits_for_what_is_due_later),
        cmocka_unit_test(test_count_never_claims_more),
        cmocka_unit_test(test_each_signal_drains),
        cmocka_unit_test(test_a_closed_pipe_gives_messages_back),
        cmocka_unit_test(test_a_full_disk_gives_messages_back),
        cmocka_unit_test(test_a_result_that_cannot_be_written_is_an_error),
        cmocka_unit_test(test_two_consumers_share_the_slots),
        cmocka_unit_test(test_without_zookeeper_the_second_stands_by),
        cmocka_unit_test(test_a_shared_topic_has_no_tokens),
        cmocka_unit_test(test_an_unknown_topic_is_not_found),
        cmocka_unit_test(test_several_topics_take_turns),
        cmocka_unit_test(test_events_are_told_when_asked_for),
        cmocka_unit_test(test_at_a_terminal_the_number_of_slots_is_printed),
    };

    return cmocka_run_group_tests(tests, command_setup, command_teardown);
}
