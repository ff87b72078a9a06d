/* gate.c - see gate.h. */
#include "model/gate.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"

/* docs/decisions/0077-a-busy-redis.md has the measurements. */
enum {
    QUEUED = 16,         /* requests that may wait in the server for others */
    WINDOW_US = 5000000, /* of the shortest reply */
    SMOOTH = 8           /* the mean moves by this part of the difference to a reply */
};

/* Of n requests in flight, n * rest / reply are in work or on their way, and the others wait. */
int32_t gate_bound(int64_t rest_us, int64_t reply_us)
{
    int64_t bound;

    if (rest_us == 0 || reply_us <= rest_us) {
        return INT32_MAX;
    }
    bound = QUEUED * reply_us / (reply_us - rest_us);
    return bound < INT32_MAX ? (int32_t) bound : INT32_MAX;
}

int32_t gate_places(const struct gate *gate)
{
    int64_t rest_us = gate->least_us;

    if (gate->before_us != 0 && gate->before_us < rest_us) {
        rest_us = gate->before_us;
    }
    return gate_bound(rest_us, gate->reply_us) - gate->in_flight;
}

bool gate_admits(const struct gate *gate, const struct gate_waiter *waiter)
{
    int32_t places = gate_places(gate);
    const struct gate_waiter *other;

    TAILQ_FOREACH(other, &gate->waiting, link)
    {
        if (places <= 0 || other == waiter) {
            break;
        }
        places--;
    }
    return places > 0;
}

void gate_wait(struct gate *gate, struct gate_waiter *waiter)
{
    assert(waiter->gate == NULL);
    waiter->gate = gate;
    TAILQ_INSERT_TAIL(&gate->waiting, waiter, link);
}

void gate_leave(struct gate_waiter *waiter)
{
    if (waiter->gate != NULL) {
        TAILQ_REMOVE(&waiter->gate->waiting, waiter, link);
        waiter->gate = NULL;
    }
}

void gate_sent(struct gate *gate)
{
    gate->in_flight++;
}

static void gate_measure(struct gate *gate, int64_t reply_us, int64_t now_us)
{
    if (now_us - gate->window_us >= WINDOW_US) {
        gate->before_us = now_us - gate->window_us < INT64_C(2) * WINDOW_US ? gate->least_us : 0;
        gate->least_us = 0;
        gate->window_us = now_us;
    }
    if (gate->least_us == 0 || reply_us < gate->least_us) {
        gate->least_us = reply_us;
    }
    gate->reply_us += gate->reply_us == 0 ? reply_us : (reply_us - gate->reply_us) / SMOOTH;
}

void gate_ended(struct gate *gate, int64_t sent_us, int64_t now_us, bool replied)
{
    gate->in_flight--;
    if (replied && now_us > sent_us) {
        gate_measure(gate, now_us - sent_us, now_us);
    }
}

struct gate *gates_get(struct gates *gates, size_t server)
{
    while (gates->count <= server) {
        gates->all = memory_grow(gates->all, gates->count + 1, sizeof(*gates->all));
        gates->all[gates->count++] = NULL;
    }
    if (gates->all[server] == NULL) {
        gates->all[server] = memory_new(sizeof(struct gate));
        TAILQ_INIT(&gates->all[server]->waiting);
    }
    return gates->all[server];
}

void gates_fini(struct gates *gates)
{
    for (size_t i = 0; i < gates->count; i++) {
        free(gates->all[i]);
    }
    free(gates->all);
    *gates = (struct gates){.count = 0};
}
