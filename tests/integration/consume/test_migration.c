/* test_migration.c - hash slots move to other masters while a fleet consumes and a producer sends:
 * key by key, as all servers can, and in one step, as Valkey 9 can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/members.h"
#include "integration/fixture/messages.h"
#include "support/wait.h"

enum { SLOTS = 4, KEYS = 50, MEMBERS = 2, BURST = 300, MESSAGES_MAX = 32768 };

struct kind {
    smq_topic_type type;
    smq_layout layout;
    int64_t dedup_window_ms;
};

static struct kind fixed_inline = {SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_INLINE, 0};
static struct kind fixed_keyed = {SMQ_TYPE_FIXED_TIME, SMQ_LAYOUT_KEYED, 60000};
static struct kind priority_inline = {SMQ_TYPE_PRIORITY, SMQ_LAYOUT_INLINE, 0};
static struct kind fifo_keyed = {SMQ_TYPE_FIFO, SMQ_LAYOUT_KEYED, 0};

/* --- load ---------------------------------------------------------------------------------- */

struct sending {
    struct load *load;
    char key[16], body[32];
};

/* Invariant: sendings[0..sent) were handed to the producer; the callback counts the rest. */
struct load {
    smq_client *client;
    smq_producer *producer;
    struct members members;
    struct sending *sendings;
    int sent;
    atomic_int acknowledged, refused;
};

static void load_start(struct load *load, const struct kind *kind)
{
    smq_producer_options sending = SMQ_PRODUCER_OPTIONS_INIT;
    smq_topic_options topic = SMQ_TOPIC_OPTIONS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    *load = (struct load){.client = cluster_client()};
    topic.type = kind->type;
    topic.layout = kind->layout;
    topic.dedup_window_ms = kind->dedup_window_ms;
    topic.slots = SLOTS;
    sending.send_timeout_ms = TIMEOUT_MS;
    load->sendings = calloc(MESSAGES_MAX, sizeof(*load->sendings));
    assert_non_null(load->sendings);
    assert_ok(smq_producer_new(&load->producer, load->client, &sending, &err), &err);
    members_init(&load->members, cluster_topic(load->client, &topic));
    load->members.zookeeper = true;
    load->members.session_ms = 20000; /* nobody dies here, not even of slowness */
    load->members.work_us = 500;
    for (int i = 0; i < MEMBERS; i++) {
        load->members.order = i % 2 == 0 ? SMQ_ORDER_KEY : SMQ_ORDER_SLOT;
        members_start(&load->members);
    }
}

static void load_on_sent(const smq_receipt *receipt, void *user)
{
    const struct sending *sending = user;
    struct load *load = sending->load;

    if (receipt->status == SMQ_OK) {
        history_sent(load->members.sent, load->members.topic, sending->key, sending->body);
        atomic_fetch_add(&load->acknowledged, 1);
    } else {
        print_message("%s: %s\n", sending->body, smq_status_name(receipt->status));
        atomic_fetch_add(&load->refused, 1);
    }
}

/* Send a burst without waiting for it. */
static void load_send(struct load *load)
{
    smq_error err = SMQ_ERROR_INIT;

    for (int i = 0; i < BURST; i++) {
        struct sending *sending = &load->sendings[load->sent];
        smq_message message = SMQ_MESSAGE_INIT;

        assert_true(load->sent < MESSAGES_MAX);
        sending->load = load;
        snprintf(sending->key, sizeof(sending->key), "k%d", load->sent % KEYS);
        snprintf(sending->body, sizeof(sending->body), "%s %d", sending->key, load->sent);
        message.body = smq_text(sending->body);
        message.key = smq_text(sending->key);
        assert_ok(smq_send_async(load->producer, load->members.topic, &message, load_on_sent,
                                 sending, &err),
                  &err);
        load->sent++;
    }
}

static bool load_is_acknowledged(void *arg)
{
    struct load *load = arg;

    return atomic_load(&load->acknowledged) + atomic_load(&load->refused) == load->sent;
}

static bool load_is_handled(void *arg)
{
    struct load *load = arg;

    return messages_stats(load->client, load->members.topic).done >= (uint64_t) load->sent;
}

/* Wait for the end of all, and judge it. */
static void load_end(struct load *load)
{
    struct verdict verdict;

    assert_true(wait_until(load_is_acknowledged, load, TIMEOUT_MS));
    assert_int_equal(atomic_load(&load->refused), 0);
    assert_true(wait_until(load_is_handled, load, TIMEOUT_MS));
    for (int i = 0; i < MEMBERS; i++) {
        member_leave(&load->members.member[i]);
    }
    verdict = members_judge(&load->members);
    if (!verdict_good(&verdict) || verdict.runs != (uint64_t) load->sent) {
        verdict_print(&verdict, stderr);
        fail_msg("%s", verdict.example);
    }
    assert_int_equal(verdict.sent, load->sent);
    assert_int_equal(verdict.handled, load->sent);
    members_fini(&load->members);
    smq_producer_free(load->producer);
    smq_client_free(load->client);
    free(load->sendings);
}

/* --- moves --------------------------------------------------------------------------------- */

/* One hash slot, and where it shall be. */
struct move {
    struct load *load;
    char key[64];
    int number;
    struct server *from, *to;
    char from_id[64], to_id[64];
    int acknowledged; /* before it began to move */
};

static void move_node_id(char out[64], const struct server *server)
{
    redisReply *reply = keys_command_at(server, "CLUSTER MYID");

    snprintf(out, 64, "%s", reply->str);
    freeReplyObject(reply);
}

/* The hash slot of slot `slot` of the topic, from the master that has it to the next one. */
static struct move move_of(struct load *load, int slot)
{
    struct move move = {.load = load};
    size_t masters = servers_count(cluster_servers());

    snprintf(move.key, sizeof(move.key), "slot{%s_%d}", load->members.topic, slot);
    move.number = (int) keys_number(move.key, "CLUSTER KEYSLOT %s", move.key);
    move.from = servers_node_of(cluster_servers(), move.key);
    for (size_t i = 0; i < masters; i++) {
        if (servers_node(cluster_servers(), i) == move.from) {
            move.to = servers_node(cluster_servers(), (i + 1) % masters);
        }
    }
    move_node_id(move.from_id, move.from);
    move_node_id(move.to_id, move.to);
    move.acknowledged = atomic_load(&load->acknowledged);
    return move;
}

static int move_keys_left(const struct move *move)
{
    redisReply *reply = keys_command_at(move->from, "CLUSTER COUNTKEYSINSLOT %d", move->number);
    int count = (int) reply->integer;

    freeReplyObject(reply);
    return count;
}

/* Do all nodes say that the slot is where it shall be? */
static bool move_is_known(void *arg)
{
    const struct move *move = arg;

    for (size_t i = 0; i < servers_count(cluster_servers()); i++) {
        redisReply *reply = keys_command_at(servers_node(cluster_servers(), i), "CLUSTER SLOTS");
        bool known = false;

        for (size_t j = 0; j < reply->elements; j++) {
            redisReply **range = reply->element[j]->element; /* first, last, {host, port, id} */
            known =
                known || (range[0]->integer <= move->number && move->number <= range[1]->integer &&
                          range[2]->element[1]->integer == server_port(move->to));
        }
        freeReplyObject(reply);
        if (!known) {
            return false;
        }
    }
    return true;
}

/* Messages of the other slots are acknowledged while this one is between two nodes. */
static bool move_is_passed(void *arg)
{
    const struct move *move = arg;

    return atomic_load(&move->load->acknowledged) > move->acknowledged;
}

/* As redis-cli does it, but with a burst of messages while a part of the keys has moved. */
static void move_by_keys(struct move *move)
{
    bool half = false;

    freeReplyObject(
        keys_command_at(move->to, "CLUSTER SETSLOT %d IMPORTING %s", move->number, move->from_id));
    freeReplyObject(
        keys_command_at(move->from, "CLUSTER SETSLOT %d MIGRATING %s", move->number, move->to_id));
    while (move_keys_left(move) > 0) {
        redisReply *names = keys_command_at(move->from, "CLUSTER GETKEYSINSLOT %d 1", move->number);

        freeReplyObject(keys_command_at(move->from, "MIGRATE 127.0.0.1 %d %s 0 10000",
                                        server_port(move->to), names->element[0]->str));
        freeReplyObject(names);
        if (!half) {
            half = true;
            load_send(move->load);
            assert_true(wait_until(move_is_passed, move, TIMEOUT_MS));
        }
    }
    assert_true(half);
    freeReplyObject(
        keys_command_at(move->to, "CLUSTER SETSLOT %d NODE %s", move->number, move->to_id));
    freeReplyObject(
        keys_command_at(move->from, "CLUSTER SETSLOT %d NODE %s", move->number, move->to_id));
}

static void move_at_once(struct move *move)
{
    freeReplyObject(keys_command_at(move->from, "CLUSTER MIGRATESLOTS SLOTSRANGE %d %d NODE %s",
                                    move->number, move->number, move->to_id));
}

/* Every slot of a topic moves, and all of them once more, to the third master. */
static void move_all(const struct kind *kind, void (*move_one)(struct move *move))
{
    struct load load;

    load_start(&load, kind);
    load_send(&load);
    assert_true(wait_until(load_is_handled, &load, TIMEOUT_MS));
    for (int i = 0; i < 2 * SLOTS; i++) {
        struct move move = move_of(&load, i % SLOTS);

        load_send(&load);
        move_one(&move);
        load_send(&load);
        assert_true(wait_until(move_is_known, &move, TIMEOUT_MS));
        assert_true(wait_until(move_is_passed, &move, TIMEOUT_MS));
        assert_int_equal(move_keys_left(&move), 0);
    }
    load_end(&load);
}

static void nothing_is_lost_or_handled_twice_when_keys_move(void **state)
{
    move_all(*state, move_by_keys);
}

static bool can_move_at_once(void)
{
    redisReply *reply = keys_command_at(servers_node(cluster_servers(), 0), "CLUSTER HELP");
    bool can = false;

    for (size_t i = 0; i < reply->elements; i++) {
        can = can || strstr(reply->element[i]->str, "MIGRATESLOTS") != NULL;
    }
    freeReplyObject(reply);
    return can;
}

static void nothing_is_lost_or_handled_twice_when_slots_move_at_once(void **state)
{
    move_all(*state, move_at_once);
}

#define KEYS_MOVE(kind)                                                                            \
    {                                                                                              \
        "keys_move_" #kind, nothing_is_lost_or_handled_twice_when_keys_move, NULL, NULL, &(kind)   \
    }
#define SLOTS_MOVE(kind)                                                                           \
    {                                                                                              \
        "slots_move_at_once_" #kind, nothing_is_lost_or_handled_twice_when_slots_move_at_once,     \
            NULL, NULL, &(kind)                                                                    \
    }

int main(void)
{
    const struct CMUnitTest by_keys[] = {
        KEYS_MOVE(fixed_inline),
        KEYS_MOVE(fixed_keyed),
        KEYS_MOVE(priority_inline),
        KEYS_MOVE(fifo_keyed),
    };
    const struct CMUnitTest at_once[] = {
        SLOTS_MOVE(fixed_inline),
        SLOTS_MOVE(fixed_keyed),
        SLOTS_MOVE(priority_inline),
        SLOTS_MOVE(fifo_keyed),
    };
    int failed = 0;

    if (cluster_start_fleet(NULL) != 0) {
        return 1;
    }
    failed = cmocka_run_group_tests(by_keys, NULL, NULL);
    if (can_move_at_once()) {
        failed += cmocka_run_group_tests(at_once, NULL, NULL);
    } else {
        printf("SKIPPED: this server has no CLUSTER MIGRATESLOTS; Valkey 9 has it\n");
    }
    cluster_end(NULL);
    return failed;
}
