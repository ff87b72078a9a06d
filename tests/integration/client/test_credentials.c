/* test_credentials.c - passwords that change, and rights that are taken away and given back, while
 * messages are sent and handled. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/heard.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { ROTATIONS = 10, BETWEEN = 200, SLOTS = 32, NUMBERS = 1 << 20 };

static char path[] = "/tmp/slotmq-password-XXXXXX";

static void write_password(const char *password)
{
    char fresh[64];
    FILE *file;

    (void) snprintf(fresh, sizeof(fresh), "%s.new", path);
    file = fopen(fresh, "w");
    assert_non_null(file);
    assert_true(fprintf(file, "%s\n", password) > 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(fresh, path), 0);
}

static int start(void **state)
{
    int file = mkstemp(path);

    if (file < 0) {
        return -1;
    }
    (void) close(file);
    return cluster_start_masters(state);
}

static int end(void **state)
{
    (void) unlink(path);
    return cluster_end(state);
}

/* --- servers --- */

/* A command to each node; the format as redisCommand(). */
static void tell_all(const char *format, const char *text)
{
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        freeReplyObject(keys_command_at(servers_node(cluster_servers(), i), format, text));
    }
}

static bool was_refused(void *arg)
{
    (void) arg;
    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        redisReply *log = keys_command_at(servers_node(cluster_servers(), i), "ACL LOG");
        size_t entries = log->elements;

        freeReplyObject(log);
        if (entries > 0) {
            return true;
        }
    }
    return false;
}

/* --- a client whose events are counted --- */

static smq_client *client_of(const char *user, struct heard *heard)
{
    char servers[256];

    (void) snprintf(servers, sizeof(servers), "redis://%s@%s", user,
                    servers_redis(cluster_servers()));
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = servers, .redis_password_file = path);
    heard_listen(heard, &options);
    return cluster_client_with(&options);
}

/* --- load --- */

/* Sends numbers, one after the other, on a thread of its own. */
struct load {
    pthread_t thread;
    smq_producer *producer;
    const char *topic;
    atomic_bool stop;
    atomic_int sent, failed;
    smq_error err; /* of the last one that failed */
    atomic_uchar handled[NUMBERS];
    atomic_int handled_count; /* different ones */
};

static void *load_run(void *arg)
{
    struct load *load = arg;

    for (int i = 0; i < NUMBERS && !atomic_load(&load->stop); i++) {
        char body[16];
        smq_message message;

        (void) snprintf(body, sizeof(body), "%d", i);
        message = messages_text(body);
        message.key = message.body;
        if (smq_send(load->producer, load->topic, &message, NULL, &load->err) != SMQ_OK) {
            atomic_fetch_add(&load->failed, 1);
        }
        atomic_store(&load->sent, i + 1);
    }
    return NULL;
}

static smq_verdict load_handle(smq_delivery *delivery, void *user)
{
    struct load *load = user;
    const smq_message_info *info = smq_delivery_info(delivery);
    char body[16];

    (void) snprintf(body, sizeof(body), "%.*s", (int) info->body.len,
                    (const char *) info->body.data);
    if (atomic_fetch_add(&load->handled[atoi(body)], 1) == 0) {
        atomic_fetch_add(&load->handled_count, 1);
    }
    return SMQ_DONE;
}

struct more {
    struct load *load;
    int sent;
};

static bool has_sent_more(void *arg)
{
    const struct more *more = arg;

    return atomic_load(&more->load->sent) >= more->sent;
}

static void await_more(struct load *load)
{
    struct more more = {load, atomic_load(&load->sent) + BETWEEN};

    assert_true(wait_until(has_sent_more, &more, TIMEOUT_MS));
}

static bool all_are_handled(void *arg)
{
    struct load *load = arg;

    return atomic_load(&load->handled_count) == atomic_load(&load->sent);
}

/* A password is added, the one before is removed, and all connections of the user are cut; only
 * when a server has refused the old one the file gets the new one. */
static void rotate(int number)
{
    char now[64], before[64];

    (void) snprintf(now, sizeof(now), ">secret-%d", number);
    (void) snprintf(before, sizeof(before), "<secret-%d", number - 1);
    tell_all("ACL LOG RESET", NULL);
    tell_all("ACL SETUSER fleet %s", now);
    tell_all("ACL SETUSER fleet %s", before);
    tell_all("CLIENT KILL USER fleet", NULL);
    assert_true(wait_until(was_refused, NULL, TIMEOUT_MS));
    write_password(now + 1);
}

static void a_password_rotates_ten_times_under_load(void **state)
{
    struct heard *heard = heard_new("secret");
    struct load *load = calloc(1, sizeof(*load));
    smq_consumer *worker = NULL;
    smq_client *client;
    smq_error err;

    tell_all("ACL SETUSER fleet reset on >secret-0 ~* &* +@all", NULL);
    write_password("secret-0");
    client = client_of("fleet", heard);
    load->topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    load->producer = messages_producer(client, NULL);
    smq_consumer_options options =
        SMQ_CONSUMER_OPTIONS(.topic = load->topic, .handler = load_handle, .user = load);
    assert_ok(smq_consumer_new(&worker, client, &options, &err), &err);
    assert_ok(smq_consumer_start(worker, &err), &err);
    assert_int_equal(pthread_create(&load->thread, NULL, load_run, load), 0);
    for (int i = 1; i <= ROTATIONS; i++) {
        await_more(load);
        rotate(i);
    }
    await_more(load);
    atomic_store(&load->stop, true);
    assert_int_equal(pthread_join(load->thread, NULL), 0);
    if (atomic_load(&load->failed) != 0) {
        fail_msg("%d sends failed: %s", atomic_load(&load->failed), load->err.text);
    }
    assert_true(wait_until(all_are_handled, load, TIMEOUT_MS));
    messages_await_counts(client, load->topic, (struct message_counts){0, 0, 0, 0, -1});
    for (int i = 0; i < atomic_load(&load->sent); i++) {
        assert_int_equal(atomic_load(&load->handled[i]), 1);
    }
    assert_int_equal(atomic_load(&heard->stopped), 0);
    assert_int_equal(atomic_load(&heard->marked), 0);
    assert_true(atomic_load(&heard->errors) > 0);
    print_message("%d sent, %d error events\n", atomic_load(&load->sent),
                  atomic_load(&heard->errors));
    handler_log_stop_worker(worker);
    smq_producer_free(load->producer);
    smq_client_free(client);
    heard_free(heard);
    free(load);
}

/* Nothing is cut: the file changes first, and the live connections take the new password. */
static void a_changed_file_is_taken_by_live_connections(void **state)
{
    struct heard *heard = heard_new("secret");
    smq_client *client;
    const char *topic;

    tell_all("ACL SETUSER calm reset on >secret-a >secret-b ~* &* +@all", NULL);
    write_password("secret-a");
    client = client_of("calm", heard);
    topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    messages_send_numbers(client, topic, 0, SLOTS);
    write_password("secret-b");
    messages_send_numbers(client, topic, SLOTS, SLOTS);
    assert_int_equal(atomic_load(&heard->errors), 0);
    smq_client_free(client);
    heard_free(heard);
}

/* --- rights --- */

struct right {
    const char *without, *with;
    const char *named; /* in the event */
};

/* A worker that has had a right says that it is missing, and continues when it is back. */
static void take_a_right_and_give_it_back(smq_client *admin, const struct right *right)
{
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(admin, SMQ_TYPE_FIXED_TIME, 1);
    struct heard *heard = heard_new("secret");
    smq_client *client;
    smq_consumer *worker;
    char change[256];

    tell_all("ACL SETUSER worker reset on >secret-w ~* &* +@all", NULL);
    client = client_of("worker", heard);
    worker = handler_log_worker(client, topic, log);
    messages_send_numbers(admin, topic, 0, 1);
    handler_log_await(log, 1);
    (void) snprintf(change, sizeof(change), "ACL SETUSER worker %s", right->without);
    tell_all(change, NULL);
    messages_send_numbers(admin, topic, 1, 1);
    heard_await_error(heard, right->named);
    (void) snprintf(change, sizeof(change), "ACL SETUSER worker %s", right->with);
    tell_all(change, NULL);
    handler_log_await(log, 2);
    messages_await_counts(admin, topic, (struct message_counts){.done = 2});
    assert_int_equal(handler_log_count(log), 2); /* nothing came twice */
    assert_int_equal(atomic_load(&heard->errors), 1);
    assert_int_equal(atomic_load(&heard->stopped), 0);
    assert_int_equal(atomic_load(&heard->marked), 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
    heard_free(heard);
}

static void rights_that_come_back_end_no_worker(void **state)
{
    static const struct right rights[] = {
        {"-evalsha", "+evalsha", "evalsha"},
        {"-@sortedset", "+@sortedset", "a right that was there"},
        {"resetchannels", "&*", "subscribe"},
        {"resetkeys", "~*", "key"},
    };
    smq_client *admin = cluster_client();

    write_password("secret-w");
    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        print_message("%s\n", rights[i].without);
        take_a_right_and_give_it_back(admin, &rights[i]);
    }
    smq_client_free(admin);
}

/* It says so, and continues. */
static void is_said_once(struct heard *heard, const struct right *right)
{
    heard_await_error(heard, right->named);
    assert_int_equal(atomic_load(&heard->stopped), 0);
}

static void change_worker(const char *change)
{
    char command[256];

    (void) snprintf(command, sizeof(command), "ACL SETUSER worker %s", change);
    tell_all(command, NULL);
}

/* The first renewal is denied, after a takeover and a claim that were done. */
static void a_first_renewal_that_is_denied_ends_no_worker(void **state)
{
    static const struct right right = {"-zadd", "+zadd", "'zadd'"};
    smq_topic_options options = SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .lease_ms = 12000);
    smq_client *admin = cluster_client(), *client;
    struct handler_log *log = handler_log_new(NULL);
    const char *topic = cluster_topic(admin, &options);
    struct heard *heard = heard_new("secret");
    smq_consumer *worker;

    write_password("secret-w");
    tell_all("ACL SETUSER worker reset on >secret-w ~* &* +@all", NULL);
    client = client_of("worker", heard);
    handler_log_gate(log);
    worker = handler_log_worker(client, topic, log);
    messages_send_numbers(admin, topic, 0, 1);
    handler_log_await(log, 1);
    change_worker(right.without);
    is_said_once(heard, &right);
    change_worker(right.with);
    handler_log_open(log, 1);
    messages_await_counts(admin, topic, (struct message_counts){.done = 1});
    assert_int_equal(handler_log_count(log), 1);
    assert_int_equal(atomic_load(&heard->errors), 1);
    assert_int_equal(atomic_load(&heard->stopped), 0);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
    heard_free(heard);
    smq_client_free(admin);
}

static bool stands_by(void *arg)
{
    return atomic_load(&((struct heard *) arg)->marked) > 0;
}

/* It has never had a slot when the right is taken; then it has its first one. */
static void take_a_right_of_a_standby(smq_client *admin, const struct right *right)
{
    struct handler_log *log = handler_log_new(NULL), *other = handler_log_new(NULL);
    const char *topic = cluster_typed_topic(admin, SMQ_TYPE_FIXED_TIME, 1);
    struct heard *heard = heard_new("stands by");
    smq_consumer *owner, *worker;
    smq_client *client;

    tell_all("ACL SETUSER worker reset on >secret-w ~* &* +@all", NULL);
    client = client_of("worker", heard);
    owner = handler_log_worker(admin, topic, other);
    messages_send_numbers(admin, topic, 0, 1);
    handler_log_await(other, 1);
    worker = handler_log_worker(client, topic, log);
    assert_true(wait_until(stands_by, heard, TIMEOUT_MS));
    change_worker(right->without);
    handler_log_stop_worker(owner);
    is_said_once(heard, right);
    change_worker(right->with);
    messages_send_numbers(admin, topic, 1, 1);
    handler_log_await(log, 1);
    assert_int_equal(atomic_load(&heard->errors), 1);
    assert_int_equal(atomic_load(&heard->stopped), 0);
    handler_log_stop_worker(worker);
    handler_log_free(other);
    handler_log_free(log);
    smq_client_free(client);
    heard_free(heard);
}

static void nor_does_what_a_standby_needs_first(void **state)
{
    static const struct right rights[] = {
        {"-@sortedset", "+@sortedset", "a right that was there"},
        {"resetchannels", "&*", "subscribe"},
    };
    smq_client *admin = cluster_client();

    for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
        print_message("%s\n", rights[i].without);
        take_a_right_of_a_standby(admin, &rights[i]);
    }
    smq_client_free(admin);
}

TEST_GROUP(credentials)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_password_rotates_ten_times_under_load),
        cmocka_unit_test(a_changed_file_is_taken_by_live_connections),
        cmocka_unit_test(rights_that_come_back_end_no_worker),
        cmocka_unit_test(a_first_renewal_that_is_denied_ends_no_worker),
        cmocka_unit_test(nor_does_what_a_standby_needs_first),
    };

    return cmocka_run_group_tests_name("credentials", tests, start, end);
}
