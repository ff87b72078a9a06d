/* test_many.c - a member of many topics: what it costs ZooKeeper to begin, to leave one topic, and
 * to leave all, counted by the server. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "coord/coord.h"
#include "fixture.h"
#include "queue_side.h"
#include "support/group.h"
#include "support/wait.h"

enum { TOPICS_MOST = 1000 };
enum { SESSION_MS = 10000, DRAIN = 5000, LONG_WAIT_MS = 60000, REPLY = 4096 };

/* A member whose topics have one slot each; it answers at once. */
struct many {
    struct coord *coord;
    struct loop *call;
    struct events *events;
    pthread_mutex_t lock;
    struct token tokens[TOPICS_MOST]; /* of each topic; smq:coord */
    int owned, left;                  /* guarded by lock */
    int wanted;                       /* what many_owns() and many_has_left() wait for */
};

static void many_add(struct many *many, int *number, int more)
{
    pthread_mutex_lock(&many->lock);
    *number += more;
    pthread_mutex_unlock(&many->lock);
}

/* The number in the name of a topic. */
static int many_number(const char *topic)
{
    return atoi(strchr(topic, '-') + 1);
}

static void many_on_granted(void *user, const char *topic, const struct coord_grant *grants,
                            size_t count)
{
    struct many *many = user;

    for (size_t i = 0; i < count; i++) {
        many->tokens[many_number(topic)] = grants[i].token;
        many_add(many, &many->owned, 1);
        coord_answer(many->coord, COORD_ACQUIRED, topic, grants[i].slot, grants[i].token);
    }
}

static void many_on_revoked(void *user, const char *topic, const int32_t *slots, size_t count)
{
    struct many *many = user;

    for (size_t i = 0; i < count; i++) {
        many_add(many, &many->owned, -1);
        coord_answer(many->coord, COORD_RELEASED, topic, slots[i],
                     many->tokens[many_number(topic)]);
    }
}

static void many_on_lost(void *user, const char *topic, const int32_t *slots, size_t count)
{
    (void) user;
    (void) slots;
    (void) count;
    (void) fprintf(stderr, "a slot of %s is lost\n", topic);
    abort(); /* an assertion can fail only on the main thread */
}

static void many_on_check(void *user, const char *topic, const char *binding)
{
    (void) binding;
    coord_checked(((struct many *) user)->coord, topic, SMQ_OK, NULL);
}

static void many_on_failed(void *user, const char *topic, smq_status status, const char *text)
{
    (void) user;
    (void) status;
    (void) fprintf(stderr, "%s: %s\n", topic, text);
    abort();
}

static void many_on_left(void *user, const char *topic)
{
    struct many *many = user;

    (void) topic;
    many_add(many, &many->left, 1);
}

static void many_on_leased(void *user, int64_t until_ms, int64_t lease_ms)
{
    (void) user;
    (void) until_ms;
    (void) lease_ms;
}

static void many_on_not_released(void *user, size_t slots)
{
    (void) user;
    (void) slots;
}

static void many_on_event(const smq_event *event, void *user)
{
    (void) event;
    (void) user;
}

static struct many *many_new(void)
{
    struct many *many = memory_new(sizeof(*many));
    struct coord_options options = {.name = "many",
                                    .servers = fixture.fleet,
                                    .session_timeout_ms = SESSION_MS,
                                    .on_coordination_loss = SMQ_COORDINATION_LOSS_CONTINUE,
                                    .listener = {.check = many_on_check,
                                                 .granted = many_on_granted,
                                                 .revoked = many_on_revoked,
                                                 .lost = many_on_lost,
                                                 .failed = many_on_failed,
                                                 .left = many_on_left,
                                                 .leased = many_on_leased,
                                                 .not_released = many_on_not_released,
                                                 .user = many}};
    smq_error err;

    pthread_mutex_init(&many->lock, NULL);
    assert_int_equal(loop_new(&many->call, "smq:call", &err), SMQ_OK);
    many->events = events_new(many->call, many_on_event, SMQ_LEVEL_ERROR, many);
    options.events = many->events;
    assert_int_equal(coord_fleet_new(&many->coord, &options, &err), SMQ_OK);
    return many;
}

static void many_free(struct many *many)
{
    coord_free(many->coord);
    loop_free(many->call);
    events_free(many->events);
    pthread_mutex_destroy(&many->lock);
    free(many);
}

static const char *many_topic(int number)
{
    static char name[32];

    (void) snprintf(name, sizeof(name), "topic-%d", number);
    return name;
}

static bool many_owns_all(void *arg)
{
    struct many *many = arg;

    pthread_mutex_lock(&many->lock);
    bool all = many->owned == many->wanted;
    pthread_mutex_unlock(&many->lock);
    return all;
}

static bool many_has_left(void *arg)
{
    struct many *many = arg;

    pthread_mutex_lock(&many->lock);
    bool all = many->left == many->wanted;
    pthread_mutex_unlock(&many->lock);
    return all;
}

static void many_join(struct many *many, int topics)
{
    for (int i = 0; i < topics; i++) {
        const struct coord_topic join = {.name = many_topic(i),
                                         .nonce = "n1",
                                         .generation = 1,
                                         .slots = 1,
                                         .weight = 1,
                                         .drain_timeout_ms = DRAIN};

        coord_join(many->coord, &join);
    }
    many->wanted = topics;
    assert_true(wait_until(many_owns_all, many, LONG_WAIT_MS));
}

/* Topics `from` to below `to`; one after the other waits for the end of each. */
static void many_leave(struct many *many, int from, int to, bool one_by_one)
{
    for (int i = from; i < to; i++) {
        coord_leave(many->coord, many_topic(i));
        many->wanted = i + 1;
        if (one_by_one) {
            assert_true(wait_until(many_has_left, many, LONG_WAIT_MS));
        }
    }
    assert_true(wait_until(many_has_left, many, LONG_WAIT_MS));
}

/* How many packets the server has received. */
static long received(void)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t) server_port(servers_zookeeper_server(fixture.servers))),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int link = socket(AF_INET, SOCK_STREAM, 0);
    char reply[REPLY] = "";
    size_t len = 0;
    ssize_t more = 0;

    assert_int_equal(connect(link, (struct sockaddr *) &to, sizeof(to)), 0);
    assert_int_equal(write(link, "srvr", 4), 4);
    while ((more = read(link, reply + len, sizeof(reply) - 1 - len)) > 0) {
        len += (size_t) more;
    }
    (void) close(link);
    const char *line = strstr(reply, "Received: ");
    assert_non_null(line);
    return strtol(line + strlen("Received: "), NULL, 10);
}

struct cost {
    long start, one, rest; /* packets */
};

static struct cost cost_of(int topics, bool one_by_one)
{
    struct many *many = many_new();
    struct cost cost;
    long before = received();
    long now = 0;

    many_join(many, topics);
    now = received();
    cost.start = now - before;
    before = now;
    many_leave(many, 0, 1, false);
    now = received();
    cost.one = now - before;
    before = now;
    many_leave(many, 1, topics, one_by_one);
    cost.rest = received() - before;
    print_message("%d topics: start %ld, one left %ld, the others %s %ld\n", topics, cost.start,
                  cost.one, one_by_one ? "one by one" : "at once", cost.rest);
    many_free(many);
    return cost;
}

/* Four times the topics may cost six times the packets; the square would be sixteen times. */
static void requests_grow_with_the_topics_and_not_with_their_square(void **state)
{
    struct cost few = cost_of(250, false), many = cost_of(1000, false);

    assert_true(many.start < 6 * few.start);
    assert_true(many.rest < 6 * few.rest);
}

static void topics_that_are_left_one_by_one_cost_the_same_each(void **state)
{
    struct cost few = cost_of(40, true), many = cost_of(160, true);

    assert_true(many.rest < 6 * few.rest);
}

TEST_GROUP(many)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(requests_grow_with_the_topics_and_not_with_their_square,
                               fixture_setup),
        cmocka_unit_test_setup(topics_that_are_left_one_by_one_cost_the_same_each, fixture_setup),
    };
    int failed = 0;

    if (!fixture_start("/many", SESSION_MS)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("many", tests, NULL, NULL);
    fixture_end();
    return failed;
}
