/* assigner_previous.c - the previous owner of a slot: the member that had it before it left or
 * ended.  A member that returns under its name gets its slots back.
 *
 * They are kept as hashes of their names; if two names have the same hash, a slot at worst moves to
 * the wrong one of them.
 *
 * Thread: smq:coord. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "coord/assigner/assigner.h"

struct assigner_previous_entry {
    uint32_t hash;
    uint16_t number;
};

uint32_t assigner_owner_hash(const char *id)
{
    uint32_t hash = (uint32_t) crc32(0, (const Bytef *) id, (uInt) strlen(id));

    return hash == 0 ? 1 : hash;
}

static int assigner_previous_compare(const void *left, const void *right)
{
    const struct assigner_previous_entry *a = left;
    const struct assigner_previous_entry *b = right;

    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

void assigner_find_previous(const struct assigner *assigner, const struct assigner_topic *topic,
                            const int32_t *weights, uint16_t *out)
{
    struct assigner_previous_entry *previous =
        memory_new((assigner->member_count + 1) * sizeof(*previous));
    size_t count = 0;

    for (size_t i = 0; i < assigner->member_count; i++) {
        if (weights[i] > 0) {
            previous[count++] = (struct assigner_previous_entry){
                .hash = assigner_owner_hash(assigner->members[i].id), .number = (uint16_t) (i + 1)};
        }
    }
    qsort(previous, count, sizeof(*previous), assigner_previous_compare);
    for (int32_t i = 0; i < topic->slots; i++) {
        struct assigner_previous_entry wanted = {.hash = topic->previous[i]};
        const struct assigner_previous_entry *found =
            wanted.hash == 0
                ? NULL
                : bsearch(&wanted, previous, count, sizeof(*previous), assigner_previous_compare);

        out[i] = found != NULL ? found->number : 0;
    }
    free(previous);
}
