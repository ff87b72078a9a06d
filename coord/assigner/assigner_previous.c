/* assigner_previous.c - the home of a slot: the member that had it before it left or ended.  A
 * member that returns under its name gets its slots back.
 *
 * Homes are kept as hashes of names; if two names have the same hash, a slot at worst moves to the
 * wrong one of them.
 *
 * Thread: smq:coord. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "coord/assigner/assigner.h"

struct assigner_home_entry {
    uint32_t hash;
    uint16_t number;
};

uint32_t assigner_home(const char *id)
{
    uint32_t hash = (uint32_t) crc32(0, (const Bytef *) id, (uInt) strlen(id));

    return hash == 0 ? 1 : hash;
}

static int assigner_home_compare(const void *left, const void *right)
{
    const struct assigner_home_entry *a = left;
    const struct assigner_home_entry *b = right;

    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

void assigner_find_homes(const struct assigner *assigner, const struct assigner_topic *topic,
                         const int32_t *weights, uint16_t *out)
{
    struct assigner_home_entry *homes = memory_new((assigner->member_count + 1) * sizeof(*homes));
    size_t count = 0;

    for (size_t i = 0; i < assigner->member_count; i++) {
        if (weights[i] > 0) {
            homes[count++] = (struct assigner_home_entry){
                .hash = assigner_home(assigner->members[i].id), .number = (uint16_t) (i + 1)};
        }
    }
    qsort(homes, count, sizeof(*homes), assigner_home_compare);
    for (int32_t i = 0; i < topic->slots; i++) {
        struct assigner_home_entry wanted = {.hash = topic->homes[i]};
        const struct assigner_home_entry *found =
            wanted.hash == 0
                ? NULL
                : bsearch(&wanted, homes, count, sizeof(*homes), assigner_home_compare);

        out[i] = found != NULL ? found->number : 0;
    }
    free(homes);
}
