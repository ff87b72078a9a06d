/* test_backup.c - messages and schedules as lines of JSON: sent, printed, sent again, restored and
 * copied into another cluster. */
#include "command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/group.h"
#include "support/wait.h"

static struct servers *other;

static int setup(void **state)
{
    if (command_setup_with(&(struct servers_options){.redis = REDIS_CLUSTER}) != 0) {
        return -1;
    }
    other = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    return other ? 0 : command_teardown(state);
}

static int teardown(void **state)
{
    servers_free(other);
    return command_teardown(state);
}

/* === Lines ============================================================== */

static void create_both(const char *name, const char *type, const char *layout, const char *delay)
{
    const char *const clusters[] = {servers_redis(command_servers()), servers_redis(other)};

    for (size_t i = 0; i < 2; i++) {
        command_done(NULL, ARGS("-r", clusters[i], "topic", "create", name, "--type", type,
                                "--layout", layout, "--slots", "4", "--backoff", "none",
                                "--max-retries", "3", "--delay", delay));
    }
}

static json_t *get(const char *topic, const char *id, const char *key)
{
    return key ? command_json(NULL, ARGS("get", topic, id, "--key", key, "--json"))
               : command_json(NULL, ARGS("get", topic, id, "--json"));
}

static void test_each_line_has_its_own_key_id_and_time(void **state)
{
    static const char lines[] =
        "{\"body\":\"one\",\"key\":\"ann\",\"id\":\"1\",\"due_at\":\"2100-01-01T00:00:00.250Z\"}\n"
        "{\"body\":\"\",\"id\":\"2\",\"due_at_ms\":4102444800000,\"max_retries\":0}\n"
        "{\"body_base64\":\"AP8=\",\"id\":\"3\",\"delay\":\"1d\",\"ttl\":\"2d\",\"key\":null}\n"
        "{\"body\":\"a\\nb\\u0000\",\"id\":\"4\"}\n";

    command_done(NULL, ARGS("topic", "create", "lines", "--slots", "2"));
    json_t *counts = command_json(lines, ARGS("send", "lines", "--json"));
    assert_int_equal(json_number(counts, "sent"), 4);
    json_decref(counts);
    json_t *message = get("lines", "1", "ann");
    assert_int_equal(json_number(message, "due_at_ms"), 4102444800250);
    json_decref(message);
    message = get("lines", "2", NULL);
    assert_int_equal(json_number(message, "due_at_ms"), 4102444800000);
    assert_int_equal(json_number(message, "retries_left"), 0);
    json_decref(message);
    message = get("lines", "3", NULL);
    assert_string_equal(json_text(message, "body_base64"), "AP8=");
    assert_true(json_number(message, "expires_at_ms") > json_number(message, "due_at_ms"));
    json_decref(message);
    char *out = command_out(NULL, ARGS("get", "lines", "4", "--json"));
    assert_non_null(strstr(out, "\"body\":\"a\\nb\\u0000\""));
    free(out);
}

static void test_what_a_line_does_not_say_comes_from_the_flags(void **state)
{
    command_done(NULL, ARGS("topic", "create", "ranks", "--type", "priority", "--slots", "1"));
    command_done("{\"body\":\"a\"}\n{\"body\":\"b\",\"priority\":9}\n",
                 ARGS("send", "ranks", "--json", "--priority", "5", "--key", "k"));
    json_t *message = get("ranks", "a", "k");
    assert_int_equal(json_number(message, "priority"), 5);
    json_decref(message);
    message = get("ranks", "b", "k");
    assert_int_equal(json_number(message, "priority"), 9);
    json_decref(message);
}

static void test_a_line_that_is_no_message_is_named(void **state)
{
    command_done(NULL, ARGS("topic", "create", "bad", "--type", "priority", "--slots", "1"));
    command_refused(65,
                    "line 2: a message has no \"prioritty\"; did you mean \"priority\"?; "
                    "sent 1 merged 0",
                    "{\"body\":\"a\"}\n{\"body\":\"b\",\"prioritty\":1}\n",
                    ARGS("send", "bad", "--json"));
    command_refused(65, "line 1: not JSON", "plain\n", ARGS("send", "bad", "--json"));
    command_refused(65, "line 1: an empty body", "{\"body\":\"\"}\n",
                    ARGS("send", "bad", "--json"));
    command_refused(65, "line 1: the topic has layout inline: it has no \"id\"",
                    "{\"body\":\"b\",\"id\":\"i\"}\n", ARGS("send", "bad", "--json"));
    command_refused(64, "--restore is for lines of JSON", "b\n", ARGS("send", "bad", "--restore"));
    command_refused(64, "--restore takes times", "b\n",
                    ARGS("send", "bad", "--json", "--restore", "--priority", "1"));
    command_refused(64, "leave out --key-field", "b\n",
                    ARGS("send", "bad", "--json", "--key-field", "1"));
}

/* === Sent again ========================================================= */

static void test_what_was_consumed_can_be_sent_again(void **state)
{
    command_done(NULL, ARGS("topic", "create", "again", "--slots", "2"));
    command_done(NULL, ARGS("send", "again", "body", "--id", "i", "--key", "k"));
    char *line = command_out(NULL, ARGS("consume", "again", "--count", "1", "--json"));
    assert_int_equal(command_stat("again", "waiting"), 0);
    command_done(line, ARGS("send", "again", "--json"));
    json_t *message = get("again", "i", "k");
    assert_string_equal(json_text(message, "body"), "body");
    assert_int_equal(json_number(message, "attempt"), 0);
    json_decref(message);
    free(line);
}

static void test_dead_letters_can_be_sent_as_new_messages(void **state)
{
    static const char *const types[][2] = {{"range_merge", "inline"},
                                           {"priority", "inline"},
                                           {"fixed_time", "keyed"},
                                           {"fifo", "keyed"}};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        char topic[32];
        snprintf(topic, sizeof(topic), "letters-%s", types[i][0]);
        command_create_topic(topic, types[i][0], types[i][1]);
        command_done(NULL, ARGS("send", topic, "text", "--delay", "0", "--key", "k"));
        command_kill_due(topic, "1");
        char *lines = command_out(NULL, ARGS("dead", "list", topic, "--json"));
        command_done(lines, ARGS("send", topic, "--json"));
        assert_int_equal(command_stat(topic, "waiting"), 1);
        assert_int_equal(command_stat(topic, "due"), 1);
        command_done(NULL, ARGS("dead", "purge", topic, "--all", "--yes"));
        json_t *message = command_json(NULL, ARGS("peek", topic, "--json"));
        assert_int_equal(json_number(message, "attempt"), 0);
        json_decref(message);
        free(lines);
    }
}

/* === Backup and restore ================================================= */

/* All of a message but what the cluster decides: its owner's token, its place among the pages, the
 * reason of its last failure; and, of a message that failed, that it has rested. */
static json_t *messages_of(const char *redis, const char *topic)
{
    json_t *lines = command_lines(
        NULL, ARGS("-r", redis, "peek", topic, "--state", "waiting,resting", "--json"));
    size_t index = 0;
    json_t *message = NULL;

    json_array_foreach(lines, index, message)
    {
        json_object_del(message, "token");
        json_object_del(message, "cursor");
        json_object_del(message, "reason");
        json_object_del(message, "tries");
        json_object_del(message, "state");
    }
    return lines;
}

static void assert_same_messages(const char *topic, size_t count)
{
    json_t *here = messages_of(servers_redis(command_servers()), topic);
    json_t *there = messages_of(servers_redis(other), topic);

    assert_int_equal(json_array_size(here), count);
    if (!json_equal(here, there)) {
        fail_msg("%s\n%s", json_dumps(here, 0), json_dumps(there, 0));
    }
    json_decref(here);
    json_decref(there);
}

/* Topics of all types, whose messages have failed, are late, expire, or are any bytes. */
static void fill(void)
{
    create_both("jobs", "fixed_time", "keyed", "0");
    command_done(NULL, ARGS("send", "jobs", "fails", "--id", "f", "--key", "k"));
    command_done(NULL, ARGS("consume", "jobs", "--count", "2", "--", "false"));
    command_done("{\"body_base64\":\"AP8=\",\"id\":\"bytes\",\"ttl\":\"1d\"}\n"
                 "{\"body\":\"later\",\"id\":\"later\",\"due_at\":\"2100-01-01T00:00:00.5Z\"}\n"
                 "{\"body\":\"own\",\"id\":\"own\",\"max_retries\":7}\n",
                 ARGS("send", "jobs", "--json"));
    create_both("mail", "range_merge", "inline", "5s");
    command_done("b\nc\n", ARGS("send", "mail", "--delay", "0"));
    command_done("a\nd\n", ARGS("send", "mail", "--delay", "1h", "--key", "k"));
    create_both("calls", "priority", "inline", "none");
    command_done("z\ny\nx\n", ARGS("send", "calls", "--key", "k"));
    command_done("w\n", ARGS("send", "calls", "--priority", "8", "--key", "k"));
    create_both("orders", "fifo", "keyed", "none");
    command_done("3 c\n1 b\n2 a\n", ARGS("send", "orders", "--key", "k", "--id-field", "1"));
}

static void test_a_backup_is_restored_in_another_cluster(void **state)
{
    static const struct {
        const char *topic;
        size_t count;
    } topics[] = {{"jobs", 4}, {"mail", 4}, {"calls", 4}, {"orders", 3}};

    fill();
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        const char *topic = topics[i].topic;
        char *backup =
            command_out(NULL, ARGS("peek", topic, "--state", "waiting,resting,dead", "--json"));
        command_done(backup,
                     ARGS("-r", servers_redis(other), "send", topic, "--json", "--restore"));
        assert_same_messages(topic, topics[i].count);
        command_done(backup,
                     ARGS("-r", servers_redis(other), "send", topic, "--json", "--restore"));
        assert_same_messages(topic, topics[i].count); /* once more is the same */
        free(backup);
    }
    json_t *failed = command_json(
        NULL, ARGS("-r", servers_redis(other), "get", "jobs", "f", "--key", "k", "--json"));
    assert_int_equal(json_number(failed, "attempt"), 2);
    assert_int_equal(json_number(failed, "retries_left"), 1);
    json_decref(failed);
}

static void test_a_dead_letter_is_restored_as_a_message(void **state)
{
    create_both("killed", "fixed_time", "keyed", "0");
    command_done(NULL, ARGS("send", "killed", "x", "--id", "i", "--retries", "0"));
    command_done(NULL, ARGS("consume", "killed", "--count", "1", "--", "false"));
    char *backup = command_out(NULL, ARGS("peek", "killed", "--state", "dead", "--json"));
    command_done(backup, ARGS("-r", servers_redis(other), "send", "killed", "--json", "--restore"));
    json_t *message =
        command_json(NULL, ARGS("-r", servers_redis(other), "get", "killed", "i", "--json"));
    assert_string_equal(json_text(message, "state"), "waiting");
    assert_int_equal(json_number(message, "attempt"), 0);
    assert_int_equal(json_number(message, "retries_left"), 0);
    json_decref(message);
    free(backup);
}

/* === Schedules ========================================================== */

/* All of them but their versions. */
static json_t *schedules_of(const char *redis, const char *topic)
{
    json_t *lines = command_lines(NULL, ARGS("-r", redis, "schedule", "list", topic, "--json"));
    size_t index = 0;
    json_t *schedule = NULL;

    json_array_foreach(lines, index, schedule)
    {
        json_object_del(schedule, "version");
    }
    return lines;
}

static void assert_same_schedules(const char *topic, size_t count)
{
    json_t *here = schedules_of(servers_redis(command_servers()), topic);
    json_t *there = schedules_of(servers_redis(other), topic);

    assert_int_equal(json_array_size(here), count);
    if (!json_equal(here, there)) {
        fail_msg("%s\n%s", json_dumps(here, 0), json_dumps(there, 0));
    }
    json_decref(here);
    json_decref(there);
}

static void assert_put(const char *redis, const char *topic, const char *lines, const char *counts)
{
    char *said = command_err(lines, ARGS("-r", redis, "schedule", "put", topic));

    if (strncmp(said, counts, strlen(counts)) != 0 || said[strlen(counts)] != '\n') {
        fail_msg("%s, not %s", said, counts);
    }
    free(said);
}

/* Every member of a schedule: used up; overdue and paused with a note; bytes; all that a message
 * may have of its own; and those of an inline topic and of groups, one of which is paused. */
static void fill_schedules(void)
{
    create_both("timed", "fixed_time", "keyed", "0");
    command_done(NULL, ARGS("schedule", "put", "timed", "used", "x", "--every", "100ms", "--limit",
                            "2", "-q"));
    command_done(NULL, ARGS("consume", "timed", "--count", "2", "--", "true"));
    command_done(NULL, ARGS("schedule", "put", "timed", "late", "--every", "100ms", "-q"));
    command_done(NULL, ARGS("schedule", "pause", "timed", "late", "until \"noon\"", "-q"));
    command_done(NULL, ARGS("schedule", "put", "timed", "caf\xe9", "\xff", "--cron", "@daily",
                            "--ttl", "none", "--retries", "0", "-q"));
    command_done(NULL,
                 ARGS("schedule", "put", "timed", "all", "body", "--cron", "0 30 2 * * MON-FRI",
                      "--zone", "Europe/Berlin", "--start", "2026-01-01T00:00:00Z", "--end",
                      "2100-01-01T00:00:00Z", "--limit", "9", "--missed", "none", "--key", "k",
                      "--ttl", "1h", "--retries", "7", "-H", "kind=pdf", "-q"));
    create_both("ranked", "priority", "inline", "none");
    command_done(NULL, ARGS("schedule", "put", "ranked", "high", "body", "--every", "1d",
                            "--priority", "8", "-q"));
    for (size_t i = 0; i < 2; i++) {
        command_done(NULL, ARGS("-r", servers_redis(i == 0 ? command_servers() : other), "topic",
                                "create", "each", "--groups", "a,b", "--slots", "2"));
    }
    command_done(NULL, ARGS("schedule", "put", "each", "both", "x", "--every", "1d", "-q"));
    command_done(NULL, ARGS("schedule", "pause", "each/b", "both", "-q"));
}

static void test_a_backup_of_schedules_is_put_in_another_cluster(void **state)
{
    static const struct {
        const char *topic;
        size_t count;
        const char *first, *again;
    } topics[] = {
        {"timed", 4, "same 0 made 4 changed 0 restarted 0", "same 4 made 0 changed 0 restarted 0"},
        {"ranked", 1, "same 0 made 1 changed 0 restarted 0", "same 1 made 0 changed 0 restarted 0"},
        {"each", 2, "same 0 made 2 changed 0 restarted 0", "same 2 made 0 changed 0 restarted 0"}};

    fill_schedules();
    for (size_t i = 0; i < sizeof(topics) / sizeof(topics[0]); i++) {
        const char *topic = topics[i].topic;
        char *backup = command_out(NULL, ARGS("schedule", "list", topic, "--json"));

        assert_put(servers_redis(other), topic, backup, topics[i].first);
        assert_same_schedules(topic, topics[i].count);
        assert_put(servers_redis(other), topic, backup, topics[i].again);
        assert_same_schedules(topic, topics[i].count);
        assert_put(servers_redis(command_servers()), topic, backup, topics[i].again);
        assert_same_schedules(topic, topics[i].count);
        free(backup);
    }
    json_t *used = command_json(
        NULL, ARGS("-r", servers_redis(other), "schedule", "get", "timed", "used", "--json"));
    assert_int_equal(json_number(used, "ticks"), 2);
    assert_true(json_is_null(json_object_get(used, "next_at_ms")));
    json_decref(used);
}

/* What is there keeps its pause and its times, but gets the message; other times are those of the
 * line. */
static void test_a_line_changes_what_differs(void **state)
{
    const char *redis = servers_redis(command_servers());

    command_done(NULL, ARGS("topic", "create", "differs", "--slots", "2"));
    command_done(NULL, ARGS("schedule", "put", "differs", "s", "old", "--every", "1d", "-q"));
    command_done(NULL, ARGS("schedule", "pause", "differs", "s", "here", "-q"));
    assert_put(redis, "differs",
               "{\"id\":\"s\",\"every_ms\":86400000,\"message\":{\"body\":\"new\"}}\n"
               "{\"id\":\"new\",\"every_ms\":\"1d\",\"message\":{\"body\":\"x\"}}",
               "same 0 made 1 changed 1 restarted 0");
    assert_put(redis, "differs",
               "{\"id\":\"s\",\"every_ms\":1000,\"next_at_ms\":4102444800001,\"ticks\":5,"
               "\"message\":{\"body_base64\":\"bmV3\"}}\n",
               "same 0 made 0 changed 0 restarted 1");
    json_t *schedule = command_json(NULL, ARGS("schedule", "get", "differs", "s", "--json"));
    assert_string_equal(json_text(schedule, "note"), "here");
    assert_int_equal(json_number(schedule, "ticks"), 5);
    assert_true(json_number(schedule, "next_at_ms") == 4102444801000); /* a time that it has */
    assert_string_equal(json_text(json_object_get(schedule, "message"), "body"), "new");
    json_decref(schedule);
    json_t *counts = command_json("", ARGS("schedule", "put", "differs", "--json"));
    assert_members(counts, ARGS("same", "made", "changed", "restarted"));
    json_decref(counts);
}

#define LINE_1          "{\"id\":\"good\",\"cron\":\"@daily\",\"message\":{\"body\":\"x\"}}\n"
#define LINE_2(members) LINE_1 "{\"id\":\"bad\"," members "}\n"
#define DAILY(members)  LINE_2("\"every_ms\":86400000," members)
#define BODY            ",\"message\":{\"body\":\"x\"}"

static void test_a_line_that_is_no_schedule_is_named(void **state)
{
    static const char *const rows[][2] = {
        {LINE_2("\"crom\":\"@daily\"" BODY), "line 2: a schedule has no \"crom\"; did you mean "
                                             "\"cron\"?; of the lines before it: same 0 "
                                             "made 1 changed 0 restarted 0"},
        {LINE_1 "plain", "line 2: not JSON: "},
        {LINE_1 "[]", "line 2: not a JSON object; give one schedule a line"},
        {LINE_1 "{\"every_ms\":1000" BODY "}", "line 2: there is no \"id\""},
        {LINE_2("\"every_ms\":1000"), "line 2: there is no \"message\""},
        {LINE_2("\"missed\":\"one\"" BODY), "line 2: a schedule has either cron or every_ms"},
        {LINE_2("\"cron\":\"0 25 * * *\"" BODY), "line 2: cron \"0 >>>25<<< * * *\""},
        {LINE_2("\"cron\":\"@daily\",\"zone\":\"Mars/Olympus\"" BODY), "no such zone"},
        {LINE_2("\"every_ms\":99" BODY), "line 2: every_ms must be from 100"},
        {DAILY("\"limit\":\"many\"" BODY), "line 2: \"limit\" cannot be used; give a whole number"},
        {DAILY("\"start_at_ms\":\"noon\"" BODY), "\"start_at_ms\" cannot be used"},
        {DAILY("\"start_at_ms\":2000,\"end_at_ms\":1000" BODY), "end_at_ms must be from 2000"},
        {DAILY("\"missed\":\"two\"" BODY), "\"missed\" cannot be used; give \"one\" or \"none\""},
        {DAILY("\"next_at_ms\":-1" BODY), "next_at_ms must be from 0"},
        {DAILY("\"ticks\":-1" BODY), "ticks must be from 0"},
        {DAILY("\"paused\":\"yes\"" BODY), "\"paused\" cannot be used; give true or false"},
        {DAILY("\"paused\":true,\"note\":\"a\\nb\"" BODY), "a note is one line"},
        {DAILY("\"note\":\"a\\u0000\"" BODY), "\"note\" cannot be used; give a text without"},
        {DAILY("\"message\":\"x\""), "\"message\" cannot be used; give an object"},
        {DAILY("\"message\":{}"), "there is no \"body\""},
        {DAILY("\"message\":{\"body\":\"x\",\"boddy\":1}"),
         "a schedule's message has no \"boddy\"; did you mean \"body\"?"},
        {DAILY("\"message\":{\"body\":\"x\",\"max_retries\":65}"), "a number from -1 (none) to 64"},
        {DAILY("\"message\":{\"body\":\"x\",\"priority\":5}"), "priority"},
    };

    command_done(NULL, ARGS("topic", "create", "strict", "--slots", "1"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        command_refused(65, rows[i][1], rows[i][0], ARGS("schedule", "put", "strict"));
    }
    command_refused(64, "give its ID", NULL, ARGS("schedule", "put", "strict", "--every", "1d"));
    command_refused(64, "leave out ID", NULL,
                    ARGS("schedule", "put", "strict", "s", "--every", "1d", "--file", "-"));
    command_refused(66, "cannot read /nowhere", NULL,
                    ARGS("schedule", "put", "strict", "--file", "/nowhere"));
}

/* === Copy =============================================================== */

static void test_a_topic_is_copied_to_another_cluster(void **state)
{
    create_both("moved", "fixed_time", "keyed", "0");
    command_done("1 a\n2 b\n3 c\n", ARGS("send", "moved", "--id-field", "1", "--key", "k"));
    json_t *part = command_json(NULL, ARGS("copy", "moved", "moved", "--to-redis",
                                           servers_redis(other), "--limit", "2", "--json"));
    assert_int_equal(json_number(part, "copied"), 2);
    char *said =
        command_err(NULL, ARGS("copy", "moved", "moved", "--to-redis", servers_redis(other),
                               "--cursor", json_text(part, "cursor")));
    assert_string_equal(said, "copied 1 merged 0\n");
    free(said);
    json_decref(part);
    assert_same_messages("moved", 3);
    command_done(NULL, ARGS("schedule", "put", "moved", "nightly", "all", "--cron", "30 2 * * *",
                            "--limit", "9", "--ttl", "1h", "-H", "kind=pdf", "-q"));
    command_done(NULL, ARGS("schedule", "pause", "moved", "nightly", "later", "-q"));
    said = command_err(NULL, ARGS("copy", "moved", "moved", "--to-redis", servers_redis(other)));
    assert_string_equal(said, "copied 0 merged 3 schedules 1\n"); /* by their ids */
    free(said);
    json_t *schedule = command_json(
        NULL, ARGS("-r", servers_redis(other), "schedule", "get", "moved", "nightly", "--json"));
    json_t *was = command_json(NULL, ARGS("schedule", "get", "moved", "nightly", "--json"));
    json_object_del(schedule, "version");
    json_object_del(was, "version");
    assert_true(json_equal(schedule, was));
    json_decref(schedule);
    json_decref(was);
    said = command_err(NULL, ARGS("copy", "moved", "moved", "--to-redis", servers_redis(other),
                                  "--messages-only"));
    assert_string_equal(said, "copied 0 merged 3\n");
    free(said);
    assert_int_equal(command_stat("moved", "waiting"), 3);
}

static void test_a_copy_that_fails_says_where_it_continues(void **state)
{
    command_done(NULL, ARGS("topic", "create", "from", "--slots", "1"));
    command_done(NULL, ARGS("topic", "create", "small", "--slots", "1", "--max-waiting", "2"));
    command_done("a\nb\nc\n", ARGS("send", "from"));
    command_refused(75, "copied 2 merged 0; to continue: --cursor", NULL,
                    ARGS("copy", "from", "small"));
    command_done(NULL, ARGS("topic", "alter", "small", "max_waiting=none"));
    char *said = command_err(NULL, ARGS("copy", "from", "small"));
    assert_string_equal(said, "copied 1 merged 2\n");
    free(said);
    command_refused(1, "nowhere", NULL, ARGS("copy", "from", "nowhere"));
    command_refused(64, "cannot be copied to itself", NULL, ARGS("copy", "from", "from"));
    command_done(NULL, ARGS("topic", "create", "lists", "--type", "priority"));
    command_refused(73, "must have the same type and layout", NULL, ARGS("copy", "from", "lists"));
    command_refused(64, "--state", NULL, ARGS("copy", "from", "small", "--state", "alive"));
}

/* Lines that nobody reads yet keep peek from its end, until it is interrupted. */
static void test_an_interrupted_backup_says_where_it_continues(void **state)
{
    enum { MANY = 5000 };
    char *lines = calloc(MANY, 8);
    char cursor[256] = "";
    struct run run;
    size_t first = 0;

    assert_non_null(lines);
    for (int i = 0, at = 0; i < MANY; i++) {
        at += sprintf(lines + at, "%d\n", i);
    }
    command_done(NULL, ARGS("topic", "create", "large", "--slots", "2"));
    command_done(lines, ARGS("send", "large"));
    command_start(&run, NULL, ARGS("peek", "large", "--json"));
    assert_true(run_wait_out(&run, "\n", TIMEOUT_MS));
    run_signal(&run, SIGINT);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 128 + SIGINT);
    for (const char *at = run.out; (at = strchr(at, '\n')) != NULL; at++) {
        first++;
    }
    assert_true(first < MANY);
    const char *said = strstr(run.err, "; to continue: --cursor ");
    assert_non_null(said);
    assert_int_equal(sscanf(said, "; to continue: --cursor %255s", cursor), 1);
    run_fini(&run);
    json_t *rest = command_lines(NULL, ARGS("peek", "large", "--json", "--cursor", cursor));
    assert_int_equal(first + json_array_size(rest), MANY);
    json_decref(rest);
    free(lines);
}

/* Does the server keep a client waiting? */
static bool keeps_waiting(void *arg)
{
    const struct server *server = arg;
    struct run run;
    char port[8];
    const char *const argv[] = {"redis-cli", "-p", port, "INFO", "clients", NULL};

    snprintf(port, sizeof(port), "%d", server_port(server));
    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    const bool so = strstr(run.out, "blocked_clients:") && !strstr(run.out, "blocked_clients:0");
    run_fini(&run);
    return so;
}

/* One that can never be stored is left out by the second cursor; the first one leads to it. */
static void test_a_copy_names_what_cannot_be_stored(void **state)
{
    char before[128] = "";
    char behind[128] = "";
    struct run run;

    command_done(NULL, ARGS("topic", "create", "wide", "--slots", "1"));
    command_done(NULL, ARGS("topic", "create", "narrow", "--slots", "1", "--max-body", "10"));
    command_done("one\ntoo long a body for it\nthree\n", ARGS("send", "wide"));
    command_run(&run, NULL, ARGS("copy", "wide", "narrow"));
    assert_int_equal(run.exit_code, 65);
    assert_non_null(strstr(run.err, "message 2"));
    assert_non_null(strstr(run.err, "10"));
    const char *at = strstr(run.err, "to continue: --cursor ");
    assert_non_null(at);
    assert_int_equal(
        sscanf(at, "to continue: --cursor %127[^;]; behind it: --cursor %127s", before, behind), 2);
    run_fini(&run);
    command_refused(65, "message 1", NULL, ARGS("copy", "wide", "narrow", "--cursor", before));
    char *said = command_err(NULL, ARGS("copy", "wide", "narrow", "--cursor", behind));
    assert_non_null(strstr(said, "copied "));
    free(said);
    assert_int_equal(command_stat("narrow", "waiting"), 2);
}

/* The target stores nothing until the signal has been sent: the copy ends behind the messages that
 * it had sent by then, says how many they were, and the next one begins behind them. */
static void test_an_interrupted_copy_says_where_it_continues(void **state)
{
    enum { MANY = 2500 };
    struct server *target = servers_node(other, 0);
    char *lines = calloc(MANY, 8);
    char cursor[256] = "";
    char wanted[64];
    struct run run;
    int copied = 0;

    assert_non_null(lines);
    for (int i = 0, at = 0; i < MANY; i++) {
        at += sprintf(lines + at, "%d\n", i);
    }
    create_both("long", "priority", "inline", "none");
    command_done(lines, ARGS("send", "long"));
    command_redis(target, ARGS("CLIENT", "PAUSE", "120000", "WRITE"));
    command_start(&run, NULL, ARGS("copy", "long", "long", "--to-redis", servers_redis(other)));
    assert_true(wait_until(keeps_waiting, target, TIMEOUT_MS));
    run_signal(&run, SIGINT);
    command_redis(target, ARGS("CLIENT", "UNPAUSE"));
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_refused(&run, 128 + SIGINT, "interrupted; copied ");
    assert_int_equal(sscanf(strstr(run.err, "interrupted; "),
                            "interrupted; copied %d merged 0; to continue: --cursor %255s", &copied,
                            cursor),
                     2);
    run_fini(&run);
    assert_in_range(copied, 1, MANY - 1);
    char *said = command_err(
        NULL, ARGS("copy", "long", "long", "--to-redis", servers_redis(other), "--cursor", cursor));
    snprintf(wanted, sizeof(wanted), "copied %d merged 0\n", MANY - copied);
    assert_string_equal(said, wanted);
    free(said);
    assert_same_messages("long", MANY);
    free(lines);
}

TEST_GROUP(backup)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_line_has_its_own_key_id_and_time),
        cmocka_unit_test(test_what_a_line_does_not_say_comes_from_the_flags),
        cmocka_unit_test(test_a_line_that_is_no_message_is_named),
        cmocka_unit_test(test_what_was_consumed_can_be_sent_again),
        cmocka_unit_test(test_dead_letters_can_be_sent_as_new_messages),
        cmocka_unit_test(test_a_backup_is_restored_in_another_cluster),
        cmocka_unit_test(test_a_dead_letter_is_restored_as_a_message),
        cmocka_unit_test(test_a_backup_of_schedules_is_put_in_another_cluster),
        cmocka_unit_test(test_a_line_changes_what_differs),
        cmocka_unit_test(test_a_line_that_is_no_schedule_is_named),
        cmocka_unit_test(test_a_topic_is_copied_to_another_cluster),
        cmocka_unit_test(test_a_copy_that_fails_says_where_it_continues),
        cmocka_unit_test(test_a_copy_names_what_cannot_be_stored),
        cmocka_unit_test(test_an_interrupted_backup_says_where_it_continues),
        cmocka_unit_test(test_an_interrupted_copy_says_where_it_continues),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
