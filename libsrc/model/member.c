/* member.c - the member of layout keyed.
 *
 * Pure. */
#include "model/member.h"

#include <string.h>

#include "model/number.h"
#include "model/topic.h"

static bool member_is_plain(const void *key, size_t key_len, const char *id, size_t id_len)
{
    bool own_key = key_len > 0 && (key_len != id_len || memcmp(key, id, id_len) != 0);

    return !own_key && id[0] != '\0';
}

void member_encode(struct buf *out, const void *key, size_t key_len, const void *id, size_t id_len)
{
    if (member_is_plain(key, key_len, id, id_len)) {
        buf_add(out, id, id_len);
        return;
    }
    if (key_len == 0) {
        key = id;
        key_len = id_len;
    }
    buf_add(out, "", 1);
    buf_printf(out, "%zu:", key_len);
    buf_add(out, key, key_len);
    buf_add(out, id, id_len);
}

bool member_decode(struct member *out, const char *data, size_t len)
{
    const char *colon;
    int64_t key_len;

    if (len == 0) {
        return false;
    }
    if (data[0] != '\0') {
        *out = (struct member){.key = data, .key_len = len, .id = data, .id_len = len};
        return true;
    }
    colon = memchr(data, ':', len);
    if (colon == NULL ||
        !number_parse(&key_len, data + 1, (size_t) (colon - data - 1), TOPIC_KEY_MAX) ||
        key_len == 0 || (size_t) key_len >= len - (size_t) (colon + 1 - data)) {
        return false;
    }
    out->key = colon + 1;
    out->key_len = (size_t) key_len;
    out->id = out->key + out->key_len;
    out->id_len = len - (size_t) (out->id - data);
    return true;
}
