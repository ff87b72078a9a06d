/* test_drill.c - the operator's drill: the steps of docs/operations.md, as they are written there.
 *
 * Each test brings about what its section is for, runs the commands of the section in their order,
 * and sees that things are whole again. */
#include "doctor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

    (void) state;
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
    char line[256], moved[256];
    const char *word[WORDS_MAX];
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
    for (char *word = strtok_r(step->line, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        assert_true(count + 3 < WORDS_MAX);
        has_zookeeper = has_zookeeper || strcmp(word, "-z") == 0;
        step->word[count++] = strcmp(word, "zk1:2181/moved") == 0 ? step->moved : word;
    }
    if (!has_zookeeper) {
        step->word[count++] = "-z";
        step->word[count++] = zookeeper;
    }
    step->word[count] = NULL;
}

/* Run it; it must end with this exit code and show `text`. */
static void run_step(const char *section, int number, int code, const char *text)
{
    struct step step = {.line = ""};
    struct run run;

    read_step(&step, section, number);
    command_run(&run, NULL, step.word);
    if (run.exit_code != code || (!strstr(run.out, text) && !strstr(run.err, text))) {
        fail_msg("%s, step %d: exit %d, not %d with \"%s\": %s%s", section, number, run.exit_code,
                 code, text, run.out, run.err);
    }
    run_fini(&run);
}

/* What is waited for: a step that ends so. */
struct wanted {
    const char *section;
    int number, code;
    const char *text;
};

static bool step_ends_so(void *arg)
{
    const struct wanted *wanted = arg;
    struct step step = {.line = ""};
    struct run run;
    bool so = false;

    read_step(&step, wanted->section, wanted->number);
    command_run(&run, NULL, step.word);
    so = run.exit_code == wanted->code && strstr(run.out, wanted->text) != NULL;
    run_fini(&run);
    return so;
}

static void await_step(const char *section, int number, int code, const char *text)
{
    struct wanted wanted = {section, number, code, text};

    if (!wait_until(step_ends_so, &wanted, TIMEOUT_MS)) {
        run_step(section, number, code, text); /* says how it ends */
    }
}

static void join(struct run *run, const char *name, const char *session)
{
    char name_option[64], session_option[64];

    snprintf(name_option, sizeof(name_option), "name=%s", name);
    snprintf(session_option, sizeof(session_option), "session_timeout_ms=%s", session);
    command_start(run, NULL,
                  ARGS("consume", "orders", "--threads", "1", "-z", zookeeper, "-X", name_option,
                       "-X", session_option));
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

    (void) state;
    command_done(NULL, ARGS("topic", "create", "orders", "--slots", "4"));
    join(&member, "worker-1", "20000");
    await_step("What to look at first", 1, 0, "worker-1");
    await_step("What to look at first", 0, 0, "nothing was found");
    leave(&member);
}

static void test_a_member_that_hangs(void **state)
{
    static const char section[] = "A member that hangs";
    struct run hangs, other;

    (void) state;
    join(&hangs, "worker-1", "30000");
    await_step(section, 0, 0, "worker-1");
    join(&other, "worker-2", "30000");
    await_step(section, 0, 0, "worker-2");
    run_signal(&hangs, SIGSTOP);
    run_step(section, 1, 0, "member worker-1 is taken out");
    await_step(section, 2, 0, "orders worker-2      1     4");
    run_signal(&hangs, SIGCONT);
    await_step(section, 2, 0, "orders worker-1      1     2");
    leave(&hangs);
    leave(&other);
}

static void test_a_slot_that_stands_still(void **state)
{
    static const char section[] = "A slot that stands still";
    struct run frozen, taker;

    (void) state;
    join(&frozen, "worker-1", "30000");
    await_step(section, 0, 0, "0-3");
    join(&taker, "worker-2", "30000");
    await_step("A member that hangs", 2, 0, "orders worker-2      1     2");
    run_signal(&frozen, SIGSTOP); /* it cannot acknowledge what it is to give up */
    leave(&taker);
    join(&taker, "worker-3", "30000");
    run_step(section, 0, 0, "worker-1");
    run_step(section, 1, 0, "worker-1");
    run_signal(&frozen, SIGCONT);
    await_step("A member that hangs", 2, 0, "orders worker-3      1     2");
    leave(&frozen);
    leave(&taker);
}

static void test_a_damaged_topic(void **state)
{
    static const char section[] = "A damaged topic";
    const struct server *master = servers_node_of(command_servers(), "slot{orders_1}");

    (void) state;
    assert_non_null(master);
    command_redis(master, ARGS("DEL", "slot{orders_1}"));
    run_step(section, 1, 2, "lost a part of 1 of its slots");
    run_step(section, 0, 0, "orders");
    run_step(section, 1, 0, "nothing was found");
}

static void test_zookeeper_lost_its_data(void **state)
{
    static const char section[] = "ZooKeeper lost its data";
    struct server *server = servers_zookeeper_server(command_servers());
    struct run member;

    (void) state;
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

    (void) state;
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

    (void) state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_to_look_at_first),
        cmocka_unit_test(test_a_member_that_hangs),
        cmocka_unit_test(test_a_slot_that_stands_still),
        cmocka_unit_test(test_a_damaged_topic),
        cmocka_unit_test(test_zookeeper_lost_its_data),
        cmocka_unit_test(test_a_token_is_ahead_of_zookeeper),
        cmocka_unit_test(test_a_fleet_moved_to_another_root),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
