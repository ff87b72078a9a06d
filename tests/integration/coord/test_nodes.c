/* test_nodes.c - nodes of a fleet that are missing, damaged, or may not be written. */
#include <stdio.h>
#include <string.h>

#include "coord/zookeeper.h"
#include "fixture.h"
#include "support/group.h"
#include "support/wait.h"

enum { SESSION_MS = 4000 };

static bool assignment_is_good(void *arg)
{
    (void) arg;
    return fixture_assignment_epoch() >= 0;
}

static void await_assignment(void)
{
    assert_true(wait_until(assignment_is_good, NULL, WAIT_MS));
}

static void a_missing_assignment_is_made_again(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    long before = 0;

    assert_true(queue_side_owns(a, SLOTS));
    before = fixture_requests();
    fixture_delete("/topics/t/assignment");
    await_assignment();
    fixture_assert_works(a);
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    fixture_assert_no_storm(before);
    queue_side_free(a);
}

static bool has_lost_all(void *arg)
{
    struct queue_side *side = arg;

    return queue_side_get(side, &side->lost) >= SLOTS;
}

static void a_missing_folder_of_members_is_made_again(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    long before = 0;

    assert_true(queue_side_owns(a, SLOTS));
    before = fixture_requests();
    while (zoo_delete(fixture.raw, fixture_path("/members"), -1) !=
           ZOK) { /* its node is made again, too */
        (void) zoo_delete(fixture.raw, fixture_path("/members/a"), -1);
    }
    assert_true(wait_until(has_lost_all, a, WAIT_MS));
    assert_true(queue_side_owns(a, SLOTS));
    fixture_assert_works(a);
    fixture_assert_no_storm(before);
    queue_side_free(a);
}

static void a_missing_folder_of_topics_is_made_again(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    long before = 0;

    assert_true(queue_side_owns(a, SLOTS));
    before = fixture_requests();
    while (zoo_delete(fixture.raw, fixture_path("/topics"), -1) != ZOK) {
        (void) zoo_delete(fixture.raw, fixture_path("/topics/t/assignment"), -1);
        (void) zoo_delete(fixture.raw, fixture_path("/topics/t"), -1);
    }
    await_assignment();
    assert_true(queue_side_owns(a, SLOTS));
    fixture_assert_works(a);
    fixture_assert_no_storm(before);
    queue_side_free(a);
}

static void damage_is_mended_at_once(void **state)
{
    struct queue_side *a = fixture_consumer("a");

    assert_true(queue_side_owns(a, SLOTS));
    raw_set(fixture.raw, fixture_path("/topics/t/assignment"), "x", 1);
    await_assignment();
    fixture_assert_works(a);
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    queue_side_free(a);
}

/* What the assigner remembers of the assignment ends with its office, so its successor asks the
 * members what they own. */
static void damage_is_mended_by_a_new_assigner(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct queue_side *b = NULL;
    long before = 0;

    assert_true(queue_side_owns(a, SLOTS));
    b = fixture_consumer("b");
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    before = fixture_requests();
    fixture_damage_assignment(fixture.raw);
    await_assignment();
    assert_int_equal(queue_side_get(a, &a->lost) + queue_side_get(b, &b->lost), 0);
    assert_int_equal(queue_side_get(a, &a->revoked), SLOTS / 2);
    queue_side_leave(b);
    assert_true(queue_side_has_left(b));
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(queue_side_get(a, &a->token_errors), 0);
    fixture_assert_no_storm(before);
    queue_side_free(b);
    queue_side_free(a);
}

/* Whatever the assigner made of it: the node is written again, so its owner is not idle for good.
 */
static void broken_bytes_in_a_members_node_are_mended(void **state)
{
    struct queue_side *a = fixture_consumer("a");

    assert_true(queue_side_owns(a, SLOTS));
    raw_set(fixture.raw, fixture_path("/members/a"), "\xff\xfe", 2);
    assert_true(wait_until(fixture_node_of_a_is_good, NULL, WAIT_MS));
    assert_true(queue_side_owns(a, SLOTS));
    fixture_assert_works(a);
    assert_int_equal(queue_side_failed(a), SMQ_OK);
    queue_side_free(a);
}

/* --- access to the own node --- */

static bool node_of_a_is_written(void *arg)
{
    const int32_t *before = arg;

    return raw_version(fixture.raw, fixture_path("/members/a")) > *before;
}

/* It cannot acknowledge, so the slots that it is to release move without it.  It says so once, does
 * not ask without a pause, and takes part again when it may write. */
static void a_member_that_may_not_write_its_node_says_so_and_recovers(void **state)
{
    enum { SHORT_DRAIN_MS = 100, EXTRA_MS = 4000, FEW = 150 };

    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;
    int64_t revoke_extra = zookeeper_timings.revoke_extra;
    int32_t version = 0;
    long before = 0;

    zookeeper_timings.revoke_extra = EXTRA_MS;
    a = fixture_member("a");
    zookeeper_timings.revoke_extra = revoke_extra;
    queue_side_join(a, "t", "n1", SLOTS, SHORT_DRAIN_MS);
    assert_true(queue_side_owns(a, SLOTS));
    raw_set_access(fixture.raw, fixture_path("/members/a"), ZOO_PERM_READ | ZOO_PERM_ADMIN);
    before = fixture_requests();
    b = fixture_consumer("b");
    assert_true(queue_side_owns(b, SLOTS / 2));
    before = fixture_requests() - before;
    print_message("%ld requests while the node could not be written\n", before);
    assert_true(before < FEW);
    assert_int_equal(queue_side_said(a, fixture_path("/members/a")), 1);

    version = raw_version(fixture.raw, fixture_path("/members/a"));
    raw_set_access(fixture.raw, fixture_path("/members/a"), ZOO_PERM_ALL);
    assert_true(wait_until(node_of_a_is_written, &version, WAIT_MS));
    c = fixture_consumer("c");
    assert_true(queue_side_owns(c, SLOTS / 3));
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    assert_int_equal(queue_side_said(a, fixture_path("/members/a")), 1);
    queue_side_free(c);
    queue_side_free(b);
    queue_side_free(a);
}

/* An administrator made the root, as for its access rights, and wrote nothing into it. */
static void an_empty_root_becomes_that_of_the_fleet(void **state)
{
    struct queue_side *first = NULL;
    struct queue_side *second = NULL;
    char text[256];

    assert_int_equal(
        zoo_create(fixture.raw, fixture.root, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0),
        ZOK);
    first = fixture_consumer("first");
    second = fixture_consumer("second");
    assert_true(queue_side_owns(second, SLOTS / 2));
    assert_true(queue_side_owns(first, SLOTS / 2));
    assert_true(raw_get(fixture.raw, fixture.root, text, sizeof(text), NULL));
    assert_non_null(strstr(text, "fence_generation 1\n"));
    queue_side_free(first);
    queue_side_free(second);
}

/* One topic more than its node has room for is refused, and those before it continue. */
static void a_member_of_too_many_topics_refuses_the_next(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    char name[MEMBER_WORD_MAX + 1], nonce[MEMBER_WORD_MAX + 1];

    assert_true(queue_side_owns(a, SLOTS));
    memset(nonce, 'n', MEMBER_WORD_MAX);
    nonce[MEMBER_WORD_MAX] = '\0';
    for (size_t text = 0; text <= MEMBER_TOPICS_MAX;) {
        (void) snprintf(name, sizeof(name), "%0200zu", text);
        queue_side_join(a, name, nonce, 1, DRAIN_MS);
        text += member_text_topic_size(name, nonce);
    }
    assert_true(queue_side_has_failed(a));
    assert_int_equal(queue_side_failed(a), SMQ_INVALID);
    assert_non_null(strstr(a->failed_text, "the node that names them in ZooKeeper is full: "
                                           "consume some of them in another process"));
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    queue_side_free(a);
}

static bool is_gone(void *arg)
{
    char text[256];

    return !raw_get(fixture.raw, fixture_path(arg), text, sizeof(text), NULL);
}

/* Whatever their nodes look like: nobody else would mend or remove them. */
static void topics_that_nobody_asks_for_are_removed(void **state)
{
    static const struct {
        char *path;
        const char *data;
    } nodes[] = {{"/topics/bare", "nonce n1 slots 4\n"}, {"/topics/broken", "nonce n1 slots 4\n"},
                 {"/topics/broken/assignment", "x"},     {"/topics/strange", "x"},
                 {"/topics/strange/assignment", ""},     {"/topics/empty", ""}};
    int64_t idle = zookeeper_timings.idle;
    struct queue_side *a = NULL;

    zookeeper_timings.idle = 100;
    a = fixture_consumer("a");
    zookeeper_timings.idle = idle;
    assert_true(queue_side_owns(a, SLOTS));
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        assert_int_equal(zoo_create(fixture.raw, fixture_path(nodes[i].path), nodes[i].data,
                                    (int) strlen(nodes[i].data), &ZOO_OPEN_ACL_UNSAFE,
                                    ZOO_PERSISTENT, NULL, 0),
                         ZOK);
    }
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        assert_true(wait_until(is_gone, nodes[i].path, WAIT_MS));
    }
    fixture_assert_works(a);
    queue_side_free(a);
}

enum { ASKERS = 700 };

/* Members that do not exist ask for a topic that has an owner, so that their names do not fit.  All
 * come at once: with some of them an assignment may fit, or not, and be too large anew. */
static void add_askers(const char *topic)
{
    static char paths[ASKERS][320], texts[ASKERS][512];
    static zoo_op_t ops[ASKERS];
    static zoo_op_result_t results[ASKERS];

    for (int i = 0; i < ASKERS; i++) {
        (void) snprintf(paths[i], sizeof(paths[i]), "%s/members/%0200d", fixture.root, i);
        (void) snprintf(texts[i], sizeof(texts[i]),
                        "slotmq-member 1\nuuid u%d\nhost h\nstate ACTIVE\n"
                        "topic %s n1 1 1000 0 0 - 0 -\n",
                        i, topic);
        zoo_create_op_init(&ops[i], paths[i], texts[i], (int) strlen(texts[i]),
                           &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
    }
    assert_int_equal(zoo_multi(fixture.raw, ASKERS, ops, results), ZOK);
}

static bool is_said(void *arg)
{
    return queue_side_said(arg, "do not fit in its assignment") > 0;
}

/* Each round finds the same.  Nothing of the topic moves, and others are assigned. */
static void an_assignment_that_is_too_large_is_said_once(void **state)
{
    enum { MANY = 65536, ROUNDS = 3 };

    struct queue_side *a = fixture_member("a");

    queue_side_join(a, "big", "n1", MANY, DRAIN_MS);
    assert_true(queue_side_owns(a, MANY));
    add_askers("big");
    assert_true(wait_until(is_said, a, WAIT_MS));
    for (int i = 0; i < ROUNDS; i++) {
        struct queue_side *b = fixture_consumer("b");

        assert_true(queue_side_owns(b, SLOTS));
        queue_side_free(b);
    }
    assert_int_equal(queue_side_said(a, "do not fit in its assignment"), 1);
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    queue_side_free(a);
}

TEST_GROUP(nodes)
{
#define ON_NODES(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, fixture_setup_raw, fixture_teardown_raw)
    const struct CMUnitTest tests[] = {
        ON_NODES(a_missing_assignment_is_made_again),
        ON_NODES(a_missing_folder_of_members_is_made_again),
        ON_NODES(a_missing_folder_of_topics_is_made_again),
        ON_NODES(an_empty_root_becomes_that_of_the_fleet),
        ON_NODES(damage_is_mended_at_once),
        ON_NODES(damage_is_mended_by_a_new_assigner),
        ON_NODES(broken_bytes_in_a_members_node_are_mended),
        ON_NODES(a_member_that_may_not_write_its_node_says_so_and_recovers),
        ON_NODES(a_member_of_too_many_topics_refuses_the_next),
        ON_NODES(topics_that_nobody_asks_for_are_removed),
        ON_NODES(an_assignment_that_is_too_large_is_said_once),
    };
    int failed = 0;

    if (!fixture_start("/nodes", SESSION_MS)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("nodes", tests, NULL, NULL);
    fixture_end();
    return failed;
}
