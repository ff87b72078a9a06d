/* test_hooks.c - hooks around sends, handlers, polls and answers on a cluster.
 *
 * Each hook writes a line, and each span is memory of its own: one that does not end once is found
 * by the sanitizer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pthread.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { TEXT_SIZE = 4096 };

enum hook { SEND_BEGIN, SEND_END, PROCESS_BEGIN, PROCESS_END, SETTLED, HOOKS };

/* What each hook has seen, a line for each call. */
static struct {
    pthread_mutex_t lock;
    char text[HOOKS][TEXT_SIZE];
    int count[HOOKS];
    pthread_t thread[HOOKS]; /* of the last call */
    const smq_header *adds;  /* what send_begin adds */
    size_t add_count;
    smq_status added; /* the status of the last one */
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void see(enum hook hook, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void see(enum hook hook, const char *format, ...)
{
    va_list arguments;
    size_t len;

    pthread_mutex_lock(&seen.lock);
    len = strlen(seen.text[hook]);
    va_start(arguments, format);
    (void) vsnprintf(seen.text[hook] + len, TEXT_SIZE - len, format, arguments);
    va_end(arguments);
    seen.thread[hook] = pthread_self();
    seen.count[hook]++;
    pthread_mutex_unlock(&seen.lock);
}

static int seen_count(enum hook hook)
{
    int count;

    pthread_mutex_lock(&seen.lock);
    count = seen.count[hook];
    pthread_mutex_unlock(&seen.lock);
    return count;
}

struct awaited {
    enum hook hook;
    int count;
};

static bool is_seen(void *arg)
{
    const struct awaited *awaited = arg;

    return seen_count(awaited->hook) >= awaited->count;
}

static void await_seen(enum hook hook, int count)
{
    assert_true(wait_until(is_seen, &(struct awaited){hook, count}, TIMEOUT_MS));
    assert_int_equal(seen_count(hook), count);
}

/* Wait for as many calls of the hook as the text has lines, and compare. */
static void assert_seen(enum hook hook, const char *text)
{
    int lines = 0;

    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    await_seen(hook, lines);
    pthread_mutex_lock(&seen.lock);
    assert_string_equal(seen.text[hook], text);
    seen.text[hook][0] = '\0';
    seen.count[hook] = 0;
    pthread_mutex_unlock(&seen.lock);
}

/* --- the hooks --- */

/* The headers of a message, "name=value" each. */
static const char *headers_of(char out[512], const smq_message_info *message)
{
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < message->header_count && len < 400; i++) {
        const smq_header *header = &message->headers[i];

        len += (size_t) snprintf(out + len, 512 - len, " %s=%.*s", header->name,
                                 (int) header->value.len, (const char *) header->value.data);
    }
    return out;
}

static void *span_of(const smq_message_info *message)
{
    return strndup(message->body.data != NULL ? message->body.data : "", message->body.len);
}

static void end_span(const smq_message_info *message, void *span)
{
    assert_int_equal(strlen(span), message->body.len);
    assert_memory_equal(span, message->body.data, message->body.len);
    free(span);
}

#define TEXT(bytes) (int) (bytes).len, (const char *) (bytes).data

/* From memory that is gone when the hook returns. */
static smq_status add_one(smq_hook_headers *headers, const smq_header *header)
{
    char *name = header->name != NULL ? strdup(header->name) : NULL;
    void *value = header->value.data != NULL ? malloc(header->value.len) : NULL;
    smq_status status;

    if (value != NULL) {
        memcpy(value, header->value.data, header->value.len);
    }
    status = smq_hook_headers_add(headers, name, (smq_bytes){value, header->value.len}, NULL);
    if (value != NULL) {
        memset(value, 'x', header->value.len);
    }
    free(name);
    free(value);
    return status;
}

static void *on_send_begin(const smq_message_info *message, smq_hook_headers *headers, void *user)
{
    char text[512];

    assert_ptr_equal(user, &seen);
    see(SEND_BEGIN, "%.*s id %.*s slot %d%s\n", TEXT(message->body), TEXT(message->id),
        message->slot, headers_of(text, message));
    for (size_t i = 0; i < seen.add_count; i++) {
        seen.added = add_one(headers, &seen.adds[i]);
    }
    return span_of(message);
}

static void on_send_end(const smq_message_info *message, const smq_receipt *receipt, void *span,
                        void *user)
{
    char text[512];

    assert_ptr_equal(user, &seen);
    assert_int_equal(message->slot, receipt->slot);
    assert_true(receipt->id[0] == '\0' ||
                strncmp(receipt->id, message->id.data, message->id.len) == 0);
    see(SEND_END, "%.*s %s%s\n", TEXT(message->body), smq_status_name(receipt->status),
        headers_of(text, message));
    end_span(message, span);
}

static void *on_process_begin(const smq_message_info *message, void *user)
{
    char text[512];

    assert_ptr_equal(user, &seen);
    see(PROCESS_BEGIN, "%.*s attempt %d%s\n", TEXT(message->body), message->attempt,
        headers_of(text, message));
    return span_of(message);
}

static void on_process_end(const smq_message_info *message, smq_verdict verdict, void *span,
                           void *user)
{
    assert_ptr_equal(user, &seen);
    see(PROCESS_END, "%.*s attempt %d verdict %d\n", TEXT(message->body), message->attempt,
        (int) verdict);
    end_span(message, span);
}

static void on_settled(const smq_message_info *message, const smq_settlement *settlement,
                       void *user)
{
    assert_ptr_equal(user, &seen);
    assert_int_equal(settlement->struct_size, sizeof(*settlement));
    see(SETTLED, "%.*s attempt %d verdict %d %s%s%s\n", TEXT(message->body), message->attempt,
        (int) settlement->verdict, smq_status_name(settlement->status),
        settlement->dead ? " dead " : " ", settlement->reason != NULL ? settlement->reason : "-");
}

static const smq_hooks hooks = {.struct_size = sizeof(smq_hooks),
                                .send_begin = on_send_begin,
                                .send_end = on_send_end,
                                .process_begin = on_process_begin,
                                .process_end = on_process_end,
                                .settled = on_settled,
                                .user = &seen};

/* --- the topic --- */

static smq_client *client;
static const char *topic;
static smq_producer *producer;

static int open_topic(void **state)
{
    for (int i = 0; i < HOOKS; i++) {
        seen.text[i][0] = '\0';
        seen.count[i] = 0;
    }
    seen.add_count = 0;
    client = cluster_client_with(&SMQ_CLIENT_OPTIONS(.hooks = &hooks));
    topic = cluster_topic(client, &SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = 1,
                                                     .layout = SMQ_LAYOUT_KEYED, .max_retries = 1,
                                                     .backoff = "none"));
    producer = messages_producer(client, NULL);
    return 0;
}

static int close_topic(void **state)
{
    smq_producer_free(producer);
    smq_client_free(client);
    return 0;
}

static void add(const smq_header *headers, size_t count)
{
    seen.adds = headers;
    seen.add_count = count;
}

static void send(const char *body)
{
    const smq_message message = messages_text(body);

    (void) messages_send_by(producer, topic, &message);
}

/* --- sends --- */

static const smq_header trace = {"traceparent", {"00-4bf9-01", 10}};

static void a_call_that_waits_runs_the_hooks_itself(void **state)
{
    const smq_header own = {"own", {"1", 1}};
    const smq_message messages[] = {
        SMQ_MESSAGE(.body = {"a", 1}, .id = {"i", 1}, .headers = &own, .header_count = 1),
        SMQ_MESSAGE(.body = {"bad", 3}, .ttl_ms = -7), SMQ_MESSAGE(.body = {"b", 1})};
    smq_error err = SMQ_ERROR_INIT;
    smq_receipt receipts[3];

    add(&trace, 1);
    assert_int_equal(smq_send_batch(producer, topic, messages, 3, receipts, &err), SMQ_INVALID);
    assert_int_equal(receipts[0].status, SMQ_OK);
    assert_int_equal(receipts[2].status, SMQ_OK);
    assert_seen(SEND_BEGIN, "a id i slot -1 own=1\nb id  slot -1\n");
    assert_seen(SEND_END, "a SMQ_OK own=1 traceparent=00-4bf9-01\nb SMQ_OK "
                          "traceparent=00-4bf9-01\n");
    assert_true(pthread_equal(seen.thread[SEND_BEGIN], pthread_self()));
    assert_true(pthread_equal(seen.thread[SEND_END], pthread_self()));
}

static void on_sent(const smq_receipt *receipt, void *user)
{
    assert_int_equal(receipt->status, SMQ_OK);
    assert_int_equal(seen_count(SEND_END), 1);
    *(bool *) user = true;
}

static void others_end_on_the_thread_of_callbacks(void **state)
{
    const smq_producer_options kept = SMQ_PRODUCER_OPTIONS(.poll_receipts = true);
    smq_producer *polled = messages_producer(client, &kept);
    const smq_message a = messages_text("a"), b = messages_text("b"), c = messages_text("c");
    smq_error err = SMQ_ERROR_INIT;
    smq_receipt receipt;
    bool told = false;
    size_t count = 0;

    assert_ok(smq_send_async(producer, topic, &a, on_sent, &told, &err), &err);
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_true(told);
    assert_ok(smq_send_async(producer, topic, &b, NULL, NULL, &err), &err);
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_ok(smq_send_async(polled, topic, &c, NULL, NULL, &err), &err);
    assert_ok(smq_producer_flush(polled, TIMEOUT_MS, &err), &err);
    assert_seen(SEND_END, "a SMQ_OK\nb SMQ_OK\nc SMQ_OK\n");
    assert_false(pthread_equal(seen.thread[SEND_END], pthread_self()));
    assert_ok(smq_producer_poll(polled, &receipt, 1, &count, NULL, TIMEOUT_MS, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(receipt.status, SMQ_OK);
    assert_seen(SEND_BEGIN, "a id  slot -1\nb id  slot -1\nc id  slot -1\n");
    smq_producer_free(polled);
}

static void a_refused_send_ends_too(void **state)
{
    const smq_producer_options small =
        SMQ_PRODUCER_OPTIONS(.max_pending = 1, .poll_receipts = true);
    smq_producer *full = messages_producer(client, &small);
    const smq_message a = messages_text("a"), b = messages_text("b");
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(smq_send(producer, "no-such-topic", &a, NULL, &err), SMQ_NO_TOPIC);
    assert_seen(SEND_END, "a SMQ_NO_TOPIC\n");
    assert_ok(smq_send_async(full, topic, &a, NULL, NULL, &err), &err);
    assert_int_equal(smq_send_async(full, topic, &b, NULL, NULL, &err), SMQ_FULL);
    assert_ok(smq_producer_flush(full, TIMEOUT_MS, &err), &err);
    pthread_mutex_lock(&seen.lock);
    assert_non_null(strstr(seen.text[SEND_END], "b SMQ_FULL\n"));
    assert_non_null(strstr(seen.text[SEND_END], "a SMQ_OK\n"));
    pthread_mutex_unlock(&seen.lock);
    assert_int_equal(seen_count(SEND_END), 2);
    smq_producer_free(full); /* with a receipt that was not polled */
}

static void headers_that_are_added_have_the_bounds_of_others(void **state)
{
    static char large[SMQ_HEADERS_BYTES_MAX];
    static smq_header many[SMQ_HEADERS_MAX];
    static char names[SMQ_HEADERS_MAX][4];
    const smq_header own = {"own", {"1", 1}};
    const struct {
        smq_header add;
        smq_status status;
    } rows[] = {
        {{"own", {"2", 1}}, SMQ_INVALID},
        {{"a name", {"2", 1}}, SMQ_INVALID},
        {{NULL, {"2", 1}}, SMQ_INVALID},
        {{"slotmq-x", {"2", 1}}, SMQ_INVALID},
        {{"n", {large, sizeof(large) - 4}}, SMQ_TOO_BIG},
        {{"n", {NULL, 1}}, SMQ_INVALID},
        {{"n", {NULL, 0}}, SMQ_OK},
        {{"n", {large, sizeof(large) - 5}}, SMQ_OK},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        add(&rows[i].add, 1);
        (void) messages_send_by(producer, topic,
                                &SMQ_MESSAGE(.body = {"x", 1}, .headers = &own, .header_count = 1));
        assert_int_equal(seen.added, rows[i].status);
    }
    for (int i = 0; i < SMQ_HEADERS_MAX; i++) {
        (void) snprintf(names[i], sizeof(names[i]), "n%d", i);
        many[i].name = names[i];
    }
    add(many, SMQ_HEADERS_MAX);
    send("most");
    assert_int_equal(seen.added, SMQ_OK);
    (void) messages_send_by(producer, topic,
                            &SMQ_MESSAGE(.body = {"x", 1}, .headers = &own, .header_count = 1));
    assert_int_equal(seen.added, SMQ_TOO_BIG);
    assert_int_equal(smq_hook_headers_add(NULL, "n", smq_text("v"), NULL), SMQ_INVALID);
}

/* The consumer gets what was added, also of a message that was sent without waiting. */
static void added_headers_are_stored(void **state)
{
    char name[] = "traceparent", value[] = "00-4bf9-01";
    const smq_header mine = {name, {value, 10}};
    const smq_message message = messages_text("a");
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_error err = SMQ_ERROR_INIT;

    add(&mine, 1);
    assert_ok(smq_send_async(producer, topic, &message, NULL, NULL, &err), &err);
    memset(name, 'x', sizeof(name) - 1);
    memset(value, 'x', sizeof(value) - 1);
    messages_done(messages_poll(consumer));
    assert_seen(PROCESS_BEGIN, "a attempt 1 traceparent=00-4bf9-01\n");
    smq_consumer_free(consumer);
}

/* A tracer must not stop the sends of topics that have no place for headers. */
static void layout_inline_goes_without_what_is_added(void **state)
{
    const char *plain =
        cluster_topic(client, &SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = 1));
    smq_consumer *consumer = messages_consumer(client, plain);
    const smq_message message = messages_text("a");
    smq_error err = SMQ_ERROR_INIT;

    add(&trace, 1);
    (void) messages_send_by(producer, plain, &message);
    assert_int_equal(seen.added, SMQ_OK);
    messages_done(messages_poll(consumer));
    assert_seen(PROCESS_BEGIN, "a attempt 1\n");
    add(NULL, 0);
    assert_int_equal(smq_send(producer, plain,
                              &SMQ_MESSAGE(.body = {"b", 1}, .headers = &trace, .header_count = 1),
                              NULL, &err),
                     SMQ_WRONG_TYPE);
    smq_consumer_free(consumer);
}

static void a_restored_message_is_as_it_was(void **state)
{
    smq_error err = SMQ_ERROR_INIT;

    add(&trace, 1);
    assert_ok(smq_restore(producer, topic, &SMQ_MESSAGE_COPY(.body = {"a", 1}), NULL, &err), &err);
    assert_ok(
        smq_restore_async(producer, topic, &SMQ_MESSAGE_COPY(.body = {"b", 1}), NULL, NULL, &err),
        &err);
    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, &err), &err);
    assert_int_equal(seen_count(SEND_BEGIN), 0);
    assert_int_equal(seen_count(SEND_END), 0);
}

/* --- processing and answers --- */

static smq_verdict fail_twice(smq_delivery *delivery, const struct seen *message, int index)
{
    (void) message;
    if (index == 0) {
        (void) smq_retry(delivery, 0, "first", NULL);
        return SMQ_ANSWERED;
    }
    return index == 1 ? SMQ_RETRY : SMQ_DONE;
}

static void a_trace_goes_on_over_death_and_requeue(void **state)
{
    struct handler_log *log = handler_log_new(fail_twice);
    smq_consumer *worker = handler_log_worker(client, topic, log);
    smq_error err = SMQ_ERROR_INIT;

    add(&trace, 1);
    send("a");
    assert_seen(SETTLED, "a attempt 1 verdict 5 SMQ_OK first\na attempt 2 verdict 5 SMQ_OK dead "
                         "-\n");
    assert_ok(smq_dead_requeue(client, topic, NULL, NULL, NULL, NULL, &err), &err);
    assert_seen(SETTLED, "a attempt 1 verdict 1 SMQ_OK -\n");
    assert_seen(PROCESS_BEGIN, "a attempt 1 traceparent=00-4bf9-01\n"
                               "a attempt 2 traceparent=00-4bf9-01\n"
                               "a attempt 1 traceparent=00-4bf9-01\n");
    assert_seen(PROCESS_END,
                "a attempt 1 verdict 6\na attempt 2 verdict 5\na attempt 1 verdict 1\n");
    assert_true(pthread_equal(seen.thread[PROCESS_BEGIN], seen.thread[PROCESS_END]));
    assert_false(pthread_equal(seen.thread[PROCESS_END], seen.thread[SETTLED]));
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

static smq_verdict on_batch(smq_delivery *const *deliveries, size_t count, void *user)
{
    struct handler_log *log = user;
    int index;

    for (size_t i = 0; i < count; i++) {
        (void) handler_log_add(log, deliveries[i], &index);
    }
    return SMQ_REJECT;
}

static void each_message_of_a_batch_has_its_hooks(void **state)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.batch = on_batch, .batch_size = 10);
    struct handler_log *log = handler_log_new(NULL);
    smq_consumer *worker;

    send("a");
    send("b");
    worker = handler_log_worker_with(client, &options, topic, log);
    assert_seen(PROCESS_END, "a attempt 1 verdict 2\nb attempt 1 verdict 2\n");
    assert_seen(SETTLED,
                "a attempt 1 verdict 2 SMQ_OK dead -\nb attempt 1 verdict 2 SMQ_OK dead -\n");
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

/* Answered by a call after the handler, and by several at once of a consumer that is polled. */
static void what_is_answered_later_is_settled_once(void **state)
{
    smq_consumer *consumer = messages_consumer(client, topic);
    smq_answer answers[3] = {{.verdict = SMQ_RELEASE},
                             {.verdict = SMQ_REJECT, .reason = "bad"},
                             {.verdict = (smq_verdict) 9}};
    smq_error err = SMQ_ERROR_INIT;

    send("a");
    send("b");
    send("c");
    for (int i = 0; i < 3; i++) {
        answers[i].delivery = messages_poll(consumer);
        answers[i].delay_ms = i == 0 ? 3600000 : 0;
    }
    assert_int_equal(seen_count(PROCESS_END), 0);
    assert_int_equal(smq_answer_all(answers, 3, &err), SMQ_INVALID);
    assert_seen(PROCESS_END,
                "a attempt 1 verdict 3\nb attempt 1 verdict 2\nc attempt 1 verdict 5\n");
    assert_ok(smq_consumer_flush(consumer, TIMEOUT_MS, &err), &err);
    await_seen(SETTLED, 3);
    pthread_mutex_lock(&seen.lock);
    assert_non_null(strstr(seen.text[SETTLED], "a attempt 1 verdict 3 SMQ_OK -\n"));
    assert_non_null(strstr(seen.text[SETTLED], "b attempt 1 verdict 2 SMQ_OK dead bad\n"));
    assert_non_null(strstr(seen.text[SETTLED], "c attempt 1 verdict 5 SMQ_OK -\n"));
    pthread_mutex_unlock(&seen.lock);
    messages_done(messages_poll(consumer));
    smq_consumer_free(consumer);
}

static smq_verdict overdue(smq_delivery *delivery, const struct seen *message, int index)
{
    (void) message;
    if (index == 0) {
        messages_await_check(delivery, SMQ_LEASE_LOST);
    }
    return SMQ_DONE;
}

/* The library's own answer is not shown, that of the handler is refused. */
static void an_answer_that_is_late_is_refused(void **state)
{
    smq_consumer_options options = SMQ_CONSUMER_OPTIONS(.handler_timeout_ms = 50);
    struct handler_log *log = handler_log_new(overdue);
    smq_consumer *worker = handler_log_worker_with(client, &options, topic, log);

    send("a");
    await_seen(SETTLED, 2);
    pthread_mutex_lock(&seen.lock);
    assert_non_null(strstr(seen.text[SETTLED], "a attempt 1 verdict 1 SMQ_LEASE_LOST -\n"));
    assert_non_null(strstr(seen.text[SETTLED], "verdict 1 SMQ_OK -\n"));
    pthread_mutex_unlock(&seen.lock);
    handler_log_stop_worker(worker);
    handler_log_free(log);
}

/* A delivery outlives its consumer and its client, and then its hooks run here. */
static void an_answer_after_the_end_is_refused_here(void **state)
{
    smq_client *other = cluster_client_with(&SMQ_CLIENT_OPTIONS(.hooks = &hooks));
    smq_consumer *consumer = messages_consumer(other, topic);
    smq_delivery *delivery;
    smq_error err = SMQ_ERROR_INIT;

    send("a");
    delivery = messages_poll(consumer);
    smq_consumer_free(consumer);
    smq_client_free(other);
    assert_int_equal(smq_done(delivery, &err), SMQ_CLOSED);
    assert_seen(PROCESS_END, "a attempt 1 verdict 1\n");
    assert_seen(SETTLED, "a attempt 1 verdict 1 SMQ_CLOSED -\n");
    assert_true(pthread_equal(seen.thread[SETTLED], pthread_self()));
}

/* Each hook is optional. */
static void one_hook_is_enough(void **state)
{
    const smq_hooks only[] = {
        {.struct_size = sizeof(smq_hooks)},
        {.struct_size = sizeof(smq_hooks), .settled = on_settled, .user = &seen}};

    for (int i = 0; i < 2; i++) {
        smq_client *other = cluster_client_with(&SMQ_CLIENT_OPTIONS(.hooks = &only[i]));
        smq_consumer *consumer = messages_consumer(other, topic);

        (void) messages_send(other, topic, (struct test_message){.body = "a"});
        messages_done(messages_poll(consumer));
        smq_consumer_free(consumer);
        smq_client_free(other);
        assert_int_equal(seen_count(SETTLED), i);
    }
    for (enum hook hook = SEND_BEGIN; hook < SETTLED; hook++) {
        assert_int_equal(seen_count(hook), 0);
    }
}

#define TOPIC_TEST(test) cmocka_unit_test_setup_teardown(test, open_topic, close_topic)

TEST_GROUP(hooks)
{
    const struct CMUnitTest tests[] = {
        TOPIC_TEST(a_call_that_waits_runs_the_hooks_itself),
        TOPIC_TEST(others_end_on_the_thread_of_callbacks),
        TOPIC_TEST(a_refused_send_ends_too),
        TOPIC_TEST(headers_that_are_added_have_the_bounds_of_others),
        TOPIC_TEST(added_headers_are_stored),
        TOPIC_TEST(layout_inline_goes_without_what_is_added),
        TOPIC_TEST(a_restored_message_is_as_it_was),
        TOPIC_TEST(a_trace_goes_on_over_death_and_requeue),
        TOPIC_TEST(each_message_of_a_batch_has_its_hooks),
        TOPIC_TEST(what_is_answered_later_is_settled_once),
        TOPIC_TEST(an_answer_that_is_late_is_refused),
        TOPIC_TEST(an_answer_after_the_end_is_refused_here),
        TOPIC_TEST(one_hook_is_enough),
    };

    return cmocka_run_group_tests(tests, cluster_start_masters, cluster_end);
}
