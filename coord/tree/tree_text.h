/* tree_text.h - the words of the tree's script, and of what it publishes.
 *
 * Below: session.h, port.h.  Pure. */
#ifndef COORD_TREE_TREE_TEXT_H
#define COORD_TREE_TREE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coord/port.h"
#include "coord/session/session.h"

enum { TREE_CHANGE_LEN = 16, TREE_CHANNEL_MAX = 300 };

/* The number of a change, or of a session; 0: none. */
void tree_change_format(char out[TREE_CHANGE_LEN + 1], int64_t change);
bool tree_change_parse(int64_t *out, const char *data, size_t len);

enum tree_verdict {
    TREE_OK,
    TREE_REIGN,   /* another reign has begun */
    TREE_GONE,    /* the tree does not know the session */
    TREE_REFUSED, /* one of the operations cannot be done */
    TREE_HIDDEN,  /* the server does not say which life of it this is */
    TREE_LATER,   /* a later version wrote the tree */
    TREE_FULL     /* there is no larger era */
};

enum { TREE_VERDICTS = TREE_FULL + 1 };

/* The head of each reply. */
struct tree_head {
    enum tree_verdict verdict;
    int64_t reign, last; /* its first change; the last change of the tree */
    int64_t grace_ms;    /* for how long the grace lasts; 0: there is none */
    bool young;          /* it may have forgotten the first owner of a topic */
};

enum { TREE_HEAD_WORDS = 5 };

/* Read the head of a reply; false: it has another form. */
bool tree_head_parse(struct tree_head *out, const struct coord_word *words, size_t count);

/* The status of an operation. */
enum session_status tree_status_parse(const struct coord_word *word);

/* Read a node, or the head of one; *data: its data, if it has some.  false: it has another form. */
bool tree_node_parse(struct session_stat *out, struct coord_word *data,
                     const struct coord_word *word);

/* What is published: a change of a node. */
struct tree_hint {
    int64_t before, change; /* the last change of the channel before it, and its own */
    bool listed;            /* the node is new or gone: so the list that it is in has changed */
    const char *path;       /* behind it is no NUL: `path_len` */
    size_t path_len;
};

bool tree_hint_parse(struct tree_hint *out, const char *data, size_t len);

/* The channel on which changes of the node at `path` are published that a member reads. */
void tree_channel_of(char out[TREE_CHANNEL_MAX], const char *path);

#endif
