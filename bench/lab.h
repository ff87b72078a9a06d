/* lab.h - what benchmarks run on: servers on one core, this process on another, and the options of
 * the command line.
 *
 * Thread: main. */
#ifndef BENCH_LAB_H
#define BENCH_LAB_H

#include <stdbool.h>
#include <stdint.h>

#include <slotmq/slotmq.h>

#include "report.h"

struct wire;
struct lab;
struct server;

struct lab_options {
    bool quick, json;
    bool tls;            /* the servers also speak TLS, for lab_tls_client() */
    int runs;            /* 0: the benchmark chooses */
    int format;          /* of topics of layout keyed, 4 or 5 */
    int rate;            /* messages/s of open loops, in one run; 0: the benchmark chooses */
    const char *program; /* this program, to be started as a member of a fleet */
    const char *folder;  /* where figures are kept; NULL: nowhere */
};

/* Starts no server yet. */
struct lab *lab_new(const struct lab_options *options);
void lab_free(struct lab *lab);

const struct lab_options *lab_options(const struct lab *lab);
struct report *lab_report(struct lab *lab);

/* The number of runs, fewer for long benchmarks, one at a given rate, and of those that see enough
 * in it; and `full`, or `quick` with --quick. */
enum lab_pace { LAB_SHORT, LAB_LONG, LAB_ONCE };
int lab_runs(const struct lab *lab, enum lab_pace pace);
uint64_t lab_count(const struct lab *lab, uint64_t full, uint64_t quick);

/* Call `measure` for each run. */
bool lab_repeat(struct lab *lab, enum lab_pace pace, bool (*measure)(struct lab *lab));

/* Provide an empty Redis Cluster with this number of masters, and of replicas for each, and if
 * `zookeeper` a ZooKeeper.  Servers that fit are used again.  false: they cannot be started; the
 * reason is on standard error. */
bool lab_servers(struct lab *lab, int masters, bool zookeeper);
bool lab_servers_with_replicas(struct lab *lab, int masters, int replicas, bool zookeeper);

/* Provide a master whose instructions in scripts are counted, by callgrind; it is about fifty times
 * slower.  *out: how many they are since the last call. */
bool lab_counted_servers(struct lab *lab);
bool lab_counted(struct lab *lab, uint64_t *out);

const char *lab_redis(const struct lab *lab);     /* addresses, as smq_client_options wants them */
const char *lab_redis_tls(const struct lab *lab); /* NULL: without --tls */
const char *lab_zookeeper(const struct lab *lab); /* NULL: none */
struct server *lab_zookeeper_server(const struct lab *lab);
struct server *lab_node(const struct lab *lab, int number); /* the masters first, as servers.h */
struct server *lab_node_of(const struct lab *lab, const char *key); /* that holds it now */
bool lab_wait(const struct lab *lab); /* until all nodes that run see a whole cluster */
int lab_masters(const struct lab *lab);
struct wire *lab_wire(struct lab *lab, int master); /* a connection for questions */

/* Start the ZooKeeper server that was stopped. */
bool lab_restart_zookeeper(struct lab *lab);

/* Remove all data, and release the memory. */
bool lab_empty(struct lab *lab);

/* A client of the library, of the servers or of another address of theirs.  NULL: it failed; the
 * reason is on standard error. */
smq_client *lab_client(struct lab *lab);
smq_client *lab_client_at(struct lab *lab, const char *redis);

/* With --tls: a client that speaks TLS with the same servers, and shows a certificate.  It belongs
 * to the lab, until other servers are provided.  NULL: it failed; the reason is on standard
 * error. */
smq_client *lab_tls_client(struct lab *lab);

/* A topic of type fixed_time under a new name, in `name`; layout inline, or as given. */
enum { LAB_NAME_SIZE = 32 };
bool lab_topic(struct lab *lab, smq_client *client, char name[LAB_NAME_SIZE], int slots);
bool lab_topic_laid_out(struct lab *lab, smq_client *client, char name[LAB_NAME_SIZE], int slots,
                        smq_layout layout);
bool lab_topic_grouped(struct lab *lab, smq_client *client, char name[LAB_NAME_SIZE], int slots,
                       const char *groups);

/* The same with options, of which the name is set here. */
bool lab_topic_with(struct lab *lab, smq_client *client, char name[LAB_NAME_SIZE],
                    smq_topic_options options);

/* Says why on standard error when it is not SMQ_OK. */
bool lab_good(smq_status status, const smq_error *err);

#endif
