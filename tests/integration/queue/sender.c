/* sender.c - a client and a producer for each test.
 *
 * Thread: main. */
#include "sender.h"

smq_client *client;
smq_producer *producer;

int sender_set_up(void **state)
{
    (void) state;
    look_flush();
    client = client_made();
    producer = producer_made(client, NULL);
    return 0;
}

int sender_tear_down(void **state)
{
    (void) state;
    smq_producer_free(producer);
    smq_client_free(client);
    return 0;
}
