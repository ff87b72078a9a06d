#include "tally.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Invariant: seen[n] says whether message n was handled; last[s] is one more than the largest
 * number that slot s has handled, or, where threads handle a slot at once, nearly so. */
struct tally {
    uint64_t messages;
    int slots;
    atomic_uint_fast64_t handled, duplicated, out_of_order;
    atomic_bool *seen;
    atomic_uint_fast64_t *last;
};

struct tally *tally_new(uint64_t messages, int slots)
{
    struct tally *tally = calloc(1, sizeof(*tally));

    if (tally == NULL) {
        abort();
    }
    tally->messages = messages;
    tally->slots = slots;
    tally->seen = calloc(messages + 1, sizeof(*tally->seen));
    tally->last = calloc((size_t) slots, sizeof(*tally->last));
    if (tally->seen == NULL || tally->last == NULL) {
        abort();
    }
    return tally;
}

void tally_free(struct tally *tally)
{
    if (tally != NULL) {
        free((void *) tally->seen);
        free((void *) tally->last);
        free(tally);
    }
}

void tally_body(char *body, size_t size, uint64_t number)
{
    memset(body + TALLY_DIGITS, '.', size - TALLY_DIGITS);
    for (int i = TALLY_DIGITS - 1; i >= 0; i--) {
        body[i] = (char) ('0' + number % 10);
        number /= 10;
    }
}

uint64_t tally_number(const char *body, size_t size)
{
    uint64_t number = 0;

    for (size_t i = 0; i < TALLY_DIGITS && i < size; i++) {
        number = number * 10 + (uint64_t) (body[i] - '0');
    }
    return number;
}

static void add(atomic_uint_fast64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

uint64_t tally_tick(struct tally *tally, int slot, const char *body, size_t size)
{
    return tally_tick_number(tally, slot, tally_number(body, size));
}

uint64_t tally_tick_number(struct tally *tally, int slot, uint64_t number)
{
    if (number >= tally->messages || slot < 0 || slot >= tally->slots ||
        atomic_exchange_explicit(&tally->seen[number], true, memory_order_relaxed)) {
        add(&tally->duplicated);
    } else {
        add(&tally->handled);
        if (number < atomic_load_explicit(&tally->last[slot], memory_order_relaxed)) {
            add(&tally->out_of_order);
        } else {
            atomic_store_explicit(&tally->last[slot], number + 1, memory_order_relaxed);
        }
    }
    return atomic_load_explicit(&tally->handled, memory_order_relaxed);
}

struct tally_counts tally_counts(const struct tally *tally)
{
    return (struct tally_counts){.sent = tally->messages,
                                 .handled = tally->handled,
                                 .lost = tally->messages - tally->handled,
                                 .duplicated = tally->duplicated,
                                 .out_of_order = tally->out_of_order};
}
