#include "lab.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counted.h"
#include "support/certificates.h"
#include "support/servers.h"
#include "wire.h"

enum { MASTERS_MAX = 3, RUNS = 5, RUNS_QUICK = 3, PATIENCE_MS = 60000 };

/* Invariant: servers == NULL, or `masters` of them run and wires[0 .. masters) are open.
 * tls_folder is empty until it has been made. */
struct lab {
    struct lab_options options;
    struct report *report;
    struct servers *servers;
    int masters, replicas; /* of each */
    bool zookeeper;
    struct counted *counted; /* NULL: instructions are not counted */
    struct wire *wires[MASTERS_MAX];
    int topics; /* made so far */
    char tls_folder[PATH_MAX];
    smq_client *tls_client;
};

struct lab *lab_new(const struct lab_options *options)
{
    struct lab *lab = calloc(1, sizeof(*lab));

    if (lab == NULL) {
        abort();
    }
    lab->options = *options;
    lab->report = report_new(options->json, options->folder);
    return lab;
}

static void stop_servers(struct lab *lab)
{
    smq_client_free(lab->tls_client);
    lab->tls_client = NULL;
    for (int i = 0; i < MASTERS_MAX; i++) {
        wire_close(lab->wires[i]);
        lab->wires[i] = NULL;
    }
    servers_free(lab->servers);
    lab->servers = NULL;
    counted_free(lab->counted);
    lab->counted = NULL;
}

void lab_free(struct lab *lab)
{
    stop_servers(lab);
    report_free(lab->report);
    free(lab);
}

const struct lab_options *lab_options(const struct lab *lab)
{
    return &lab->options;
}

struct report *lab_report(struct lab *lab)
{
    return lab->report;
}

int lab_runs(const struct lab *lab, enum lab_pace pace)
{
    if (lab->options.runs > 0) {
        return lab->options.runs;
    }
    if (lab->options.rate > 0 || pace == LAB_ONCE) {
        return 1;
    }
    if (!lab->options.quick) {
        return RUNS;
    }
    return pace == LAB_LONG ? 1 : RUNS_QUICK;
}

uint64_t lab_count(const struct lab *lab, uint64_t full, uint64_t quick)
{
    return lab->options.quick ? quick : full;
}

bool lab_repeat(struct lab *lab, enum lab_pace pace, bool (*measure)(struct lab *lab))
{
    bool good = true;

    for (int run = 0; run < lab_runs(lab, pace) && good; run++) {
        report_run(lab->report);
        good = measure(lab);
    }
    return good;
}

/* Children inherit it: servers get the first core, this process the second. */
static void take_core(int number)
{
    cpu_set_t cores;

    CPU_ZERO(&cores);
    CPU_SET(number, &cores);
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1 && sched_setaffinity(0, sizeof(cores), &cores) != 0) {
        perror("bench: sched_setaffinity");
    }
}

/* Once for all servers; it is removed with TMPDIR (guard.h).  NULL: without --tls, or the folder
 * cannot be made. */
static const char *tls_folder(struct lab *lab)
{
    enum { DAY_S = 86400 };
    static const struct certificate all[] = {{"ca", NULL, NULL, DAY_S},
                                             {"server", "ca", "IP:127.0.0.1", DAY_S},
                                             {"client", "ca", NULL, DAY_S}};

    if (!lab->options.tls || lab->tls_folder[0] != '\0') {
        return lab->options.tls ? lab->tls_folder : NULL;
    }
    snprintf(lab->tls_folder, sizeof(lab->tls_folder), "%s/tls-XXXXXX", getenv("TMPDIR"));
    if (mkdtemp(lab->tls_folder) == NULL) {
        perror(lab->tls_folder);
        lab->tls_folder[0] = '\0';
        return NULL;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        certificate_make(lab->tls_folder, &all[i]);
    }
    return lab->tls_folder;
}

static bool start_servers(struct lab *lab, int masters, int replicas, bool zookeeper)
{
    struct servers_options options = {.redis = REDIS_CLUSTER,
                                      .masters = masters,
                                      .replicas = replicas,
                                      .zookeeper = zookeeper,
                                      .tls_folder = tls_folder(lab)};

    take_core(0);
    lab->servers = servers_start(&options);
    take_core(1);
    lab->masters = masters;
    lab->replicas = replicas;
    lab->zookeeper = zookeeper;
    for (int i = 0; i < masters && lab->servers != NULL; i++) {
        lab->wires[i] = wire_open(server_address(servers_node(lab->servers, (size_t) i)));
        if (lab->wires[i] == NULL) {
            stop_servers(lab);
        }
    }
    return lab->servers != NULL;
}

bool lab_restart_zookeeper(struct lab *lab)
{
    take_core(0);
    bool good = server_restart(lab_zookeeper_server(lab));
    take_core(1);
    return good;
}

/* All but the tree of the fleet, which living clients would make anew, and wait then. */
static redisReply *empty_node(struct wire *wire)
{
    static const char script[] = "local tree = redis.call('DUMP', KEYS[1]) "
                                 "redis.call('FLUSHALL', 'SYNC') "
                                 "if tree then redis.call('RESTORE', KEYS[1], 0, tree) end "
                                 "return 1";
    redisReply *emptied = wire_ask(wire, "EVAL %s 1 tree{slotmq:/slotmq}", script);

    if (emptied != NULL && emptied->type == REDIS_REPLY_ERROR) { /* another node has it */
        freeReplyObject(emptied);
        emptied = wire_ask(wire, "FLUSHALL SYNC");
    }
    return emptied;
}

bool lab_empty(struct lab *lab)
{
    for (int i = 0; i < lab->masters; i++) {
        redisReply *emptied = empty_node(lab->wires[i]);
        redisReply *purged = emptied != NULL ? wire_ask(lab->wires[i], "MEMORY PURGE") : NULL;
        bool done = purged != NULL;

        freeReplyObject(emptied);
        freeReplyObject(purged);
        if (!done) {
            return false;
        }
    }
    return true;
}

bool lab_servers_with_replicas(struct lab *lab, int masters, int replicas, bool zookeeper)
{
    if (lab->servers != NULL && lab->counted == NULL && lab->masters == masters &&
        lab->replicas == replicas && lab->zookeeper == zookeeper) {
        return lab_empty(lab);
    }
    stop_servers(lab);
    return start_servers(lab, masters, replicas, zookeeper);
}

bool lab_servers(struct lab *lab, int masters, bool zookeeper)
{
    return lab_servers_with_replicas(lab, masters, 0, zookeeper);
}

bool lab_counted_servers(struct lab *lab)
{
    stop_servers(lab);
    lab->counted = counted_begin();
    bool good = lab->counted != NULL && start_servers(lab, 1, 0, false);
    counted_end(lab->counted);
    return good;
}

bool lab_counted(struct lab *lab, uint64_t *out)
{
    return counted_take(lab->counted, server_pid(lab_node(lab, 0)), out);
}

const char *lab_redis(const struct lab *lab)
{
    return servers_redis(lab->servers);
}

const char *lab_redis_tls(const struct lab *lab)
{
    return lab->options.tls ? servers_redis_tls(lab->servers) : NULL;
}

const char *lab_zookeeper(const struct lab *lab)
{
    return lab->zookeeper ? servers_zookeeper(lab->servers) : NULL;
}

struct server *lab_zookeeper_server(const struct lab *lab)
{
    return servers_zookeeper_server(lab->servers);
}

struct server *lab_node(const struct lab *lab, int number)
{
    return servers_node(lab->servers, (size_t) number);
}

struct server *lab_node_of(const struct lab *lab, const char *key)
{
    return servers_node_of(lab->servers, key);
}

bool lab_wait(const struct lab *lab)
{
    return servers_wait(lab->servers, PATIENCE_MS);
}

int lab_masters(const struct lab *lab)
{
    return lab->masters;
}

struct wire *lab_wire(struct lab *lab, int master)
{
    return lab->wires[master];
}

bool lab_good(smq_status status, const smq_error *err)
{
    if (status != SMQ_OK) {
        fprintf(stderr, "bench: %s\n", err->text);
    }
    return status == SMQ_OK;
}

smq_client *lab_client_at(struct lab *lab, const char *redis)
{
    smq_client *client = NULL;
    smq_error err = SMQ_ERROR_INIT;

    smq_client_options options =
        SMQ_CLIENT_OPTIONS(.redis = redis, .zookeeper = lab_zookeeper(lab));
    lab_good(smq_client_new(&client, &options, &err), &err);
    return client;
}

smq_client *lab_tls_client(struct lab *lab)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_error err = SMQ_ERROR_INIT;

    if (lab->tls_client == NULL) {
        options.redis = lab_redis_tls(lab);
        options.zookeeper = lab_zookeeper(lab);
        options.tls_ca = certificate_path(lab->tls_folder, "ca.crt");
        options.tls_cert = certificate_path(lab->tls_folder, "client.crt");
        options.tls_key = certificate_path(lab->tls_folder, "client.key");
        lab_good(smq_client_new(&lab->tls_client, &options, &err), &err);
    }
    return lab->tls_client;
}

smq_client *lab_client(struct lab *lab)
{
    return lab_client_at(lab, lab_redis(lab));
}

bool lab_topic_with(struct lab *lab, smq_client *client, char name[LAB_NAME_SIZE],
                    smq_topic_options options)
{
    smq_error err = SMQ_ERROR_INIT;

    snprintf(name, LAB_NAME_SIZE, "bench%d", lab->topics++);
    options.name = name;
    if (options.layout == SMQ_LAYOUT_KEYED) {
        options.format = lab->options.format;
    }
    return lab_good(smq_topic_create(client, &options, NULL, &err), &err);
}

bool lab_topic_laid_out(struct lab *lab, smq_client *client, char name[LAB_NAME_SIZE], int slots,
                        smq_layout layout)
{
    return lab_topic_with(
        lab, client, name,
        SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = slots, .layout = layout));
}

bool lab_topic_grouped(struct lab *lab, smq_client *client, char name[LAB_NAME_SIZE], int slots,
                       const char *groups)
{
    return lab_topic_with(lab, client, name,
                          SMQ_TOPIC_OPTIONS(.type = SMQ_TYPE_FIXED_TIME, .slots = slots,
                                            .layout = SMQ_LAYOUT_INLINE, .groups = groups));
}

bool lab_topic(struct lab *lab, smq_client *client, char name[LAB_NAME_SIZE], int slots)
{
    return lab_topic_laid_out(lab, client, name, slots, SMQ_LAYOUT_INLINE);
}
