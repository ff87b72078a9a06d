/* addon.h - what the files of the addon for Node.js know of each other.  Thread: that of the loop
 * of Node.js, where nothing else is said. */
#ifndef SLOTMQ_NODE_ADDON_H
#define SLOTMQ_NODE_ADDON_H

#define NAPI_VERSION 8
#include <node_api.h>
#include <slotmq/slotmq.h>
#include <sys/queue.h>
#include <uv.h>

/* === Values (value.c) =================================================== */

struct block;

/* Memory for one call, which is freed together.  Thread: any, one at a time. */
struct arena {
    struct block *blocks;
};

void *arena_get(struct arena *arena, size_t size);                   /* never NULL */
char *arena_copy(struct arena *arena, const void *data, size_t len); /* with a NUL behind it */
smq_bytes arena_bytes(struct arena *arena, smq_bytes bytes);         /* a copy */
void arena_reset(struct arena *arena);

/* These throw a TypeError and return false if a value has another type.  undefined and null give
 * NULL, no bytes, 0.  The bytes of a Buffer are used in place, until the call from JavaScript
 * returns. */
bool value_is_none(napi_env env, napi_value value);
bool value_text(napi_env env, napi_value value, struct arena *arena, const char **out);
bool value_bytes(napi_env env, napi_value value, struct arena *arena, smq_bytes *out);
bool value_int(napi_env env, napi_value value, int64_t *out);
bool value_bool(napi_env env, napi_value value);
napi_value value_at(napi_env env, napi_value array, uint32_t index);
/* [body, key, id, priority, delay, dueAt, ttl, maxRetries, [name, value, ...]] */
bool value_message(napi_env env, napi_value words, struct arena *arena, smq_message *out);
/* [name, text, ...] as options of the library, for smq_options_free(); NULL: an error was thrown.
 */
void *value_options(napi_env env, napi_value pairs, smq_option_set set);

/* A row of a table of fields (fields.py), which ends with a row without a name. */
enum field_kind {
    FIELD_I32,
    FIELD_I64,
    FIELD_U64,
    FIELD_BOOL,
    FIELD_TEXT,
    FIELD_BYTES,
    FIELD_CHARS,
    FIELD_U64S
};
struct field {
    const char *name;
    enum field_kind kind;
    size_t offset, size;
};

napi_value value_of_text(napi_env env, const char *text); /* of NULL: undefined */
napi_value value_of_bytes(napi_env env, smq_bytes bytes);
napi_value value_of_number(napi_env env, double number);
napi_value value_of_record(napi_env env, const struct field *fields, const void *record);
void value_set(napi_env env, napi_value object, const char *name, napi_value value);
/* A copy of a struct with what its fields point to.  Thread: any. */
void *value_keep(struct arena *arena, const struct field *fields, const void *record, size_t size);

/* === Handles (handle.c) ================================================= */

/* What there is once for each environment of Node.js: the main thread, or a worker thread. */
struct addon {
    napi_env env;
    uv_loop_t *loop;
    napi_ref error_of;  /* makes an error of (status, name, class, text) */
    struct arena arena; /* of calls that do not wait */
    LIST_HEAD(handle_list, handle) handles;
    napi_async_cleanup_hook_handle hook;
    size_t closing; /* polls that are closed at the end of the environment */
    int owners;     /* the environment, its hook and each handle: the last one frees it */
};

enum handle_kind { HANDLE_CLIENT, HANDLE_PRODUCER, HANDLE_CONSUMER, HANDLE_LIMIT };

/* A handle of the library that JavaScript has.  While `calls` is not 0 `native` is not freed. */
struct handle {
    LIST_ENTRY(handle) entry;
    struct addon *addon;
    enum handle_kind kind;
    void *native;     /* NULL once it is freed */
    size_t calls;     /* that run on other threads */
    bool closed;      /* no call begins any more */
    bool is_dropped;  /* JavaScript knows it no more */
    struct call *end; /* frees `native` when no call runs */
    enum { POLL_NONE, POLL_OPEN, POLL_CLOSING } poll_state;
    uv_poll_t poll;
    napi_ref callback;
    uint64_t wakes;
    /* Of consumers: the deliveries without an answer, which JavaScript knows by their places. */
    struct held *held;
    uint32_t held_size, held_free;
};

struct addon *addon_of(napi_env env);
void addon_drop(struct addon *addon);
napi_value handle_new(struct addon *addon, enum handle_kind kind, void *native);
/* Read arguments, of which the first is a handle.  NULL: an error was thrown, also if it is closed.
 */
struct handle *handle_get(napi_env env, napi_value value, enum handle_kind kind);
struct handle *handle_arg(napi_env env, napi_callback_info info, size_t count, napi_value *argv,
                          enum handle_kind kind);
void handle_leave(struct handle *handle); /* a call on another thread has ended */
void handle_end_all(napi_async_cleanup_hook_handle hook, void *arg);

/* === Calls that wait (call.c) =========================================== */

/* A call on a thread of the pool of Node.js, with a promise of its result. */
struct call {
    struct handle *handle, *also; /* that stay until it has ended, or NULL */
    struct addon *addon;
    napi_async_work work;
    napi_deferred deferred;
    void (*run)(struct call *call); /* on a thread of the pool: sets status, err */
    napi_value (*result)(napi_env env, struct call *call); /* of SMQ_OK; NULL: undefined */
    struct arena arena;
    smq_status status;
    smq_error err;
    void *data;    /* of its kind */
    void *options; /* freed with it */
};

struct call *call_new(napi_env env, struct handle *handle);
napi_value call_drop(struct call *call);                  /* it was not begun; NULL */
napi_value call_prepare(napi_env env, struct call *call); /* its promise */
napi_value call_begin(napi_env env, struct call *call);   /* its promise; it runs */
napi_value call_error(napi_env env, smq_status status, const char *text);
napi_value call_throw(napi_env env, smq_status status, const char *text); /* NULL */

/* === What JavaScript calls ============================================== */

#define ADDON_CALL(name) napi_value name(napi_env env, napi_callback_info info)

ADDON_CALL(handle_watch);
ADDON_CALL(handle_listen);
ADDON_CALL(handle_hold);
ADDON_CALL(handle_wakes);
ADDON_CALL(handle_close);
ADDON_CALL(producer_new);
ADDON_CALL(producer_send);
ADDON_CALL(producer_poll);
ADDON_CALL(consumer_new);
ADDON_CALL(consumer_poll);
ADDON_CALL(consumer_answer);
ADDON_CALL(consumer_stop);
ADDON_CALL(consumer_set_most);
ADDON_CALL(admin_client_new);
ADDON_CALL(admin_client_poll);
ADDON_CALL(admin_limit_new);
ADDON_CALL(admin_call);

/* What was never answered, of a consumer that was freed: it is delivered again. */
void consumer_release_held(struct handle *handle);

#endif
