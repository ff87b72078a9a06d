/* server_facts.h - what a Redis server says of itself, in the texts of INFO, CLUSTER INFO, CLUSTER
 * NODES and CONFIG GET.
 *
 * The texts are untrusted: what they do not say, or say in another form, is not known.
 *
 * Pure. */
#ifndef MODEL_SERVER_FACTS_H
#define MODEL_SERVER_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers are -1 and texts "" when they are not known. */
struct server_facts {
    bool valkey;
    char version[32];
    char role[16]; /* "master", "slave" */
    bool cluster;  /* it is in cluster mode */
    int64_t maxmemory, used_memory;
    char maxmemory_policy[32];
    int appendonly;           /* 1: it is on */
    bool write_failed;        /* the last write of the append-only file or of a snapshot */
    int64_t replicas;         /* in sync with this master */
    int64_t lag_bytes;        /* of the one of them that is furthest behind */
    int64_t replicas_known;   /* of this master, by the cluster */
    int64_t migrations;       /* hash slots that move away or come */
    char cluster_state[16];   /* "ok", "fail" */
    int64_t cluster_slots_ok; /* that the cluster serves */
    bool configured;          /* CONFIG GET was answered, and the next two are known */
    char appendfsync[16];     /* "always", "everysec", "no" */
    char save[128];           /* "3600 1 300 100"; "": no snapshots */
    int64_t node_timeout_ms;  /* of the cluster; 0: not known */
};

extern const struct server_facts server_facts_none;

/* The value of "name:value" of a line in a text of INFO; "" when it is not there. */
void server_facts_field(char *out, size_t size, const char *info, const char *name);

void server_facts_take_info(struct server_facts *facts, const char *info);
void server_facts_take_cluster(struct server_facts *facts, const char *cluster_info);
void server_facts_take_nodes(struct server_facts *facts, const char *cluster_nodes);
void server_facts_take_setting(struct server_facts *facts, const char *name, const char *value);

#endif
