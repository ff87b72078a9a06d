/* handle.h - the handles of the library that JavaScript has, their descriptors, and the end of all
 * of them. */
#ifndef SLOTMQ_NODE_HANDLE_H
#define SLOTMQ_NODE_HANDLE_H

#include <sys/queue.h>
#include <uv.h>

#include "value.h"

enum handle_kind { HANDLE_CLIENT, HANDLE_PRODUCER, HANDLE_CONSUMER, HANDLE_LIMIT };

/* What the addon knows of one environment of Node.js: the main thread, or a worker thread.  Thread:
 * that of its loop. */
struct addon {
    napi_env env;
    uv_loop_t *loop;
    napi_ref error_of;  /* makes an error of (status, name, class, text) */
    struct arena arena; /* of calls that do not wait */
    LIST_HEAD(, handle) handles;
    napi_async_cleanup_hook_handle hook;
    size_t closing; /* polls of the loop that are being closed at the end of the environment */
    int owners;     /* the environment, its hook and each handle: the last one frees it */
};

enum handle_poll { HANDLE_POLL_NONE, HANDLE_POLL_OPEN, HANDLE_POLL_CLOSING };

struct held;

/* Invariants: it is in the list of its addon; while `calls` is not 0, `native` is not freed. */
struct handle {
    LIST_ENTRY(handle) entry;
    struct addon *addon;
    enum handle_kind kind;
    void *native;     /* of the library; NULL once it was freed */
    size_t calls;     /* that run on other threads */
    bool closed;      /* no call begins any more */
    bool is_dropped;  /* JavaScript has no reference to it */
    struct call *end; /* frees `native`; begins when no call runs */
    enum handle_poll poll_state;
    uv_poll_t poll;
    napi_ref callback;
    uint64_t wakes;
    /* Of consumers: what was polled and not answered. */
    struct held *held;
    uint32_t held_size, held_free;
};

struct addon *addon_of(napi_env env);

/* A handle for JavaScript.  If that cannot be made, the end of the environment frees it. */
napi_value handle_new(struct addon *addon, enum handle_kind kind, void *native);
/* The handle that a value of JavaScript is; NULL: an error was thrown, also if it is closed. */
struct handle *handle_get(napi_env env, napi_value value, enum handle_kind kind);
/* A call on another thread has ended. */
void handle_leave(struct handle *handle);
void handle_free_native(enum handle_kind kind, void *native);

napi_value handle_watch(napi_env env, napi_callback_info info);
napi_value handle_listen(napi_env env, napi_callback_info info);
napi_value handle_hold(napi_env env, napi_callback_info info);
napi_value handle_wakes(napi_env env, napi_callback_info info);
napi_value handle_close(napi_env env, napi_callback_info info);

/* The environment ends: called by its hook. */
void handle_end_all(napi_async_cleanup_hook_handle hook, void *arg);
void addon_drop(struct addon *addon);

#endif
