/* test_fifo.c - type fifo on a cluster: the order of sends per key, also when messages fail. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { LONG_MS = 600000, REST_MS = 300 };

static const char *fifo_topic(smq_client *client, int32_t slots, bool skip_failed)
{
    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIFO, .slots = slots, .skip_failed = skip_failed);
    return cluster_topic(client, &options);
}

/* Messages of one key, whose bodies are the letters. */
static void send_letters(smq_client *client, const char *topic, const char *letters)
{
    for (; *letters != '\0'; letters++) {
        char text[2] = {*letters, '\0'};

        messages_send(client, topic, (struct test_message){.body = text, .key = "k", .id = text});
    }
}

/* The bodies seen, as one string. */
static void assert_order(struct handler_log *log, const char *letters)
{
    int count = (int) strlen(letters);
    char seen[64] = "";

    handler_log_await(log, count);
    for (int i = 0; i < count; i++) {
        seen[i] = handler_log_seen(log, i).body[0];
    }
    assert_string_equal(seen, letters);
}

static void waiting_messages_go_in_the_order_of_sends(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, false);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    send_letters(client, topic, "zyxabc");
    assert_true(
        messages_send(client, topic, (struct test_message){.body = "Z", .key = "k", .id = "z"}));
    assert_true(
        messages_send(client, topic, (struct test_message){.body = "A", .key = "k", .id = "a"}));
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "ZyxAbc"); /* sent again: the place stays, the last body wins */
    assert_int_equal(handler_log_seen(log, 0).due_at_ms, 0);
    assert_int_equal(handler_log_seen(log, 0).priority, 0);
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 6});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_verdict fail_once(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) seen;
    return index == 0 ? SMQ_RETRY : SMQ_DONE;
}

static void what_no_handler_saw_does_not_count_as_answered(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, false);
    struct handler_log *log = handler_log_new(fail_once);
    smq_consumer *worker;
    smq_error err = SMQ_ERROR_INIT;

    send_letters(client, topic, "abcd");
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.max_messages = 3);
    worker = handler_log_worker_with(client, &options, topic, log);
    assert_ok(smq_consumer_wait(worker, TIMEOUT_MS, &err), &err);
    assert_order(log, "aab");
    assert_int_equal(handler_log_count(log), 3);
    smq_consumer_free(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* "b" fails at its first two deliveries, and rests after them. */
static smq_verdict fail_b_twice(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) index;
    if (seen->body[0] != 'b' || seen->attempt > 2) {
        return SMQ_DONE;
    }
    assert_int_equal(smq_retry(delivery, REST_MS, "not yet", NULL), SMQ_OK);
    return SMQ_LATER;
}

static void failed_message_blocks_those_behind_it(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, false);
    struct handler_log *log = handler_log_new(fail_b_twice);
    smq_consumer *worker;

    send_letters(client, topic, "abcd");
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "abbbcd");
    for (int i = 1; i < 4; i++) {
        assert_int_equal(handler_log_seen(log, i).attempt, i);
    }
    assert_int_equal(handler_log_seen(log, 4).attempt, 1); /* given back without a retry */
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 4});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_verdict fail_b_always(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) index;
    return seen->body[0] == 'b' ? SMQ_RETRY : SMQ_DONE;
}

static void dead_message_lets_the_others_go_on(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, false);
    struct handler_log *log = handler_log_new(fail_b_always);
    smq_consumer *worker;

    send_letters(client, topic, "a");
    messages_send(client, topic,
                  (struct test_message){.body = "b", .key = "k", .id = "b", .max_retries = 2});
    send_letters(client, topic, "cd");
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "abbbcd");
    messages_await_counts(client, topic, (struct message_counts){.dead = 1, .done = 3});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_verdict reject_b(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) delivery;
    (void) index;
    return seen->body[0] == 'b' ? SMQ_REJECT : SMQ_DONE;
}

static void rejected_message_lets_the_others_go_on(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, false);
    struct handler_log *log = handler_log_new(reject_b);
    smq_consumer *worker;

    send_letters(client, topic, "abcd");
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "abcd");
    messages_await_counts(client, topic, (struct message_counts){.dead = 1, .done = 3});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_verdict release_b_once(smq_delivery *delivery, const struct seen *seen, int index)
{
    if (seen->body[0] != 'b' || index > 1) {
        return SMQ_DONE;
    }
    assert_int_equal(smq_release(delivery, 0, NULL), SMQ_OK);
    return SMQ_LATER;
}

static void released_message_keeps_its_place(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, false);
    struct handler_log *log = handler_log_new(release_b_once);
    smq_consumer *worker;

    send_letters(client, topic, "abcd");
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "abbcd");
    assert_int_equal(handler_log_seen(log, 2).attempt, 1);
    messages_await_counts(client, topic, (struct message_counts){.dead = 0, .done = 4});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

static smq_verdict rest_b_for_long(smq_delivery *delivery, const struct seen *seen, int index)
{
    (void) index;
    if (seen->body[0] != 'b') {
        return SMQ_DONE;
    }
    assert_int_equal(smq_retry(delivery, LONG_MS, NULL, NULL), SMQ_OK);
    return SMQ_LATER;
}

static void skip_failed_lets_others_pass(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, true);
    struct handler_log *log = handler_log_new(rest_b_for_long);
    smq_consumer *worker;

    send_letters(client, topic, "abcd"); /* one claim has them all */
    worker = handler_log_worker(client, topic, log);
    assert_order(log, "abcd");
    messages_await_counts(
        client, topic, (struct message_counts){.waiting = 0, .resting = 1, .dead = 0, .done = 3});
    send_letters(client, topic, "e");
    assert_order(log, "abcde");
    messages_await_counts(
        client, topic, (struct message_counts){.waiting = 0, .resting = 1, .dead = 0, .done = 4});
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* What a stopped worker has claimed and not begun goes back to its place. */
static void another_worker_goes_on_in_order(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, false);
    struct handler_log *first = handler_log_new(NULL), *second = handler_log_new(NULL);
    smq_consumer *worker;

    send_letters(client, topic, "abcdef");
    handler_log_gate(first);
    worker = handler_log_worker(client, topic, first);
    handler_log_await(first, 1);
    smq_consumer_stop(worker);
    handler_log_open(first, 100);
    handler_log_stop_worker(worker);
    send_letters(client, topic, "g");
    worker = handler_log_worker(client, topic, second);
    assert_order(second, &"abcdefg"[handler_log_count(first)]);
    handler_log_stop_worker(worker);
    handler_log_free(first);
    handler_log_free(second);
    smq_client_free(client);
}

/* --- many keys and slots --- */

enum { KEYS = 7, EACH = 60, ALL = KEYS * EACH, SLOTS = 16, THREADS = 4 };

/* Every fifth message fails at first, every tenth twice. */
static smq_verdict fail_some(smq_delivery *delivery, const struct seen *seen, int index)
{
    int number = atoi(seen->body);

    (void) delivery;
    (void) index;
    return (number % 5 == 3 && seen->attempt == 1) || (number % 10 == 8 && seen->attempt == 2)
               ? SMQ_RETRY
               : SMQ_DONE;
}

static void send_all(smq_client *client, const char *topic)
{
    static char keys[KEYS][8], bodies[EACH][8];
    smq_producer *producer = NULL;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_producer_new(&producer, client, NULL, &err), &err);
    for (int i = 0; i < ALL; i++) {

        snprintf(keys[i % KEYS], sizeof(keys[0]), "k%d", i % KEYS);
        snprintf(bodies[i / KEYS], sizeof(bodies[0]), "%d", i / KEYS);
        smq_message message =
            SMQ_MESSAGE(.body = smq_text(bodies[i / KEYS]), .key = smq_text(keys[i % KEYS]));
        assert_ok(smq_send_async(producer, topic, &message, NULL, NULL, &err), &err);
    }
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    smq_producer_free(producer);
}

/* Of each key: the next one, or the last one again. */
static void assert_serial(struct handler_log *log)
{
    int last[KEYS];

    memset(last, -1, sizeof(last));
    for (int i = 0; i < handler_log_count(log); i++) {
        struct seen seen = handler_log_seen(log, i);
        int key = seen.key[1] - '0', number = atoi(seen.body);

        assert_int_equal(number, last[key] + (seen.attempt == 1 ? 1 : 0));
        last[key] = number;
    }
    for (int i = 0; i < KEYS; i++) {
        assert_int_equal(last[i], EACH - 1);
    }
}

static void every_key_is_in_order_under_failures(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, SLOTS, false);
    struct handler_log *log = handler_log_new(fail_some);
    smq_consumer *worker;

    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.threads = THREADS);
    worker = handler_log_worker_with(client, &options, topic, log);
    send_all(client, topic);
    messages_await_counts(client, topic,
                          (struct message_counts){.waiting = 0, .dead = 0, .done = ALL});
    assert_serial(log);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

/* A failure now and then, while the slot is claimed ahead as fast as it goes. */
static smq_verdict fail_now_and_then(smq_delivery *delivery, const struct seen *seen, int index)
{
    static const smq_verdict verdicts[] = {SMQ_RETRY, SMQ_RELEASE, SMQ_LATER};
    int number = atoi(seen->body);

    if (number % 7 != 3 || seen->attempt > 2 || index % 5 == 0) {
        return SMQ_DONE;
    }
    if (verdicts[number % 3] == SMQ_LATER) {
        assert_int_equal(smq_retry(delivery, number % 4, NULL, NULL), SMQ_OK);
    }
    return verdicts[number % 3];
}

static void send_of_one_key(smq_client *client, const char *topic, int from, int count)
{
    char body[16];

    for (int i = from; i < from + count; i++) {
        snprintf(body, sizeof(body), "%d", i);
        messages_send(client, topic, (struct test_message){.body = body, .key = "k"});
    }
}

static void order_holds_while_the_slot_is_claimed_ahead(void **state)
{
    enum { COUNT = 1000 };
    smq_client *client = cluster_client();
    const char *topic = fifo_topic(client, 1, false);
    struct handler_log *log = handler_log_new(fail_now_and_then);
    smq_consumer *worker;
    int next = 0;

    send_of_one_key(client, topic, 0, COUNT / 2);
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch_size = 20, .threads = 4);
    worker = handler_log_worker_with(client, &options, topic, log);
    send_of_one_key(client, topic, COUNT / 2, COUNT / 2);
    messages_await_counts(client, topic, (struct message_counts){.done = COUNT});
    /* each one follows its predecessor, or is that once more */
    for (int i = 0; i < handler_log_count(log); i++) {
        int number = atoi(handler_log_seen(log, i).body);

        if (number != next && number != next - 1) {
            fail_msg("delivery %d is %d, not %d or %d", i, number, next - 1, next);
        }
        next = number + 1;
    }
    assert_int_equal(next, COUNT);
    assert_true(handler_log_count(log) > COUNT + COUNT / 20);
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(client);
}

TEST_GROUP(fifo)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_messages_go_in_the_order_of_sends),
        cmocka_unit_test(what_no_handler_saw_does_not_count_as_answered),
        cmocka_unit_test(failed_message_blocks_those_behind_it),
        cmocka_unit_test(dead_message_lets_the_others_go_on),
        cmocka_unit_test(rejected_message_lets_the_others_go_on),
        cmocka_unit_test(released_message_keeps_its_place),
        cmocka_unit_test(skip_failed_lets_others_pass),
        cmocka_unit_test(another_worker_goes_on_in_order),
        cmocka_unit_test(every_key_is_in_order_under_failures),
        cmocka_unit_test(order_holds_while_the_slot_is_claimed_ahead),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
