/* group.c - see group.h.
 *
 * Pure. */
#include "model/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

static const char group_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789._-";

const char *group_in(const char *name)
{
    const char *separator = strchr(name, GROUP_SEPARATOR);

    return separator != NULL ? separator + 1 : NULL;
}

size_t group_topic_len(const char *name)
{
    const char *group = group_in(name);

    return group != NULL ? (size_t) (group - name) - 1 : strlen(name);
}

/* --- lists --- */

/* A name in a list. */
struct group_name {
    const char *text;
    size_t len;
};

static int group_name_compare(const void *a, const void *b)
{
    const struct group_name *left = a, *right = b;
    size_t len = left->len < right->len ? left->len : right->len;
    int order = memcmp(left->text, right->text, len);

    return order != 0 ? order : left->len < right->len ? -1 : left->len > right->len;
}

static smq_status group_name_check(const struct group_name *name, const char *topic, smq_error *err)
{
    if (name->len == 0 || strspn(name->text, group_letters) < name->len) {
        return status_set(err, SMQ_INVALID,
                          "the name of a group must be letters, digits, '.', '_', '-', not "
                          "\"%.*s\"; separate names by commas",
                          name->len < 60 ? (int) name->len : 60, name->text);
    }
    if (strlen(topic) + 1 + name->len > GROUP_NAME_MAX) {
        return status_set(err, SMQ_INVALID,
                          "the name of group %.*s is too long: %.40s/%.*s may have %d bytes", 40,
                          name->text, topic, 40, name->text, GROUP_NAME_MAX);
    }
    return SMQ_OK;
}

/* Find the names between the commas; -1: there are too many. */
static int group_list_split(struct group_name names[GROUP_MOST], const char *text)
{
    int count = 0;

    for (;;) {
        size_t len = strcspn(text, ",");

        if (count == GROUP_MOST) {
            return -1;
        }
        names[count++] = (struct group_name){text, len};
        if (text[len] == '\0') {
            return count;
        }
        text += len + 1;
    }
}

/* Join names that are sorted and checked. */
static smq_status group_list_join(char out[GROUP_LIST_MAX], const struct group_name *names,
                                  int count, smq_error *err)
{
    size_t len = 0;

    for (int i = 0; i < count; i++) {
        if (i > 0 && group_name_compare(&names[i - 1], &names[i]) == 0) {
            return status_set(err, SMQ_INVALID, "group %.*s is named twice: name each group once",
                              (int) names[i].len, names[i].text);
        }
        if (len + 1 + names[i].len >= GROUP_LIST_MAX) {
            return status_set(err, SMQ_INVALID,
                              "the names of all groups together are longer than %d bytes: shorten "
                              "them",
                              GROUP_LIST_MAX - 1);
        }
        len += (size_t) snprintf(out + len, GROUP_LIST_MAX - len, "%s%.*s", i > 0 ? "," : "",
                                 (int) names[i].len, names[i].text);
    }
    return SMQ_OK;
}

smq_status group_list_parse(char out[GROUP_LIST_MAX], const char *topic, const char *text,
                            smq_error *err)
{
    struct group_name names[GROUP_MOST];
    int count;

    out[0] = '\0';
    if (text == NULL || text[0] == '\0') {
        return SMQ_OK;
    }
    count = group_list_split(names, text);
    if (count < 0) {
        return status_set(err, SMQ_INVALID, "a topic has at most %d groups: name fewer",
                          GROUP_MOST);
    }
    for (int i = 0; i < count; i++) {
        if (group_name_check(&names[i], topic, err) != SMQ_OK) {
            return SMQ_INVALID;
        }
    }
    qsort(names, (size_t) count, sizeof(names[0]), group_name_compare);
    return group_list_join(out, names, count, err);
}

int group_list_count(const char *list)
{
    int count = list[0] != '\0' ? 1 : 0;

    for (; *list != '\0'; list++) {
        count += *list == ',' ? 1 : 0;
    }
    return count;
}

bool group_list_has(const char *list, const char *group)
{
    size_t wanted = strlen(group);

    while (*list != '\0') {
        size_t len = strcspn(list, ",");

        if (len == wanted && memcmp(list, group, len) == 0) {
            return true;
        }
        list += len + (list[len] == ',' ? 1 : 0);
    }
    return false;
}

smq_status group_list_check_new(const char *list, const char *before, smq_error *err)
{
    static const char *const dots[] = {".", ".."};

    for (size_t i = 0; i < sizeof(dots) / sizeof(dots[0]); i++) {
        if (group_list_has(list, dots[i]) && !group_list_has(before, dots[i])) {
            return status_set(err, SMQ_INVALID,
                              "a group cannot be named \"%s\": choose another name", dots[i]);
        }
    }
    return SMQ_OK;
}

void group_list_name(char out[GROUP_NAME_MAX + 1], const char *topic, const char *list, int index)
{
    for (; index > 0; index--) {
        list += strcspn(list, ",") + 1;
    }
    snprintf(out, GROUP_NAME_MAX + 1, "%s%c%.*s", topic, GROUP_SEPARATOR, (int) strcspn(list, ","),
             list);
}

void group_list_show(char *out, size_t size, const char *topic, const char *list)
{
    char name[GROUP_NAME_MAX + 1];
    int count = group_list_count(list);
    size_t len = 0;

    out[0] = '\0';
    for (int i = 0; i < count && len < size; i++) {
        group_list_name(name, topic, list, i);
        len += (size_t) snprintf(out + len, size - len, "%s%s", i > 0 ? ", " : "", name);
    }
}
