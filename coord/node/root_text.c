/* root_text.c - writing and reading the text of a fleet's root node.
 *
 * Pure. */
#include "coord/node/root_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

size_t root_text_format(char out[ROOT_TEXT_MAX], const struct root_info *info)
{
    return (size_t) snprintf(out, ROOT_TEXT_MAX,
                             "slotmq %d\nfence_generation %" PRIu32 "\nidentity %s\n", ROOT_VERSION,
                             info->generation, info->identity);
}

bool root_text_parse(struct root_info *out, const char *data, size_t len)
{
    char text[ROOT_TEXT_MAX] = "";
    struct root_info info = {0};
    int version = 0;

    if (len >= sizeof(text)) {
        return false;
    }
    memcpy(text, data, len);
    if (sscanf(text, "slotmq %d fence_generation %" SCNu32 " identity %32s", &version,
               &info.generation, info.identity) != 3 ||
        version != ROOT_VERSION || info.generation < 1 ||
        strspn(info.identity, "0123456789abcdef") != ROOT_IDENTITY_LEN) {
        return false;
    }
    *out = info;
    return true;
}

void root_text_binding(char *out, size_t size, bool in_redis, const char *path,
                       const char *identity)
{
    (void) snprintf(out, size, in_redis ? "redis:%s" : "zookeeper:%s %s", path, identity);
}

char *root_text_parent(const char *path, int step)
{
    const char *at = path + 1;

    for (int i = 0; at != NULL; i++) {
        at = strchr(at, '/');
        if (at == NULL) {
            return NULL;
        }
        if (i == step) {
            return memory_copy(path, (size_t) (at - path));
        }
        at++;
    }
    return NULL;
}

int root_text_parents(const char *path)
{
    int count = 0;

    for (const char *at = path + 1; *at != '\0'; at++) {
        count += *at == '/' ? 1 : 0;
    }
    return count;
}
