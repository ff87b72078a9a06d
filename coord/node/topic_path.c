/* topic_path.c - see topic_path.h. */
#include "coord/node/topic_path.h"

#include <stdio.h>
#include <string.h>

static const char topic_path_group = ':';
static const char topic_path_folder[] = "topics/";

void topic_path(char *out, size_t size, const char *name, const char *rest)
{
    size_t at = sizeof(topic_path_folder) - 1;

    (void) snprintf(out, size, "%s%s%s", topic_path_folder, name, rest);
    for (size_t i = 0; i < strlen(name) && at + i + 1 < size; i++) {
        if (name[i] == '/') {
            out[at + i] = topic_path_group;
        }
    }
}

void topic_path_to_name(char *node)
{
    char *separator = strchr(node, topic_path_group);

    if (separator != NULL) {
        *separator = '/';
    }
}
