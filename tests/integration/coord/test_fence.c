/* test_fence.c - the fence generation of a fleet and its identity: raised, lost, and of others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/node/root_text.h"
#include "coord/zookeeper.h"
#include "fixture.h"
#include "support/group.h"
#include "support/wait.h"

enum { SESSION_MS = 4000 };

static struct root_info read_root(void)
{
    zhandle_t *raw = fixture_connect(NULL);
    struct root_info info = {0};
    char text[ROOT_TEXT_MAX];

    assert_true(raw_get(raw, fixture.root, text, sizeof(text), NULL));
    assert_true(root_text_parse(&info, text, strlen(text)));
    zookeeper_close(raw);
    return info;
}

static void write_root(const struct root_info *info)
{
    zhandle_t *raw = fixture_connect(NULL);
    char text[ROOT_TEXT_MAX];
    size_t len = root_text_format(text, info);

    raw_set(raw, fixture.root, text, (int) len);
    zookeeper_close(raw);
}

static bool node_has_nonce_n1(void *arg)
{
    char text[512];

    return raw_get(arg, fixture_path("/topics/t"), text, sizeof(text), NULL) &&
           strncmp(text, "nonce n1 ", 9) == 0;
}

static const char *bound_to(const char *identity)
{
    static char text[128];

    (void) snprintf(text, sizeof(text), "zookeeper:%s %s", fixture.root, identity);
    return text;
}

/* What Redis refuses is reported, and asked for anew once the generation was raised. */
static void a_raised_generation_ends_refusals(void **state)
{
    struct queue_side *a = fixture_member("a");
    struct root_info info = read_root();

    a->floor = 7;
    queue_side_join(a, "t", "n1", SLOTS, DRAIN_MS);
    assert_true(queue_side_says(a, "fleet raise-fence"));
    assert_int_equal(queue_side_count(a), 0);
    info.generation = 7;
    write_root(&info);
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(a->tokens[0].generation, 7);
    assert_int_equal(queue_side_said(a, "fleet raise-fence"), 1);
    queue_side_free(a);
}

static bool was_refused(void *arg)
{
    struct queue_side *side = arg;

    return queue_side_get(side, &side->granted) >= SLOTS;
}

/* Without the watch on the root the slots would be asked for again after the back-off, which is
 * longer here than the test waits. */
static void a_raised_generation_does_not_wait_for_the_back_off(void **state)
{
    struct queue_side *a = NULL;
    struct root_info info;

    zookeeper_timings.retry = (int64_t) 100 * WAIT_MS;
    a = fixture_member("a");
    a->floor = 7;
    queue_side_join(a, "t", "n1", SLOTS, DRAIN_MS);
    assert_true(wait_until(was_refused, a, WAIT_MS));
    info = read_root();
    info.generation = 7;
    write_root(&info);
    assert_true(queue_side_owns(a, SLOTS));
    queue_side_free(a);
}

static bool has_granted_again(void *arg)
{
    struct queue_side *side = arg;

    return queue_side_get(side, &side->granted) >= SLOTS + 2;
}

static void refuse(struct queue_side *side, int32_t slot)
{
    pthread_mutex_lock(&side->lock);
    const struct token token = side->tokens[slot];
    pthread_mutex_unlock(&side->lock);
    coord_answer(side->coord, COORD_REFUSED, "t", slot, token);
}

/* While ZooKeeper does not answer, others may have gained the slots: two refusals of one token show
 * no more than that, although the time for asking again has passed between them. */
static void refusals_without_zookeeper_show_nothing(void **state)
{
    struct queue_side *a = fixture_consumer("a");

    assert_true(queue_side_owns(a, SLOTS));
    server_pause(servers_zookeeper_server(fixture.servers));
    refuse(a, 0);
    assert_true(queue_side_says(a, "no connection to ZooKeeper"));
    refuse(a, 1);
    server_resume(servers_zookeeper_server(fixture.servers));
    assert_true(wait_until(has_granted_again, a, WAIT_MS));
    assert_int_equal(queue_side_said(a, "fleet raise-fence"), 0);
    queue_side_free(a);
}

static bool has_lost_half(void *arg)
{
    struct queue_side *side = arg;

    return queue_side_get(side, &side->lost) >= SLOTS / 2;
}

/* The server begins anew without data: its zxids are small, and it refuses a session that has seen
 * larger ones. */
static void a_fleet_survives_the_loss_of_all_data(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;
    struct root_info before;
    struct root_info after;

    assert_true(queue_side_owns(a, SLOTS));
    b = fixture_consumer("b");
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    before = read_root();
    server_kill(servers_zookeeper_server(fixture.servers));
    server_wipe(servers_zookeeper_server(fixture.servers));
    assert_true(server_restart(servers_zookeeper_server(fixture.servers)));
    assert_true(queue_side_says(a, "has not accepted the session of this member"));
    assert_true(wait_until(has_lost_half, a, WAIT_MS));
    assert_true(wait_until(has_lost_half, b, WAIT_MS));
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    after = read_root();
    assert_string_equal(after.identity, before.identity);
    assert_int_equal(after.generation, before.generation + 1);
    c = fixture_consumer("c");
    assert_true(queue_side_owns(c, SLOTS / 3));
    assert_int_equal(queue_side_get(a, &a->token_errors), 0);
    assert_int_equal(queue_side_get(b, &b->token_errors), 0);
    queue_side_free(a);
    queue_side_free(b);
    queue_side_free(c);
}

/* Two Redis clusters, each with a topic "t" of its own, and one root. */
static void a_foreign_fleet_is_named_and_the_running_one_continues(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;

    assert_true(queue_side_owns(a, SLOTS));
    b = fixture_member("b");
    queue_side_join(b, "t", "n2", SLOTS / 2, DRAIN_MS);
    assert_true(queue_side_has_failed(b));
    assert_int_equal(queue_side_failed(b), SMQ_OTHER_FLEET);
    assert_non_null(strstr(b->failed_text, "member a "));
    assert_int_equal(queue_side_get(b, &b->granted), 0);
    assert_true(queue_side_says(a, "member b "));
    assert_int_equal(queue_side_said(a, "member b "), 1);
    assert_int_equal(queue_side_failed(a), SMQ_OK);
    assert_int_equal(queue_side_get(a, &a->lost) + queue_side_get(a, &a->revoked), 0);
    c = fixture_consumer("c");
    assert_true(queue_side_owns(c, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    assert_int_equal(queue_side_said(c, "member b "), 0);
    queue_side_free(a);
    queue_side_free(b);
    queue_side_free(c);
}

/* Its session ended, and another fleet took the nodes of the topic: what it owned is gone, and it
 * says whose they are now. */
static void a_nonce_is_replaced_when_no_living_member_lists_it(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;
    struct queue_side *c = fixture_member("c"); /* it lists another topic */

    queue_side_join(c, "u", "n3", SLOTS, DRAIN_MS);
    assert_true(queue_side_owns(c, SLOTS));
    assert_true(queue_side_owns(a, SLOTS));
    queue_side_free(a);
    b = fixture_member("b");
    queue_side_join(b, "t", "n2", SLOTS / 2, DRAIN_MS);
    assert_true(queue_side_owns(b, SLOTS / 2));
    a = fixture_consumer("a");
    assert_true(queue_side_has_failed(a));
    assert_int_equal(queue_side_failed(a), SMQ_OTHER_FLEET);
    assert_int_equal(queue_side_count(b), SLOTS / 2);
    queue_side_free(a);
    queue_side_free(b);
    queue_side_free(c);
}

/* The nodes of the topic are overwritten under a living member: it continues with what it owns. */
static void a_member_whose_nonce_is_replaced_asks_redis_first(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = fixture_member("b");
    zhandle_t *raw = fixture_connect(NULL);

    assert_true(queue_side_owns(a, SLOTS));
    raw_set(raw, fixture_path("/topics/t"), "nonce n2 slots 64\n", 18);
    assert_true(wait_until(node_has_nonce_n1, raw, WAIT_MS)); /* no living member lists n2 */
    zookeeper_close(raw);
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(queue_side_failed(a), SMQ_OK);
    assert_true(queue_side_get(a, &a->checks) > 0);
    queue_side_free(a);
    queue_side_free(b);
}

/* The topic was created anew in Redis: its old consumers learn of it from the new one. */
static void a_topic_created_anew_ends_its_old_consumers(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;

    assert_true(queue_side_owns(a, SLOTS));
    queue_side_set_check(a, SMQ_NO_TOPIC, "");
    b = fixture_member("b");
    queue_side_join(b, "t", "n2", SLOTS / 2, DRAIN_MS);
    assert_true(queue_side_has_failed(a));
    assert_int_equal(queue_side_failed(a), SMQ_NO_TOPIC);
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_int_equal(queue_side_said(b, "another fleet"), 0);
    queue_side_free(a);
    queue_side_free(b);
}

/* Another ensemble answers under the same address, or ZooKeeper lost its data and a newcomer made
 * the root: the topics are bound to the identity of before until an operator says otherwise. */
static void another_identity_is_not_followed_until_redis_does(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;
    struct root_info info;

    assert_true(queue_side_owns(a, SLOTS));
    info = read_root();
    queue_side_set_check(a, SMQ_OTHER_FLEET, bound_to(info.identity));
    memset(info.identity, 'a', ROOT_IDENTITY_LEN);
    write_root(&info);
    assert_true(queue_side_says(a, "fleet raise-fence"));
    assert_int_equal(queue_side_failed(a), SMQ_OK);
    assert_int_equal(queue_side_count(a), SLOTS); /* nobody else can own them */
    queue_side_set_check(a, SMQ_OK, "");
    info.generation++;
    write_root(&info);
    b = fixture_consumer("b");
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    queue_side_free(a);
    queue_side_free(b);
}

/* That is for doctor to say, and not for each process. */
static void nodes_that_all_may_write_are_no_event(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    zhandle_t *raw = fixture_connect(NULL);

    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(zoo_delete(raw, fixture_path("/members/a"), -1), ZOK); /* it enters again */
    zookeeper_close(raw);
    assert_true(wait_until(has_lost_half, a, WAIT_MS));
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(queue_side_said(a, "zookeeper_auth"), 0);
    queue_side_free(a);
}

TEST_GROUP(fence)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_raised_generation_ends_refusals, fixture_setup),
        cmocka_unit_test_setup(a_raised_generation_does_not_wait_for_the_back_off, fixture_setup),
        cmocka_unit_test_setup(refusals_without_zookeeper_show_nothing, fixture_setup),
        cmocka_unit_test_setup(a_fleet_survives_the_loss_of_all_data, fixture_setup),
        cmocka_unit_test_setup(a_foreign_fleet_is_named_and_the_running_one_continues,
                               fixture_setup),
        cmocka_unit_test_setup(a_nonce_is_replaced_when_no_living_member_lists_it, fixture_setup),
        cmocka_unit_test_setup(a_member_whose_nonce_is_replaced_asks_redis_first, fixture_setup),
        cmocka_unit_test_setup(a_topic_created_anew_ends_its_old_consumers, fixture_setup),
        cmocka_unit_test_setup(nodes_that_all_may_write_are_no_event, fixture_setup),
        cmocka_unit_test_setup(another_identity_is_not_followed_until_redis_does, fixture_setup),
    };
    int failed = 0;

    if (!fixture_start("/fence", SESSION_MS)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("fence", tests, NULL, NULL);
    fixture_end();
    return failed;
}
