/* member_text.c - writing and reading the text of a member's node.
 *
 * Pure. */
#include "coord/node/member_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/topic.h"

static const char member_first_line[] = "slotmq-member 1\n";
static const char member_active[] = "ACTIVE", member_unreachable[] = "UNREACHABLE";

void member_info_fini(struct member_info *info)
{
    for (size_t i = 0; i < info->topic_count; i++) {
        member_slots_fini(&info->topics[i].held);
        member_slots_fini(&info->topics[i].owned);
    }
    free(info->topics);
    *info = (struct member_info){0};
}

bool member_info_is_reachable(const struct member_info *info)
{
    return strcmp(info->state, member_unreachable) != 0;
}

void member_info_set_reachable(struct member_info *info, bool reachable)
{
    (void) snprintf(info->state, sizeof(info->state), "%s",
                    reachable ? member_active : member_unreachable);
}

void member_text_head(struct buf *out, const struct member_info *info)
{
    buf_printf(out,
               "%suuid %s\nhost %s\nboot %s\npid %" PRId64 "\npid_namespace %s\nstarted %" PRId64
               "\nstate %s\n",
               member_first_line, info->uuid, info->host, info->boot, info->pid,
               info->pid_namespace, info->started,
               member_info_is_reachable(info) ? member_active : member_unreachable);
    if (info->fingerprint.count > 0) {
        char fingerprint[FINGERPRINT_TEXT_MAX];

        fingerprint_format(fingerprint, &info->fingerprint);
        buf_printf(out, "marks %s\n", fingerprint);
    }
    buf_printf(out, "format %d\n", TOPIC_FORMAT_NEWEST);
}

void member_text_topic(struct buf *out, const struct member_topic *topic)
{
    buf_printf(out, "topic %s %s %" PRId32 " %" PRId64 " %d %" PRId64 " ", topic->name,
               topic->nonce, topic->weight, topic->drain_timeout_ms, topic->leaving ? 1 : 0,
               topic->applied);
    member_slots_format(out, &topic->held);
    buf_printf(out, " %" PRId64 " ", topic->stated);
    member_slots_format(out, &topic->owned);
    buf_add(out, "\n", 1);
}

size_t member_text_topic_size(const char *name, const char *nonce)
{
    static const char rest[] = "topic   32767 1000000000 0 9223372036854775807 65535-65535 0 -\n";

    return strlen(name) + strlen(nonce) + sizeof(rest);
}

static bool member_parse_topic(struct member_topic *topic, const char *line)
{
    const char *rest = NULL;
    int leaving = 0;
    int at = 0;

    if (sscanf(line, "topic %255s %255s %" SCNd32 " %" SCNd64 " %d %" SCNd64 " %n", topic->name,
               topic->nonce, &topic->weight, &topic->drain_timeout_ms, &leaving, &topic->applied,
               &at) != 6 ||
        at == 0 || topic->weight < 1 || topic->weight > INT16_MAX || topic->drain_timeout_ms < 0 ||
        topic->drain_timeout_ms > MEMBER_DRAIN_MAX_MS) {
        return false;
    }
    topic->leaving = leaving != 0;
    if (!member_slots_parse(&topic->held, &rest, line + at, ' ')) {
        return false;
    }
    at = 0;
    return sscanf(rest, " %" SCNd64 " %n", &topic->stated, &at) == 1 && at > 0 &&
           member_slots_parse(&topic->owned, &rest, rest + at, '\0');
}

/* Unknown lines are ignored: a later version may have written them. */
static bool member_parse_line(struct member_info *out, const char *line)
{
    if (strncmp(line, "uuid ", 5) == 0) {
        return sscanf(line, "uuid %255s", out->uuid) == 1;
    }
    if (strncmp(line, "host ", 5) == 0) {
        return sscanf(line, "host %255s", out->host) == 1;
    }
    if (strncmp(line, "boot ", 5) == 0) {
        return sscanf(line, "boot %255s", out->boot) == 1;
    }
    if (strncmp(line, "pid ", 4) == 0) {
        return sscanf(line, "pid %" SCNd64, &out->pid) == 1;
    }
    if (strncmp(line, "pid_namespace ", 14) == 0) {
        return sscanf(line, "pid_namespace %255s", out->pid_namespace) == 1;
    }
    if (strncmp(line, "started ", 8) == 0) {
        return sscanf(line, "started %" SCNd64, &out->started) == 1;
    }
    if (strncmp(line, "state ", 6) == 0) {
        return sscanf(line, "state %15s", out->state) == 1;
    }
    /* a fingerprint serves only warnings and advice, so a damaged one does not matter */
    if (strncmp(line, "marks ", 6) == 0) {
        (void) fingerprint_parse(&out->fingerprint, line + 6);
        return true;
    }
    if (strncmp(line, "format ", 7) == 0) {
        return sscanf(line, "format %" SCNd32, &out->format) == 1;
    }
    if (strncmp(line, "topic ", 6) == 0) {
        if ((out->topic_count & (out->topic_count - 1)) == 0) { /* room for twice as many */
            out->topics = memory_grow(out->topics, out->topic_count * 2 + 1, sizeof(*out->topics));
        }
        out->topics[out->topic_count] = (struct member_topic){0};
        return member_parse_topic(&out->topics[out->topic_count++], line);
    }
    return true;
}

static int member_compare_topics(const void *left, const void *right)
{
    const struct member_topic *a = left;
    const struct member_topic *b = right;
    int order = strcmp(a->name, b->name);

    return order != 0 ? order : strcmp(a->nonce, b->nonce);
}

bool member_text_parse(struct member_info *out, const char *data, size_t len)
{
    char *text = NULL;
    char *rest = NULL;
    bool good = true;

    *out = (struct member_info){.format = TOPIC_FORMAT_LEAST};
    if (len > MEMBER_TEXT_MAX || len < strlen(member_first_line) ||
        memcmp(data, member_first_line, strlen(member_first_line)) != 0) {
        return false;
    }
    text = memory_copy(data, len);
    for (char *line = strtok_r(text, "\n", &rest); good && line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        good = member_parse_line(out, line);
    }
    free(text);
    if (!good || *out->uuid == '\0') {
        member_info_fini(out);
        return false;
    }
    if (out->topic_count > 1) {
        qsort(out->topics, out->topic_count, sizeof(*out->topics), member_compare_topics);
    }
    return true;
}

/* The first topic that is not before this one; topic_count: there is none. */
static size_t member_info_bound(const struct member_info *info, const char *name, const char *nonce)
{
    size_t first = 0;
    size_t last = info->topic_count;

    while (first < last) {
        size_t middle = first + (last - first) / 2;
        const struct member_topic *topic = &info->topics[middle];
        int order = strcmp(topic->name, name);

        if (order < 0 || (order == 0 && strcmp(topic->nonce, nonce) < 0)) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

const struct member_topic *member_info_topic(const struct member_info *info, const char *name,
                                             const char *nonce)
{
    size_t at = member_info_bound(info, name, nonce);

    if (at < info->topic_count && strcmp(info->topics[at].name, name) == 0 &&
        strcmp(info->topics[at].nonce, nonce) == 0) {
        return &info->topics[at];
    }
    return NULL;
}

bool member_info_asks(const struct member_info *info, const char *name)
{
    size_t at = member_info_bound(info, name, "");

    return at < info->topic_count && strcmp(info->topics[at].name, name) == 0;
}
