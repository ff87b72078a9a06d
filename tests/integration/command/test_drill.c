/* test_drill.c - the operator's drill: the steps of docs/operations.md, as they are written there.
 *
 * Each test brings about what its section is for, runs the commands of the section in their order,
 * and sees that things are whole again. */
#include "doctor.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/group.h"
#include "support/process.h"
#include "support/wait.h"

enum { WORDS_MAX = 24 };

static const char *zookeeper;
static char *page; /* docs/operations.md */

static char *read_page(void)
{
    const char *path = getenv("SLOTMQ_OPERATIONS");
    FILE *file = path ? fopen(path, "r") : NULL;
    char *text = calloc(1, 65536);

    if (!file || !text) {
        return NULL;
    }
    (void) fread(text, 1, 65535, file);
    (void) fclose(file);
    return text;
}

static int setup(void **state)
{
    static const char *const config[] = {"appendonly yes", "appendfsync everysec", NULL};
    const int failed = command_setup_with(&(struct servers_options){
        .redis = REDIS_CLUSTER, .replicas = 1, .redis_config = config, .zookeeper = true});

    page = read_page();
    zookeeper = failed != 0 ? NULL : servers_zookeeper(command_servers());
    return failed != 0 || !page ? -1 : 0;
}

static int teardown(void **state)
{
    free(page);
    return command_teardown(state);
}

/* === Steps ============================================================== */

/* A step as words; what the servers are called on the page is replaced by what they are called
 * here. */
struct step {
    char line[256], moved[256], file[512];
    const char *word[WORDS_MAX];
    bool to_file; /* its standard output: "> orders.json" */
};

/* Step number `number` from 0 of a section: a line "    slotmq ...", indented by four or more. */
static void read_step(struct step *step, const char *section, int number)
{
    char heading[80];
    const char *at = NULL;
    const char *end = NULL;
    char *rest = NULL;
    size_t count = 0;
    bool has_zookeeper = false;

    snprintf(heading, sizeof(heading), "\n## %s\n", section);
    at = strstr(page, heading);
    assert_non_null(at);
    end = strstr(at + 1, "\n## ");
    for (int i = -1; i < number; i++) {
        at = strstr(at + 1, "    slotmq ");
    }
    assert_true(at != NULL && (end == NULL || at < end));
    at = strstr(at, "slotmq ") + strlen("slotmq ");
    snprintf(step->line, sizeof(step->line), "%.*s", (int) strcspn(at, "\n"), at);
    snprintf(step->moved, sizeof(step->moved), "%s/moved", zookeeper);
    snprintf(step->file, sizeof(step->file), "%s/orders.json", servers_folder(command_servers()));
    for (char *word = strtok_r(step->line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_true(count + 3 < WORDS_MAX);
        has_zookeeper = has_zookeeper || strcmp(word, "-z") == 0;
        step->to_file = step->to_file || strcmp(word, ">") == 0;
        step->word[count++] = strcmp(word, "zk1:2181/moved") == 0 ? step->moved
                              : strcmp(word, "orders.json") == 0  ? step->file
                                                                  : word;
    }
    count -= step->to_file ? 2 : 0; /* what follows the sign is the file */
    if (!has_zookeeper) {
        step->word[count++] = "-z";
        step->word[count++] = zookeeper;
    }
    step->word[count] = NULL;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Run it; it must end with this exit code and show `text`. */
static void run_step(const char *section, int number, int code, const char *text)
{
    struct step step = {.line = ""};
    struct run run;

    read_step(&step, section, number);
    command_run(&run, NULL, step.word);
    if (step.to_file) {
        write_file(step.file, run.out);
    }
    if (run.exit_code != code || (!strstr(run.out, text) && !strstr(run.err, text))) {
        fail_msg("%s, step %d: exit %d, not %d with \"%s\": %s%s", section, number, run.exit_code,
                 code, text, run.out, run.err);
    }
    run_fini(&run);
}

/* What is waited for: a step that ends so, with the text or, if `absent`, without. */
struct wanted {
    const char *section;
    int number, code;
    const char *text;
    bool absent;
};

static bool step_ends_so(void *arg)
{
    const struct wanted *wanted = arg;
    struct step step = {.line = ""};
    struct run run;
    bool so = false;

    read_step(&step, wanted->section, wanted->number);
    command_run(&run, NULL, step.word);
    so = run.exit_code == wanted->code && (strstr(run.out, wanted->text) == NULL) == wanted->absent;
    run_fini(&run);
    return so;
}

static void await_step(const char *section, int number, int code, const char *text)
{
    struct wanted wanted = {section, number, code, text, false};

    if (!wait_until(step_ends_so, &wanted, TIMEOUT_MS)) {
        run_step(section, number, code, text); /* says how it ends */
    }
}

/* Wait until the step succeeds and does not show `text` any more. */
static void await_step_without(const char *section, int number, const char *text)
{
    struct wanted wanted = {section, number, 0, text, true};

    assert_true(wait_until(step_ends_so, &wanted, TIMEOUT_MS));
}

/* Start a member with a thread for each message that a test sends; `program` NULL:
 * it prints. */
static void join_with(struct run *run, const char *name, const char *session, const char *program)
{
    char name_option[64], session_option[64];

    snprintf(name_option, sizeof(name_option), "name=%s", name);
    snprintf(session_option, sizeof(session_option), "session_timeout_ms=%s", session);
    command_start(run, NULL,
                  ARGS("consume", "orders", "--threads", "16", "-z", zookeeper, "-X", name_option,
                       "-X", session_option, program != NULL ? "--" : NULL, "sh", "-c", program));
}

static void join(struct run *run, const char *name, const char *session)
{
    join_with(run, name, session, NULL);
}

static void leave(struct run *run)
{
    run_signal(run, SIGTERM);
    assert_true(run_wait(run, TIMEOUT_MS));
    run_fini(run);
}

/* === Sections =========================================================== */

static void test_what_to_look_at_first(void **state)
{
    struct run member;

    command_done(NULL, ARGS("topic", "create", "orders", "--slots", "4"));
    join(&member, "worker-1", "20000");
    await_step("What to look at first", 2, 0, "worker-1");
    await_step("What to look at first", 0, 0, "nothing was found");
    run_step("What to look at first", 1, 0, "SLOTMQ OK");
    leave(&member);
}

static void test_a_member_that_hangs(void **state)
{
    static const char section[] = "A member that hangs";
    struct run hangs, other;

    join(&hangs, "worker-1", "30000");
    await_step(section, 0, 0, "worker-1");
    join(&other, "worker-2", "30000");
    await_step(section, 0, 0, "worker-2");
    assert_true(process_pause(hangs.pid));
    run_step(section, 1, 0, "member worker-1 is taken out");
    await_step(section, 2, 0, "orders worker-2     16     4");
    assert_true(process_resume(hangs.pid));
    await_step(section, 2, 0, "orders worker-1     16     2");
    leave(&hangs);
    leave(&other);
}

static void test_backup_and_restore(void **state)
{
    static const char section[] = "Backup, restore, and another cluster";

    command_done(NULL, ARGS("send", "orders", "a book", "--id", "7", "--delay", "1h"));
    run_step(section, 0, 0, "");
    run_step(section, 1, 0, "paused");
    run_step(section, 2, 0, "a book");
    run_step(section, 3, 0, "");
    command_done(NULL, ARGS("purge", "orders", "--state", "waiting", "--yes"));
    run_step(section, 4, 0, "\"sent\":1");
    run_step(section, 4, 0, "\"merged\":1");
    command_done(NULL, ARGS("purge", "orders", "--state", "waiting", "--yes"));
}

/* --- a slot that stands still --- */

static const char still_section[] = "A slot that stands still";
static const char hang_section[] = "A member that hangs";
static const char shares_of_worker_1[] = "orders worker-1     16     2";

/* What programs of messages wait for. */
struct gate {
    char folder[64], fifo[80], program[128];
    int fd;
};

static void gate_close(struct gate *gate)
{
    *gate = (struct gate){.folder = "/tmp/slotmq-drill-XXXXXX"};
    assert_non_null(mkdtemp(gate->folder));
    snprintf(gate->fifo, sizeof(gate->fifo), "%s/gate", gate->folder);
    snprintf(gate->program, sizeof(gate->program), "cat '%s'", gate->fifo);
    assert_int_equal(mkfifo(gate->fifo, 0600), 0);
    gate->fd = open(gate->fifo, O_RDWR | O_CLOEXEC);
    assert_true(gate->fd >= 0);
}

/* The programs that wait end, and later ones do not wait. */
static void gate_open(const struct gate *gate)
{
    assert_int_equal(unlink(gate->fifo), 0);
    assert_int_equal(close(open(gate->fifo, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
    assert_int_equal(close(gate->fd), 0);
}

static void gate_remove(const struct gate *gate)
{
    (void) unlink(gate->fifo);
    (void) rmdir(gate->folder);
}

/* Send 16 messages into all slots.  Each slot has some before any is claimed, so that one claim
 * takes them. */
static void send_to_all_slots(void)
{
    command_done(NULL, ARGS("pause", "orders"));
    for (int i = 0; i < 16; i++) {
        char key[8];

        snprintf(key, sizeof(key), "k%d", i);
        command_done(NULL, ARGS("send", "orders", "x", "--key", key));
    }
    command_done(NULL, ARGS("resume", "orders"));
}

/* Let the members claim messages of all slots. */
static void fill_all_slots(void)
{
    send_to_all_slots();
    command_wait_stat("orders", "waiting", 0);
}

/* Two newcomers take one slot each of worker-1 and worker-2. */
static void join_two(struct run newcomers[2])
{
    join(&newcomers[0], "worker-3", "30000");
    join(&newcomers[1], "worker-4", "30000");
}

static void test_the_owner_does_not_acknowledge(void **state)
{
    struct run assigner, frozen, newcomers[2];

    join(&assigner, "worker-2", "30000");
    await_step(still_section, 0, 0, "0-3");
    join(&frozen, "worker-1", "30000");
    await_step(hang_section, 2, 0, shares_of_worker_1);
    assert_true(process_pause(frozen.pid));
    join_two(newcomers);
    await_step(still_section, 0, 0, "member worker-1 has not acknowledged");
    run_step(hang_section, 1, 0, "member worker-1 is taken out");
    await_step_without(still_section, 0, "has not acknowledged");
    assert_true(process_resume(frozen.pid));
    await_step(hang_section, 2, 0, "orders worker-1     16     1");
    leave(&newcomers[0]);
    leave(&newcomers[1]);
    leave(&frozen);
    leave(&assigner);
}

static void test_messages_are_in_flight(void **state)
{
    struct run busy, taker;
    struct gate gate;

    gate_close(&gate);
    join_with(&busy, "worker-1", "4000", gate.program);
    await_step(still_section, 0, 0, "0-3");
    fill_all_slots();
    join(&taker, "worker-2", "30000");
    await_step(still_section, 0, 0, "messages are in flight at member worker-1");
    run_signal(&busy, SIGKILL);
    await_step(hang_section, 2, 0, "orders worker-2     16     4");
    run_step(still_section, 0, 0, "0-3");
    await_step_without(still_section, 0, "in flight");
    command_wait_stat("orders", "waiting", 0);
    command_wait_stat("orders", "claimed", 0);
    gate_open(&gate);
    gate_remove(&gate);
    run_fini(&busy);
    leave(&taker);
}

static void test_the_assigner_does_not_grant(void **state)
{
    struct run assigner, busy, newcomers[2];
    struct gate gate;

    gate_close(&gate);
    join(&assigner, "worker-1", "30000");
    await_step(still_section, 0, 0, "0-3");
    join_with(&busy, "worker-2", "30000", gate.program);
    await_step(hang_section, 2, 0, shares_of_worker_1);
    fill_all_slots();
    join_two(newcomers);
    await_step(still_section, 0, 0, "messages are in flight at member worker-2");
    assert_true(process_pause(assigner.pid));
    gate_open(&gate);
    await_step(still_section, 0, 0, "the assigner has not granted");
    run_step(hang_section, 1, 0, "member worker-1 is taken out");
    await_step_without(still_section, 0, "the assigner has not granted");
    assert_true(process_resume(assigner.pid));
    await_step(hang_section, 2, 0, "orders worker-1     16     1");
    leave(&newcomers[0]);
    leave(&newcomers[1]);
    leave(&busy);
    leave(&assigner);
    gate_remove(&gate);
}

static void test_a_topic_is_paused(void **state)
{
    struct run member;

    join(&member, "worker-1", "30000");
    await_step(still_section, 0, 0, "0-3");
    command_done(NULL, ARGS("pause", "orders"));
    await_step(still_section, 1, 0, "paused");
    command_done(NULL, ARGS("send", "orders", "it waits for the end of the pause"));
    run_step(still_section, 2, 0, "orders");
    assert_true(run_wait_out(&member, "it waits for the end of the pause", TIMEOUT_MS));
    await_step_without(still_section, 1, "paused");
    leave(&member);
}

/* Its handlers have one message, and it may have no more. */
static void test_the_owner_waits_for_room(void **state)
{
    struct run member;
    struct gate gate;

    gate_close(&gate);
    command_start(&member, NULL,
                  ARGS("consume", "orders", "--max-in-flight", "1", "-z", zookeeper, "-X",
                       "name=worker-1", "--", "sh", "-c", gate.program));
    await_step(still_section, 0, 0, "0-3");
    send_to_all_slots();
    command_wait_stat("orders", "claimed", 1);
    command_wait_stat("orders", "waiting", 15);
    run_step(still_section, 0, 0, "0-3");
    run_step(still_section, 1, 0, "worker-1");
    gate_open(&gate);
    command_wait_stat("orders", "waiting", 0);
    command_wait_stat("orders", "claimed", 0);
    leave(&member);
    gate_remove(&gate);
}

static void test_a_damaged_topic(void **state)
{
    static const char section[] = "A damaged topic";
    const struct server *master = servers_node_of(command_servers(), "slot{orders_1}");

    assert_non_null(master);
    command_redis(master, ARGS("DEL", "slot{orders_1}"));
    run_step(section, 1, 2, "lost a part of 1 of its slots");
    run_step(section, 0, 0, "orders");
    run_step(section, 1, 0, "nothing was found");
}

static void test_a_lost_list_of_topics(void **state)
{
    static const char section[] = "A lost list of topics";
    const struct server *master = servers_node_of(command_servers(), "slotmq{topics}");

    assert_non_null(master);
    command_redis(master, ARGS("DEL", "slotmq{topics}"));
    run_step(section, 1, 0, "slotmq topic repair --all");
    run_step(section, 2, 2, "slotmq topic repair --all");
    run_step(section, 0, 0, "missing in the list of topics");
    run_step(section, 1, 0, "orders");
    run_step(section, 2, 0, "nothing was found");
}

static void test_zookeeper_lost_its_data(void **state)
{
    static const char section[] = "ZooKeeper lost its data";
    struct server *server = servers_zookeeper_server(command_servers());
    struct run member;

    server_stop(server);
    server_wipe(server);
    assert_true(server_restart(server));
    run_step(section, 0, 2, "slotmq fleet raise-fence");
    run_step(section, 1, 0, "the fence generation is");
    run_step(section, 2, 0, "nothing was found");
    join(&member, "worker-1", "4000");
    await_step("A slot that stands still", 0, 0, "0-3");
    leave(&member);
}

/* Redis has a token that is larger than those which ZooKeeper grants, under the same identity. */
static void test_a_token_is_ahead_of_zookeeper(void **state)
{
    static const char section[] = "ZooKeeper lost its data";
    const struct server *master = servers_node_of(command_servers(), "slot{orders_2}");

    assert_non_null(master);
    command_redis(master, ARGS("HSET", "slot{orders_2}", "token", "000000ff0000000000000001"));
    run_step(section, 0, 2, "slot 2 has a token of generation 255");
    run_step(section, 1, 0, "the fence generation is 256");
    run_step(section, 2, 0, "nothing was found");
}

static void test_a_fleet_moved_to_another_root(void **state)
{
    static const char section[] = "A fleet moved to another root";
    json_t *document = NULL;
    struct run member;

    join(&member, "worker-1", "4000");
    await_step("A slot that stands still", 0, 0, "0-3");
    leave(&member);
    run_step(section, 0, 0, "topic orders is");
    command_done(NULL, ARGS("send", "orders", "the first at the new root"));
    run_step(section, 1, 0, "the first at the new root");
    run_step(section, 2, 0, "orders");
    document = doctor_run(0, ARGS("-z", zookeeper));
    assert_found(document, "bindings", "unknown", "orders", "/moved");
    json_decref(document);
}

TEST_GROUP(drill)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_to_look_at_first),
        cmocka_unit_test(test_backup_and_restore),
        cmocka_unit_test(test_a_member_that_hangs),
        cmocka_unit_test(test_the_owner_does_not_acknowledge),
        cmocka_unit_test(test_messages_are_in_flight),
        cmocka_unit_test(test_the_assigner_does_not_grant),
        cmocka_unit_test(test_a_topic_is_paused),
        cmocka_unit_test(test_the_owner_waits_for_room),
        cmocka_unit_test(test_a_damaged_topic),
        cmocka_unit_test(test_a_lost_list_of_topics),
        cmocka_unit_test(test_zookeeper_lost_its_data),
        cmocka_unit_test(test_a_token_is_ahead_of_zookeeper),
        cmocka_unit_test(test_a_fleet_moved_to_another_root),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
