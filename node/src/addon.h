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
void arena_reset(struct arena *arena);

/* These throw a TypeError and return false if a value has another type.  undefined and null give
 * NULL, no bytes, 0.  Texts and bytes are copied. */
bool value_is_none(napi_env env, napi_value value);
bool value_text(napi_env env, napi_value value, struct arena *arena, const char **out);
bool value_bytes(napi_env env, napi_value value, struct arena *arena, smq_bytes *out);
bool value_int(napi_env env, napi_value value, int64_t *out);
bool value_bool(napi_env env, napi_value value);
/* [name, text, ...] as options of the library, for smq_options_free(); NULL: an error was thrown.
 */
void *value_options(napi_env env, napi_value pairs, smq_option_set set);

/* A struct of the library (tables.py). */
struct record {
    const char *name;
    size_t size, count;
    const struct field {
        const char *name;
        enum field_kind {
            FIELD_I32,
            FIELD_I64,
            FIELD_U64,
            FIELD_BOOL,
            FIELD_TEXT,
            FIELD_CHARS,
            FIELD_BYTES,
            FIELD_U64S,
            FIELD_HEADERS, /* and their count */
            FIELD_POINTER  /* to a struct; it is only read */
        } kind;
        size_t offset, size;
        size_t within; /* where the pointer to the struct is that has it; 0: the record itself */
        const struct record *of;
    } * fields;
};
extern const struct record record_event, record_message, record_message_info, record_receipt;
extern const struct record *const records[]; /* all, and NULL */

/* Read an array of the values of its fields, in their order. */
bool value_read(napi_env env, napi_value words, const struct record *record, struct arena *arena,
                void *out);
napi_value value_of_text(napi_env env, const char *text); /* of NULL: undefined */
napi_value value_of_number(napi_env env, double number);
void value_set(napi_env env, napi_value object, const char *name, napi_value value);

/* === Structs to JavaScript (pack.c) ===================================== */

/* Write what lib/record.js reads: the count, of each struct a number for each field, and then their
 * bytes.  Returns how many; with `out` NULL they are only counted.  Thread: any. */
size_t pack_records(const struct record *record, const void *const *data, size_t count, char *out);
/* The same as an ArrayBuffer; of none NULL. */
napi_value pack_buffer(napi_env env, const struct record *record, const void *const *data,
                       size_t count);

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
/* What the library has for each of them (tables.py). */
extern const struct handle_calls {
    int (*fd)(const void *native);
    void (*free)(void *native); /* on any thread */
} handle_kinds[];

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
    bool listens;
    uv_poll_t poll;
    napi_ref callback;
    /* Of consumers: the deliveries without an answer, which JavaScript knows by their places. */
    struct held *held;
    uint32_t held_size, held_free;
};

struct addon *addon_of(napi_env env);
void addon_drop(struct addon *addon);
napi_value handle_new(struct addon *addon, enum handle_kind kind, void *native);
void *handle_native(const struct handle *handle); /* of NULL: NULL */
/* Read arguments, of which the first is a handle.  NULL: an error was thrown, also if it is closed.
 */
struct handle *handle_get(napi_env env, napi_value value, enum handle_kind kind);
struct handle *handle_arg(napi_env env, napi_callback_info info, size_t count, napi_value *argv,
                          enum handle_kind kind);
void handle_leave(struct handle *handle); /* a call on another thread has ended */
void handle_end_all(napi_async_cleanup_hook_handle hook, void *arg);

/* === Calls that wait (call.c) =========================================== */

enum { PARAMETERS = 5 };

/* What a call of the library takes (tables.py). */
struct parameter {
    enum {
        PARAMETER_NONE,
        PARAMETER_HANDLE,
        PARAMETER_TEXT,
        PARAMETER_NUMBER,
        PARAMETER_OPTIONS,
        PARAMETER_RECORD
    } kind;
    int of; /* the kind of the handle, or the set of the options */
    const struct record *record;
};
union argument {
    struct handle *handle; /* stays until the call has ended; or NULL */
    const char *text;
    int64_t number;
    void *data;
};

struct call_kind {
    const char *name;
    void (*run)(struct call *call); /* on a thread of the pool: sets status, err and the result */
    napi_value (*result)(napi_env env, struct call *call); /* of SMQ_OK; NULL: undefined */
    enum handle_kind made;
    struct parameter parameters[PARAMETERS];
};
extern const struct call_kind call_kinds[];

/* A record that a call has found, for JavaScript. */
struct shown {
    struct shown *next;
    size_t size;
    char *data;
};

/* A call on a thread of the pool of Node.js, with a promise of its result. */
struct call {
    const struct call_kind *kind;
    struct addon *addon;
    napi_async_work work;
    napi_deferred deferred;
    union argument args[PARAMETERS];
    struct arena arena;
    smq_status status;
    smq_error err;
    /* Its result, of which it has one. */
    void *made;
    double number;
    struct shown *shown, **last;
};

struct call *call_new(napi_env env, const struct call_kind *kind);
napi_value call_prepare(napi_env env, struct call *call); /* its promise */
napi_value call_error(napi_env env, smq_status status, const char *text);
napi_value call_throw(napi_env env, smq_status status, const char *text); /* NULL */
/* Keep a copy as its result.  Thread: that of the call. */
void call_show(struct call *call, const struct record *record, const void *data);
/* Results. */
napi_value call_shown(napi_env env, struct call *call); /* an array */
napi_value call_handle(napi_env env, struct call *call);
napi_value call_number(napi_env env, struct call *call);
napi_value call_text(napi_env env, struct call *call);

/* === What JavaScript calls ============================================== */

#define ADDON_CALL(name) napi_value name(napi_env env, napi_callback_info info)

ADDON_CALL(handle_watch);
ADDON_CALL(handle_listen);
ADDON_CALL(handle_close);
ADDON_CALL(handle_events);
ADDON_CALL(producer_send);
ADDON_CALL(producer_poll);
ADDON_CALL(consumer_poll);
ADDON_CALL(consumer_answer);
ADDON_CALL(call_begin);

/* What was never answered, of a consumer that was freed: it is delivered again. */
void consumer_release_held(struct handle *handle);

#endif
