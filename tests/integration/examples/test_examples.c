/* test_examples.c - the programs of examples/ do what they say. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/group.h"
#include "support/run.h"
#include "support/servers.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 60000 };

/* The folder of the programs, and what else the build gives. */
static const char folder[] = EXAMPLES_FOLDER, job_cpp[] = JOB_CPP, raii_clang[] = RAII_CLANG,
                  python[] = PYTHON, job_py[] = JOB_PY, library[] = LIBRARY,
                  runtime[] = SANITIZER_RUNTIME, misuse_cpp[] = MISUSE_CPP;

enum { EXAMPLES_MAX = 16, PATH_SIZE = 1024 };

/* The path of an example. */
static const char *example(const char *name)
{
    static char paths[EXAMPLES_MAX][PATH_SIZE];
    char path[PATH_SIZE];
    int i = 0;

    snprintf(path, sizeof(path), "%.900s/%.100s", folder, name);
    while (i < EXAMPLES_MAX && paths[i][0] != '\0' && strcmp(paths[i], path) != 0) {
        i++;
    }
    if (i >= EXAMPLES_MAX) {
        fail_msg("there are more than %d examples", EXAMPLES_MAX);
        return "";
    }
    memcpy(paths[i], path, sizeof(path));
    return paths[i];
}

/* The same of one that is built only where SQLite or a C++ compiler is. */
static const char *optional_example(const char *name)
{
    if (access(example(name), X_OK) != 0) {
        print_message("examples/%s was not built\n", name);
        skip();
    }
    return example(name);
}

static int start(void **state)
{
    *state = servers_start(&(struct servers_options){.redis = REDIS_SINGLE});
    return *state != NULL ? 0 : -1;
}

static int stop(void **state)
{
    servers_free(*state);
    return 0;
}

static void test_readme_sends_and_consumes(void **state)
{
    const char *const argv[] = {example("readme"), servers_redis(*state), NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, "two books\n");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

static void test_readme_says_what_is_missing(void **state)
{
    const char *const argv[] = {example("readme"), "127.0.0.1:1", NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_non_null(strstr(run.err, "127.0.0.1:1"));
    assert_int_equal(run.exit_code, 1);
    run_fini(&run);
}

static void skip_without(const char *path, const char *what)
{
    if (path[0] == '\0') {
        print_message("there is no %s here\n", what);
        skip();
    }
}

static void test_the_main_job_runs_in_cpp(void **state)
{
    const char *const argv[] = {job_cpp, servers_redis(*state), NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, "two books\nwaiting 0, claimed 0, done 1\n");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

/* The script ends by itself and prints `out`.  A library that is built with a sanitizer needs its
 * runtime before all else. */
static void assert_script_prints(const char *const *argv, const char *out)
{
    char preload[PATH_SIZE];
    const char *const environment[] = {preload, "ASAN_OPTIONS=detect_leaks=0", NULL};
    struct run_options options = {.argv = argv,
                                  .environment = runtime[0] != '\0' ? environment : NULL};
    struct run run;

    snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", runtime);
    assert_true(run_command(&run, &options, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, out);
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

static void test_the_main_job_runs_in_python(void **state)
{
    const char *const argv[] = {python, job_py, library, servers_redis(*state), NULL};

    skip_without(python, "Python that loads a library with this sanitizer");
    assert_script_prints(argv, "scripted two books\n");
}

/* `path` ends by itself, without an error, and prints `out`. */
static void assert_prints(const char *path, void *servers, const char *out)
{
    const char *const argv[] = {path, servers_redis(servers), NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out, out);
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

static const char raii_prints[] =
    "two books\na map\na lamp\nSMQ_INVALID\na newspaper\na pen from raii\n";

static void test_handles_of_cpp_free_themselves(void **state)
{
    assert_prints(optional_example("raii"), *state, raii_prints);
}

static void test_handles_of_cpp_free_themselves_by_clang(void **state)
{
    skip_without(raii_clang, "clang++");
    assert_prints(raii_clang, *state, raii_prints);
}

/* A handler that ends the process leaves its exit status. */
static void test_mistakes_in_cpp_are_errors(void **state)
{
    const char *const argv[] = {misuse_cpp, servers_redis(*state), NULL};
    struct run run;

    skip_without(misuse_cpp, "program that this sanitizer passes");
    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_string_equal(run.out,
                        "dead 9 of 9, claimed 0\n"
                        "a second answer: SMQ_INVALID: the delivery was answered before\n"
                        "a look after the answer: SMQ_INVALID: the delivery was answered before\n"
                        "done 1\n"
                        "an empty handler: SMQ_INVALID: the handler is empty\n"
                        "a consumer that was moved: SMQ_INVALID: the consumer is NULL\n"
                        "a producer that was moved: SMQ_INVALID: the producer is NULL\n"
                        "a text of the handler that does not fit into the function\n");
    assert_int_equal(run.exit_code, 3);
    run_fini(&run);
}

static void test_changes_of_a_document_merge(void **state)
{
    assert_prints(example("debounce"), *state,
                  "sent 1, merged 4\nindex document-7 at revision 5\n");
}

/* How often `text` has `part`. */
static int count_in(const char *text, const char *part)
{
    int count = 0;

    while ((text = strstr(text, part)) != NULL) {
        text += strlen(part);
        count++;
    }
    return count;
}

/* All spans are of the trace of the send, below its span and linked to it. */
static void test_one_trace_has_each_try_and_answer(void **state)
{
    const char *const argv[] = {example("trace"), servers_redis(*state), NULL};
    const char *sent;
    char part[128], trace[33], span[17];
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_int_equal(run.exit_code, 0);
    sent = strstr(run.out, "\"kind\":\"PRODUCER\"");
    assert_non_null(sent);
    assert_int_equal(sscanf(sent,
                            "\"kind\":\"PRODUCER\",\"traceId\":\"%32[0-9a-f]\",\"spanId\":\""
                            "%16[0-9a-f]\",\"parentSpanId\":\"\"",
                            trace, span),
                     2);
    snprintf(part, sizeof(part), "\"traceId\":\"%s\"", trace);
    assert_int_equal(count_in(run.out, part), 7);
    assert_int_equal(count_in(run.out, "\n"), 7);
    snprintf(part, sizeof(part), "\"parentSpanId\":\"%s\",\"links\":[\"%s\"]", span, span);
    assert_int_equal(count_in(run.out, part), 6);
    assert_int_equal(count_in(run.out, "\"kind\":\"CONSUMER\""), 3);
    assert_int_equal(count_in(run.out, "{\"name\":\"retry payments\",\"kind\":\"CLIENT\""), 2);
    assert_int_equal(count_in(run.out, "{\"name\":\"done payments\",\"kind\":\"CLIENT\""), 1);
    assert_int_equal(count_in(run.out, "\"slotmq.status\":\"dead letter\""), 1);
    run_fini(&run);
}

static void test_reminders_come_at_their_time(void **state)
{
    assert_prints(example("reminders"), *state, "call back\nsee the dentist\n");
}

static void test_a_handler_sends_on(void **state)
{
    const char *const argv[] = {example("pipeline"), servers_redis(*state), NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_non_null(strstr(run.out, "invoice for order-1: two books\n"));
    assert_non_null(strstr(run.out, "invoice for order-2: two books\n"));
    assert_non_null(strstr(run.out, "invoice for order-3: two books\n"));
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
}

static void send_orders(const struct servers *servers)
{
    const char *const argv[] = {example("send"), servers_redis(servers), NULL};
    struct run sent;

    assert_true(run_command(&sent, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(sent.err, "");
    assert_non_null(strstr(sent.out, "added\nfailed: 0\n"));
    assert_int_equal(sent.exit_code, 0);
    run_fini(&sent);
}

/* The example `name` handles what the sender has sent, until SIGTERM. */
static void send_and_consume(const struct servers *servers, const char *name)
{
    const char *const work[] = {example(name), servers_redis(servers), NULL};
    struct run worked;

    send_orders(servers);
    assert_true(run_start(&worked, &(struct run_options){.argv = work}));
    assert_true(run_wait_out(&worked, "{\"order\": 4711, \"total\": 20}\n", TIMEOUT_MS));
    assert_true(run_wait_out(&worked, "{\"order\": 9999}\n", TIMEOUT_MS));
    run_signal(&worked, SIGTERM);
    assert_true(run_wait(&worked, TIMEOUT_MS));
    assert_int_equal(worked.exit_code, 0);
    run_fini(&worked);
}

static void test_sender_and_worker(void **state)
{
    send_and_consume(*state, "worker");
}

static void test_sender_and_epoll_loop(void **state)
{
    send_and_consume(*state, "epoll");
}

static bool all_is_written(void *path)
{
    FILE *file = fopen(path, "r");
    int lines = 0, c;

    assert_non_null(file);
    while ((c = getc(file)) != EOF) {
        lines += c == '\n' ? 1 : 0;
    }
    fclose(file);
    return lines >= 10001;
}

static void test_batches_go_to_a_file(void **state)
{
    char path[] = "/tmp/slotmq-example-XXXXXX";
    int fd = mkstemp(path);
    const char *const argv[] = {example("batch"), servers_redis(*state), "", path, NULL};
    struct run run;

    assert_true(fd >= 0);
    close(fd);
    send_orders(*state);
    assert_true(run_start(&run, &(struct run_options){.argv = argv}));
    assert_true(wait_until(all_is_written, path, TIMEOUT_MS));
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
    unlink(path);
}

/* --- a database --- */

enum { ORDERS = 10001 };

static int64_t number_of(const char *path, const char *sql)
{
    static const char program[] = "import sqlite3, sys\n"
                                  "db = sqlite3.connect(sys.argv[1], timeout=60)\n"
                                  "print(db.execute(sys.argv[2]).fetchone()[0])";
    const char *const argv[] = {python, "-c", program, path, sql, NULL};
    struct run run;
    int64_t number;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    number = strtoll(run.out, NULL, 10);
    run_fini(&run);
    return number;
}

static bool all_is_in_the_database(void *path)
{
    return number_of(path, "SELECT count(*) FROM sqlite_master WHERE name = 'orders'") == 1 &&
           number_of(path, "SELECT count(*) FROM orders") == ORDERS;
}

/* Another process has begun to read the database, and does so until it is killed. */
static void start_reader(struct run *run, const char *path)
{
    static const char program[] = "import signal, sqlite3, sys\n"
                                  "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
                                  "db.execute('BEGIN')\n"
                                  "db.execute('SELECT * FROM sqlite_master').fetchall()\n"
                                  "print('reading', flush=True)\n"
                                  "signal.pause()";
    const char *const argv[] = {python, "-c", program, path, NULL};

    assert_true(run_start(run, &(struct run_options){.argv = argv}));
    assert_true(run_wait_out(run, "reading", TIMEOUT_MS));
}

/* A writer waits for the readers: it has the lock of the byte that SQLite calls PENDING_BYTE
 * (https://www.sqlite.org/fileformat2.html#the_lock_byte_page). */
static bool a_writer_waits(void *database)
{
    struct flock lock = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x40000000, .l_len = 1};

    assert_int_equal(fcntl(*(int *) database, F_GETLK, &lock), 0);
    return lock.l_type == F_WRLCK;
}

static void test_batches_go_to_a_database(void **state)
{
    char path[] = "/tmp/slotmq-example-XXXXXX";
    const char *const argv[] = {optional_example("database"), servers_redis(*state), "", path,
                                NULL};
    int fd = mkstemp(path);
    struct run run, reader;

    assert_true(fd >= 0);
    send_orders(*state);
    start_reader(&reader, path);
    assert_true(run_start(&run, &(struct run_options){.argv = argv}));
    assert_true(wait_until(a_writer_waits, &fd, TIMEOUT_MS));
    run_fini(&reader);
    close(fd);
    assert_true(wait_until(all_is_in_the_database, path, TIMEOUT_MS));
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
    assert_int_equal(number_of(path, "SELECT count(*) FROM owners"), 64);
    unlink(path);
}

/* The database knows a newer owner of each slot than the one that writes. */
static void test_a_replaced_owner_writes_nothing(void **state)
{
    char path[] = "/tmp/slotmq-example-XXXXXX";
    const char *const argv[] = {optional_example("database"), servers_redis(*state), "", path,
                                NULL};
    static const char program[] =
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "db.execute('CREATE TABLE orders(id BLOB PRIMARY KEY, body BLOB NOT NULL)')\n"
        "db.execute('CREATE TABLE owners(slot INTEGER PRIMARY KEY, token TEXT NOT NULL)')\n"
        "db.executemany('INSERT INTO owners VALUES(?, ?)',"
        " [(slot, 'f' * 24) for slot in range(64)])\n"
        "db.commit()";
    const char *const newer[] = {python, "-c", program, path, NULL};
    int fd = mkstemp(path);
    struct run run;

    assert_true(fd >= 0);
    close(fd);
    assert_true(run_command(&run, &(struct run_options){.argv = newer}, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    run_fini(&run);
    send_orders(*state);
    assert_true(run_start(&run, &(struct run_options){.argv = argv}));
    assert_true(run_wait_err(&run, "another process has owned the slot", TIMEOUT_MS));
    run_signal(&run, SIGTERM);
    assert_true(run_wait(&run, TIMEOUT_MS));
    run_fini(&run);
    assert_int_equal(number_of(path, "SELECT count(*) FROM orders"), 0);
    unlink(path);
}

/* Run the admin; its output holds all the texts. */
static void assert_shown(const char *const *argv, const char *const *texts)
{
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = argv}, TIMEOUT_MS));
    assert_int_equal(run.exit_code, 0);
    for (; *texts != NULL; texts++) {
        if (strstr(run.out, *texts) == NULL) {
            fail_msg("no \"%s\" in: %s", *texts, run.out);
        }
    }
    run_fini(&run);
}

static void test_steps_keep_their_order_and_a_dead_one_is_sent_back(void **state)
{
    const char *const step[] = {example("steps"), servers_redis(*state), NULL};
    const char *const look[] = {example("admin"), servers_redis(*state), "steps", NULL};
    const char *const dead[] = {"steps: 4 slots, 16 retries, back-off fixed:200\n",
                                "order-2/ship: attempt 1: carrier timed out\nrequeued 1\n", NULL};
    const char *const back[] = {" waiting\norder-2/ship: attempt 0\nrequeued 0\n", NULL};
    struct run run;

    assert_true(run_command(&run, &(struct run_options){.argv = step}, TIMEOUT_MS));
    assert_string_equal(run.err, "");
    assert_int_equal(run.exit_code, 0);
    assert_non_null(strstr(run.out, "sent 6, merged 0\nsent 0, merged 6\n"));
    assert_true(strstr(run.out, "order-1/pick") < strstr(run.out, "order-1/pack"));
    assert_true(strstr(run.out, "order-1/pack") < strstr(run.out, "order-1/ship"));
    assert_true(strstr(run.out, "order-2/pick") < strstr(run.out, "order-2/pack"));
    assert_non_null(strstr(run.out, "order-2/pick"));
    assert_non_null(strstr(run.out, "order-1/pick"));
    assert_null(strstr(run.out, "order-2/ship"));
    run_fini(&run);
    assert_shown(look, dead);
    assert_shown(look, back);
}

static void test_admin_alters_and_shows(void **state)
{
    const char *const argv[] = {example("admin"), servers_redis(*state), "orders",
                                "max_retries=5",  "backoff=none",        NULL};
    const char *const texts[] = {"orders: 64 slots, 5 retries, back-off none\n",
                                 " of nobody: ", "}: attempt 0\n", "requeued 0\n", NULL};
    const char *const wrong[] = {example("admin"), servers_redis(*state), "orders", "slots=5",
                                 NULL};
    struct run run;

    send_orders(*state);
    assert_shown(argv, texts);
    assert_true(run_command(&run, &(struct run_options){.argv = wrong}, TIMEOUT_MS));
    assert_non_null(strstr(run.err, "slots"));
    assert_non_null(strstr(run.err, "(SMQ_INVALID)"));
    assert_int_equal(run.exit_code, 1);
    run_fini(&run);
}

TEST_GROUP(examples)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_readme_sends_and_consumes, start, stop),
        cmocka_unit_test(test_readme_says_what_is_missing),
        cmocka_unit_test_setup_teardown(test_the_main_job_runs_in_cpp, start, stop),
        cmocka_unit_test_setup_teardown(test_the_main_job_runs_in_python, start, stop),
        cmocka_unit_test_setup_teardown(test_sender_and_worker, start, stop),
        cmocka_unit_test_setup_teardown(test_sender_and_epoll_loop, start, stop),
        cmocka_unit_test_setup_teardown(test_batches_go_to_a_file, start, stop),
        cmocka_unit_test_setup_teardown(test_batches_go_to_a_database, start, stop),
        cmocka_unit_test_setup_teardown(test_a_replaced_owner_writes_nothing, start, stop),
        cmocka_unit_test_setup_teardown(test_handles_of_cpp_free_themselves, start, stop),
        cmocka_unit_test_setup_teardown(test_handles_of_cpp_free_themselves_by_clang, start, stop),
        cmocka_unit_test_setup_teardown(test_mistakes_in_cpp_are_errors, start, stop),
        cmocka_unit_test_setup_teardown(test_changes_of_a_document_merge, start, stop),
        cmocka_unit_test_setup_teardown(test_one_trace_has_each_try_and_answer, start, stop),
        cmocka_unit_test_setup_teardown(test_reminders_come_at_their_time, start, stop),
        cmocka_unit_test_setup_teardown(test_a_handler_sends_on, start, stop),
        cmocka_unit_test_setup_teardown(test_steps_keep_their_order_and_a_dead_one_is_sent_back,
                                        start, stop),
        cmocka_unit_test_setup_teardown(test_admin_alters_and_shows, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
