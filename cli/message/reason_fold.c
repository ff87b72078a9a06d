/* reason_fold.c - see reason_fold.h. */
#include "cli/message/reason_fold.h"

#include <ctype.h>
#include <string.h>

/* The size of the word, quoted text or other byte that begins here.  An apostrophe begins no quoted
 * text inside of a word. */
static size_t reason_part(bool *varies, const char *at, bool inside)
{
    size_t size = 0;

    *varies = false;
    if (*at == '"' || (*at == '\'' && !inside)) {
        const char *end = strchr(at + 1, *at);
        *varies = end && end > at + 1;
        return end ? (size_t) (end + 1 - at) : 1;
    }
    for (; isalnum((unsigned char) at[size]); size++) {
        *varies = *varies || isdigit((unsigned char) at[size]);
    }
    return size > 0 ? size : 1;
}

void reason_fold(char *out, smq_bytes *common, const char *reason)
{
    size_t size = 0, fixed = 0; /* of the part that is the same in all, so far */
    bool varies = false;

    *common = (smq_bytes){reason, 0};
    for (const char *at = reason; *at != '\0'; at += size) {
        size = reason_part(&varies, at, at > reason && isalnum((unsigned char) at[-1]));
        fixed = varies ? 0 : fixed + size;
        if (fixed > common->len) {
            *common = (smq_bytes){at + size - fixed, fixed};
        }
        if (!varies) {
            memcpy(out, at, size);
            out += size;
        } else if (isalnum((unsigned char) *at)) {
            *out++ = '#';
        } else {
            *out++ = *at;
            *out++ = '#';
            *out++ = *at;
        }
    }
    *out = '\0';
}
