/* test_assigner_read.c - which nodes the assigner asks for.  The session is a fake that answers
 * from a list of topics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coord/assigner.h"

/* --- fakes --- */

enum { ASKED_MOST = 8 };

/* A call that waits for its reply. */
struct asked {
    char path[64];
    zk_reply_fn *fn;
    void *user;
};

static struct {
    char *topics[2]; /* that exist */
    size_t count;
    struct asked asked[ASKED_MOST]; /* of this round */
    size_t asked_count, answered;
} fake;

static void ask(const char *path, zk_reply_fn *fn, void *user)
{
    struct asked *asked = &fake.asked[fake.asked_count++];

    assert_true(fake.asked_count <= ASKED_MOST);
    (void) snprintf(asked->path, sizeof(asked->path), "%s", path);
    asked->fn = fn;
    asked->user = user;
}

void events_log(struct events *events, smq_level level, const char *format, ...)
{
    (void) events;
    (void) level;
    (void) format;
}

void root_mend(struct root *root)
{
    (void) root;
    fail_msg("no folder is missing");
}

void zk_sync(struct zk_session *session, const char *path, zk_reply_fn *fn, void *user)
{
    (void) session;
    ask(path, fn, user);
}

void zk_children(struct zk_session *session, const char *path, bool watch, zk_reply_fn *fn,
                 void *user)
{
    (void) session;
    (void) watch;
    ask(path, fn, user);
}

void zk_get(struct zk_session *session, const char *path, bool watch, zk_reply_fn *fn, void *user)
{
    (void) session;
    (void) watch;
    ask(path, fn, user);
}

void zk_exists(struct zk_session *session, const char *path, bool watch, zk_reply_fn *fn,
               void *user)
{
    zk_get(session, path, watch, fn, user);
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
    static const char node[] = "nonce abc slots 1";
    struct zk_reply reply = {.rc = ZNONODE};

    if (strcmp(asked->path, "topics") == 0) {
        reply = (struct zk_reply){.rc = ZOK, .names = fake.topics, .count = fake.count};
    } else if (strchr(asked->path, '/') == NULL) {
        reply.rc = ZOK;
    } else if (is_there(asked->path)) {
        bool empty = strstr(asked->path, "/assignment") != NULL;

        reply = (struct zk_reply){.rc = ZOK, .data = node, .len = empty ? 0 : sizeof(node) - 1};
    }
    asked->fn(asked->user, &reply);
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
        answer(&fake.asked[fake.answered++]);
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
    struct assigner assigner = {.env = &env, .active = true, .read = on_read};

    (void) state;
    fake.topics[0] = first;
    fake.topics[1] = second;
    assert_int_equal(read_round(&assigner, 2), 4); /* of each topic the node and the assignment */
    assert_int_equal(count_topics(&assigner), 2);
    assert_int_equal(read_round(&assigner, 1), 4);
    assert_int_equal(count_topics(&assigner), 1);
    assert_int_equal(read_round(&assigner, 1), 2);
    assert_string_equal(LIST_FIRST(&assigner.topics)->name, "one");
    assigner_forget(&assigner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topic_that_is_gone_is_forgotten),
    };

    return cmocka_run_group_tests_name("assigner_read", tests, NULL, NULL);
}
