/* sender.h - for each test a client and a producer, and nodes with room.
 *
 * Thread: main. */
#ifndef TEST_QUEUE_SENDER_H
#define TEST_QUEUE_SENDER_H

#include "look.h"

/* Between sender_set_up() and sender_tear_down(). */
extern smq_client *client;
extern smq_producer *producer;

int sender_set_up(void **state);
int sender_tear_down(void **state);
#define SENDER_TEST(test) cmocka_unit_test_setup_teardown(test, sender_set_up, sender_tear_down)

#endif
