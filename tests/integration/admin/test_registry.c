/* test_registry.c - the list of all topics, of which Redis has lost a part or the whole. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/fresh_client.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/messages.h"
#include "support/group.h"
#include "support/wait.h"

enum { TEXT_MAX = 512 };

#define LIST "slotmq{topics}"

static void create(const char *name, const char *groups)
{
    cluster_create_topic(client, &SMQ_TOPIC_OPTIONS(.name = name, .type = SMQ_TYPE_FIXED_TIME,
                                                    .layout = SMQ_LAYOUT_KEYED, .slots = 4,
                                                    .groups = groups));
}

static void lose_list(void)
{
    freeReplyObject(keys_command(LIST, "DEL " LIST));
}

static bool is_listed(const char *name)
{
    return keys_number(LIST, "HEXISTS " LIST " %s", name) == 1;
}

static bool visit(const smq_topic_info *topic, void *user)
{
    char *text = user;
    size_t used = strlen(text);

    (void) snprintf(text + used, TEXT_MAX - used, "%s%s%s%s", used > 0 ? " " : "", topic->name,
                    topic->unlisted ? "!" : "", topic->damaged ? "?" : "");
    return true;
}

/* The names of all topics; behind one that is not listed stands "!", behind one without a
 * definition
 * "?". */
static void assert_topics(const char *which, const char *expected)
{
    char text[TEXT_MAX] = "";
    smq_error err;

    assert_ok(cluster_visit(client, which, visit, text, &err), &err);
    assert_string_equal(text, expected);
}

static smq_topic_report all_repaired(void)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    assert_ok(smq_topic_repair(client, "*", &report, &err), &err);
    return report;
}

static void a_lost_list_is_said_and_made_anew(void **state)
{
    char *metrics = NULL;
    smq_topic_report report;
    smq_error err;

    create("a", NULL);
    create("b", NULL);
    create("gone", NULL);
    create("g", "x,y");
    assert_ok(smq_topic_delete(client, "gone", true, &err), &err);
    assert_topics(NULL, "a b g/x g/y");
    assert_false(all_repaired().repaired);
    lose_list();
    assert_topics(NULL, "a! b! g/x! g/y!");
    assert_topics("*", "a! b! g/x! g/y!");
    assert_ok(smq_metrics_text(client, "*", &metrics, &err), &err);
    assert_non_null(strstr(metrics, "slotmq_topic_unlisted{topic=\"a\"} 1\n"));
    assert_non_null(strstr(metrics, "slotmq_topic_messages_waiting{topic=\"a\"} 0\n"));
    smq_free(metrics);
    report = all_repaired();
    assert_true(report.repaired);
    assert_non_null(strstr(report.text, "a: its name was missing in the list of topics"));
    assert_topics(NULL, "a b g/x g/y");
    assert_int_equal(keys_number(LIST, "HLEN " LIST), 4);
    assert_false(all_repaired().repaired);
}

/* A failover may lose the newest names only. */
static void one_name_that_is_lost_is_found_among_all_keys(void **state)
{
    create("a", NULL);
    create("b", NULL);
    freeReplyObject(keys_command(LIST, "HDEL " LIST " b"));
    assert_topics(NULL, "a");
    assert_topics("*", "a b!");
    assert_true(all_repaired().repaired);
    assert_topics(NULL, "a b");
}

static void so_is_a_topic_that_has_lost_its_definition_too(void **state)
{
    create("a", NULL);
    create("b", NULL);
    keys_lose_topic("b");
    lose_list();
    assert_topics(NULL, "a! b!?");
    assert_true(all_repaired().restored);
    assert_topics(NULL, "a b");
}

/* Whoever lists one topic again says that others may be missing. */
static void a_change_of_one_topic_leaves_the_loss_visible(void **state)
{
    smq_topic_report report = SMQ_TOPIC_REPORT_INIT;
    smq_error err;

    create("a", NULL);
    create("b", NULL);
    create("g", "x,y");
    lose_list();
    assert_ok(cluster_alter(client, "a", "max_retries", "3", &err), &err);
    assert_topics(NULL, "a b! g/x! g/y!");
    assert_ok(cluster_alter(client, "g", "max_retries", "3", &err), &err);
    assert_topics(NULL, "a b! g/x g/y");
    lose_list();
    assert_ok(smq_topic_repair(client, "a", &report, &err), &err);
    assert_string_equal(report.text, "its name was missing in the list of topics");
    assert_topics(NULL, "a b! g/x! g/y!");
    lose_list();
    create("a", NULL);
    assert_topics(NULL, "a b! g/x! g/y!");
    assert_true(all_repaired().repaired);
    assert_topics(NULL, "a b g/x g/y");
}

static void so_does_the_creation_of_another(void **state)
{
    create("a", NULL);
    lose_list();
    create("b", NULL);
    assert_topics(NULL, "a! b");
}

static void without_topics_there_is_nothing_to_say(void **state)
{
    smq_error err;

    assert_topics(NULL, "");
    assert_topics("*", "");
    create("a", NULL);
    assert_ok(smq_topic_delete(client, "a", true, &err), &err);
    freeReplyObject(keys_command("topic{others}", "SET topic{others} precious"));
    freeReplyObject(keys_command("slot{others_1}", "SET slot{others_1} precious"));
    assert_topics(NULL, "");
    assert_topics("*", "");
}

/* --- owners --- */

static atomic_int restored;

static void on_event(const smq_event *event, void *user)
{
    (void) user;
    if (event->kind == SMQ_EVENT_LOG && event->level == SMQ_LEVEL_WARN &&
        strstr(event->text, "topic repair --all") != NULL) {
        atomic_fetch_add(&restored, 1);
    }
}

static bool is_restored(void *arg)
{
    (void) arg;
    return atomic_load(&restored) > 0 && is_listed("a");
}

static void an_owner_lists_its_topic_again(void **state)
{
    struct handler_log *log = handler_log_new(NULL);
    smq_client *own;
    smq_consumer *worker;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.event = on_event);
    own = cluster_client_with(&options);
    create("a", NULL);
    create("b", NULL);
    worker = handler_log_worker(own, "a", log);
    lose_list();
    assert_true(wait_until(is_restored, NULL, TIMEOUT_MS));
    assert_topics(NULL, "a b!");
    handler_log_stop_worker(worker);
    handler_log_free(log);
    smq_client_free(own);
    assert_int_equal(atomic_load(&restored), 1);
}

TEST_GROUP(registry)
{
    const struct CMUnitTest tests[] = {
        FRESH_CLIENT_TEST(a_lost_list_is_said_and_made_anew),
        FRESH_CLIENT_TEST(one_name_that_is_lost_is_found_among_all_keys),
        FRESH_CLIENT_TEST(so_is_a_topic_that_has_lost_its_definition_too),
        FRESH_CLIENT_TEST(a_change_of_one_topic_leaves_the_loss_visible),
        FRESH_CLIENT_TEST(so_does_the_creation_of_another),
        FRESH_CLIENT_TEST(without_topics_there_is_nothing_to_say),
        FRESH_CLIENT_TEST(an_owner_lists_its_topic_again),
    };

    return cmocka_run_group_tests_name("registry", tests, cluster_start_masters, cluster_end);
}
