/* test_migration.c - hash slots move to other masters while a fleet consumes and a producer sends:
 * key by key, as all servers can, and in one step, as Valkey 9 can; and a move is given up. */
#include <stdio.h>
#include <string.h>

#include "integration/fixture/cluster.h"
#include "integration/fixture/hash_slots.h"
#include "integration/fixture/keys.h"
#include "integration/fixture/load.h"
#include "integration/fixture/messages.h"
#include "integration/fixture/sharers.h"
#include "support/group.h"
#include "support/long_form.h"

/* A claim of a shared topic ends with its lease, and is not answered while its slot is half moved:
 * with a shorter lease messages would rightly begin again. */
enum { LEASE_MS = 120000 };

/* The quick form has the first of them. */
static struct kind {
    const char *name;
    struct load_options options;
} kinds[] = {
    {"fixed_time_inline", {.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_INLINE}},
    {"fixed_time_keyed",
     {.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED, .dedup_window_ms = 60000}},
    {"priority_inline", {.type = SMQ_TYPE_PRIORITY, .layout = SMQ_LAYOUT_INLINE}},
    {"fifo_keyed", {.type = SMQ_TYPE_FIFO, .layout = SMQ_LAYOUT_KEYED}},
    {"shared",
     {.type = SMQ_TYPE_FIXED_TIME,
      .layout = SMQ_LAYOUT_INLINE,
      .shared = true,
      .lease_ms = LEASE_MS}},
    {"range_merge_inline", {.type = SMQ_TYPE_RANGE_MERGE, .layout = SMQ_LAYOUT_INLINE}},
    {"range_merge_keyed", {.type = SMQ_TYPE_RANGE_MERGE, .layout = SMQ_LAYOUT_KEYED}},
    {"priority_keyed", {.type = SMQ_TYPE_PRIORITY, .layout = SMQ_LAYOUT_KEYED}},
};

enum { KINDS_MAX = sizeof(kinds) / sizeof(kinds[0]), SHARERS = 8 };

/* A part of the keys has moved; messages of the other slots are acknowledged all the time. */
static void half_moved(struct load *load, int64_t ms)
{
    int acknowledged = load_acknowledged(load);

    load_keep(load, ms);
    load_await_more(load, acknowledged);
}

/* As redis-cli does it, but with messages while a part of the keys has moved. */
static void move_by_keys(struct load *load, const struct hash_slot_move *move, int64_t half_ms)
{
    hash_slot_open(move);
    assert_true(hash_slot_move_key(move));
    half_moved(load, half_ms);
    while (hash_slot_move_key(move)) {
    }
    hash_slot_close(move);
}

static void move_at_once(struct load *load, const struct hash_slot_move *move, int64_t half_ms)
{
    (void) load;
    (void) half_ms; /* never half moved */
    freeReplyObject(keys_command_at(move->from, "CLUSTER MIGRATESLOTS SLOTSRANGE %d %d NODE %s",
                                    move->number, move->number, move->to_id));
}

typedef void move_fn(struct load *load, const struct hash_slot_move *move, int64_t half_ms);

/* Every slot of a topic moves, and all of them once more, to the third master.  The first of them
 * may be half moved for long. */
static void move_all(const struct kind *kind, move_fn *move_one)
{
    struct load *load = load_start(&kind->options);

    load_send(load, long_form(SIZE_BURST));
    load_await_handled(load);
    for (int i = 0; i < 2 * LOAD_SLOTS; i++) {
        struct hash_slot_move move = hash_slot_of(load_topic(load), i % LOAD_SLOTS, NULL);
        int acknowledged = load_acknowledged(load);

        load_send(load, long_form(SIZE_BURST));
        move_one(load, &move, i == 0 ? long_form(SIZE_HALF_MOVED_MS) : 0);
        load_send(load, long_form(SIZE_BURST));
        hash_slot_await(&move);
        load_await_more(load, acknowledged);
        assert_int_equal(hash_slot_keys_left(&move), 0);
    }
    load_end_each_once(load);
}

static void nothing_is_lost_or_handled_twice_when_keys_move(void **state)
{
    move_all(*state, move_by_keys);
}

/* Both masters go back to what they were, before a key has moved. */
static void nothing_is_lost_or_handled_twice_when_a_move_is_given_up(void **state)
{
    const struct kind *kind = *state;
    struct load *load = load_start(&kind->options);

    load_send(load, long_form(SIZE_BURST));
    load_await_handled(load);
    for (int slot = 0; slot < LOAD_SLOTS; slot++) {
        struct hash_slot_move move = hash_slot_of(load_topic(load), slot, NULL);

        load_send(load, long_form(SIZE_BURST));
        hash_slot_open(&move);
        load_keep(load, slot == 0 ? long_form(SIZE_HALF_MOVED_MS) : 0);
        hash_slot_abort(&move);
        load_send(load, long_form(SIZE_BURST));
    }
    load_end_each_once(load);
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

/* The tree of a fleet in Redis: before its key has moved, when it has, and when all know it. */
static void members_keep_their_slots_when_their_tree_moves(void **state)
{
    struct load *load = load_start(&load_in_redis);
    struct hash_slot_move move = hash_slot_of_key(LOAD_TREE);

    (void) state;
    load_round(load);
    hash_slot_open(&move);
    half_moved(load, long_form(SIZE_HALF_MOVED_MS));
    while (hash_slot_move_key(&move)) {
    }
    half_moved(load, long_form(SIZE_HALF_MOVED_MS));
    hash_slot_close(&move);
    load_round(load);
    hash_slot_await(&move);
    load_end_each_once(load);
}

/* Who sleeps in a shared topic, and has no messages while its slot moves. */
static void sharers_hear_the_master_to_which_their_slot_moves(void **state)
{
    smq_client *client = cluster_client();
    struct hash_slot_move move;
    struct sharers sharers;

    sharers_begin(&sharers, client, 1);
    sharers_grow(&sharers, SHARERS, NULL);
    move = hash_slot_of(sharers.topic, 0, NULL);
    hash_slot_open(&move);
    while (hash_slot_move_key(&move)) {
    }
    hash_slot_close(&move);
    messages_send_numbers(client, sharers.topic, 0, 1);
    sharers_await(&sharers, 1, SHARERS_BY_ITSELF_MS);
    hash_slot_await(&move);
    sharers_check_wakes(&sharers, client);
    sharers_end(&sharers);
    smq_client_free(client);
}

/* The same test of each kind; how many failed. */
static int run_kinds(const char *what, CMUnitTestFunction test)
{
    static char names[KINDS_MAX][64];
    struct CMUnitTest tests[KINDS_MAX];
    int count = long_form(SIZE_MOVED_KINDS);

    assert_in_range(count, 1, KINDS_MAX);
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof(names[i]), "%s_%s", what, kinds[i].name);
        tests[i] = (struct CMUnitTest){names[i], test, NULL, NULL, &kinds[i]};
    }
    return _cmocka_run_group_tests(what, tests, (size_t) count, NULL, NULL);
}

TEST_GROUP(migration)
{
    const struct CMUnitTest sleeping[] = {
        cmocka_unit_test(sharers_hear_the_master_to_which_their_slot_moves),
        cmocka_unit_test(members_keep_their_slots_when_their_tree_moves),
    };
    int failed = 0;

    if (cluster_start_fleet(NULL) != 0) {
        return 1;
    }
    failed = run_kinds("keys_move", nothing_is_lost_or_handled_twice_when_keys_move);
    failed += run_kinds("move_given_up", nothing_is_lost_or_handled_twice_when_a_move_is_given_up);
    if (can_move_at_once()) {
        failed += run_kinds("slots_move_at_once",
                            nothing_is_lost_or_handled_twice_when_slots_move_at_once);
    } else {
        printf("SKIPPED: this server has no CLUSTER MIGRATESLOTS; Valkey 9 has it\n");
    }
    failed += cmocka_run_group_tests_name("sharers", sleeping, NULL, NULL);
    cluster_end(NULL);
    return failed;
}
