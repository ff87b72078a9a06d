/* root_text.h - the text of a fleet's root node.
 *
 * Lines: "slotmq 2", "fence_generation N", "identity I".
 *
 * Below: nothing of this folder.  Pure. */
#ifndef COORD_NODE_ROOT_TEXT_H
#define COORD_NODE_ROOT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROOT_VERSION = 2, ROOT_IDENTITY_LEN = 32, ROOT_TEXT_MAX = 128 };

struct root_info {
    uint32_t generation; /* fence_generation: lower bound of all tokens, from 1 */
    /* random identity of the fleet, in lower-case hex digits */
    char identity[ROOT_IDENTITY_LEN + 1];
};

/* Write the text of the root; returns its length. */
size_t root_text_format(char out[ROOT_TEXT_MAX], const struct root_info *info);

/* Read untrusted bytes; false: they are no root of this version. */
bool root_text_parse(struct root_info *out, const char *data, size_t len);

/* Write what topics are bound to: "redis:PATH", or "zookeeper:PATH IDENTITY", because there may be
 * another ensemble with this path, but no other tree in the Redis of the topics. */
void root_text_binding(char *out, size_t size, bool in_redis, const char *path,
                       const char *identity);

/* The path of parent number `step`, from 0, of the root at `path`; NULL: there is no such parent.
 * The caller frees it.  root_text_parents() returns how many there are. */
char *root_text_parent(const char *path, int step);
int root_text_parents(const char *path);

#endif
