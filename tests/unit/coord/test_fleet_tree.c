/* test_fleet_tree.c - what an operator is shown of the nodes of a fleet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coord/fleet/fleet_tree.h"
#include "support/group.h"

enum { REVOKING = ASSIGNMENT_REVOKING, EPOCH = 100 };

/* Everything that is shown, a line each. */
static bool write_fleet(const smq_fleet_info *fleet, void *user)
{
    buf_printf(user, "fleet %s generation %d assigner %s epoch %d members %d topics %d unread %d\n",
               fleet->root, (int) fleet->generation, fleet->assigner, (int) fleet->epoch,
               (int) fleet->members, (int) fleet->topics, (int) fleet->unreadable);
    return true;
}

static bool write_member(const smq_fleet_member *member, void *user)
{
    buf_printf(user, "member %s state %d weight %d slots %d giving up %d standing by %d %s\n",
               member->name, (int) member->state, (int) member->weight, (int) member->slots,
               (int) member->giving_up, (int) member->standing_by, member->why);
    return true;
}

static bool write_topic(const smq_fleet_topic *topic, void *user)
{
    buf_printf(user, "topic %s slots %d unowned %d moving %d members %d %s\n", topic->name,
               (int) topic->slots, (int) topic->unowned, (int) topic->moving, (int) topic->members,
               topic->why);
    return true;
}

static bool write_share(const smq_fleet_share *share, void *user)
{
    buf_printf(user, "share %s slots %s: %s\n", share->member, share->ranges, share->stands_by);
    return true;
}

static bool write_move(const smq_fleet_move *move, void *user)
{
    buf_printf(user, "move %s of %s wait %d: %s\n", move->ranges, move->from, (int) move->wait,
               move->why);
    return true;
}

/* A tree of one topic of 8 slots and what it is shown as. */
struct scene {
    struct fleet_tree tree;
    struct fleet_tree_member members[3];
    struct member_topic asks[3];
    struct fleet_tree_topic topic;
    struct assignment_member known[3];
    uint16_t slots[8];
    struct buf shown;
};

static void scene_member(struct scene *scene, size_t index, const char *name)
{
    struct member_topic *asks = &scene->asks[index];

    *asks = (struct member_topic){
        .name = "t", .nonce = "n", .weight = 2, .drain_timeout_ms = 30000, .applied = EPOCH};
    scene->members[index] =
        (struct fleet_tree_member){.name = (char *) name, .incarnation = 10 + (int64_t) index};
    scene->members[index].info.topics = asks;
    scene->members[index].info.topic_count = 1;
    scene->known[index] = (struct assignment_member){
        .incarnation = 10 + (int64_t) index, .weight = 2, .id = (char *) name};
}

static void scene_set(struct scene *scene)
{
    static const char *const names[] = {"a", "b", "c"};

    *scene =
        (struct scene){.tree = {.path = "/r", .root.generation = 3, .assigner = "a", .epoch = 5},
                       .topic = {.name = "t", .nonce = "n", .slots = 8, .mzxid = EPOCH}};
    for (size_t i = 0; i < 3; i++) {
        scene_member(scene, i, names[i]);
    }
    scene->tree.members = scene->members;
    scene->tree.member_count = 2;
    scene->tree.topics = &scene->topic;
    scene->tree.topic_count = 1;
    scene->topic.assignment = (struct assignment){
        .members = scene->known, .member_count = 3, .slots = scene->slots, .slot_count = 8};
    for (int i = 0; i < 8; i++) {
        scene->slots[i] = i < 4 ? 1 : 2;
    }
}

static void scene_shows(struct scene *scene, const char *const *lines)
{
    const smq_fleet_visitor visitor = {.struct_size = sizeof(visitor),
                                       .fleet = write_fleet,
                                       .member = write_member,
                                       .topic = write_topic,
                                       .share = write_share,
                                       .move = write_move,
                                       .user = &scene->shown};

    buf_clear(&scene->shown);
    fleet_tree_visit(&scene->tree, &visitor);
    for (; *lines != NULL; lines++) {
        if (strstr(scene->shown.data, *lines) == NULL) {
            fail_msg("\"%s\" is not in:\n%s", *lines, scene->shown.data);
        }
    }
    buf_fini(&scene->shown);
}

#define SHOWS(scene, ...) scene_shows(scene, (const char *const[]){__VA_ARGS__, NULL})

static void test_a_fleet_at_rest(void **state)
{
    struct scene scene;

    scene_set(&scene);
    SHOWS(&scene, "fleet /r generation 3 assigner a epoch 5 members 2 topics 1 unread 0\n",
          "member a state 1 weight 2 slots 4 giving up 0 standing by 0 \n",
          "topic t slots 8 unowned 0 moving 0 members 2 \n", "share a slots 0-3: \n",
          "share b slots 4-7: \n");
}

static void test_what_a_moving_slot_waits_for(void **state)
{
    static const int32_t held[] = {5};
    struct scene scene;

    scene_set(&scene);
    scene.slots[4] = scene.slots[5] = 2 | REVOKING;
    scene.asks[1].applied = EPOCH - 1;
    SHOWS(&scene, "slots 2 giving up 2", "moving 2",
          "move 4-5 of b wait 1: member b has not acknowledged yet that it must release them\n");
    scene.asks[1].applied = EPOCH;
    member_slots_add(&scene.asks[1].held, held[0]);
    SHOWS(&scene,
          "move 5-5 of b wait 2: messages are in flight at member b, for 30000 ms of its "
          "drain_timeout at most\n",
          "move 4-4 of b wait 3: the assigner has not granted them to another member yet\n");
    member_slots_fini(&scene.asks[1].held);
    scene.tree.member_count = 1; /* its node is gone */
    SHOWS(&scene, "move 4-5 of b wait 3: the assigner has not granted");
    scene.tree.member_count = 0;
    SHOWS(&scene, "move 4-5 of b wait 3: no member consumes the topic: the first one that does "
                  "gets them\n");
}

static void test_who_stands_by_and_why(void **state)
{
    struct scene scene;

    scene_set(&scene);
    scene.tree.member_count = 3;
    SHOWS(&scene, "member c state 1 weight 2 slots 0 giving up 0 standing by 1 \n",
          "share c slots : the other members have all slots by their weight\n");
    scene.slots[4] = 2 | REVOKING;
    SHOWS(&scene, "share c slots : slots are moving, and it may wait for some of them\n");
    scene.slots[4] = 0;
    SHOWS(&scene, "unowned 1", "share c slots : the assigner has not granted slots yet\n");
    scene.tree.assigner[0] = '\0';
    SHOWS(&scene, "share c slots : no member assigns slots\n");
    memcpy(scene.members[2].info.state, "UNREACHABLE", sizeof("UNREACHABLE"));
    SHOWS(&scene, "member c state 2", "share c slots : it cannot reach Redis\n");
    scene.asks[2].leaving = true;
    SHOWS(&scene, "member c state 3", "share c slots : \n");
    scene.members[2].info.state[0] = '\0';
    SHOWS(&scene, "member c state 3 weight 2 slots 0 giving up 0 standing by 0",
          "share c slots : \n");
}

static void test_more_members_than_slots(void **state)
{
    struct scene scene;

    scene_set(&scene);
    scene.topic.slots = scene.topic.assignment.slot_count = 1;
    SHOWS(&scene, "share b slots : more members ask for the topic than it has slots\n");
}

static void test_nodes_that_cannot_be_read(void **state)
{
    struct scene scene;

    scene_set(&scene);
    scene.members[1].unread = fleet_tree_denied;
    scene.members[1].info = (struct member_info){.topic_count = 0};
    SHOWS(&scene, "unread 1", "member b state 4 weight 0 slots 4",
          "access is denied: give all members", "share b slots 4-7: \n");
    scene_set(&scene);
    scene.topic.unread = fleet_tree_damaged;
    scene.topic.assignment = (struct assignment){.slot_count = 0};
    SHOWS(&scene, "topic t slots 8 unowned 8 moving 0 members 2 it is damaged, or of a later",
          "share a slots : the nodes of the topic cannot be read\n");
}

static void test_a_root_that_is_missing(void **state)
{
    struct scene scene;

    scene_set(&scene);
    scene.tree = (struct fleet_tree){.path = "/r", .epoch = -1};
    SHOWS(&scene, "fleet /r generation 0 assigner  epoch -1 members 0 topics 0 unread 0\n");
}

/* --- untrusted bytes --- */

static void test_bytes_of_topics(void **state)
{
    static const struct {
        const char *text;
        int32_t slots;
    } rows[] = {{"nonce abc slots 64\n", 64}, {"nonce abc slots 8\nasked d m h\n", 8},
                {"nonce abc slots 0\n", 0},   {"nonce abc slots 65537\n", 0},
                {"nonce abc\n", 0},           {"", 0}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fleet_tree_topic topic = {.slots = 0};
        const bool good = fleet_tree_read_topic(&topic, rows[i].text, strlen(rows[i].text));

        assert_int_equal(good, rows[i].slots > 0);
        assert_int_equal(topic.slots, rows[i].slots);
        assert_ptr_equal(topic.unread, good ? NULL : fleet_tree_damaged);
    }
}

static void test_bytes_of_assignments(void **state)
{
    uint16_t owner[2] = {0, 0};
    const struct assignment assignment = {.slots = owner, .slot_count = 2};
    struct fleet_tree_topic topic = {.slots = 2};
    struct buf bytes = {0};

    assignment_encode(&bytes, &assignment);
    assert_true(fleet_tree_read_assignment(&topic, "", 0));
    assert_true(fleet_tree_read_assignment(&topic, bytes.data, bytes.len));
    assignment_fini(&topic.assignment);
    topic.slots = 4;
    assert_false(fleet_tree_read_assignment(&topic, bytes.data, bytes.len));
    assert_ptr_equal(topic.unread, fleet_tree_damaged);
    topic = (struct fleet_tree_topic){.slots = 2};
    assert_false(fleet_tree_read_assignment(&topic, bytes.data, bytes.len - 1));
    assert_ptr_equal(topic.unread, fleet_tree_damaged);
    buf_fini(&bytes);
}

/* What was listed and is gone when it is read is not shown; all others are. */
static void test_what_is_gone(void **state)
{
    static const char *const names[] = {"a", "b", "c"};
    struct fleet_tree tree = {.members = memory_new(3 * sizeof(*tree.members)),
                              .topics = memory_new(3 * sizeof(*tree.topics)),
                              .member_count = 3,
                              .topic_count = 3};

    for (int i = 0; i < 3; i++) {
        tree.members[i] =
            (struct fleet_tree_member){.name = memory_string(names[i]), .exists = i != 1};
        tree.topics[i] =
            (struct fleet_tree_topic){.name = memory_string(names[i]), .exists = i != 1};
    }
    fleet_tree_drop_gone(&tree);
    assert_int_equal(tree.member_count, 2);
    assert_string_equal(tree.members[0].name, "a");
    assert_string_equal(tree.members[1].name, "c");
    assert_int_equal(tree.topic_count, 2);
    assert_string_equal(tree.topics[0].name, "a");
    assert_string_equal(tree.topics[1].name, "c");
    fleet_tree_fini(&tree);
}

/* Its incarnation is the newest that an assignment names. */
static void test_a_member_that_may_not_be_read(void **state)
{
    struct scene scene;

    scene_set(&scene);
    scene.members[1] =
        (struct fleet_tree_member){.name = "b", .exists = true, .unread = fleet_tree_denied};
    scene.known[2] = (struct assignment_member){.incarnation = 4, .id = "b"};
    fleet_tree_find_hidden(&scene.tree);
    assert_int_equal(scene.members[1].incarnation, 11);
    assert_int_equal(scene.members[0].incarnation, 10);
    SHOWS(&scene, "member b state 4 weight 0 slots 4 giving up 0 standing by 0",
          "share b slots 4-7: \n");

    scene.members[1] =
        (struct fleet_tree_member){.name = "new", .exists = true, .unread = fleet_tree_denied};
    fleet_tree_find_hidden(&scene.tree);
    assert_int_equal(scene.members[1].incarnation, 0);
    SHOWS(&scene, "member new state 4 weight 0 slots 0");
}

static void test_bytes_of_assigners(void **state)
{
    struct fleet_tree tree = {.epoch = 0};

    assert_true(fleet_tree_read_assigner(&tree, "member m\nincarnation 7\n", 23));
    assert_string_equal(tree.assigner, "m");
    assert_false(fleet_tree_read_assigner(&tree, "", 0));
}

static bool is_kept(const char *topic, void *user)
{
    assert_string_equal(topic, "t");
    return *(const bool *) user;
}

static void test_topics_that_nobody_asks_for(void **state)
{
    static const struct {
        const char *asks; /* the topic of the only member; NULL: its node cannot be read */
        const char *unread;
        bool keep, left;
    } cases[] = {
        {.asks = "t"},
        {.asks = "other", .left = true},
        {.asks = "other", .keep = true},
        {.asks = NULL},
        {.asks = "other", .unread = fleet_tree_denied},
        {.asks = "other", .unread = fleet_tree_damaged, .left = true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene;
        struct fleet_tree_topic topic = {.name = memory_string("t"), .unread = cases[i].unread};
        bool keep = cases[i].keep;

        memset(&scene, 0, sizeof(scene));
        scene_member(&scene, 0, "a");
        scene.members[0].unread = cases[i].asks == NULL ? fleet_tree_damaged : NULL;
        (void) snprintf(scene.asks[0].name, sizeof(scene.asks[0].name), "%s",
                        cases[i].asks != NULL ? cases[i].asks : "other");
        scene.tree = (struct fleet_tree){
            .members = scene.members, .member_count = 1, .topics = &topic, .topic_count = 1};
        fleet_tree_drop_asked(&scene.tree, is_kept, &keep);
        assert_int_equal(scene.tree.topic_count, cases[i].left);
        if (cases[i].left) {
            free(topic.name);
        }
    }
}

TEST_GROUP(fleet_tree)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fleet_at_rest),
        cmocka_unit_test(test_what_a_moving_slot_waits_for),
        cmocka_unit_test(test_who_stands_by_and_why),
        cmocka_unit_test(test_more_members_than_slots),
        cmocka_unit_test(test_nodes_that_cannot_be_read),
        cmocka_unit_test(test_a_root_that_is_missing),
        cmocka_unit_test(test_bytes_of_topics),
        cmocka_unit_test(test_bytes_of_assignments),
        cmocka_unit_test(test_bytes_of_assigners),
        cmocka_unit_test(test_what_is_gone),
        cmocka_unit_test(test_a_member_that_may_not_be_read),
        cmocka_unit_test(test_topics_that_nobody_asks_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
