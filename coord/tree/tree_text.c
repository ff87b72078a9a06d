/* tree_text.c - see tree_text.h; `lua/tree.lua` writes these words.
 *
 * Pure. */
#include "coord/tree/tree_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TREE_HEAD_MAX = 128 };

/* Of a number of a change and the space behind it. */
static const size_t tree_step = TREE_CHANGE_LEN + 1;

void tree_change_format(char out[TREE_CHANGE_LEN + 1], int64_t change)
{
    (void) snprintf(out, TREE_CHANGE_LEN + 1, "%016" PRIx64, (uint64_t) change);
}

bool tree_change_parse(int64_t *out, const char *data, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    uint64_t value = 0;

    if (len != TREE_CHANGE_LEN) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        const char *digit = memchr(digits, data[i], sizeof(digits) - 1);

        if (digit == NULL) {
            return false;
        }
        value = value << 4 | (uint64_t) (digit - digits);
    }
    *out = (int64_t) value;
    return *out >= 0;
}

static bool tree_word_is(const struct coord_word *word, const char *text)
{
    return word->len == strlen(text) && memcmp(word->data, text, word->len) == 0;
}

bool tree_head_parse(struct tree_head *out, const struct coord_word *words, size_t count)
{
    static const char *const verdicts[TREE_VERDICTS] = {
        [TREE_OK] = "OK",           [TREE_REIGN] = "REIGN",   [TREE_GONE] = "GONE",
        [TREE_REFUSED] = "REFUSED", [TREE_HIDDEN] = "HIDDEN", [TREE_LATER] = "LATER",
        [TREE_FULL] = "FULL"};
    char number[24] = "";
    int verdict = 0;

    *out = (struct tree_head){0};
    if (count < TREE_HEAD_WORDS) {
        return false;
    }
    while (verdict < TREE_VERDICTS && !tree_word_is(&words[0], verdicts[verdict])) {
        verdict++;
    }
    out->verdict = (enum tree_verdict) verdict;
    if (verdict == TREE_VERDICTS || out->verdict >= TREE_HIDDEN) {
        return verdict != TREE_VERDICTS;
    }
    if (words[3].len == 0 || words[3].len >= sizeof(number)) {
        return false;
    }
    memcpy(number, words[3].data, words[3].len);
    out->grace_ms = strtoll(number, NULL, 10);
    out->young = !tree_word_is(&words[4], "0");
    return tree_change_parse(&out->reign, words[1].data, words[1].len) &&
           tree_change_parse(&out->last, words[2].data, words[2].len);
}

enum session_status tree_status_parse(const struct coord_word *word)
{
    static const struct {
        const char *word;
        enum session_status status;
    } statuses[] = {
        {"OK", SESSION_OK},           {"NO_NODE", SESSION_NO_NODE},     {"EXISTS", SESSION_EXISTS},
        {"CHANGED", SESSION_CHANGED}, {"NOT_EMPTY", SESSION_NOT_EMPTY}, {"GRACE", SESSION_AWAY}};

    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        if (tree_word_is(word, statuses[i].word)) {
            return statuses[i].status;
        }
    }
    return SESSION_FAILED;
}

bool tree_node_parse(struct session_stat *out, struct coord_word *data,
                     const struct coord_word *word)
{
    const char *end = memchr(word->data, '\n', word->len);
    size_t len = end != NULL ? (size_t) (end - word->data) : word->len;
    char head[TREE_HEAD_MAX];

    if (len >= sizeof(head) || len < 3 * tree_step) {
        return false;
    }
    memcpy(head, word->data, len);
    head[len] = '\0';
    *out = (struct session_stat){0};
    *data = (struct coord_word){.data = end != NULL ? end + 1 : "",
                                .len = end != NULL ? word->len - len - 1 : 0};
    if (!tree_change_parse(&out->czxid, head, TREE_CHANGE_LEN) ||
        !tree_change_parse(&out->mzxid, head + tree_step, TREE_CHANGE_LEN) ||
        !tree_change_parse(&out->owner, head + 2 * tree_step, TREE_CHANGE_LEN)) {
        return false;
    }
    out->version = out->mzxid;
    return sscanf(head + 3 * tree_step, "%" SCNd64 " %" SCNd64 " %" SCNd32, &out->ctime,
                  &out->mtime, &out->writes) == 3;
}

bool tree_hint_parse(struct tree_hint *out, const char *data, size_t len)
{
    const size_t path = 2 * tree_step + 1;

    if (len < path || (data[path - 1] != '+' && data[path - 1] != '=')) {
        return false;
    }
    out->listed = data[path - 1] == '+';
    out->path = data + path;
    out->path_len = len - path;
    return tree_change_parse(&out->before, data, TREE_CHANGE_LEN) &&
           tree_change_parse(&out->change, data + tree_step, TREE_CHANGE_LEN);
}

void tree_channel_of(char out[TREE_CHANNEL_MAX], const char *path)
{
    static const char topics[] = "topics/";
    size_t len = 0;

    if (*path == '\0' || strcmp(path, "leader") == 0) {
        *out = '\0';
        return;
    }
    if (strncmp(path, topics, sizeof(topics) - 1) != 0) {
        (void) snprintf(out, TREE_CHANNEL_MAX, "members");
        return;
    }
    len = sizeof(topics) - 1 + strcspn(path + sizeof(topics) - 1, "/");
    (void) snprintf(out, TREE_CHANNEL_MAX, "%.*s", (int) len, path);
}
