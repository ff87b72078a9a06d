/* damage.c - see damage.h.
 *
 * Thread: main. */
#include "damage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <hiredis/hiredis.h>

static bool take_empty(const smq_slot_info *slot, void *user)
{
    int32_t *chosen = user;
    const smq_stats *stats = &slot->stats;

    if (slot->status == SMQ_OK && slot->owner[0] != '\0' &&
        stats->waiting + stats->claimed + stats->resting + stats->dead == 0) {
        *chosen = slot->slot;
    }
    return *chosen < 0;
}

int32_t damage_choose(smq_client *client, const char *topic)
{
    int32_t chosen = -1;
    smq_error err;

    if (smq_topic_slots(client, topic, take_empty, &chosen, &err) != SMQ_OK) {
        fprintf(stderr, "demo: %s\n", err.text);
    }
    return chosen;
}

static bool is_done(redisContext *redis, const char *command)
{
    redisReply *reply = redisCommand(redis, command);
    bool done = reply != NULL && reply->type != REDIS_REPLY_ERROR;

    freeReplyObject(reply);
    return done;
}

bool damage_do(const struct servers *servers, const char *topic, int32_t slot)
{
    char store[64], command[512];
    redisContext *redis;
    bool done;

    snprintf(store, sizeof(store), "%s_%" PRId32, topic, slot);
    snprintf(command, sizeof(command),
             "DEL %s prepare{%s} dead{%s} why{%s} slot{%s} body{%s} done{%s}", store, store, store,
             store, store, store, store);
    redis = redisConnect("127.0.0.1", server_port(servers_node_of(servers, store)));
    done = redis != NULL && redis->err == 0 && is_done(redis, command) &&
           is_done(redis, "CLIENT KILL TYPE pubsub");
    redisFree(redis);
    return done;
}

bool damage_is_reported(const char *path, const char *topic, int32_t slot, const char *what)
{
    char line[2048], wanted[128];
    bool found = false;
    FILE *file = fopen(path, "re");

    snprintf(wanted, sizeof(wanted), " %s %" PRId32 " %s\n", topic, slot, what);
    while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
        found = line[0] == 'X' && strstr(line, wanted) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return found;
}
