#include "flow_wire.h"

#include "meter.h"

enum { RENDERED_MOST = 64 };

static bool take_replies(struct flow_wire *sender)
{
    redisReply *reply = NULL;

    while (wire_next(sender->wire, &reply)) {
        if (reply == NULL) {
            return true;
        }
        freeReplyObject(reply);
        sender->answered++;
    }
    return false;
}

static bool flush(struct flow_wire *sender)
{
    sender->rendered = 0;
    return wire_flush(sender->wire);
}

/* A sender that is late still has to write, and to read. */
static bool send_one(void *user, uint64_t number)
{
    struct flow_wire *sender = user;

    sender->render(sender->wire, sender->user, number);
    sender->asked++;
    sender->rendered++;
    return sender->rendered < RENDERED_MOST ||
           (flush(sender) && wire_take(sender->wire) && take_replies(sender));
}

static bool wait_until_due(void *user, int64_t until_ns)
{
    struct flow_wire *sender = user;
    bool ready, good = flush(sender);

    while (good && meter_now_ns() < until_ns) {
        good = wire_wait(&sender->wire, 1, until_ns, &ready) && take_replies(sender);
    }
    return good;
}

static bool end(void *user)
{
    struct flow_wire *sender = user;

    for (; sender->answered < sender->asked; sender->answered++) {
        redisReply *reply = wire_reply(sender->wire);
        if (reply == NULL) {
            return false;
        }
        freeReplyObject(reply);
    }
    return true;
}

bool flow_wire_send(struct flow_wire *sender, struct flow *flow)
{
    static const struct flow_way way = {.send = send_one, .wait = wait_until_due, .end = end};

    return flow_send(flow, &way, sender);
}

/* The end of splitmix64. */
int flow_wire_slot(uint64_t number)
{
    uint64_t mixed = number + UINT64_C(0x9e3779b97f4a7c15);

    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int) ((mixed ^ (mixed >> 31)) % FLOW_SLOTS);
}
