/* test_group_alterations.c - the groups of a topic altered by two callers at once: one of them
 * stands still before the step that decides, while the other one acts. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

/* What the request that stores an altered definition contains, and no other one. */
#define STORES "\r\nalter\r\n"

/* `slow` is a client behind the proxy. */
static struct proxy *proxy;
static smq_client *client, *slow;

static int set_up(void **state)
{
    keys_flush();
    client = cluster_client();
    proxy = proxy_start(server_port(servers_node(cluster_servers(), 0)));
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = proxy_address(proxy), .request_timeout_ms = TIMEOUT_MS);
    slow = cluster_client_with(&options);
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

static void create(const char *groups)
{
    smq_topic_options options = cluster_topic_options("orders", SMQ_TYPE_FIXED_TIME, 2);

    options.groups = groups;
    cluster_create_topic(client, &options);
}

static bool take_name(const smq_topic_info *topic, void *user)
{
    char *names = user;

    snprintf(names + strlen(names), 512 - strlen(names), "%s%s", names[0] != '\0' ? " " : "",
             topic->name);
    return true;
}

static bool take_groups(const smq_topic_info *topic, void *user)
{
    snprintf(user, 512, "%s", topic->options->groups);
    return true;
}

/* The topic has these groups, each of them takes a message, and nothing else is left. */
static void assert_groups(const char *groups, const char *names)
{
    smq_message message = messages_text("one more");
    char found[512] = "";
    smq_error err;

    assert_ok(cluster_visit(client, "orders", take_groups, found, &err), &err);
    assert_string_equal(found, groups);
    found[0] = '\0';
    assert_ok(cluster_visit(client, NULL, take_name, found, &err), &err);
    assert_string_equal(found, names);
    smq_producer *producer = messages_producer(client, NULL);
    (void) messages_send_by(producer, "orders", &message);
    smq_producer_free(producer);
    for (char *save = NULL, *name = strtok_r(found, " ", &save); name != NULL;
         name = strtok_r(NULL, " ", &save)) {
        assert_int_equal(messages_stats(client, name).waiting, 1);
    }
}

/* No definition and no slot of this group is left. */
static void assert_no_group(const char *group)
{
    char text[512], key[64];

    snprintf(key, sizeof(key), "topic.%s{orders}", group);
    assert_string_equal(keys_text(text, key, "HGET %s state", key), "");
    for (int i = 0; i < 2; i++) {
        snprintf(key, sizeof(key), "slot.%s{orders_%d}", group, i);
        assert_string_equal(keys_text(text, key, "HGET %s def", key), "");
    }
}

/* --- the slow caller --- */

static struct alter {
    pthread_t thread;
    const char *groups; /* NULL: delete orders/b */
    smq_status status;
    smq_error err;
} alter;

static void *alter_run(void *user)
{
    (void) user;
    alter.status = alter.groups != NULL
                       ? cluster_alter(slow, "orders", "groups", alter.groups, &alter.err)
                       : smq_topic_delete(slow, "orders/b", true, &alter.err);
    return NULL;
}

static bool has_kept(void *user)
{
    (void) user;
    return proxy_has_kept(proxy);
}

/* Begin an alteration, or the deletion of a group, which stands still when it sends what contains
 * this text. */
static void alter_until(const char *groups, const char *text)
{
    alter = (struct alter){.groups = groups, .err = SMQ_ERROR_INIT};
    proxy_silence_from(proxy, text);
    assert_int_equal(pthread_create(&alter.thread, NULL, alter_run, NULL), 0);
    assert_true(wait_until(has_kept, NULL, TIMEOUT_MS));
}

static void alter_end(smq_status status, const char *text)
{
    proxy_release(proxy);
    pthread_join(alter.thread, NULL);
    assert_string_equal(alter.err.text, text);
    assert_int_equal(alter.status, status);
}

static void assert_refused(const char *option, const char *value, const char *text)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(cluster_alter(client, "orders", option, value, &err), SMQ_TOPIC_DIFFERS);
    assert_string_equal(err.text, text);
}

static void assert_altered(const char *option, const char *value)
{
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(cluster_alter(client, "orders", option, value, &err), &err);
}

/* --- tests --- */

static void of_two_lists_one_is_stored(void **state)
{
    create("a");
    alter_until("a,c", STORES);
    assert_altered("groups", "a,b");
    alter_end(SMQ_TOPIC_DIFFERS,
              "another caller changed the groups of topic orders at the same time, to a,b; this "
              "call has changed nothing: try again, with all groups that the topic shall have");
    assert_no_group("c");
    assert_groups("a,b", "orders/a orders/b");
}

static void the_same_list_is_stored_once(void **state)
{
    create("a");
    alter_until("a,b", STORES);
    assert_altered("groups", "b,a");
    alter_end(SMQ_OK, "");
    assert_groups("a,b", "orders/a orders/b");
}

static void another_option_is_no_conflict(void **state)
{
    create("a");
    alter_until("a,b", STORES);
    assert_altered("max_retries", "3");
    alter_end(SMQ_OK, "");
    assert_groups("a,b", "orders/a orders/b");
    for (int i = 0; i < 2; i++) {
        const char *key = i == 0 ? "topic.a{orders}" : "topic.b{orders}";
        char text[512];

        assert_non_null(strstr(keys_text(text, key, "HGET %s definition", key), "max_retries=3"));
    }
}

/* Both drop b; the first one has sealed it when the other one begins. */
static void both_drop_the_same_group(void **state)
{
    create("a,b");
    alter_until("a,c", STORES);
    assert_altered("groups", "a");
    alter_end(SMQ_TOPIC_DIFFERS,
              "another caller changed the groups of topic orders at the same time, to a; this "
              "call has changed nothing: try again, with all groups that the topic shall have");
    assert_no_group("b");
    assert_no_group("c");
    assert_groups("a", "orders/a");
}

/* A group that stays is not altered while another caller is dropping it. */
static void a_group_that_is_being_dropped_is_told(void **state)
{
    static const char told[] = "orders/b is being dropped by another caller: try again when that "
                               "call has ended; if it was interrupted, repeat it";

    create("a,b");
    alter_until("a,c", STORES);
    assert_refused("max_retries", "3", told);
    assert_refused("groups", "a,b,d", told);
    assert_no_group("d");
    alter_end(SMQ_OK, "");
    assert_no_group("b");
    assert_groups("a,c", "orders/a orders/c");
}

/* A deletion that has not begun to seal the group yet. */
static void a_deletion_keeps_what_is_added(void **state)
{
    create("a,b");
    alter_until(NULL, "topic.b{orders}\r\n$6\r\ndelete\r\n");
    assert_altered("groups", "a,b,c");
    alter_end(SMQ_OK, "");
    assert_no_group("b");
    assert_groups("a,c", "orders/a orders/c");
}

/* It drops b and c, and a message comes into c when b is sealed. */
static void a_late_message_stops_all_of_it(void **state)
{
    create("a,b,c");
    alter_until("a,d", "topic.c{orders}\r\n$6\r\ndelete\r\n");
    assert_int_equal(keys_number("x{orders_0}", "ZADD store.c{orders_0} 1 late"), 1);
    alter_end(SMQ_NOT_EMPTY,
              "topic orders/c still holds 1 messages; consume them, or force its deletion");
    assert_int_equal(keys_number("x{orders_0}", "ZREM store.c{orders_0} late"), 1);
    assert_no_group("d");
    assert_groups("a,b,c", "orders/a orders/b orders/c");
}

/* While the definition cannot be read, it is not known whether the topic has the group that was
 * made. */
static void a_damaged_definition_leaves_it_half_done(void **state)
{
    create("a");
    alter_until("a,b", STORES);
    assert_int_equal(keys_number("topic{orders}", "HSET topic{orders} version 7 definition x"), 0);
    alter_end(SMQ_INTERNAL,
              "the stored definition of topic orders cannot be read: its fields are not those of "
              "this version of slotmq; it may be half done, because a server was away: alter the "
              "groups again");
}

static void put_schedule(const char *id, int32_t slot)
{
    const smq_message message = messages_text("x");
    const smq_schedule schedule = SMQ_SCHEDULE(.every_ms = 86400000, .message = &message);
    smq_schedule_info *info;
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_schedule_put(client, "orders", id, &schedule, NULL, &err), &err);
    assert_ok(smq_schedule_get(client, "orders", id, &info, &err), &err);
    assert_int_equal(info->slot, slot);
    smq_schedule_info_free(info);
}

static bool take_schedule(const smq_schedule_info *info, void *user)
{
    char *text = user;

    snprintf(text + strlen(text), 512 - strlen(text), "%s %s%s%s; ", info->topic, info->id,
             info->paused ? " paused: " : "", info->note);
    return true;
}

static void assert_schedules(const char *expected)
{
    char found[512] = "";
    smq_error err = SMQ_ERROR_INIT;

    assert_ok(smq_schedule_each(client, "orders", take_schedule, found, &err), &err);
    assert_string_equal(found, expected);
}

/* The alteration fails when it has copied two of three schedules.  Before it is repeated, the first
 * group loses one of the two, and the other one is paused. */
static void a_repeated_alteration_gives_a_group_its_schedules(void **state)
{
    smq_error err = SMQ_ERROR_INIT;

    create("a");
    put_schedule("bills", 0);
    put_schedule("daily", 0);
    put_schedule("reports", 1);
    alter_until("a,b", "schedule.b{orders_1}");
    keys_refuse_writes(true);
    proxy_release(proxy);
    pthread_join(alter.thread, NULL);
    keys_refuse_writes(false);
    assert_int_equal(alter.status, SMQ_UNAVAILABLE);
    assert_ok(smq_schedule_remove(client, "orders", "bills", &err), &err);
    assert_ok(smq_schedule_pause(client, "orders", "daily", "for now", &err), &err);
    assert_altered("groups", "a,b");
    assert_schedules("orders/a daily paused: for now; orders/a reports; "
                     "orders/b daily paused: for now; orders/b reports; ");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

TEST_GROUP(group_alterations)
{
    const struct CMUnitTest tests[] = {
        TEST(of_two_lists_one_is_stored),
        TEST(the_same_list_is_stored_once),
        TEST(another_option_is_no_conflict),
        TEST(both_drop_the_same_group),
        TEST(a_group_that_is_being_dropped_is_told),
        TEST(a_deletion_keeps_what_is_added),
        TEST(a_late_message_stops_all_of_it),
        TEST(a_damaged_definition_leaves_it_half_done),
        TEST(a_repeated_alteration_gives_a_group_its_schedules),
    };

    return cmocka_run_group_tests(tests, cluster_start_single, cluster_end);
}
