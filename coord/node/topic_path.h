/* topic_path.h - the nodes of a topic in ZooKeeper.
 *
 * A group of a topic has nodes like any topic.  '/' of its name TOPIC/GROUP is ':' in the name of
 * its node; no topic's name has that.
 *
 * Pure. */
#ifndef COORD_NODE_TOPIC_PATH_H
#define COORD_NODE_TOPIC_PATH_H

#include <stddef.h>

/* Write "topics/", the name of the topic's node, and `rest`, as "/assignment" or "". */
void topic_path(char *out, size_t size, const char *name, const char *rest);

/* Make the name of a topic of the name of its node. */
void topic_path_to_name(char *node);

#endif
