/* tally.h - counts the messages of one run: each has a number, and is ticked off when handled.
 *
 * Thread: tally_tick() from any; the rest is one thread's. */
#ifndef BENCH_TALLY_H
#define BENCH_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALLY_DIGITS = 10, TALLY_BODY = 64, TALLY_BODY_MAX = 65536 };

/* What every run prints.  `handled`: at least once; `duplicated`: handled once more, or unknown. */
struct tally_counts {
    uint64_t sent, handled, lost, duplicated, out_of_order;
};

struct tally;

/* For messages 0 .. messages - 1 over this number of slots. */
struct tally *tally_new(uint64_t messages, int slots);
void tally_free(struct tally *tally);

/* The body of message `number`: its digits, then filler; `size` >= TALLY_DIGITS bytes. */
void tally_body(char *body, size_t size, uint64_t number);

/* The number in such a body. */
uint64_t tally_number(const char *body, size_t size);

/* A message was handled: how many different ones are handled now.  Within a slot numbers should
 * grow; where threads handle a slot at once, out_of_order is only about right. */
uint64_t tally_tick(struct tally *tally, int slot, const char *body, size_t size);
uint64_t tally_tick_number(struct tally *tally, int slot, uint64_t number);

struct tally_counts tally_counts(const struct tally *tally);

#endif
