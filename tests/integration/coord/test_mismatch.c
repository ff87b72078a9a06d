/* test_mismatch.c - members of one topic that work on different clusters are named; nodes of one
 * cluster may come and go. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coord/node/member_text.h"
#include "coord/zookeeper.h"
#include "fixture.h"
#include "support/group.h"
#include "support/wait.h"

enum { SESSION_MS = 4000, HOUR_MS = 3600000 };

static const char named[] = "are connected to different Redis clusters";

static zhandle_t *raw;

static int setup(void **state)
{
    int failed = fixture_setup(state);

    zookeeper_timings.mismatch = 200;
    zookeeper_timings.fingerprint = zookeeper_timings.remind = 1;
    raw = fixture_connect(NULL);
    return failed;
}

static int teardown(void **state)
{
    zookeeper_close(raw);
    return 0;
}

/* The fingerprint of a cluster whose nodes have these letters. */
static struct fingerprint cluster(const char *nodes)
{
    struct fingerprint fingerprint = {0};

    for (; *nodes != '\0'; nodes++) {
        fingerprint_add(&fingerprint, nodes, 1);
    }
    return fingerprint;
}

static void set_fingerprint(struct queue_side *side, const char *nodes)
{
    struct fingerprint fingerprint = cluster(nodes);

    coord_set_fingerprint(side->coord, &fingerprint);
}

/* A member of the topic "t" that works on the cluster of these nodes; NULL: it does not say. */
static struct queue_side *consumer(const char *name, const char *nodes)
{
    struct queue_side *side = fixture_member(name);

    if (nodes != NULL) {
        set_fingerprint(side, nodes);
    }
    queue_side_join(side, "t", "n1", SLOTS, DRAIN_MS);
    return side;
}

/* --- what the node of a member shows --- */

struct node {
    const char *name, *nodes;
};

static bool shows(void *arg)
{
    const struct node *node = arg;
    struct fingerprint wanted = cluster(node->nodes);
    struct member_info info = {0};
    char path[64];
    char text[4096];
    bool same = false;

    (void) snprintf(path, sizeof(path), "/members/%s", node->name);
    if (raw_get(raw, fixture_path(path), text, sizeof(text), NULL) &&
        member_text_parse(&info, text, strlen(text))) {
        same = fingerprint_equal(&info.fingerprint, &wanted);
        member_info_fini(&info);
    }
    return same;
}

static bool comes_to_show(const char *name, const char *nodes)
{
    struct node node = {.name = name, .nodes = nodes};

    return wait_until(shows, &node, WAIT_MS);
}

static void a_members_node_shows_its_fingerprint(void **state)
{
    struct queue_side *a = consumer("a", "xyz");

    assert_true(queue_side_owns(a, SLOTS));
    assert_true(shows(&(struct node){"a", "xyz"})); /* it was created with them */
    set_fingerprint(a, "xy");
    assert_true(comes_to_show("a", "xy"));
    set_fingerprint(a, "xyw");
    assert_true(comes_to_show("a", "xyw"));
    queue_side_free(a);
}

/* Heartbeats that a member has sent, by its leases. */
struct beats {
    struct queue_side *side;
    int64_t until;
    int count;
};

static bool has_beaten(void *arg)
{
    struct beats *beats = arg;

    pthread_mutex_lock(&beats->side->lock);
    beats->count += beats->side->leased_until != beats->until ? 1 : 0;
    beats->until = beats->side->leased_until;
    pthread_mutex_unlock(&beats->side->lock);
    return beats->count > 4;
}

/* Of many changes the first is shown at once, and none of the others by itself for a while; but
 * with what is written anyway. */
static void a_node_is_not_written_for_every_change(void **state)
{
    struct queue_side *a = NULL;
    struct beats beats = {0};

    zookeeper_timings.fingerprint = HOUR_MS;
    beats.side = a = consumer("a", "xyz");
    assert_true(queue_side_owns(a, SLOTS));
    set_fingerprint(a, "xy");
    assert_true(comes_to_show("a", "xy"));
    set_fingerprint(a, "xyv");
    set_fingerprint(a, "xyw");
    assert_true(wait_until(has_beaten, &beats, WAIT_MS));
    assert_true(shows(&(struct node){"a", "xy"}));
    queue_side_join(a, "u", "n1", SLOTS, DRAIN_MS);
    assert_true(comes_to_show("a", "xyw"));
    queue_side_free(a);
}

/* --- who is named --- */

static void members_of_different_clusters_are_named_once(void **state)
{
    struct queue_side *a = consumer("a", "xyz");
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;
    struct queue_side *d = NULL;

    assert_true(queue_side_owns(a, SLOTS));
    b = consumer("b", "xyz");
    c = consumer("c", "pqr");
    assert_true(queue_side_says(a, named));
    assert_int_equal(queue_side_said(a, "topic t: member a on host "), 1);
    assert_int_equal(queue_side_said(a, " and member c on host "), 1); /* and not b */
    d = consumer("d", "pqr");
    assert_true(queue_side_owns(d, SLOTS / 4));
    queue_side_free(d);

    set_fingerprint(c, "xyz"); /* it has ended, and begins again */
    assert_true(comes_to_show("c", "xyz"));
    queue_side_free(c);
    assert_true(queue_side_owns(b, SLOTS / 2));
    assert_int_equal(queue_side_said(a, named), 1);
    c = consumer("e", "pqr");
    assert_true(queue_side_says(a, " and member e on host "));
    assert_int_equal(queue_side_said(a, named), 2);
    assert_int_equal(queue_side_said(b, named), 0);
    queue_side_free(c);
    queue_side_free(b);
    queue_side_free(a);
}

static bool is_named(void *arg)
{
    struct queue_side **sides = arg;

    return queue_side_said(sides[0], named) + queue_side_said(sides[1], named) > 0;
}

static void the_next_assigner_names_them_again(void **state)
{
    struct queue_side *a = consumer("a", "xyz");
    struct queue_side *b = NULL;
    struct queue_side *c = NULL;

    assert_true(queue_side_owns(a, SLOTS));
    b = consumer("b", "xyz");
    assert_true(queue_side_owns(b, SLOTS / 2));
    c = consumer("c", "pqr");
    assert_true(queue_side_says(a, named));
    queue_side_free(a);
    assert_true(wait_until(is_named, (struct queue_side *[]){b, c}, WAIT_MS));
    queue_side_free(c);
    queue_side_free(b);
}

/* The nodes of a cluster are replaced one after another, and a member still shows the first ones;
 * another shows none, as one of an older version.  That nobody of them is named is seen from who is
 * when a member of another cluster comes: the oldest of whom it is so. */
static void members_of_one_cluster_are_not_named(void **state)
{
    struct queue_side *late = consumer("late", "xyz");
    struct queue_side *old = NULL;
    struct queue_side *middle = NULL;
    struct queue_side *other = NULL;
    struct queue_side *copied = NULL;

    assert_true(queue_side_owns(late, SLOTS));
    old = consumer("old", NULL);
    middle = consumer("middle", "yzu");
    other = consumer("other", "zuv");
    assert_true(queue_side_owns(other, SLOTS / 4));
    set_fingerprint(other, "uvw"); /* nothing that `late` shows */
    assert_true(comes_to_show("other", "uvw"));
    copied = consumer("copied", "pqr");
    assert_true(queue_side_says(late, named));
    assert_int_equal(queue_side_said(late, "member late on host "), 1);
    assert_int_equal(queue_side_said(late, "and member copied on host "), 1);
    assert_int_equal(queue_side_said(late, named), 1);
    queue_side_free(copied);
    queue_side_free(other);
    queue_side_free(middle);
    queue_side_free(old);
    queue_side_free(late);
}

TEST_GROUP(mismatch)
{
#define ON_MISMATCH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        ON_MISMATCH(a_members_node_shows_its_fingerprint),
        ON_MISMATCH(a_node_is_not_written_for_every_change),
        ON_MISMATCH(members_of_different_clusters_are_named_once),
        ON_MISMATCH(the_next_assigner_names_them_again),
        ON_MISMATCH(members_of_one_cluster_are_not_named),
    };
    int failed = 0;

    if (!fixture_start("/mismatch", SESSION_MS)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("mismatch", tests, NULL, NULL);
    fixture_end();
    return failed;
}
