/* member.c - the member that identifies a message in the sorted sets of its slot.
 *
 * Pure. */
#include "model/member.h"

#include <string.h>

#include "model/message_id.h"
#include "model/number.h"
#include "model/topic.h"
#include "model/whole.h"

static bool member_has_own_key(const void *key, size_t key_len, const void *id, size_t id_len)
{
    return key != NULL && key_len > 0 && (key_len != id_len || memcmp(key, id, id_len) != 0);
}

bool member_is_plain(const void *key, size_t key_len, const void *id, size_t id_len)
{
    return *(const char *) id != '\0' && !member_has_own_key(key, key_len, id, id_len);
}

void member_encode(struct buf *out, const void *key, size_t key_len, const void *id, size_t id_len)
{
    size_t own_len = member_has_own_key(key, key_len, id, id_len) ? key_len : 0;

    if (!member_is_plain(key, key_len, id, id_len)) {
        buf_add(out, "", 1);
        buf_printf(out, "%zu:", own_len);
        buf_add(out, key, own_len);
    }
    buf_add(out, id, id_len);
}

static bool member_decode_whole(struct member *out, const char *data, size_t len)
{
    struct whole whole;

    if (!whole_decode(&whole, data, len)) {
        return false;
    }
    *out = (struct member){
        .key = whole.key, .key_len = whole.key_len, .id = whole.id, .id_len = MESSAGE_ID_LEN};
    return true;
}

bool member_decode(struct member *out, const char *data, size_t len)
{
    struct member member = {.id = data, .id_len = len};
    const char *colon;
    int64_t key_len;

    if (whole_begins(data, len)) {
        return member_decode_whole(out, data, len);
    }
    if (len > 0 && data[0] == '\0') {
        colon = memchr(data, ':', len);
        if (colon == NULL ||
            !number_parse(&key_len, data + 1, (size_t) (colon - data - 1), TOPIC_KEY_MAX) ||
            (size_t) key_len >= len - (size_t) (colon + 1 - data)) {
            return false;
        }
        member.key = key_len > 0 ? colon + 1 : NULL;
        member.key_len = (size_t) key_len;
        member.id = colon + 1 + key_len;
        member.id_len = len - (size_t) (member.id - data);
        if (!member_has_own_key(member.key, member.key_len, member.id, member.id_len) &&
            (key_len > 0 || member.id[0] != '\0')) {
            return false; /* it has another form */
        }
    }
    *out = member;
    return len > 0;
}
