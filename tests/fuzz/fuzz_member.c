/* fuzz_member.c - members of the sorted sets of a slot: there is one form of each, and for a whole
 * message one form of what it says. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/member.h"
#include "model/message_id.h"
#include "model/whole.h"

static void say_again(const char *member, size_t len)
{
    struct whole whole, again;
    struct buf said = {0};

    FUZZ_CHECK(whole_decode(&whole, member, len));
    whole_encode(&said, &whole);
    FUZZ_CHECK(said.len <= len && whole_decode(&again, said.data, said.len));
    FUZZ_CHECK(again.max_retries == whole.max_retries && again.ttl_ms == whole.ttl_ms &&
               again.headers_len == whole.headers_len && again.key_len == whole.key_len &&
               again.stored_len == whole.stored_len);
    FUZZ_CHECK(memcmp(again.id, whole.id, MESSAGE_ID_LEN) == 0 &&
               memcmp(again.stored, whole.stored, whole.stored_len) == 0 &&
               memcmp(again.id - again.key_len, whole.id - whole.key_len, whole.key_len) == 0);
    buf_fini(&said);
}

FUZZ_TARGET(member)
{
    struct member member;
    struct buf again = {0};

    if (member_decode(&member, (const char *) data, size)) {
        FUZZ_CHECK(member.id_len > 0);
        if (whole_begins((const char *) data, size)) {
            say_again((const char *) data, size);
            return;
        }
        member_encode(&again, member.key, member.key_len, member.id, member.id_len);
        FUZZ_CHECK(again.len == size && memcmp(again.data, data, size) == 0);
        buf_fini(&again);
    }
}
