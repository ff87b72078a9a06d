/* wire.h - a connection as hand-written loops use it: commands are rendered into one buffer,
 * written in one go when there is no reply left to take, and replies are read as they come.
 *
 * Thread: its owner's.  What fails is said on standard error. */
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

/* Begin a command of so many words, then give them. */
void wire_command(struct wire *wire, size_t words);
void wire_bytes(struct wire *wire, const void *data, size_t len);
void wire_text(struct wire *wire, const char *text);
void wire_number(struct wire *wire, int64_t number);

/* Write what was rendered. */
bool wire_flush(struct wire *wire);

/* The next reply, to be freed.  Flushes before it would wait.  NULL: an error, or no server. */
redisReply *wire_reply(struct wire *wire);

/* One command and its reply; words of `format` (as of redisCommand) are separated by spaces. */
redisReply *wire_ask(struct wire *wire, const char *format, ...);

/* Is it an array that begins with the word OK? */
bool wire_is_ok(const redisReply *reply);

#endif
