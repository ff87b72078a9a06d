/* core.h - version, constants, status codes, errors.
 *
 * Copyright (c) the slotmq authors.  SPDX-License-Identifier: BSD-2-Clause */
#ifndef SLOTMQ_CORE_H
#define SLOTMQ_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SMQ_VERSION_MAJOR 0
#define SMQ_VERSION_MINOR 3
#define SMQ_VERSION_PATCH 1

#if defined(__GNUC__)
#define SMQ_API __attribute__((visibility("default")))
#else
#define SMQ_API
#endif

#define SMQ_NONE        (-1) /* an option or field is off, where that is not its default */
#define SMQ_FOREVER     (-1) /* a time-out that never ends */
#define SMQ_BACKOFF     (-1) /* a delay: use the back-off of the topic */
#define SMQ_TOPIC_DELAY (-2) /* the delay of a send: that of the topic */

#define SMQ_TEXT_SIZE  252 /* bytes of a text for people, with its NUL */
#define SMQ_ID_SIZE    47  /* bytes of an id that the library makes, with its NUL */
#define SMQ_REASON_MAX 200 /* bytes of a reason; longer ones are cut */

/* Each struct that begins with struct_size, as smq_message, has two macros.  SMQ_MESSAGE_INIT
 * initializes a variable, in C and in C++.  SMQ_MESSAGE(.field = value, ...) is an expression, in C
 * only.  Fields that are not named are 0. */
#define SMQ_WITH(type, ...) ((type){.struct_size = sizeof(type), __VA_ARGS__})

#ifdef __cplusplus
template <typename T> inline T smq_init_()
{
    T value = T();
    value.struct_size = sizeof(T);
    return value;
}
#define SMQ_INIT(type) smq_init_<type>()
extern "C" {
#else
#define SMQ_INIT(type)                                                                             \
    {                                                                                              \
        .struct_size = sizeof(type)                                                                \
    }
#endif

/* Bytes that belong to the caller, or to the struct that they came with.  If data is NULL there are
 * none. */
typedef struct smq_bytes {
    const void *data;
    size_t len;
} smq_bytes;

/* The bytes of a C string, without its NUL.  `text` may be NULL: no bytes. */
static inline smq_bytes smq_text(const char *text)
{
    smq_bytes bytes = {text, text != NULL ? strlen(text) : 0};

    return bytes;
}

/* The version of the library in use, as "0.2.0".  SMQ_VERSION_MAJOR, _MINOR and _PATCH are that of
 * the headers which the caller was compiled with. */
SMQ_API const char *smq_version(void);

/* Free a text that a function returned through a `char **out`. */
SMQ_API void smq_free(void *memory);

/* === Status ============================================================= */

/* What a caller should do about a status.  Most callers need to look at nothing else. */
typedef enum smq_class {
    SMQ_CLASS_OK,      /* nothing */
    SMQ_CLASS_USAGE,   /* correct the program or the set-up; repeating the call cannot help */
    SMQ_CLASS_RETRY,   /* nothing was done: repeat the same call later */
    SMQ_CLASS_UNKNOWN, /* it may have been done: repeat the call if doing it twice does no harm */
    SMQ_CLASS_ABORT,   /* the message now belongs to another consumer: stop handling it */
    SMQ_CLASS_FATAL    /* free the handle and make a new one */
} smq_class;

/* X(name, value, class, text).  From 1.0 on values never change, and new ones are appended. */
#define SMQ_STATUS_MAP(X)                                                                          \
    X(SMQ_OK, 0, OK, "success")                                                                    \
    X(SMQ_INVALID, -1, USAGE, "invalid argument or option")                                        \
    X(SMQ_WRONG_THREAD, -2, USAGE, "this call would wait for itself")                              \
    X(SMQ_FORKED, -3, USAGE, "the handle was made before fork()")                                  \
    X(SMQ_NO_TOPIC, -4, USAGE, "no such topic")                                                    \
    X(SMQ_TOPIC_DIFFERS, -5, USAGE, "topic exists with another definition")                        \
    X(SMQ_NOT_EMPTY, -6, USAGE, "the topic still holds messages")                                  \
    X(SMQ_WRONG_TYPE, -7, USAGE, "not for this type or layout of topic")                           \
    X(SMQ_TOO_BIG, -8, USAGE, "larger than the topic allows")                                      \
    X(SMQ_NO_MESSAGE, -9, USAGE, "no such message")                                                \
    X(SMQ_DAMAGED, -10, USAGE, "Redis lost a part of the topic; repair it")                        \
    X(SMQ_DENIED, -11, USAGE, "credentials or permission refused")                                 \
    X(SMQ_BAD_SERVER, -12, USAGE, "server too old, or it evicts keys")                             \
    X(SMQ_OTHER_FLEET, -13, USAGE, "topic belongs to another fleet")                               \
    X(SMQ_NO_MEMORY, -14, RETRY, "out of memory")                                                  \
    X(SMQ_TIMED_OUT, -15, RETRY, "time ran out before it was done")                                \
    X(SMQ_UNAVAILABLE, -16, RETRY, "no server for this slot; not done")                            \
    X(SMQ_FULL, -17, RETRY, "send buffer, topic or Redis is full")                                 \
    X(SMQ_IN_WORK, -18, RETRY, "a consumer works on the message")                                  \
    X(SMQ_UNKNOWN, -19, UNKNOWN, "reply lost; it may have been done")                              \
    X(SMQ_LEASE_LOST, -20, ABORT, "the lease ended; delivered again")                              \
    X(SMQ_FENCED, -21, ABORT, "a newer owner holds the slot")                                      \
    X(SMQ_NAME_TAKEN, -22, FATAL, "a live process has this member name")                           \
    X(SMQ_CLOSED, -23, FATAL, "the handle is closing or closed")                                   \
    X(SMQ_INTERNAL, -24, FATAL, "a defect of slotmq; please report it")                            \
    X(SMQ_DUPLICATE, -25, USAGE,                                                                   \
      "a message with this key and id is in flight, awaits its next attempt, or was done within "  \
      "dedup_window_ms")                                                                           \
    X(SMQ_NO_SCHEDULE, -26, USAGE, "no such schedule")

typedef enum smq_status {
#define SMQ_X(name, value, class_, text) name = value,
    SMQ_STATUS_MAP(SMQ_X)
#undef SMQ_X
} smq_status;

/* The name of a status as "SMQ_FENCED", one line about it for people, and its class. */
SMQ_API const char *smq_status_name(smq_status status);
SMQ_API const char *smq_status_text(smq_status status);
SMQ_API smq_class smq_status_class(smq_status status);

/* Why a call failed.  The caller provides it, usually on its stack; functions write it on failure
 * only.  The text names the topic, slot, server or option and says what to do; it never holds a
 * password. */
typedef struct smq_error {
    smq_status status;
    char text[SMQ_TEXT_SIZE]; /* one line, no newline, always terminated */
} smq_error;
#define SMQ_ERROR_INIT                                                                             \
    {                                                                                              \
        SMQ_OK, ""                                                                                 \
    }

#ifdef __cplusplus
}
#endif

#endif /* SLOTMQ_CORE_H */
