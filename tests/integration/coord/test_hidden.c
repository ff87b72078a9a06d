/* test_hidden.c - nodes of members that may not be read: other credentials, or changed access
 * rights. */
#include <stdio.h>
#include <string.h>

#include "coord/node/member_text.h"
#include "coord/zookeeper.h"
#include "fixture.h"
#include "support/group.h"
#include "support/wait.h"

enum { SESSION_MS = 4000, LONG_SESSION_MS = 30000, LOOK_AGAIN_MS = 50 };

static zhandle_t *raw;   /* without credentials, as all members */
static zhandle_t *other; /* with others; a test that closes it makes it NULL */

static int setup(void **state)
{
    raw = fixture_connect(NULL);
    other = fixture_connect("other:secret");
    return fixture_setup(state);
}

static int teardown(void **state)
{
    zookeeper_close(raw);
    if (other != NULL) {
        zookeeper_close(other);
    }
    return 0;
}

static void end_other(void)
{
    zookeeper_close(other);
    other = NULL;
}

/* Two members that own half of the slots each; the first is the assigner. */
static void start_two(struct queue_side **a, struct queue_side **b)
{
    *a = fixture_consumer("a");
    assert_true(queue_side_owns(*a, SLOTS));
    *b = fixture_consumer("b");
    assert_true(queue_side_owns(*b, SLOTS / 2));
    assert_true(queue_side_owns(*a, SLOTS / 2));
}

/* Who calls itself "same" later finds a node of that name, which the other connection has made; the
 * result is a member that owns all slots. */
static struct queue_side *start_beside(const char *text, const struct ACL_vector *acl)
{
    struct queue_side *a = fixture_consumer("a");

    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(zoo_create(other, fixture_path("/members/same"), text, (int) strlen(text), acl,
                                ZOO_EPHEMERAL, NULL, 0),
                     ZOK);
    return a;
}

/* The node is still that of the other connection. */
static void assert_name_taken(struct queue_side *side)
{
    struct Stat stat = {0};

    assert_true(queue_side_has_failed(side));
    assert_int_equal(queue_side_failed(side), SMQ_NAME_TAKEN);
    assert_int_equal(zoo_exists(other, fixture_path("/members/same"), 0, &stat), ZOK);
    assert_int_equal(stat.ephemeralOwner, zoo_client_id(other)->client_id);
}

static void a_name_whose_node_may_not_be_read_is_said_and_taken(void **state)
{
    struct queue_side *a = start_beside("?", &ZOO_CREATOR_ALL_ACL);
    struct queue_side *side = NULL;

    side = fixture_consumer("same");
    assert_name_taken(side);
    assert_non_null(strstr(side->failed_text, "zookeeper_auth"));
    assert_int_equal(queue_side_said(side, fixture_path("/members/same")), 1);
    assert_int_equal(queue_side_count(a), SLOTS);
    queue_side_free(side);
    queue_side_free(a);
}

/* As when a process is started again with other credentials: the node of before goes with its
 * session. */
static void a_name_whose_node_may_not_be_read_is_waited_for(void **state)
{
    struct queue_side *a = start_beside("?", &ZOO_CREATOR_ALL_ACL);
    struct queue_side *side = NULL;

    fixture.session_ms = LONG_SESSION_MS;
    side = fixture_consumer("same");
    assert_true(queue_side_says(side, fixture_path("/members/same")));
    end_other();
    assert_true(queue_side_owns(side, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    assert_int_equal(queue_side_failed(side), SMQ_OK);
    queue_side_free(side);
    queue_side_free(a);
}

/* Nothing proves that its process is dead. */
static void a_name_whose_node_is_damaged_is_waited_for(void **state)
{
    struct queue_side *a = start_beside("\xff\xfe", &ZOO_OPEN_ACL_UNSAFE);
    struct queue_side *side = NULL;

    side = fixture_consumer("same");
    assert_name_taken(side);
    queue_side_free(side);

    fixture.session_ms = LONG_SESSION_MS;
    side = fixture_consumer("same");
    end_other();
    assert_true(queue_side_owns(side, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    queue_side_free(side);
    queue_side_free(a);
}

/* Neither the others nor its owner can fix it: the owner keeps what it has and the others share
 * the rest, until the access rights are as before. */
static void damage_of_a_node_that_may_not_be_read_is_waited_out(void **state)
{
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;
    struct queue_side *d = NULL;

    start_two(&a, &b);
    assert_int_equal(zoo_set_acl(other, fixture_path("/members/b"), -1, &ZOO_CREATOR_ALL_ACL), ZOK);
    raw_set(other, fixture_path("/members/b"), "\xff\xfe", 2);
    assert_true(queue_side_says(b, fixture_path("/members/b")));
    c = fixture_consumer("c");
    assert_true(queue_side_owns(c, SLOTS / 4));
    assert_true(queue_side_owns(a, SLOTS / 4));
    assert_int_equal(queue_side_count(b), SLOTS / 2);

    assert_int_equal(zoo_set_acl(other, fixture_path("/members/b"), -1, &ZOO_OPEN_ACL_UNSAFE), ZOK);
    d = fixture_consumer("d");
    assert_true(queue_side_owns(b, SLOTS / 4));
    assert_true(queue_side_owns(d, SLOTS / 4));
    assert_int_equal(queue_side_said(b, fixture_path("/members/b")), 1);
    assert_int_equal(queue_side_said(a, "the node of member b"), 1);
    assert_int_equal(queue_side_get(a, &a->lost) + queue_side_get(b, &b->lost), 0);
    queue_side_free(d);
    queue_side_free(c);
    queue_side_free(b);
    queue_side_free(a);
}

static bool owns_some(void *arg)
{
    return queue_side_count(arg) > 0;
}

/* Has the member said what it owns, because the assignment is damaged? */
static bool has_stated(void *arg)
{
    struct member_info info = {0};
    char text[4096];
    bool stated = false;

    if (raw_get(raw, fixture_path(arg), text, sizeof(text), NULL) &&
        member_text_parse(&info, text, strlen(text))) {
        stated = info.topic_count == 1 && info.topics[0].stated != 0;
    }
    member_info_fini(&info);
    return stated;
}

struct assigners {
    struct queue_side *a, *b;
    const char *words;
};

static bool assigners_said(void *arg)
{
    const struct assigners *assigners = arg;

    return queue_side_said(assigners->a, assigners->words) +
               queue_side_said(assigners->b, assigners->words) >
           0;
}

/* That one of the two that is the assigner now. */
static void await_said(struct queue_side *a, struct queue_side *b, const char *words)
{
    struct assigners assigners = {.a = a, .b = b, .words = words};

    assert_true(wait_until(assigners_said, &assigners, WAIT_MS));
}

/* Nobody tells the assigner that the access rights have changed. */
static void a_member_that_may_be_read_again_takes_part(void **state)
{
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;
    struct queue_side *d = NULL;

    start_two(&a, &b);
    raw_set_access(raw, fixture_path("/members/b"), ZOO_PERM_WRITE | ZOO_PERM_ADMIN);
    c = fixture_consumer("c");
    assert_true(queue_side_owns(c, SLOTS / 4));
    d = fixture_consumer("d");
    assert_true(wait_until(owns_some, d, WAIT_MS));
    assert_int_equal(queue_side_count(b), SLOTS / 2);
    raw_set_access(raw, fixture_path("/members/b"), ZOO_PERM_ALL);
    assert_true(queue_side_owns(b, SLOTS / 4));
    assert_true(queue_side_owns(a, SLOTS / 4));
    assert_true(queue_side_owns(c, SLOTS / 4));
    assert_true(queue_side_owns(d, SLOTS / 4));
    queue_side_free(d);
    queue_side_free(c);
    queue_side_free(b);
    queue_side_free(a);
}

/* What it owns is not known, so nothing is given to others. */
static void a_damaged_assignment_waits_for_a_member_that_may_not_be_read(void **state)
{
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;

    start_two(&a, &b);
    raw_set_access(raw, fixture_path("/members/b"), ZOO_PERM_WRITE | ZOO_PERM_ADMIN);
    fixture_damage_assignment(raw);
    await_said(a, b, "it is made anew from what the members own");
    c = fixture_consumer("c");
    assert_true(wait_until(has_stated, "/members/c", WAIT_MS));
    assert_int_equal(queue_side_get(c, &c->granted), 0);
    raw_set_access(raw, fixture_path("/members/b"), ZOO_PERM_ALL);
    assert_true(wait_until(owns_some, c, WAIT_MS));
    assert_int_equal(queue_side_get(a, &a->lost) + queue_side_get(b, &b->lost), 0);
    assert_int_equal(queue_side_get(c, &c->token_errors), 0);
    queue_side_free(c);
    queue_side_free(b);
    queue_side_free(a);
}

/* A new assigner, which has never seen the members, takes none of their slots away. */
static void members_that_may_not_be_listed_keep_their_slots(void **state)
{
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;

    start_two(&a, &b);
    raw_set_access(raw, fixture_path("/members"), ZOO_PERM_ALL & ~ZOO_PERM_READ);
    assert_int_equal(zoo_delete(raw, fixture_path("/leader"), -1), ZOK);
    await_said(a, b, "does not let the assigner list the nodes");
    assert_int_equal(queue_side_count(a), SLOTS / 2);
    assert_int_equal(queue_side_count(b), SLOTS / 2);
    raw_set_access(raw, fixture_path("/members"), ZOO_PERM_ALL);
    c = fixture_consumer("c");
    assert_true(wait_until(owns_some, c, WAIT_MS));
    assert_int_equal(queue_side_get(a, &a->lost) + queue_side_get(b, &b->lost), 0);
    assert_int_equal(queue_side_get(c, &c->token_errors), 0);
    queue_side_free(c);
    queue_side_free(b);
    queue_side_free(a);
}

/* How often member `a` said that topic `name` is denied. */
static int times_denied(struct queue_side *a, const char *name)
{
    char words[64];

    (void) snprintf(words, sizeof(words), "topic %s: ZooKeeper denies access", name);
    return queue_side_said(a, words);
}

static bool said_t_denied(void *arg)
{
    return times_denied(arg, "t") == 1;
}

static bool said_t_denied_again(void *arg)
{
    return times_denied(arg, "t") == 2;
}

/* The assigner may read the assignment, and not write it. */
static void a_topic_that_may_not_be_written_again_is_said_again(void **state)
{
    const int readable = ZOO_PERM_ALL & ~ZOO_PERM_WRITE;
    struct queue_side *a = NULL;
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;

    zookeeper_timings.hidden = LOOK_AGAIN_MS;
    a = fixture_consumer("a");
    assert_true(queue_side_owns(a, SLOTS));
    raw_set_access(raw, fixture_path("/topics/t/assignment"), readable);
    b = fixture_consumer("b");
    assert_true(wait_until(said_t_denied, a, WAIT_MS));
    raw_set_access(raw, fixture_path("/topics/t/assignment"), ZOO_PERM_ALL);
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_true(queue_side_owns(a, SLOTS / 2));
    assert_int_equal(times_denied(a, "t"), 1);
    raw_set_access(raw, fixture_path("/topics/t/assignment"), readable);
    c = fixture_consumer("c");
    assert_true(wait_until(said_t_denied_again, a, WAIT_MS));
    raw_set_access(raw, fixture_path("/topics/t/assignment"), ZOO_PERM_ALL);
    assert_true(wait_until(owns_some, c, WAIT_MS));
    assert_int_equal(times_denied(a, "t"), 2);
    queue_side_free(c);
    queue_side_free(b);
    queue_side_free(a);
}

static bool said_u_denied(void *arg)
{
    return times_denied(arg, "u") == 1;
}

static bool said_u_denied_again(void *arg)
{
    return times_denied(arg, "u") == 2;
}

/* A topic that nobody consumes.  Its assignment is damaged, which the assigner says as soon as it
 * may read it. */
static void a_topic_that_may_not_be_read_again_is_said_again(void **state)
{
    const int writable = ZOO_PERM_ALL & ~ZOO_PERM_READ;
    struct ACL acl = {.perms = writable, .id = ZOO_ANYONE_ID_UNSAFE};
    struct ACL_vector unreadable = {.count = 1, .data = &acl};
    struct queue_side *a = NULL;

    zookeeper_timings.hidden = LOOK_AGAIN_MS;
    a = fixture_consumer("a");
    assert_true(queue_side_owns(a, SLOTS));
    assert_int_equal(
        zoo_create(raw, fixture_path("/topics/u"), "?", 1, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0), ZOK);
    assert_int_equal(
        zoo_create(raw, fixture_path("/topics/u/assignment"), "?", 1, &unreadable, 0, NULL, 0),
        ZOK);
    raw_set(raw, fixture_path("/topics/u"), "?", 1); /* the assigner watches this one */
    assert_true(wait_until(said_u_denied, a, WAIT_MS));
    raw_set_access(raw, fixture_path("/topics/u/assignment"), ZOO_PERM_ALL);
    assert_true(queue_side_says(a, "topic u: its assignment in ZooKeeper cannot be read"));
    assert_int_equal(times_denied(a, "u"), 1);
    raw_set_access(raw, fixture_path("/topics/u/assignment"), writable);
    raw_set(raw, fixture_path("/topics/u"), "!", 1);
    assert_true(wait_until(said_u_denied_again, a, WAIT_MS));
    queue_side_free(a);
}

TEST_GROUP(hidden)
{
#define HIDDEN(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        HIDDEN(a_name_whose_node_may_not_be_read_is_said_and_taken),
        HIDDEN(a_name_whose_node_may_not_be_read_is_waited_for),
        HIDDEN(a_name_whose_node_is_damaged_is_waited_for),
        HIDDEN(damage_of_a_node_that_may_not_be_read_is_waited_out),
        HIDDEN(a_member_that_may_be_read_again_takes_part),
        HIDDEN(a_damaged_assignment_waits_for_a_member_that_may_not_be_read),
        HIDDEN(members_that_may_not_be_listed_keep_their_slots),
        HIDDEN(a_topic_that_may_not_be_written_again_is_said_again),
        HIDDEN(a_topic_that_may_not_be_read_again_is_said_again),
    };
    int failed = 0;

    if (!fixture_start("/hidden", SESSION_MS)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("hidden", tests, NULL, NULL);
    fixture_end();
    return failed;
}
