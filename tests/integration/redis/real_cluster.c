/* real_cluster.c - see real_cluster.h. */
#include "real_cluster.h"
#include "support/testing.h"

struct servers *real_cluster;

int real_cluster_start(void **state)
{
    struct servers_options options = {
        .redis = REDIS_CLUSTER, .masters = 3, .node_timeout_ms = 2000};

    real_cluster = servers_start(&options);
    return real_cluster == NULL ? -1 : 0;
}

int real_cluster_stop(void **state)
{
    servers_free(real_cluster);
    return 0;
}

redisContext *real_cluster_connect(const struct server *server)
{
    redisContext *context = redisConnect("127.0.0.1", server_port(server));

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    return context;
}

void real_cluster_tell(const struct server *server, const char *format, ...)
{
    redisContext *context = real_cluster_connect(server);
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = redisvCommand(context, format, args);
    va_end(args);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s: %s", format, reply->str);
    }
    freeReplyObject(reply);
    redisFree(context);
}
