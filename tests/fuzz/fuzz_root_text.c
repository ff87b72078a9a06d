/* fuzz_root_text.c - the root node of a fleet in ZooKeeper. */
#include <string.h>

#include "coord/node/root_text.h"
#include "fuzz/fuzz.h"

FUZZ_TARGET(root_text)
{
    struct root_info info, again;
    char text[ROOT_TEXT_MAX];
    size_t len;

    if (root_text_parse(&info, (const char *) data, size)) {
        FUZZ_CHECK(info.generation >= 1 && strlen(info.identity) == ROOT_IDENTITY_LEN);
        len = root_text_format(text, &info);
        FUZZ_CHECK(len < sizeof(text) && root_text_parse(&again, text, len));
        FUZZ_CHECK(info.generation == again.generation);
        FUZZ_CHECK(strcmp(info.identity, again.identity) == 0);
    }
}
