/* wire.h - the connection of a hand-written loop: it renders commands into one buffer, writes them
 * at once when no reply is left to read, and reads replies as they arrive.
 *
 * Thread: its owner's.  Failures are printed on standard error. */
#ifndef BENCH_WIRE_H
#define BENCH_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

struct wire;

/* To "127.0.0.1:7000", the first of a list.  NULL: no connection. */
struct wire *wire_open(const char *address);
void wire_close(struct wire *wire);

/* Begin a command of this number of words, then add them. */
void wire_command(struct wire *wire, size_t words);
void wire_bytes(struct wire *wire, const void *data, size_t len);
void wire_text(struct wire *wire, const char *text);
void wire_number(struct wire *wire, int64_t number);

/* Write what was rendered. */
bool wire_flush(struct wire *wire);

/* The next reply, to be freed.  Flushes before it would wait.  NULL: an error, or no server. */
redisReply *wire_reply(struct wire *wire);

/* Without waiting, for threads that wait for other things too.  wire_take() reads what has arrived,
 * wire_next() gives the next reply of it, *out = NULL if there is none.  false: an error, or no
 * server. */
bool wire_take(struct wire *wire);
bool wire_next(struct wire *wire, redisReply **out);

/* Wait until one of several can be read, at most until then (meter_now_ns()), and take what has
 * arrived on each; `ready` says on which. */
bool wire_wait(struct wire *const *wires, int count, int64_t until_ns, bool *ready);

/* One command and its reply; words of `format` (as of redisCommand) are separated by spaces. */
redisReply *wire_ask(struct wire *wire, const char *format, ...);

/* Is it an array that begins with the word OK? */
bool wire_is_ok(const redisReply *reply);

#endif
