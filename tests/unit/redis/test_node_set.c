/* test_node_set.c - which node of those that are up is asked next. */
#include "redis/node.h"
#include "support/group.h"

enum { NODES = 3, TRIES = 200 };

/* Nodes at three addresses, none of which is connected. */
struct three {
    struct node_set set;
    struct node *node[NODES];
};

static void three_init(struct three *three)
{
    three->set = (struct node_set){0};
    for (int i = 0; i < NODES; i++) {
        struct server_address address = {.host = "127.0.0.1", .port = (uint16_t) (7000 + i)};

        three->node[i] = node_set_get(&three->set, &address);
    }
}

/* Which nodes come in many tries: a bit each. */
static int met(struct three *three, const struct node *avoid)
{
    int bits = 0;

    for (int i = 0; i < TRIES; i++) {
        const struct node *node = node_set_any_up(&three->set, avoid);

        for (int j = 0; j < NODES; j++) {
            bits |= node == three->node[j] ? 1 << j : 0;
        }
    }
    return bits;
}

static void a_node_that_gave_no_answer_is_asked_again_only_if_it_is_the_only_one(void **state)
{
    struct three three;

    three_init(&three);
    assert_null(node_set_any_up(&three.set, NULL));
    three.node[0]->state = NODE_UP;
    assert_ptr_equal(node_set_any_up(&three.set, three.node[0]), three.node[0]);
    three.node[1]->state = three.node[2]->state = NODE_UP;
    assert_int_equal(met(&three, NULL), 7);
    assert_int_equal(met(&three, three.node[0]), 6);
    assert_int_equal(met(&three, three.node[2]), 3);
    three.node[1]->replicas_wanted = 1;
    assert_int_equal(met(&three, three.node[0]), 4);
    node_set_fini(&three.set);
}

TEST_GROUP(node_set)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_gave_no_answer_is_asked_again_only_if_it_is_the_only_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
