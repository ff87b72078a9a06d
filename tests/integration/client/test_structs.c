/* test_structs.c - structs with struct_size, as programs pass them that were compiled with another
 * header than that of the library: an older one, whose structs are shorter, or a newer one.
 *
 * Each struct is made in memory of exactly its size, so that a sanitizer sees a byte too many. */
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/messages.h"
#include "support/group.h"

enum { UNKNOWN_BYTE = 0xee, UNKNOWN_FIELDS = 48 };

/* The beginning of `whole` in a struct of `size` bytes; fields that this header does not know are
 * not 0. */
static void *struct_of_size(const void *whole, size_t whole_size, size_t size)
{
    unsigned char *made = malloc(size);

    assert_non_null(made);
    memset(made, UNKNOWN_BYTE, size);
    memcpy(made, whole, size < whole_size ? size : whole_size);
    memcpy(made, &size, sizeof(size));
    return made;
}

/* === Structs that a program passes in =================================== */

typedef smq_status use_fn(const void *given, smq_error *err);

static smq_status use_client(const void *given, smq_error *err)
{
    smq_client *made = NULL;
    const smq_status status = smq_client_new(&made, given, err);

    assert_true((status == SMQ_OK) == (made != NULL));
    smq_client_free(made);
    return status;
}

static smq_status use_topic(const void *given, smq_error *err)
{
    return smq_topic_create(client, given, NULL, err);
}

static smq_status use_producer(const void *given, smq_error *err)
{
    smq_producer *made = NULL;
    const smq_status status = smq_producer_new(&made, client, given, err);

    assert_true((status == SMQ_OK) == (made != NULL));
    smq_producer_free(made);
    return status;
}

static smq_status use_consumer(const void *given, smq_error *err)
{
    smq_consumer *made = NULL;
    const smq_status status = smq_consumer_new(&made, client, given, err);

    assert_true((status == SMQ_OK) == (made != NULL));
    smq_consumer_free(made);
    return status;
}

static smq_status use_message(const void *given, smq_error *err)
{
    return smq_send(producer, "jobs", given, NULL, err);
}

static smq_status use_message_async(const void *given, smq_error *err)
{
    const smq_status status = smq_send_async(producer, "jobs", given, NULL, NULL, err);

    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, NULL), err);
    return status;
}

static smq_status use_process(const void *given, smq_error *err)
{
    return smq_process_set(given, err);
}

/* A hook that is behind the end of the program's struct is none. */
static smq_status use_hooks(const void *given, smq_error *err)
{
    const smq_client_options options = {
        .struct_size = sizeof(options), .redis = servers_redis(cluster_servers()), .hooks = given};
    smq_client *made = NULL;
    const smq_status status = smq_client_new(&made, &options, err);

    if (status == SMQ_OK) {
        (void) messages_send(made, "jobs", (struct test_message){.body = "x", .id = "known"});
    }
    smq_client_free(made);
    return status;
}

static smq_status use_copy(const void *given, smq_error *err)
{
    return smq_restore(producer, "jobs", given, NULL, err);
}

static smq_status use_copy_async(const void *given, smq_error *err)
{
    const smq_status status = smq_restore_async(producer, "jobs", given, NULL, NULL, err);

    assert_ok(smq_producer_flush(producer, TIMEOUT_MS, NULL), err);
    return status;
}

/* Two of them, one behind the other: the steps are as wide as the program's struct. */
static smq_status use_messages(const void *given, smq_error *err)
{
    size_t size;
    smq_receipt receipts[2];

    memcpy(&size, given, sizeof(size));
    char *two = malloc(2 * size);
    assert_non_null(two);
    memcpy(two, given, size);
    memcpy(two + size, given, size);
    const smq_status status =
        smq_send_batch(producer, "jobs", (const smq_message *) two, 2, receipts, err);
    assert_int_equal(receipts[1].status, status);
    free(two);
    return status;
}

static smq_status use_get(const void *given, smq_error *err)
{
    return smq_message_get(client, "jobs", given, NULL, err);
}

static smq_status use_rank(const void *given, smq_error *err)
{
    uint64_t rank = 0;

    return smq_message_rank(client, "jobs", given, &rank, err);
}

static smq_status use_reschedule(const void *given, smq_error *err)
{
    return smq_message_reschedule(client, "jobs", given, &SMQ_MESSAGE(.delay_ms = 1), err);
}

static smq_status use_remove(const void *given, smq_error *err)
{
    return smq_message_remove(client, "jobs", given, err);
}

static bool note_message(const smq_message_info *message, void *user)
{
    (void) user;
    assert_int_equal(message->struct_size, sizeof(*message));
    return true;
}

static smq_status use_filter(const void *given, smq_error *err)
{
    return smq_message_each(client, "jobs", given, note_message, NULL, err);
}

static smq_status use_filter_of_one(const void *given, smq_error *err)
{
    smq_filter filter = SMQ_FILTER(.which = given);
    return smq_message_each(client, "jobs", &filter, note_message, NULL, err);
}

static smq_status use_visitor(const void *given, smq_error *err)
{
    smq_client *fleet = cluster_fleet_client(0);
    const smq_status status = smq_fleet_describe(fleet, given, err);

    smq_client_free(fleet);
    return status;
}

static smq_verdict done(smq_delivery *delivery, void *user)
{
    (void) delivery;
    (void) user;
    return SMQ_DONE;
}

static bool note_fleet(const smq_fleet_info *fleet, void *user)
{
    (void) user;
    assert_int_equal(fleet->struct_size, sizeof(*fleet));
    return true;
}

/* `older` is the size of a header that had only what is set here. */
static const smq_topic_options topic = {.name = "made"};
static const smq_consumer_options worker = {.topic = "jobs", .handler = done};
static const smq_consumer_options consumer = {.topic = "jobs"};
static const smq_producer_options producing = {.struct_size = 0};
static const smq_message body = {.body = {"x", 1}};
static const smq_process_settings process = {.leave_descriptors = false};
static const smq_hooks hooks = {.send_begin = NULL};
static const smq_message_copy copied = {.body = {"x", 1}, .id = {"known", 5}};
static const smq_message_ref which = {.id = {"known", 5}};
static const smq_filter filter = {.states = SMQ_STATE_WAITING};
static const smq_fleet_visitor visitor = {.fleet = note_fleet};

#define ROW(use, whole, next)                                                                      \
    {                                                                                              \
#use, use, &(whole), sizeof(whole), next                                                   \
    }
static const struct {
    const char *name;
    use_fn *use;
    const void *whole;
    size_t size, older;
} rows[] = {
    ROW(use_topic, topic, offsetof(smq_topic_options, type)),
    ROW(use_producer, producing, offsetof(smq_producer_options, replicas)),
    ROW(use_consumer, worker, offsetof(smq_consumer_options, batch)),
    ROW(use_consumer, consumer, offsetof(smq_consumer_options, handler)),
    ROW(use_message, body, offsetof(smq_message, key)),
    ROW(use_message_async, body, offsetof(smq_message, key)),
    ROW(use_process, process, offsetof(smq_process_settings, no_memory)),
    ROW(use_hooks, hooks, offsetof(smq_hooks, send_end)),
    ROW(use_copy, copied, offsetof(smq_message_copy, priority)),
    ROW(use_copy_async, copied, offsetof(smq_message_copy, priority)),
    ROW(use_messages, body, offsetof(smq_message, key)),
    ROW(use_get, which, offsetof(smq_message_ref, body)),
    ROW(use_rank, which, offsetof(smq_message_ref, body)),
    ROW(use_reschedule, which, offsetof(smq_message_ref, body)),
    ROW(use_filter_of_one, which, offsetof(smq_message_ref, body)),
    ROW(use_remove, which, offsetof(smq_message_ref, body)),
    ROW(use_filter, filter, offsetof(smq_filter, which)),
    ROW(use_visitor, visitor, offsetof(smq_fleet_visitor, member)),
};

/* The topic and the message that the rows name. */
static void make_jobs(void)
{
    smq_error err;

    assert_ok(smq_topic_create(client, &SMQ_TOPIC_OPTIONS(.name = "jobs"), NULL, &err), &err);
    (void) messages_send_by(producer, "jobs", &SMQ_MESSAGE(.body = {"x", 1}, .id = {"known", 5}));
}

static void fields_that_an_older_header_lacks_have_their_defaults(void **state)
{
    smq_error err;

    make_jobs();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *given = struct_of_size(rows[i].whole, rows[i].size, rows[i].older);
        const smq_status status = rows[i].use(given, &err);
        free(given);
        if (status != SMQ_OK) {
            fail_msg("%s with the size %zu: %s", rows[i].name, rows[i].older, err.text);
        }
    }
}

static void a_struct_of_a_newer_header_is_refused(void **state)
{
    smq_error err;

    make_jobs();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *given = struct_of_size(rows[i].whole, rows[i].size, rows[i].size + UNKNOWN_FIELDS);
        const smq_status status = rows[i].use(given, &err);
        free(given);
        if (status != SMQ_INVALID || !strstr(err.text, "the header is newer than the library")) {
            fail_msg("%s: %s: %s", rows[i].name, smq_status_name(status), err.text);
        }
    }
    assert_int_equal(messages_stats(client, "jobs").waiting, 1); /* nothing was done */
}

static void clients_of_other_headers(void **state)
{
    const smq_client_options options = {.redis = servers_redis(cluster_servers())};
    void *given =
        struct_of_size(&options, sizeof(options), offsetof(smq_client_options, zookeeper));
    smq_error err;

    assert_ok(use_client(given, &err), &err);
    free(given);
    given = struct_of_size(&options, sizeof(options), sizeof(options) + UNKNOWN_FIELDS);
    assert_int_equal(use_client(given, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "the header is newer than the library"));
    free(given);
}

/* === Structs that a program gets ======================================== */

typedef smq_status fill_fn(void *out, smq_error *err);

static smq_status fill_stats(void *out, smq_error *err)
{
    return smq_topic_stats(client, "jobs", out, err);
}

static smq_status fill_metrics(void *out, smq_error *err)
{
    return smq_client_metrics(client, out, err);
}

static smq_status fill_report(void *out, smq_error *err)
{
    return smq_topic_create(client, &SMQ_TOPIC_OPTIONS(.name = "jobs"), out, err);
}

static smq_status fill_repair_report(void *out, smq_error *err)
{
    return smq_topic_repair(client, "jobs", out, err);
}

static smq_status fill_binding(void *out, smq_error *err)
{
    return smq_topic_binding(client, "jobs", out, err);
}

static smq_status fill_fence(void *out, smq_error *err)
{
    smq_client *fleet = cluster_fleet_client(0);
    const smq_status status = smq_fleet_raise_fence(fleet, out, err);

    smq_client_free(fleet);
    return status;
}

#define FILLED(fill, type, next)                                                                   \
    {                                                                                              \
#fill, fill, sizeof(type), offsetof(type, next)                                            \
    }
static const struct {
    const char *name;
    fill_fn *fill;
    size_t size, older;
} filled[] = {
    FILLED(fill_stats, smq_stats, due),
    FILLED(fill_metrics, smq_metrics, merged),
    FILLED(fill_report, smq_topic_report, differs),
    FILLED(fill_repair_report, smq_topic_report, differs),
    FILLED(fill_binding, smq_binding, generation),
    FILLED(fill_fence, smq_fence, topics),
};

static void what_an_older_header_lacks_is_not_written(void **state)
{
    static const size_t nothing = sizeof(nothing);
    smq_error err;

    make_jobs();
    for (size_t i = 0; i < sizeof(filled) / sizeof(filled[0]); i++) {
        void *out = struct_of_size(&nothing, sizeof(nothing), filled[i].older);
        size_t size;
        if (filled[i].fill(out, &err) != SMQ_OK) {
            fail_msg("%s with the size %zu: %s", filled[i].name, filled[i].older, err.text);
        }
        memcpy(&size, out, sizeof(size));
        assert_int_equal(size, filled[i].older);
        free(out);
    }
}

static void a_struct_of_a_newer_header_is_not_filled(void **state)
{
    static const size_t nothing = sizeof(nothing);
    smq_error err;

    make_jobs();
    for (size_t i = 0; i < sizeof(filled) / sizeof(filled[0]); i++) {
        const size_t size = filled[i].size + UNKNOWN_FIELDS;
        unsigned char *out = struct_of_size(&nothing, sizeof(nothing), size);
        const smq_status status = filled[i].fill(out, &err);
        if (status != SMQ_INVALID || !strstr(err.text, "the header is newer than the library")) {
            fail_msg("%s: %s: %s", filled[i].name, smq_status_name(status), err.text);
        }
        for (size_t at = sizeof(size); at < size; at++) {
            assert_int_equal(out[at], UNKNOWN_BYTE);
        }
        free(out);
    }
}

TEST_GROUP(structs)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(fields_that_an_older_header_lacks_have_their_defaults),
        FRESH_CLIENT_TEST(a_struct_of_a_newer_header_is_refused),
        FRESH_CLIENT_TEST(clients_of_other_headers),
        FRESH_CLIENT_TEST(what_an_older_header_lacks_is_not_written),
        FRESH_CLIENT_TEST(a_struct_of_a_newer_header_is_not_filled),
    };

    return cmocka_run_group_tests_name("structs of other headers", tests,
                                       cluster_start_single_fleet, cluster_end);
}
