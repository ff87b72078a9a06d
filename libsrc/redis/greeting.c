/* greeting.c - may this server be used?
 *
 * Pure. */
#include "redis/greeting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "model/server_facts.h"
#include "redis/redirect.h"
#include "redis/servers.h"

static int greeting_older(const char *version, long major, long minor)
{
    char *end = NULL;
    long have_major = strtol(version, &end, 10);
    long have_minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

    return have_major < major || (have_major == major && have_minor < minor);
}

static bool greeting_begins(const redisReply *reply, const char *words)
{
    return strncmp(reply->str, words, strlen(words)) == 0;
}

/* Is the server too busy for another client?  That is temporary. */
static bool greeting_is_busy(const redisReply *reply)
{
    return greeting_begins(reply, "ERR max number of clients") ||
           greeting_begins(reply, "LOADING") || greeting_begins(reply, "BUSY");
}

smq_status greeting_check_auth(char *why, size_t size, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ERROR) {
        return SMQ_OK;
    }
    if (greeting_is_busy(reply)) {
        (void) snprintf(why, size, "%s", reply->str);
        return SMQ_UNAVAILABLE;
    }
    (void) snprintf(why, size, "%s (check user and password)", reply->str);
    return SMQ_DENIED;
}

/* A replica outside a cluster: no redirect would lead to its master. */
static bool greeting_is_lone_replica(const char *info)
{
    char role[16], cluster[8];

    server_facts_field(role, sizeof(role), info, "role");
    server_facts_field(cluster, sizeof(cluster), info, "cluster_enabled");
    return strcmp(role, "slave") == 0 && strcmp(cluster, "0") == 0;
}

/* The policies named volatile-* evict keys that have a time to live; no key of slotmq has one. */
static bool greeting_may_evict(const char *policy)
{
    return strcmp(policy, "noeviction") != 0 &&
           strncmp(policy, "volatile-", strlen("volatile-")) != 0;
}

smq_status greeting_check_info(char *why, size_t size, const redisReply *reply)
{
    char redis[32], valkey[32], memory[32], policy[64];

    why[0] = '\0';
    if (reply->type == REDIS_REPLY_ERROR) {
        bool nameless = greeting_begins(reply, "NOAUTH");
        (void) snprintf(why, size, "%s%s", reply->str,
                        nameless ? " (name a user and a password)" : "");
        if (redirect_refuses_command(reply)) {
            return SMQ_OK;
        }
        return nameless || greeting_begins(reply, "DENIED") ? SMQ_DENIED : SMQ_UNAVAILABLE;
    }
    if (reply->type != REDIS_REPLY_STRING) {
        (void) snprintf(why, size, "it does not answer INFO as Redis does");
        return SMQ_BAD_SERVER;
    }
    server_facts_field(redis, sizeof(redis), reply->str, "redis_version");
    server_facts_field(valkey, sizeof(valkey), reply->str, "valkey_version");
    server_facts_field(memory, sizeof(memory), reply->str, "maxmemory");
    server_facts_field(policy, sizeof(policy), reply->str, "maxmemory_policy");
    if (valkey[0] != '\0' ? greeting_older(valkey, 7, 2) : greeting_older(redis, 7, 0)) {
        (void) snprintf(why, size, "version %s is too old: Redis 7.0 or Valkey 7.2 is needed",
                        valkey[0] != '\0' ? valkey : redis);
        return SMQ_BAD_SERVER;
    }
    if (greeting_is_lone_replica(reply->str)) {
        char host[SERVER_TEXT_MAX], port[8];

        server_facts_field(host, sizeof(host), reply->str, "master_host");
        server_facts_field(port, sizeof(port), reply->str, "master_port");
        (void) snprintf(why, size,
                        "it is a replica of %s:%s, and accepts no writes: name its master", host,
                        port);
        return SMQ_UNAVAILABLE; /* a failover may make this server the master */
    }
    if (strtoull(memory, NULL, 10) > 0 && greeting_may_evict(policy)) {
        (void) snprintf(why, size,
                        "it evicts keys (maxmemory-policy %s) and would lose messages: set "
                        "maxmemory-policy noeviction or one of volatile-*",
                        policy);
        return SMQ_BAD_SERVER;
    }
    return SMQ_OK;
}

enum greeting_mode greeting_mode(const redisReply *reply)
{
    char cluster[8], mode[16];

    if (reply->type != REDIS_REPLY_STRING) {
        return GREETING_UNKNOWN;
    }
    server_facts_field(cluster, sizeof(cluster), reply->str, "cluster_enabled");
    server_facts_field(mode, sizeof(mode), reply->str, "redis_mode");
    if (strcmp(cluster, "1") == 0 || strcmp(mode, "cluster") == 0) {
        return GREETING_CLUSTER;
    }
    return strcmp(cluster, "0") == 0 || strcmp(mode, "standalone") == 0 ? GREETING_SINGLE
                                                                        : GREETING_UNKNOWN;
}

int greeting_replicas(const redisReply *reply)
{
    static const char mark[] = ",state=online,";
    char role[16];
    int count = 0;

    if (reply->type != REDIS_REPLY_STRING) {
        return -1;
    }
    server_facts_field(role, sizeof(role), reply->str, "role");
    if (strcmp(role, "master") != 0) {
        return -1;
    }
    for (const char *at = reply->str; (at = strstr(at, mark)) != NULL; at += sizeof(mark) - 1) {
        count++;
    }
    return count;
}

const char *greeting_cut(int failed, bool heard)
{
    if (!heard && (failed == UV_EOF || failed == UV_ECONNRESET || failed == UV_EPIPE)) {
        return "it closed the connection without a reply: is it a Redis server?";
    }
    return failed == UV_EOF ? "it closed the connection" : uv_strerror(failed);
}
