#include "owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* `token`: the largest so far. */
struct owners_slot {
    int owner; /* or OWNERS_NONE */
    int64_t gained_ns, lost_ns;
    char token[OWNERS_TOKEN_SIZE];
};

/* Invariant: `owned[i]` slots have the owner i, and `unowned` have none. */
struct owners {
    struct owners_slot *slots;
    int slot_count, unowned;
    int *owned;
    struct owners_counts counts;
};

struct owners *owners_new(int members, int slots)
{
    struct owners *owners = calloc(1, sizeof(*owners));
    int *owned = calloc((size_t) members, sizeof(*owned));
    struct owners_slot *list = calloc((size_t) slots, sizeof(*list));

    if (owners == NULL || owned == NULL || list == NULL) {
        abort();
    }
    for (int i = 0; i < slots; i++) {
        list[i].owner = OWNERS_NONE;
    }
    *owners = (struct owners){.slots = list, .slot_count = slots, .unowned = slots, .owned = owned};
    return owners;
}

void owners_free(struct owners *owners)
{
    if (owners == NULL) {
        return;
    }
    free(owners->slots);
    free(owners->owned);
    free(owners);
}

static int *owners_count(struct owners *owners, int owner)
{
    return owner == OWNERS_NONE ? &owners->unowned : &owners->owned[owner];
}

static void owners_set(struct owners *owners, struct owners_slot *slot, int owner)
{
    --*owners_count(owners, slot->owner);
    slot->owner = owner;
    ++*owners_count(owners, owner);
}

void owners_gain(struct owners *owners, int member, int slot, int64_t at_ns, const char *token)
{
    struct owners_slot *gained = &owners->slots[slot];

    owners->counts.gains++;
    if (strcmp(token, gained->token) < 0) {
        return;
    }
    owners_set(owners, gained, member);
    gained->gained_ns = at_ns;
    snprintf(gained->token, sizeof(gained->token), "%s", token);
}

void owners_lose(struct owners *owners, int member, int slot, int64_t at_ns)
{
    struct owners_slot *lost = &owners->slots[slot];

    owners->counts.losses++;
    if (lost->owner == member) {
        owners_set(owners, lost, OWNERS_NONE);
    }
    lost->lost_ns = at_ns;
}

void owners_kill(struct owners *owners, int member)
{
    for (int i = 0; i < owners->slot_count; i++) {
        if (owners->slots[i].owner == member) {
            owners_set(owners, &owners->slots[i], OWNERS_NONE);
        }
    }
}

struct owners_counts owners_counts(const struct owners *owners)
{
    return owners->counts;
}

int owners_of(const struct owners *owners, int slot)
{
    return owners->slots[slot].owner;
}

const char *owners_token(const struct owners *owners, int slot)
{
    return owners->slots[slot].token;
}

int owners_owned(const struct owners *owners, int member)
{
    return owners->owned[member];
}

int owners_unowned(const struct owners *owners)
{
    return owners->unowned;
}

double owners_coverage_s(const struct owners *owners, int64_t start_ns, struct samples *pauses)
{
    int64_t last_ns = start_ns;

    for (int i = 0; i < owners->slot_count; i++) {
        const struct owners_slot *slot = &owners->slots[i];

        if (slot->gained_ns <= start_ns) {
            continue;
        }
        last_ns = slot->gained_ns > last_ns ? slot->gained_ns : last_ns;
        if (pauses != NULL && slot->lost_ns > start_ns) {
            int64_t pause_ns = slot->gained_ns - slot->lost_ns;
            samples_add(pauses, pause_ns > 0 ? (double) pause_ns / 1e6 : 0);
        }
    }
    return (double) (last_ns - start_ns) / 1e9;
}
