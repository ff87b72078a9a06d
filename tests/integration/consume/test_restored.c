/* test_restored.c - a Redis Cluster that was restored from a copy of another, whose consumers use
 * the same root in ZooKeeper: the fleet says so. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/handler_log.h"
#include "integration/fixture/keys.h"
#include "support/group.h"
#include "support/wait.h"

enum { SLOTS = 8, MASTERS = 3 };

/* --- the copy --- */

static struct servers *copy;

static int start(void **state)
{
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = MASTERS, .replicas = 1, .zookeeper = true};

    if (cluster_start(&options) != 0) {
        return -1;
    }
    options.zookeeper = false;
    copy = servers_start(&options);
    return copy != NULL ? 0 : -1;
}

static int end(void **state)
{
    servers_free(copy);
    return cluster_end(state);
}

static redisContext *connect_to(struct server *server)
{
    redisContext *redis = redisConnect("127.0.0.1", server_port(server));

    assert_non_null(redis);
    assert_int_equal(redis->err, 0);
    return redis;
}

static redisReply *answer(redisContext *redis, int type, const char *format, ...)
{
    redisReply *reply = NULL;
    va_list args;

    va_start(args, format);
    reply = redisvCommand(redis, format, args);
    va_end(args);
    assert_non_null(reply);
    assert_int_equal(reply->type, type);
    return reply;
}

/* What is stored in one master of the original is put into that of the copy. */
static void restore_node(struct server *from, struct server *to)
{
    redisContext *source = connect_to(from), *target = connect_to(to);
    redisReply *keys = answer(source, REDIS_REPLY_ARRAY, "KEYS *");

    for (size_t i = 0; i < keys->elements; i++) {
        const redisReply *key = keys->element[i];
        redisReply *dump =
            answer(source, REDIS_REPLY_STRING, "DUMP %b", key->str, (size_t) key->len);

        freeReplyObject(answer(target, REDIS_REPLY_STATUS, "RESTORE %b 0 %b", key->str,
                               (size_t) key->len, dump->str, (size_t) dump->len));
        freeReplyObject(dump);
    }
    freeReplyObject(keys);
    redisFree(source);
    redisFree(target);
}

/* --- members --- */

/* A process of a fleet, as far as the servers can tell. */
struct member {
    const char *name;
    smq_client *client;
    smq_consumer *worker;
    struct handler_log *log;
    pthread_mutex_t lock;
    int gained;     /* slots */
    int named;      /* warnings that name members of different clusters */
    char text[512]; /* the last of them */
};

static void on_event(const smq_event *event, void *user)
{
    struct member *member = user;

    pthread_mutex_lock(&member->lock);
    member->gained += event->kind == SMQ_EVENT_SLOT_GAINED ? 1 : 0;
    if (event->text != NULL && strstr(event->text, "different Redis clusters") != NULL) {
        assert_int_equal(event->level, SMQ_LEVEL_WARN);
        member->named++;
        snprintf(member->text, sizeof(member->text), "%s", event->text);
    }
    pthread_mutex_unlock(&member->lock);
}

static int value(struct member *member, const int *number)
{
    int result;

    pthread_mutex_lock(&member->lock);
    result = *number;
    pthread_mutex_unlock(&member->lock);
    return result;
}

static bool has_slots(void *arg)
{
    struct member *member = arg;

    return value(member, &member->gained) > 0;
}

static bool has_named(void *arg)
{
    struct member *member = arg;

    return value(member, &member->named) > 0;
}

/* It consumes and owns a slot. */
static void member_start(struct member *member, const char *name, const char *redis,
                         const char *topic)
{
    *member = (struct member){.name = name, .lock = PTHREAD_MUTEX_INITIALIZER};
    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.name = name, .redis = redis,
                           .zookeeper = servers_zookeeper(cluster_servers()), .event = on_event,
                           .event_level = SMQ_LEVEL_DEBUG, .event_user = member);
    member->client = cluster_client_with(&options);
    member->log = handler_log_new(NULL);
    member->worker = handler_log_worker(member->client, topic, member->log);
    assert_true(wait_until(has_slots, member, TIMEOUT_MS));
}

static void member_end(struct member *member)
{
    handler_log_stop_worker(member->worker);
    smq_client_free(member->client);
    handler_log_free(member->log);
}

/* The assigner, which is the first member, names the oldest members of whom it is so.  That these
 * are not two of the original shows that members of one cluster are not named, although a failover
 * came between the start of the first and that of the second. */
static void consumers_of_a_restored_copy_are_named(void **state)
{
    smq_client *client = cluster_client();
    const char *topic = cluster_typed_topic(client, SMQ_TYPE_FIXED_TIME, SLOTS);
    struct member first, second, third;

    member_start(&first, "first", NULL, topic);
    for (size_t i = 0; i < MASTERS; i++) {
        restore_node(servers_node(cluster_servers(), i), servers_node(copy, i));
    }
    server_kill(servers_node(cluster_servers(), 0));
    assert_true(servers_wait(cluster_servers(), TIMEOUT_MS));
    member_start(&second, "second", NULL, topic);
    member_start(&third, "third", servers_redis(copy), topic);
    assert_true(wait_until(has_named, &first, TIMEOUT_MS));
    print_message("%s\n", first.text);
    assert_non_null(strstr(first.text, topic));
    assert_non_null(strstr(first.text, "member first on host "));
    assert_non_null(strstr(first.text, "member third on host "));
    assert_non_null(strstr(first.text, "under the same ZooKeeper root /slotmq"));
    member_end(&third);
    member_end(&second);
    assert_int_equal(value(&first, &first.named), 1);
    assert_int_equal(value(&second, &second.named), 0);
    assert_int_equal(value(&third, &third.named), 0);
    member_end(&first);
    smq_client_free(client);
}

TEST_GROUP(restored)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(consumers_of_a_restored_copy_are_named),
    };

    return cmocka_run_group_tests(tests, start, end);
}
