/* raw.h - a bare connection to ZooKeeper, to look at nodes and to damage them.
 *
 * Thread: one. */
#ifndef TESTS_COORD_RAW_H
#define TESTS_COORD_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zookeeper/zookeeper.h>

/* Connected, with "user:password" or NULL; the test fails when it cannot be.  Close with
 * zookeeper_close(). */
zhandle_t *raw_connect(const char *servers, const char *auth);

/* The data of a node as a string in `out`; false when there is no such node. */
bool raw_get(zhandle_t *handle, const char *path, char *out, size_t size, struct Stat *stat);

/* How often the node was written since its creation; the test fails when there is none. */
int32_t raw_version(zhandle_t *handle, const char *path);

/* Overwrite a node. */
void raw_set(zhandle_t *handle, const char *path, const char *data, int len);

/* From now on everyone may do `perms` with the node, and nothing else. */
void raw_set_access(zhandle_t *handle, const char *path, int32_t perms);

/* How many nodes stand under `path`, itself included. */
int raw_count(zhandle_t *handle, const char *path);

#endif
