/* route.c - the node for a command.
 *
 * Thread: smq:io. */
#include "redis/route.h"

#include "base/clock.h"
#include "base/random.h"

/* Any node that is up; else any of the map, to be connected to. */
static struct node *route_find_any(struct topology *topology, int replicas)
{
    const struct slotmap *map = &topology->map;

    if (map->count == 0) {
        return NULL;
    }
    struct node *node = node_set_any_up(topology->nodes);
    if (node != NULL) {
        return node;
    }
    return node_set_get_with(topology->nodes, &map->nodes[random_u64() % map->count], replicas);
}

struct node *route_find(struct topology *topology, const struct route *route)
{
    const struct server_address *address = route->ask;

    if (address == NULL && route->hash_slot == REDIS_ANY_NODE) {
        return route_find_any(topology, route->replicas);
    }
    if (address == NULL) {
        address = slotmap_owner(&topology->map, route->hash_slot);
    }
    return address == NULL ? NULL : node_set_get_with(topology->nodes, address, route->replicas);
}

bool route_is_hopeless(const struct route *route, const struct node *node)
{
    return node->state != NODE_CONNECTING && node->retry_ms > clock_now_ms() &&
           (node->state == NODE_BAD || route->once);
}
