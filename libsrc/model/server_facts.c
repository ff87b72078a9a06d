/* server_facts.c - reading what a Redis server says of itself.
 *
 * Pure. */
#include "model/server_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct server_facts server_facts_none = {.maxmemory = -1,
                                               .used_memory = -1,
                                               .appendonly = -1,
                                               .replicas = -1,
                                               .lag_bytes = -1,
                                               .replicas_known = -1,
                                               .migrations = -1,
                                               .cluster_slots_ok = -1};

void server_facts_field(char *out, size_t size, const char *info, const char *name)
{
    const size_t len = strlen(name);
    const char *line = info;

    out[0] = '\0';
    while (line != NULL && (strncmp(line, name, len) != 0 || line[len] != ':')) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    if (line != NULL) {
        line += len + 1;
        (void) snprintf(out, size, "%.*s", (int) strcspn(line, "\r\n"), line);
    }
}

/* -1: it is not there, or no number. */
static int64_t server_facts_number(const char *info, const char *name)
{
    char text[24];
    char *end = NULL;
    int64_t number;

    server_facts_field(text, sizeof(text), info, name);
    number = strtoll(text, &end, 10);
    return end == text || *end != '\0' || number < 0 ? -1 : number;
}

static bool server_facts_says(const char *info, const char *name, const char *wanted)
{
    char text[32];

    server_facts_field(text, sizeof(text), info, name);
    return strcmp(text, wanted) == 0;
}

/* Lines "slave0:ip=...,port=...,state=online,offset=14,lag=0". */
static void server_facts_take_replicas(struct server_facts *facts, const char *info)
{
    const int64_t reached = server_facts_number(info, "master_repl_offset");
    const char *at = info;

    facts->replicas = facts->lag_bytes = 0;
    while ((at = strstr(at, ",state=online,offset=")) != NULL) {
        at += strlen(",state=online,offset=");
        const int64_t offset = strtoll(at, NULL, 10);
        const int64_t lag = offset >= 0 ? reached - offset : 0; /* a negative one is nonsense */
        facts->lag_bytes = lag > facts->lag_bytes ? lag : facts->lag_bytes;
        facts->replicas++;
    }
}

void server_facts_take_info(struct server_facts *facts, const char *info)
{
    char valkey[32];

    server_facts_field(valkey, sizeof(valkey), info, "valkey_version");
    server_facts_field(facts->version, sizeof(facts->version), info, "redis_version");
    facts->valkey = valkey[0] != '\0';
    if (facts->valkey) {
        memcpy(facts->version, valkey, sizeof(valkey));
    }
    server_facts_field(facts->role, sizeof(facts->role), info, "role");
    facts->cluster = server_facts_says(info, "cluster_enabled", "1");
    facts->maxmemory = server_facts_number(info, "maxmemory");
    facts->used_memory = server_facts_number(info, "used_memory");
    server_facts_field(facts->maxmemory_policy, sizeof(facts->maxmemory_policy), info,
                       "maxmemory_policy");
    facts->appendonly = (int) server_facts_number(info, "aof_enabled");
    facts->write_failed = server_facts_says(info, "aof_last_write_status", "err") ||
                          server_facts_says(info, "rdb_last_bgsave_status", "err");
    if (strcmp(facts->role, "master") == 0) {
        server_facts_take_replicas(facts, info);
    }
}

void server_facts_take_cluster(struct server_facts *facts, const char *cluster_info)
{
    server_facts_field(facts->cluster_state, sizeof(facts->cluster_state), cluster_info,
                       "cluster_state");
    facts->cluster = facts->cluster || facts->cluster_state[0] != '\0';
    facts->cluster_slots_ok = server_facts_number(cluster_info, "cluster_slots_ok");
}

/* A line of CLUSTER NODES: "ID ADDRESS FLAGS MASTER ...". */
struct server_line {
    char id[41], flags[64], master[41];
    const char *text;
    size_t len;
};

/* The line at `text`; false: there is none. */
static bool server_line_read(struct server_line *out, const char *text)
{
    out->text = text;
    out->len = strcspn(text, "\n");
    return sscanf(text, "%40s %*s %63s %40s", out->id, out->flags, out->master) == 3;
}

static const char *server_line_next(const struct server_line *line)
{
    return line->text + line->len + (line->text[line->len] == '\n' ? 1 : 0);
}

/* Open migrations are in the line of the server itself, as in "[93->-ID]". */
static int64_t server_line_migrations(const struct server_line *line)
{
    int64_t count = 0;

    for (size_t i = 0; i < line->len; i++) {
        count += line->text[i] == '[' ? 1 : 0;
    }
    return count;
}

void server_facts_take_nodes(struct server_facts *facts, const char *cluster_nodes)
{
    struct server_line line;
    char own[sizeof(line.id)] = "";

    for (const char *at = cluster_nodes; server_line_read(&line, at);
         at = server_line_next(&line)) {
        if (strstr(line.flags, "myself") != NULL) {
            memcpy(own, line.id, sizeof(own));
            facts->migrations = server_line_migrations(&line);
        }
    }
    if (own[0] == '\0') {
        return;
    }
    facts->replicas_known = 0;
    for (const char *at = cluster_nodes; server_line_read(&line, at);
         at = server_line_next(&line)) {
        facts->replicas_known += strcmp(line.master, own) == 0 ? 1 : 0;
    }
}

void server_facts_take_setting(struct server_facts *facts, const char *name, const char *value)
{
    facts->configured = true;
    if (strcmp(name, "appendfsync") == 0) {
        (void) snprintf(facts->appendfsync, sizeof(facts->appendfsync), "%s", value);
    } else if (strcmp(name, "save") == 0) {
        (void) snprintf(facts->save, sizeof(facts->save), "%s", value);
    } else if (strcmp(name, "cluster-node-timeout") == 0) {
        facts->node_timeout_ms = strtoll(value, NULL, 10);
    }
}
