/* group.h - groups of a topic: their names, and lists of them.
 *
 * A topic may have groups, each of which gets every message that is sent to the topic.  Everything
 * else sees a group as a topic with the name TOPIC/GROUP.
 *
 * Pure. */
#ifndef MODEL_GROUP_H
#define MODEL_GROUP_H

#include <stdbool.h>
#include <stddef.h>

#include <slotmq/core.h>

enum {
    GROUP_MOST = 16,       /* groups of one topic */
    GROUP_LIST_MAX = 1024, /* bytes of a list, with its end */
    GROUP_NAME_MAX = 120   /* bytes of TOPIC/GROUP, without its end: as of any topic's name */
};

#define GROUP_SEPARATOR '/' /* may be in no topic's name */

/* The group in the name TOPIC/GROUP; NULL: it is the name of a topic. */
const char *group_in(const char *name);

/* The length of TOPIC in the name TOPIC/GROUP, or of the whole name. */
size_t group_topic_len(const char *name);

/* Read a list of names, separated by commas, and write it to `out` in alphabetical order; `text` is
 * "" or NULL for none.  Fails: INVALID (a name has other characters than topics may have, comes
 * twice, or is too long behind `topic` and '/'; or there are too many). */
smq_status group_list_parse(char out[GROUP_LIST_MAX], const char *topic, const char *text,
                            smq_error *err);

/* How many names a list has. */
int group_list_count(const char *list);

/* Is this group in the list? */
bool group_list_has(const char *list, const char *group);

/* May a topic with the groups `before` get those of the list?  Fails: INVALID: a new one is named
 * "." or "..", as no topic may be, either. */
smq_status group_list_check_new(const char *list, const char *before, smq_error *err);

/* Write TOPIC/GROUP of the group at `index`, from 0, which must be less than the count. */
void group_list_name(char out[GROUP_NAME_MAX + 1], const char *topic, const char *list, int index);

/* Write all full names, as "orders/billing, orders/search"; cut if they do not fit. */
void group_list_show(char *out, size_t size, const char *topic, const char *list);

#endif
