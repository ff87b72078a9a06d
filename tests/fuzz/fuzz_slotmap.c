/* fuzz_slotmap.c - the reply to CLUSTER SLOTS. */
#include "fuzz/fuzz.h"
#include "redis/slotmap.h"

static void check_map(const struct slotmap *map)
{
    size_t served = 0;

    for (int i = 0; i < SLOTMAP_SLOTS; i++) {
        const struct server_address *owner = slotmap_owner(map, i);

        FUZZ_CHECK(map->owner[i] <= map->count);
        FUZZ_CHECK(owner == NULL || (owner->port >= 1 && owner->port <= 65535));
        served += owner != NULL;
    }
    FUZZ_CHECK(served == map->served && map->count <= SLOTMAP_NODES_MAX);
}

static void read_map(const redisReply *reply, void *user)
{
    struct slotmap *map = user;
    const char *why = NULL;

    if (slotmap_parse(map, reply, "origin", &why)) {
        check_map(map);
    } else {
        FUZZ_CHECK(why != NULL);
    }
}

FUZZ_TARGET(slotmap)
{
    static struct slotmap map;

    fuzz_reply(data, size, read_map, &map);
    slotmap_fini(&map);
}
