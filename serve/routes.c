/* routes.c - the table of paths: who may call them, what they take, and where they run.
 *
 * Thread: that of the port. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/http/query.h"
#include "cli/text/say.h"
#include "serve/page/page.h"
#include "serve/serve.h"

enum route_right { ROUTE_FREE, ROUTE_READ, ROUTE_WRITE };

/* NOW: what it looks at is in memory.  ASK: it blocks, and runs in the pool. */
enum route_place { ROUTE_NOW, ROUTE_ASK, ROUTE_EVENTS };

struct route {
    enum port_method method;
    const char *path;
    enum route_right right;
    enum route_place place;
    int64_t share_ms; /* how long an answer of the pool is shared */
    ask_fn *run;
    const struct query_field *fields;
};

/* === What they take ===================================================== */

#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }
#define TOPIC                                                                                      \
    {                                                                                              \
        .name = "topic", .type = QUERY_TEXT, .required = true                                      \
    }
#define TEXT(what)                                                                                 \
    {                                                                                              \
        .name = (what), .type = QUERY_TEXT                                                         \
    }
#define NEEDED(what)                                                                               \
    {                                                                                              \
        .name = (what), .type = QUERY_TEXT, .required = true                                       \
    }
#define STRING(what)                                                                               \
    {                                                                                              \
        .name = (what), .type = QUERY_STRING                                                       \
    }
#define BYTES(what)                                                                                \
    {                                                                                              \
        .name = (what), .type = QUERY_BYTES                                                        \
    }
#define NUMBER(what, least, most)                                                                  \
    {                                                                                              \
        .name = (what), .type = QUERY_NUMBER, .min = (least), .max = (most)                        \
    }
#define WORDS(what, most)                                                                          \
    {                                                                                              \
        .name = (what), .type = QUERY_WORDS, .max = (most)                                         \
    }
#define MESSAGE(needed) {.name = "id", .type = QUERY_BYTES, .required = (needed)}, BYTES("key")

/* As long as the longest duration of the library. */
#define AGE_MAX (INT64_C(1) << 43)

static const struct query_field nothing[] = {END};
static const struct query_field topic_only[] = {TOPIC, END};
static const struct query_field id_only[] = {NEEDED("id"), END};
static const struct query_field for_topics[] = {TEXT("search"),
                                                TEXT("order"),
                                                NUMBER("offset", 0, INT32_MAX),
                                                NUMBER("limit", 1, 1000),
                                                NUMBER("points", 0, HISTORY_POINTS),
                                                END};
static const struct query_field for_topic[] = {TOPIC, NUMBER("points", 0, HISTORY_POINTS), END};
static const struct query_field for_work[] = {TEXT("topic"), END};
static const struct query_field for_messages[] = {TOPIC,
                                                  WORDS("state", 4),
                                                  TEXT("contains"),
                                                  BYTES("header"),
                                                  TEXT("reason"),
                                                  STRING("reason_is"),
                                                  NUMBER("older_than_ms", 1, AGE_MAX),
                                                  NUMBER("limit", 1, 1000),
                                                  TEXT("cursor"),
                                                  END};
static const struct query_field for_message[] = {TOPIC, MESSAGE(true), END};
static const struct query_field for_dead[] = {TOPIC, NUMBER("limit", 1, 100000), END};
static const struct query_field for_alter[] = {TOPIC, NEEDED("option"), NEEDED("value"), END};
static const struct query_field for_schedule[] = {TOPIC, NEEDED("id"), NEEDED("action"),
                                                  TEXT("note"), END};
static const struct query_field named_message[] = {MESSAGE(false), END};

#define SELECTION                                                                                  \
    TOPIC, {.name = "all", .type = QUERY_SWITCH},                                                  \
        {.name = "messages", .type = QUERY_OBJECTS, .max = 1000, .of = named_message},             \
        TEXT("contains"), BYTES("header"), TEXT("reason"), STRING("reason_is"),                    \
        NUMBER("older_than_ms", 1, AGE_MAX), NUMBER("limit", 1, INT64_MAX),                        \
        NUMBER("rate_per_s", 1, INT32_MAX)
static const struct query_field for_requeue[] = {SELECTION, END};
static const struct query_field for_purge[] = {SELECTION, WORDS("states", 3), END};

/* === The table ========================================================== */

#define FREE(path_, run_)                                                                          \
    {                                                                                              \
        PORT_GET, path_, ROUTE_FREE, ROUTE_NOW, 0, run_, nothing                                   \
    }
#define NOW(path_, run_, fields_)                                                                  \
    {                                                                                              \
        PORT_GET, path_, ROUTE_READ, ROUTE_NOW, 0, run_, fields_                                   \
    }
#define ASK(path_, run_, share, fields_)                                                           \
    {                                                                                              \
        PORT_GET, path_, ROUTE_READ, ROUTE_ASK, share, run_, fields_                               \
    }
#define EDIT(path_, run_, fields_)                                                                 \
    {                                                                                              \
        PORT_POST, path_, ROUTE_WRITE, ROUTE_ASK, 0, run_, fields_                                 \
    }
#define API "/api/v1/"

static const struct route routes[] = {
    FREE("/healthz", show_health),
    FREE("/readyz", show_ready),
    NOW("/metrics", show_metrics, nothing),
    NOW("/lag", show_lag, topic_only),
    {PORT_GET, "/events", ROUTE_READ, ROUTE_EVENTS, 0, NULL, nothing},
    NOW(API "self", show_self, nothing),
    NOW(API "topics", show_topics, for_topics),
    ASK(API "topic", show_topic, 2000, for_topic),
    ASK(API "work", show_work, 5000, for_work),
    ASK(API "messages", show_messages, 2000, for_messages),
    ASK(API "message", show_message, 1000, for_message),
    ASK(API "dead", show_dead, 2000, for_dead),
    ASK(API "schedules", show_schedules, 2000, topic_only),
    ASK(API "fleet", show_fleet, 5000, nothing),
    ASK(API "servers", show_servers, 5000, nothing),
    ASK(API "doctor", show_doctor, 30000, nothing),
    NOW(API "jobs", edit_jobs, nothing),
    NOW(API "job", edit_job, id_only),
    EDIT(API "remove", edit_remove, for_message),
    EDIT(API "pause", edit_pause, topic_only),
    EDIT(API "resume", edit_resume, topic_only),
    EDIT(API "alter", edit_alter, for_alter),
    EDIT(API "schedule", edit_schedule, for_schedule),
    EDIT(API "requeue", edit_requeue, for_requeue),
    EDIT(API "purge", edit_purge, for_purge),
    {PORT_POST, API "stop", ROUTE_WRITE, ROUTE_NOW, 0, edit_stop, id_only},
};
#define ROUTE_COUNT (sizeof(routes) / sizeof(routes[0]))

/* NULL: there is none; *other is one with this path and another method, or NULL. */
static const struct route *route_find(const struct route **other, enum port_method method,
                                      const char *path)
{
    *other = NULL;
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (strcmp(routes[i].path, path) == 0) {
            if (routes[i].method == method) {
                return &routes[i];
            }
            *other = &routes[i];
        }
    }
    return NULL;
}

/* A file that is compiled in; NULL: there is none of this path. */
static struct answer *route_file(const char *path)
{
    const struct page_file *file = page_find(path);
    char *body = file ? say_alloc(file->size + 1, 1) : NULL;

    if (!file) {
        return NULL;
    }
    memcpy(body, file->text, file->size);
    return answer_new(200, file->type, body, file->size);
}

/* === Who may ==============================================================*/

/* The answer that refuses the request, or NULL if its caller may make it. */
static struct answer *route_check_caller(struct guard_caller *out, const struct serve *serve,
                                         const struct port_request *request)
{
    const struct guard_facts facts = {
        .host = port_request_header(request, "Host"),
        .origin = port_request_header(request, "Origin"),
        .fetch_site = port_request_header(request, "Sec-Fetch-Site"),
        .authorization = port_request_header(request, "Authorization"),
    };

    switch (guard_check(out, &serve->guard, &facts)) {
    case GUARD_BAD_HOST:
        return answer_problem(403, SMQ_DENIED,
                              "Host must be an IP address, localhost, or a name of --host");
    case GUARD_BAD_SITE:
        return answer_problem(403, SMQ_DENIED, "pages of other sites may ask for nothing here");
    case GUARD_BAD_TOKEN:
        return answer_problem(401, SMQ_DENIED, "this is not the token");
    default:
        return NULL;
    }
}

static struct answer *route_check_right(const struct route *route, const struct serve *serve,
                                        const struct guard_caller *caller)
{
    if (route->right == ROUTE_READ && !caller->read) {
        return answer_problem(401, SMQ_DENIED, "give the token: Authorization: Bearer TOKEN");
    }
    if (route->right == ROUTE_WRITE && !serve->guard.write) {
        return answer_problem(403, SMQ_DENIED,
                              "nothing can be changed here: start it with --write");
    }
    if (route->right == ROUTE_WRITE && !caller->write) {
        return answer_problem(401, SMQ_DENIED, "who changes something needs the token, always");
    }
    return NULL;
}

/* === What is asked ====================================================== */

static bool route_is_json(const struct port_request *request)
{
    static const char type[] = "application/json";
    const char *given = port_request_header(request, "Content-Type");

    return given && strncasecmp(given, type, sizeof(type) - 1) == 0 &&
           (given[sizeof(type) - 1] == '\0' || given[sizeof(type) - 1] == ';');
}

/* What the request asks for, to be freed; NULL: *refused says why. */
static json_t *route_read(struct answer **refused, const struct route *route,
                          const struct port_request *request)
{
    char why[QUERY_WHY] = "";
    size_t size = 0;
    const char *body = port_request_body(request, &size);
    json_t *query = port_request_query(request, why);
    const bool post = route->method == PORT_POST;

    if (query && post && !route_is_json(request)) {
        json_decref(query);
        *refused = answer_problem(415, SMQ_INVALID, "Content-Type must be application/json");
        return NULL;
    }
    if (query && post && json_object_size(query) > 0) {
        snprintf(why, sizeof(why), "this path takes a body, and no parameters");
        json_decref(query);
        query = NULL;
    } else if (query && post) {
        json_decref(query);
        query = query_read(body, size, why);
    }
    if (query && query_check(query, route->fields, !post, why)) {
        return query;
    }
    json_decref(query);
    *refused = answer_problem(400, SMQ_INVALID, "%s", why);
    return NULL;
}

/* Is it about a topic that this server shows? */
static bool route_covers(const struct serve *serve, const json_t *query)
{
    const char *topic = query_text(query, "topic");

    return !topic || readings_wants(serve->only, topic);
}

/* === Answering ========================================================== */

static void route_run(const struct route *route, struct serve *serve, struct port_request *request,
                      json_t *query, const struct guard_caller *caller)
{
    switch (route->place) {
    case ROUTE_EVENTS:
        events_listen(serve->events, request);
        break;
    case ROUTE_ASK:
        pool_ask(serve->pool, request,
                 &(struct ask){.run = route->run,
                               .serve = serve,
                               .query = query,
                               .caller = *caller,
                               .path = route->path,
                               .share_ms = route->share_ms});
        return;
    default:
        port_answer(request, route->run(serve, query, caller));
        break;
    }
    json_decref(query);
}

/* No route has this path and method. */
static struct answer *route_missing(const struct route *other, const struct port_request *request)
{
    struct answer *answer = NULL;

    if (port_request_method(request) == PORT_GET) {
        answer = route_file(port_request_path(request));
    }
    if (!answer && other) {
        answer = answer_problem(405, SMQ_INVALID, "this path has another method");
        answer->allow = other->method == PORT_GET ? "GET, HEAD" : "POST";
    }
    return answer ? answer : answer_problem(404, SMQ_INVALID, "there is no such path");
}

void routes_handle(struct port_request *request, void *user)
{
    struct serve *serve = user;
    const struct route *other = NULL;
    const struct route *route =
        route_find(&other, port_request_method(request), port_request_path(request));
    struct guard_caller caller;
    struct answer *refused = route_check_caller(&caller, serve, request);
    json_t *query = NULL;

    if (!refused && !route) {
        refused = route_missing(other, request);
    }
    if (!refused && route) {
        refused = route_check_right(route, serve, &caller);
    }
    if (!refused && route) {
        query = route_read(&refused, route, request);
    }
    if (!refused && !route_covers(serve, query)) {
        json_decref(query);
        refused = answer_problem(404, SMQ_NO_TOPIC, "this server shows other topics (--topic)");
    }
    if (refused) {
        port_answer(request, refused);
    } else if (route) {
        route_run(route, serve, request, query, &caller);
    }
}
