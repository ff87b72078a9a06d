/* test_assigner_read.c - which nodes the assigner asks for, and whom it takes a member for whose
 * node may not be read.  The session is a fake that answers from a list of topics and of such
 * members. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coord/assigner/assigner.h"
#include "support/group.h"

/* --- fakes --- */

enum { ASKED_MOST = 80, CROWD_MOST = ASSIGNMENT_MEMBERS_MAX + 2 };

/* A call that waits for its reply. */
struct asked {
    char path[64];
    session_reply_fn *fn;
    void *user;
};

static struct {
    char *topics[2]; /* that exist */
    size_t count;
    char *hidden[2]; /* members whose nodes may not be read */
    size_t hidden_count;
    struct buf assignment; /* of every topic */
    int logged;
    char *crowd[CROWD_MOST]; /* members whose nodes may be read */
    size_t crowd_count;
    struct asked asked[ASKED_MOST]; /* of this round; the last ones */
    size_t asked_count, answered;
} fake;

static void ask(const char *path, session_reply_fn *fn, void *user)
{
    struct asked *asked = &fake.asked[fake.asked_count++ % ASKED_MOST];

    assert_true(fake.asked_count - fake.answered <= ASKED_MOST);
    (void) snprintf(asked->path, sizeof(asked->path), "%s", path);
    asked->fn = fn;
    asked->user = user;
}

void events_log(struct events *events, smq_level level, const char *format, ...)
{
    (void) events;
    (void) level;
    (void) format;
    fake.logged++;
}

void root_mend(struct root *root)
{
    (void) root;
    fail_msg("no folder is missing");
}

void session_sync(struct session *session, const char *path, session_reply_fn *fn, void *user)
{
    (void) session;
    ask(path, fn, user);
}

void session_children(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                      void *user)
{
    (void) session;
    (void) watch;
    ask(path, fn, user);
}

void session_get(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                 void *user)
{
    (void) session;
    (void) watch;
    ask(path, fn, user);
}

static bool is_there(const char *path)
{
    for (size_t i = 0; i < fake.count; i++) {
        char node[32];
        int len = snprintf(node, sizeof(node), "topics/%s", fake.topics[i]);

        if (strncmp(path, node, (size_t) len) == 0) {
            return true;
        }
    }
    return false;
}

static void answer(const struct asked *asked)
{
    static const char node[] = "nonce abc slots 1", member[] = "slotmq-member 1\nuuid u\n";
    struct session_reply reply = {.status = SESSION_NO_NODE};

    if (strcmp(asked->path, "topics") == 0) {
        reply =
            (struct session_reply){.status = SESSION_OK, .names = fake.topics, .count = fake.count};
    } else if (strcmp(asked->path, "members") == 0 && fake.crowd_count > 0) {
        reply = (struct session_reply){
            .status = SESSION_OK, .names = fake.crowd, .count = fake.crowd_count};
    } else if (strncmp(asked->path, "members/", 8) == 0 && fake.crowd_count > 0) {
        reply =
            (struct session_reply){.status = SESSION_OK, .data = member, .len = sizeof(member) - 1};
        reply.stat.czxid = 1 + strtol(asked->path + 8, NULL, 10);
    } else if (strcmp(asked->path, "members") == 0) {
        reply = (struct session_reply){
            .status = SESSION_OK, .names = fake.hidden, .count = fake.hidden_count};
    } else if (strncmp(asked->path, "members/", 8) == 0) {
        reply.status = fake.hidden_count > 0 ? SESSION_DENIED : SESSION_NO_NODE;
    } else if (is_there(asked->path)) {
        bool assignment = strstr(asked->path, "/assignment") != NULL;

        reply = (struct session_reply){.status = SESSION_OK,
                                       .data = assignment ? fake.assignment.data : node,
                                       .len = assignment ? fake.assignment.len : sizeof(node) - 1};
    }
    asked->fn(asked->user, &reply);
}

void assigner_adopt(struct assigner *assigner)
{
    (void) assigner;
}

void assigner_gather(struct assigner *assigner)
{
    (void) assigner;
}

/* --- rounds --- */

static int rounds;

static void on_read(struct assigner *assigner, bool good)
{
    (void) assigner;
    assert_true(good);
    rounds++;
}

/* A round in which the first `count` topics exist; returns how many nodes it asks for. */
static size_t read_round(struct assigner *assigner, size_t count)
{
    fake.count = count;
    fake.asked_count = fake.answered = 0;
    rounds = 0;
    assigner_read(assigner);
    while (fake.answered < fake.asked_count) {
        struct asked asked = fake.asked[fake.answered++ % ASKED_MOST];

        answer(&asked);
    }
    assert_int_equal(rounds, 1);
    return fake.asked_count - 3; /* without the sync and the two lists */
}

static size_t count_topics(struct assigner *assigner)
{
    const struct assigner_topic *topic;
    size_t count = 0;

    LIST_FOREACH(topic, &assigner->topics, link)
    {
        count++;
    }
    return count;
}

/* A node that was there in the round before is asked for once more, together with the lists. */
static void a_topic_that_is_gone_is_forgotten(void **state)
{
    static char first[] = "one", second[] = "two";
    static const struct zookeeper_env env = {.root = "/slotmq"};
    struct session session = {.reign = 0};
    struct assigner assigner = {
        .env = &env, .ports = {.session = &session}, .active = true, .read = on_read};

    fake.topics[0] = first;
    fake.topics[1] = second;
    assert_int_equal(read_round(&assigner, 2), 4); /* of each topic the node and the assignment */
    assert_int_equal(count_topics(&assigner), 2);
    assigner_doubt(&assigner, NULL);
    assert_int_equal(read_round(&assigner, 1), 4);
    assert_int_equal(count_topics(&assigner), 1);
    assigner_doubt(&assigner, NULL);
    assert_int_equal(read_round(&assigner, 1), 2);
    assert_string_equal(LIST_FIRST(&assigner.topics)->name, "one");
    assigner_forget(&assigner);
}

/* Between two whole rounds only a node whose watch fired is read, and the other one of its topic;
 * a whole round is scheduled. */
static void a_round_reads_what_has_changed(void **state)
{
    static char first[] = "one", second[] = "two";
    static const struct zookeeper_env env = {.root = "/slotmq"};
    struct session session = {.reign = 0};
    struct assigner assigner = {
        .env = &env, .ports = {.session = &session}, .active = true, .read = on_read};

    fake.topics[0] = first;
    fake.topics[1] = second;
    assert_int_equal(read_round(&assigner, 2), 4);
    assert_int_equal(assigner.wake_at, 0);
    assigner.whole_at = INT64_MAX;
    assert_int_equal(read_round(&assigner, 2), 0);
    assert_int_equal(assigner.wake_at, INT64_MAX);
    assigner_doubt(&assigner, "topics/two/assignment");
    assigner_doubt(&assigner, "topics/unknown");
    assert_int_equal(read_round(&assigner, 2), 2);
    assert_int_equal(count_topics(&assigner), 2);
    assigner_doubt(&assigner, "topics/two");
    assert_int_equal(read_round(&assigner, 1), 2); /* it is gone */
    assert_int_equal(count_topics(&assigner), 1);
    assert_int_equal(read_round(&assigner, 2), 2); /* it is there again */
    assert_int_equal(count_topics(&assigner), 2);
    assigner.whole_at = 0;
    assert_int_equal(read_round(&assigner, 2), 4);
    assigner.whole_at = INT64_MAX;
    session.unsettled =
        true; /* what was read before another reign, or in its grace, is read again */
    assert_int_equal(read_round(&assigner, 2), 4);
    assigner.whole_at = INT64_MAX;
    session.unsettled = false;
    assert_int_equal(read_round(&assigner, 2), 4);
    assert_false(assigner.unsettled);
    assigner_forget(&assigner);
}

/* ZooKeeper does not show which incarnation the node is of.  The assignment does, and the newest
 * one counts.  Each member is logged once. */
static void a_member_that_may_not_be_read_is_the_one_that_has_slots(void **state)
{
    static char first[] = "one", owner[] = "owner", other[] = "other", gone[] = "gone";
    static const struct zookeeper_env env = {.root = "/slotmq"};
    struct session session = {.reign = 0};
    struct assigner assigner = {
        .env = &env, .ports = {.session = &session}, .active = true, .read = on_read};
    struct assignment_member members[] = {{.incarnation = 8, .id = owner},
                                          {.incarnation = 5, .id = owner},
                                          {.incarnation = 9, .id = gone}};
    uint16_t slots[] = {1};
    const struct assignment assignment = {
        .members = members, .member_count = 3, .slots = slots, .slot_count = 1};

    assignment_encode(&fake.assignment, &assignment);
    fake.topics[0] = first;
    fake.hidden[0] = owner;
    fake.hidden[1] = other;
    fake.hidden_count = 2;
    fake.logged = 0;
    for (int i = 0; i < 2; i++) {
        (void) read_round(&assigner, 1);
        assert_int_equal(assigner.member_count, 2);
        assert_string_equal(assigner.members[0].id, "other");
        assert_int_equal(assigner.members[0].incarnation, 0);
        assert_string_equal(assigner.members[1].id, "owner");
        assert_int_equal(assigner.members[1].incarnation, 8);
        assert_true(assigner.members[0].unread && assigner.members[1].unread);
        assert_int_equal(fake.logged, 2);
    }
    fake.hidden_count = 0;
    (void) read_round(&assigner, 1);
    assert_int_equal(assigner.member_count, 0);
    assigner_forget(&assigner);
    buf_fini(&fake.assignment);
}

/* They would wait for slots for ever.  It is said once, and again when it has passed in between. */
static void members_beyond_the_most_are_said(void **state)
{
    static const struct {
        size_t count;
        int logged;
    } rounds_of[] = {
        {CROWD_MOST - 2, 0}, {CROWD_MOST - 1, 1}, {CROWD_MOST, 1},
        {CROWD_MOST - 1, 1}, {CROWD_MOST - 2, 1}, {CROWD_MOST, 2},
    };
    static const struct zookeeper_env env = {.root = "/slotmq"};
    struct session session = {.reign = 0};
    struct assigner assigner = {
        .env = &env, .ports = {.session = &session}, .active = true, .read = on_read};
    char *names = memory_new((size_t) CROWD_MOST * 8);

    for (size_t i = 0; i < CROWD_MOST; i++) {
        fake.crowd[i] = names + i * 8;
        (void) snprintf(fake.crowd[i], 8, "%zu", i);
    }
    fake.logged = 0;
    for (size_t i = 0; i < sizeof(rounds_of) / sizeof(rounds_of[0]); i++) {
        fake.crowd_count = rounds_of[i].count;
        assigner_doubt(&assigner, NULL);
        (void) read_round(&assigner, 0);
        assert_int_equal(assigner.member_count, ASSIGNMENT_MEMBERS_MAX);
        assert_int_equal(fake.logged, rounds_of[i].logged);
    }
    fake.crowd_count = 0;
    assigner_forget(&assigner);
    free(names);
}

TEST_GROUP(assigner_read)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_that_is_gone_is_forgotten),
        cmocka_unit_test(a_round_reads_what_has_changed),
        cmocka_unit_test(a_member_that_may_not_be_read_is_the_one_that_has_slots),
        cmocka_unit_test(members_beyond_the_most_are_said),
    };

    return cmocka_run_group_tests_name("assigner_read", tests, NULL, NULL);
}
