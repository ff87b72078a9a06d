/* test_schedules.c - a schedule is in one slot, also if a put fails midway, or two come at once. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

enum { SLOTS = 4, DAY_MS = 86400000 };

/* `slow` is a client behind the proxy. */
static struct proxy *proxy;
static smq_client *client, *slow;

static int set_up(void **state)
{
    smq_topic_options options = cluster_topic_options("orders", SMQ_TYPE_FIXED_TIME, SLOTS);

    keys_flush();
    client = cluster_client();
    proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    smq_client_options behind =
        SMQ_CLIENT_OPTIONS(.redis = proxy_address(proxy), .request_timeout_ms = TIMEOUT_MS);
    slow = cluster_client_with(&behind);
    options.layout = SMQ_LAYOUT_KEYED;
    cluster_create_topic(client, &options);
    return 0;
}

static int tear_down(void **state)
{
    proxy_release(proxy);
    smq_client_free(slow);
    smq_client_free(client);
    proxy_stop(proxy);
    return 0;
}

/* --- helpers --- */

/* Keys of slot 0 and of slot 1; the schedule itself has an id of slot 2. */
#define ID    "nightly"
#define KEY_0 "bills"
#define KEY_1 "reports"

static smq_status put_by(smq_client *by, const char *key, const char *body,
                         smq_schedule_change *change, smq_error *err)
{
    const smq_message message = SMQ_MESSAGE(.body = smq_text(body), .key = smq_text(key));
    const smq_schedule schedule = SMQ_SCHEDULE(.every_ms = DAY_MS, .message = &message);

    return smq_schedule_put(by, "orders", ID, &schedule, change, err);
}

static smq_schedule_change put(const char *key, const char *body)
{
    smq_schedule_change change;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(put_by(client, key, body, &change, &err), &err);
    return change;
}

/* The slots that have the schedule, as "01". */
static const char *slots_of(char out[SLOTS + 1])
{
    int count = 0;

    for (int i = 0; i < SLOTS; i++) {
        char key[32];

        snprintf(key, sizeof(key), "slot{orders_%d}", i);
        if (keys_number(key, "HEXISTS %s X" ID, key) == 1) {
            out[count++] = (char) ('0' + i);
        }
    }
    out[count] = '\0';
    return out;
}

static void assert_slots(const char *expected)
{
    char out[SLOTS + 1];

    assert_string_equal(slots_of(out), expected);
}

/* What a failover, or a version that knew no better, leaves in another slot. */
static void copy_to_slot(int from, int to)
{
    char source[32], target[32];

    snprintf(source, sizeof(source), "slot{orders_%d}", from);
    snprintf(target, sizeof(target), "slot{orders_%d}", to);
    for (int i = 0; i < 2; i++) {
        const char *field = i == 0 ? "X" ID : "Y" ID;
        redisReply *reply = keys_command(source, "HGET %s %s", source, field);

        freeReplyObject(
            keys_command(target, "HSET %s %s %b", target, field, reply->str, (size_t) reply->len));
        freeReplyObject(reply);
    }
}

static bool take_one(const smq_schedule_info *info, void *user)
{
    char *text = user;

    snprintf(text + strlen(text), 256 - strlen(text), "%s at %d%s%s; ", info->id, (int) info->slot,
             info->paused ? " paused: " : "", info->note);
    return true;
}

static void assert_listed(const char *expected)
{
    char text[256] = "";
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_schedule_each(client, "orders", take_one, text, &err), &err);
    assert_string_equal(text, expected);
}

/* --- the slow caller --- */

static struct slow_put {
    pthread_t thread;
    const char *key;
    smq_status status;
    smq_schedule_change change;
    smq_error err;
} slow_put;

static void *slow_run(void *user)
{
    (void) user;
    slow_put.status = put_by(slow, slow_put.key, "slow", &slow_put.change, &slow_put.err);
    return NULL;
}

static bool has_kept(void *user)
{
    (void) user;
    return proxy_has_kept(proxy);
}

/* Begin a put, which stands still when it sends what contains this text. */
static void put_until(const char *key, const char *text)
{
    slow_put = (struct slow_put){.key = key, .err = SMQ_ERROR_INIT};
    proxy_silence_from(proxy, text);
    assert_int_equal(pthread_create(&slow_put.thread, NULL, slow_run, NULL), 0);
    assert_true(wait_until(has_kept, NULL, TIMEOUT_MS));
}

static void put_end(void)
{
    proxy_release(proxy);
    pthread_join(slow_put.thread, NULL);
}

/* --- tests --- */

/* The server refuses one of the writes of a put with another key.  Each row is one of them. */
static void a_put_that_fails_midway_loses_nothing(void **state)
{
    static const struct {
        const char *note; /* with which it is paused; NULL: it is not */
        const char *write;
        smq_status status;
    } rows[] = {
        {NULL, "schedule{orders_1}", SMQ_UNAVAILABLE},
        {NULL, "schedule{orders_0}", SMQ_UNKNOWN},
        {NULL, ",0,,0,\r\n", SMQ_UNKNOWN},
        {"for now", "schedule{orders_1}", SMQ_UNAVAILABLE},
        {"for now", "schedule{orders_0}", SMQ_UNKNOWN},
        {"for now", ",0,,1,for now\r\n", SMQ_UNKNOWN},
    };
    smq_error err = SMQ_ERROR_INIT;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *left = rows[i].note != NULL ? ID " at 1 paused: for now; " : ID " at 1; ";
        smq_schedule_info *before, *after;

        print_message("row %zu\n", i);
        assert_int_equal(put(KEY_0, "x"), SMQ_SCHEDULE_MADE);
        if (rows[i].note != NULL) {
            assert_ok(smq_schedule_pause(client, "orders", ID, rows[i].note, &err), &err);
        }
        assert_ok(smq_schedule_get(client, "orders", ID, &before, &err), &err);
        put_until(KEY_1, rows[i].write);
        keys_refuse_writes(true);
        put_end();
        keys_refuse_writes(false);
        assert_int_equal(slow_put.status, rows[i].status);
        assert_int_equal(strstr(slow_put.err.text, "repeat") != NULL,
                         rows[i].status == SMQ_UNKNOWN);
        assert_ok(smq_schedule_get(client, "orders", ID, NULL, &err), &err);
        assert_int_equal(put(KEY_1, "slow"), SMQ_SCHEDULE_CHANGED);
        assert_int_equal(put(KEY_1, "slow"), SMQ_SCHEDULE_SAME);
        assert_listed(left);
        assert_slots("1");
        assert_ok(smq_schedule_get(client, "orders", ID, &after, &err), &err);
        assert_int_equal(after->next_at_ms, before->next_at_ms);
        smq_schedule_info_free(before);
        smq_schedule_info_free(after);
        assert_ok(smq_schedule_remove(client, "orders", ID, &err), &err);
    }
}

/* One that is half put makes no ticks, and says what to do. */
static void what_is_half_put_is_paused(void **state)
{
    smq_error err = SMQ_ERROR_INIT;

    put_until(KEY_1, ",0,,0,\r\n");
    assert_listed(ID " at 1 paused: half put: put it again; ");
    keys_refuse_writes(true);
    put_end();
    keys_refuse_writes(false);
    assert_int_equal(slow_put.status, SMQ_UNKNOWN);
    assert_ok(smq_schedule_resume(client, "orders", ID, &err), &err);
    assert_int_equal(put(KEY_1, "slow"), SMQ_SCHEDULE_SAME);
    assert_listed(ID " at 1; ");
    assert_slots("1");
}

/* Two programs put it at once, with different keys: the slow one stands still before each of its
 * writes in turn. */
static void of_two_puts_at_once_one_stays(void **state)
{
    static const char *const writes[] = {"schedule{orders_1}", ",0,,0,\r\n"};
    smq_error err = SMQ_ERROR_INIT;

    for (size_t i = 0; i < 2; i++) {
        put_until(KEY_1, writes[i]);
        (void) put(KEY_0, "quick");
        put_end();
        assert_ok(slow_put.status, &slow_put.err);
        assert_listed(ID " at 1; ");
        assert_slots("1");
        assert_ok(smq_schedule_remove(client, "orders", ID, &err), &err);
        assert_slots("");
    }
}

/* It is paused when the put has read it, and is about to remove it from the old slot. */
static void what_changes_during_a_put_is_kept(void **state)
{
    smq_error err = SMQ_ERROR_INIT;

    (void) put(KEY_0, "x");
    put_until(KEY_1, "schedule{orders_0}");
    assert_listed(ID " at 0; ");
    assert_ok(smq_schedule_pause(client, "orders", ID, "for now", &err), &err);
    put_end();
    assert_ok(slow_put.status, &slow_put.err);
    assert_int_equal(slow_put.change, SMQ_SCHEDULE_CHANGED);
    assert_listed(ID " at 1 paused: for now; ");
    assert_slots("1");
}

static void what_is_in_two_slots_is_changed_and_removed_in_both(void **state)
{
    smq_error err = SMQ_ERROR_INIT;

    (void) put(KEY_0, "x");
    copy_to_slot(0, 3);
    assert_int_equal(put(KEY_0, "y"), SMQ_SCHEDULE_CHANGED);
    assert_slots("0");
    copy_to_slot(0, 3);
    assert_int_equal(put(KEY_1, "y"), SMQ_SCHEDULE_CHANGED);
    assert_slots("1");
    copy_to_slot(1, 0);
    copy_to_slot(1, 3);
    assert_ok(smq_schedule_remove(client, "orders", ID, &err), &err);
    assert_slots("");
    assert_int_equal(smq_schedule_remove(client, "orders", ID, &err), SMQ_NO_SCHEDULE);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

TEST_GROUP(schedules)
{
    const struct CMUnitTest tests[] = {
        TEST(a_put_that_fails_midway_loses_nothing),
        TEST(what_is_half_put_is_paused),
        TEST(of_two_puts_at_once_one_stays),
        TEST(what_changes_during_a_put_is_kept),
        TEST(what_is_in_two_slots_is_changed_and_removed_in_both),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
