/* tree_exchange.h - one call of the tree's script: its arguments, and a copy of its reply that
 * reaches smq:coord.
 *
 * Below: port.h, tree_text.h.  Thread: smq:coord, except where a function says otherwise. */
#ifndef COORD_TREE_TREE_EXCHANGE_H
#define COORD_TREE_TREE_EXCHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "coord/port.h"
#include "coord/tree/tree_text.h"

struct waiter;

struct tree_exchange {
    struct coord_exchange door;
    struct loop_task task; /* its `run` is called on smq:coord when the reply has come */
    struct loop *loop;
    struct waiter *waiter; /* in place of the task: it is done when the reply has come */
    void *user;
    uint64_t number;         /* of the session; replies for earlier ones are dropped */
    struct buf bytes;        /* of the arguments, one behind the other, later of the reply */
    struct coord_word *args; /* without `data` until it is sent */
    size_t arg_count;
    enum coord_port_outcome outcome;
    char text[COORD_PORT_TEXT_MAX];
    struct coord_word *words;
    size_t word_count;
};

/* Begin a call; `run` owns it then. */
struct tree_exchange *tree_exchange_new(struct loop *loop, void (*run)(struct loop_task *task),
                                        void *user);
void tree_exchange_free(struct tree_exchange *exchange);

void tree_exchange_add(struct tree_exchange *exchange, const void *data, size_t len);
void tree_exchange_add_string(struct tree_exchange *exchange, const char *text);
void tree_exchange_add_change(struct tree_exchange *exchange, int64_t change);

void tree_exchange_send(struct tree_exchange *exchange, const struct coord_port *port,
                        int64_t timeout_ms);

#endif
