/* tree_exchange.c - see tree_exchange.h.
 *
 * Thread: smq:coord; tree_exchange_on_done() and tree_exchange_on_drop() run on any. */
#include "coord/tree/tree_exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/waiter.h"

void tree_exchange_free(struct tree_exchange *exchange)
{
    buf_fini(&exchange->bytes);
    free(exchange->args);
    free(exchange->words);
    free(exchange);
}

/* Let each word point to its bytes, which lie one behind the other. */
static void tree_exchange_point(struct coord_word *words, size_t count, const struct buf *bytes)
{
    const char *at = bytes->len > 0 ? bytes->data : "";

    for (size_t i = 0; i < count; i++) {
        words[i].data = at;
        at += words[i].len;
    }
}

static void tree_exchange_on_done(struct coord_exchange *door)
{
    struct tree_exchange *exchange = OWNER_OF(door, struct tree_exchange, door);

    exchange->outcome = door->outcome;
    (void) snprintf(exchange->text, sizeof(exchange->text), "%s",
                    door->text != NULL ? door->text : "");
    buf_clear(&exchange->bytes);
    if (door->outcome == COORD_PORT_DONE) {
        exchange->words = memory_new((door->word_count + 1) * sizeof(*exchange->words));
        exchange->word_count = door->word_count;
        for (size_t i = 0; i < door->word_count; i++) {
            exchange->words[i].len = door->words[i].len;
            buf_add(&exchange->bytes, door->words[i].data, door->words[i].len);
        }
        tree_exchange_point(exchange->words, exchange->word_count, &exchange->bytes);
    }
    if (exchange->waiter != NULL) {
        struct waiter *waiter = exchange->waiter;

        tree_exchange_free(exchange);
        waiter_done(waiter);
        return;
    }
    loop_post(exchange->loop, &exchange->task);
}

static void tree_exchange_on_drop(struct coord_exchange *door)
{
    tree_exchange_free(OWNER_OF(door, struct tree_exchange, door));
}

struct tree_exchange *tree_exchange_new(struct loop *loop, void (*run)(struct loop_task *task),
                                        void *user)
{
    struct tree_exchange *exchange = memory_new(sizeof(*exchange));

    exchange->loop = loop;
    exchange->task.run = run;
    exchange->user = user;
    return exchange;
}

void tree_exchange_add(struct tree_exchange *exchange, const void *data, size_t len)
{
    if ((exchange->arg_count & (exchange->arg_count - 1)) == 0) { /* for twice as many */
        exchange->args =
            memory_grow(exchange->args, exchange->arg_count * 2 + 1, sizeof(*exchange->args));
    }
    exchange->args[exchange->arg_count++] = (struct coord_word){.len = len};
    buf_add(&exchange->bytes, data, len);
}

void tree_exchange_add_string(struct tree_exchange *exchange, const char *text)
{
    tree_exchange_add(exchange, text, strlen(text));
}

void tree_exchange_add_change(struct tree_exchange *exchange, int64_t change)
{
    char text[TREE_CHANGE_LEN + 1];

    tree_change_format(text, change);
    tree_exchange_add(exchange, text, TREE_CHANGE_LEN);
}

void tree_exchange_send(struct tree_exchange *exchange, const struct coord_port *port,
                        int64_t timeout_ms)
{
    tree_exchange_point(exchange->args, exchange->arg_count, &exchange->bytes);
    exchange->door = (struct coord_exchange){.args = exchange->args,
                                             .arg_count = exchange->arg_count,
                                             .timeout_ms = timeout_ms,
                                             .done = tree_exchange_on_done,
                                             .drop = tree_exchange_on_drop};
    port->call(port->user, &exchange->door);
}
