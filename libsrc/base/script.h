/* script.h - a Lua script as the generator embeds it (tools/embed_lua.py makes scripts.h of lua/).
 *
 * Pure data. */
#ifndef BASE_SCRIPT_H
#define BASE_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/* Immutable; one static object per file of lua/, called script_<name>. */
struct script {
    const char *name; /* "consume" */
    const char *text;
    size_t text_len;
    const char *sha1; /* 40 hex digits: the argument of EVALSHA */
    int keys;         /* number of KEYS, an optional one included */
    bool optional;    /* the last key may be left out */
};

#endif
