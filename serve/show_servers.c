/* show_servers.c - the Redis masters, as they describe themselves.
 *
 * Thread: serve:ask-N. */
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "serve/serve.h"

static json_t *servers_number(int64_t number)
{
    return number == SMQ_NONE ? json_null() : json_integer(number);
}

/* Nothing is known of a server that did not answer. */
static json_t *servers_known(const smq_server_info *server, json_t *value)
{
    if (server->status == SMQ_OK) {
        return value;
    }
    json_decref(value);
    return json_null();
}

static bool servers_on_server(const smq_server_info *server, void *user)
{
    json_t *object = json_object();

#define TEXT(member)   output_set(object, #member, output_text(server->member));
#define NUMBER(member) output_set(object, #member, servers_number(server->member));
    output_set(
        object, "kind",
        servers_known(server, json_string(server->kind == SMQ_SERVER_VALKEY ? "valkey" : "redis")));
    TEXT(address)
    output_set(object, "code", json_string(smq_status_name(server->status)));
    TEXT(why)
    TEXT(version)
    TEXT(version_why)
    TEXT(role)
    NUMBER(used_memory)
    NUMBER(maxmemory)
    TEXT(maxmemory_policy)
    output_set(object, "appendonly",
               server->appendonly == SMQ_NONE ? json_null()
                                              : json_boolean(server->appendonly == 1));
    output_set(object, "write_failed", servers_known(server, json_boolean(server->write_failed)));
    TEXT(config_why)
    TEXT(appendfsync)
    TEXT(save)
    NUMBER(replicas)
    NUMBER(replicas_known)
    NUMBER(lag_bytes)
    output_set(object, "cluster", servers_known(server, json_boolean(server->cluster)));
    TEXT(cluster_why)
    TEXT(cluster_state)
    NUMBER(cluster_slots_ok)
    NUMBER(migrations)
    TEXT(clock_why)
    const bool has_clock = server->status == SMQ_OK && server->clock_why[0] == '\0';
    output_set(object, "clock_offset_ms",
               has_clock ? json_integer(server->clock_offset_ms) : json_null());
    output_set(object, "clock_error_ms",
               has_clock ? json_integer(server->clock_error_ms) : json_null());
    TEXT(writes_why)
#undef TEXT
#undef NUMBER
    output_append(user, object);
    return true;
}

struct answer *show_servers(struct serve *serve, const json_t *query,
                            const struct guard_caller *caller)
{
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);
    json_t *document = json_object();
    json_t *servers = json_array();

    (void) query;
    (void) caller;
    output_set(document, "at_ms", json_integer(moment_wall_ms()));
    output_set(document, "servers", servers);
    if (!client || smq_server_each(client, servers_on_server, servers, &err) != SMQ_OK) {
        json_decref(document);
        return answer_failure(&err);
    }
    return answer_json(200, document);
}
