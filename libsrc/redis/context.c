/* context.c - what all parts of one Redis client share.
 *
 * Thread: smq:io, but context_counts(). */
#include "redis/context.h"

#include <assert.h>

#include "base/status.h"
#include "redis/tls.h"

void context_init(struct context *context, struct loop *loop, const struct redis_options *options,
                  struct events *events, void (*drained)(struct context *context))
{
    smq_error err;

    if (server_list_parse(&context->seeds, options->servers, &err) != SMQ_OK) {
        assert(!"redis_check_options() comes first");
    }
    if (context->seeds.tls) {
        context->tls = tls_new(&options->tls, events);
    }
    context->loop = loop;
    context->events = events;
    credentials_init(&context->credentials, loop, events, &context->seeds, &options->credentials);
    context_init_timer(context, &context->credentials.timer);
    credentials_start(&context->credentials);
    context->connect_timeout_ms = options->connect_timeout_ms;
    context->request_timeout_ms = options->request_timeout_ms;
    context->drained = drained;
}

void context_fini(struct context *context)
{
    server_list_fini(&context->seeds);
    credentials_fini(&context->credentials);
    tls_free(context->tls);
}

/* The name of one that is given; NULL: none is. */
static const char *context_tls_option(const struct redis_tls *tls)
{
    const struct {
        const char *name, *value;
    } options[] = {{"tls_ca", tls->ca},
                   {"tls_cert", tls->cert},
                   {"tls_key", tls->key},
                   {"tls_name", tls->name}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (options[i].value != NULL && options[i].value[0] != '\0') {
            return options[i].name;
        }
    }
    return NULL;
}

/* Check the options that depend on the servers. */
static smq_status context_check(const struct server_list *list, const struct redis_options *options,
                                smq_error *err)
{
    const char *given = context_tls_option(&options->tls);
    smq_status status = credentials_check(list, &options->credentials, err);

    if (status != SMQ_OK) {
        return status;
    }
    if (list->tls) {
        return tls_check(&options->tls, err);
    }
    return given == NULL ? SMQ_OK
                         : status_set(err, SMQ_INVALID,
                                      "%s is for TLS, and the Redis servers are given without it: "
                                      "write rediss://host:port,...",
                                      given);
}

smq_status redis_check_options(const struct redis_options *options, smq_error *err)
{
    struct server_list list = {0};
    smq_status status = server_list_parse(&list, options->servers, err);

    if (status != SMQ_OK) {
        return status;
    }
    status = context_check(&list, options, err);
    server_list_fini(&list);
    return status;
}

static void context_adopt(struct context *context, uv_handle_t *handle)
{
    assert(context->open_handles < CONTEXT_HANDLES_MAX);
    handle->data = context;
    context->handles[context->open_handles++] = handle;
}

void context_init_timer(struct context *context, uv_timer_t *timer)
{
    (void) uv_timer_init(loop_uv(context->loop), timer);
    context_adopt(context, (uv_handle_t *) timer);
}

void context_init_idle(struct context *context, uv_idle_t *idle)
{
    (void) uv_idle_init(loop_uv(context->loop), idle);
    context_adopt(context, (uv_handle_t *) idle);
}

static void context_on_handle_closed(uv_handle_t *handle)
{
    struct context *context = handle->data;

    if (--context->open_handles == 0) {
        context->drained(context);
    }
}

void context_close_handles(struct context *context)
{
    for (int i = 0; i < context->open_handles; i++) {
        uv_close(context->handles[i], context_on_handle_closed);
    }
}

void context_count_redirect(struct context *context)
{
    atomic_fetch_add_explicit(&context->counts.redirects, 1, memory_order_relaxed);
}

void context_count_ready(struct context *context, bool *known)
{
    if (*known) {
        atomic_fetch_add_explicit(&context->counts.reconnects, 1, memory_order_relaxed);
    }
    *known = true;
}

void context_set_reached(struct context *context, bool reached)
{
    atomic_store_explicit(&context->counts.unreachable, reached ? 0 : 1, memory_order_relaxed);
}

bool context_is_reached(const struct context *context)
{
    return atomic_load_explicit(&context->counts.unreachable, memory_order_relaxed) == 0;
}

struct redis_counts context_counts(const struct context *context)
{
    return (struct redis_counts){
        .redirects = atomic_load_explicit(&context->counts.redirects, memory_order_relaxed),
        .reconnects = atomic_load_explicit(&context->counts.reconnects, memory_order_relaxed),
        .unreachable = atomic_load_explicit(&context->counts.unreachable, memory_order_relaxed)};
}
