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
    int keys;         /* number of KEYS, optional ones included */
    int optional;     /* how many of them, the last ones, may be left out together */
    bool writes;      /* a server that refuses writes refuses it */
};

#endif
