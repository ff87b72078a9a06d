/* fuzz_member.c - members of the sorted sets of a slot: there is one form of each. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "model/member.h"

FUZZ_TARGET(member)
{
    struct member member;
    struct buf again = {0};

    if (member_decode(&member, (const char *) data, size)) {
        FUZZ_CHECK(member.id_len > 0);
        member_encode(&again, member.key, member.key_len, member.id, member.id_len);
        FUZZ_CHECK(again.len == size && memcmp(again.data, data, size) == 0);
        buf_fini(&again);
    }
}
