/* tree.h - the tree of a fleet that has Redis alone: one hash, one script, and the channels on
 * which its changes are published.
 *
 * Thread: smq:io. */
#ifndef STORE_TREE_H
#define STORE_TREE_H

#include "store/store.h"

enum { STORE_TREE_KEY_MAX = 320, STORE_TREE_WORDS_MAX = 8192 };

/* Where the tree of a root lies. */
struct store_tree {
    char key[STORE_TREE_KEY_MAX];
    uint16_t hash_slot;
};

void store_tree_fill(struct store_tree *out, const char *root);

/* The name of a channel in Redis; `out` has `size` bytes. */
void store_tree_channel(char *out, size_t size, const struct store_tree *tree, const char *channel);

/* Begin a call, add its arguments in their order, and send it. */
void store_tree_begin(struct store_call *call, const struct store_tree *tree);
void store_tree_add(struct store_call *call, const char *data, size_t len);
void store_tree_call(struct store_call *call, struct redis *redis, int64_t timeout_ms);

/* A write in the tree's master that changes nothing, for a WAIT behind it. */
void store_tree_touch(struct store_call *call, struct redis *redis, const struct store_tree *tree,
                      int64_t timeout_ms);

/* Words of the reply behind OK: how many there are, and one of them. */
size_t store_tree_count(const struct store_result *result);
bool store_tree_word(const char **data, size_t *len, const struct store_result *result,
                     size_t index);

#endif
