/* fuzz_member_text.c - the node of a member in ZooKeeper: what is read is read back as it is
 * written. */
#include <string.h>

#include "coord/node/member_text.h"
#include "fuzz/fuzz.h"

static void write_member(struct buf *out, const struct member_info *info)
{
    member_text_head(out, info);
    for (size_t i = 0; i < info->topic_count; i++) {
        member_text_topic(out, &info->topics[i]);
    }
}

static bool equal_slots(const struct member_slots *a, const struct member_slots *b)
{
    for (int32_t i = 0; i < MEMBER_SLOTS_MAX; i++) {
        if (member_slots_has(a, i) != member_slots_has(b, i)) {
            return false;
        }
    }
    return true;
}

static void compare_topics(const struct member_topic *a, const struct member_topic *b)
{
    FUZZ_CHECK(strcmp(a->name, b->name) == 0 && strcmp(a->nonce, b->nonce) == 0);
    FUZZ_CHECK(a->weight == b->weight && a->drain_timeout_ms == b->drain_timeout_ms);
    FUZZ_CHECK(a->leaving == b->leaving && a->applied == b->applied && a->stated == b->stated);
    FUZZ_CHECK(equal_slots(&a->held, &b->held) && equal_slots(&a->owned, &b->owned));
}

static bool is_complete(const struct member_info *info)
{
    return info->host[0] != '\0' && info->boot[0] != '\0' && info->pid_namespace[0] != '\0';
}

FUZZ_TARGET(member_text)
{
    struct member_info info, again;
    struct buf text = {0};

    if (!member_text_parse(&info, (const char *) data, size)) {
        FUZZ_CHECK(info.topics == NULL && info.topic_count == 0);
        return;
    }
    write_member(&text, &info);
    if (is_complete(&info) && text.len <= MEMBER_TEXT_MAX) {
        FUZZ_CHECK(member_text_parse(&again, text.data, text.len));
        FUZZ_CHECK(strcmp(info.uuid, again.uuid) == 0 && info.pid == again.pid);
        FUZZ_CHECK(info.topic_count == again.topic_count);
        FUZZ_CHECK(fingerprint_equal(&info.fingerprint, &again.fingerprint));
        for (size_t i = 0; i < info.topic_count; i++) {
            compare_topics(&info.topics[i], &again.topics[i]);
        }
        member_info_fini(&again);
    }
    buf_fini(&text);
    member_info_fini(&info);
}
