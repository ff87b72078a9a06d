/* tree_watch.c - the tables of watches and of channels.
 *
 * Thread: smq:coord. */
#include "coord/tree/tree_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

/* Of what: the node, or the list of its children. */
enum { TREE_WATCH_NODE = 'n', TREE_WATCH_LIST = 'l', TREE_KEY_MAX = TREE_CHANNEL_MAX + 32 };

struct tree_watch {
    UT_hash_handle hh; /* by `key` */
    char key[];        /* of what, and the path */
};

static void tree_watch_key(char out[TREE_KEY_MAX], int what, const char *path)
{
    (void) snprintf(out, TREE_KEY_MAX, "%c%s", what, path);
}

static struct tree_watch *tree_watch_find(const struct tree_watches *watches, int what,
                                          const char *path)
{
    struct tree_watch *found = NULL;
    char key[TREE_KEY_MAX];

    tree_watch_key(key, what, path);
    HASH_FIND_STR(watches->watches, key, found);
    return found;
}

static bool tree_watch_take(struct tree_watches *watches, int what, const char *path)
{
    struct tree_watch *found = tree_watch_find(watches, what, path);

    if (found == NULL) {
        return false;
    }
    HASH_DEL(watches->watches, found);
    free(found);
    return true;
}

static struct tree_channel *tree_channel_find(const struct tree_watches *watches, const char *name)
{
    struct tree_channel *found = NULL;

    HASH_FIND_STR(watches->channels, name, found);
    return found;
}

/* Is it watched so that its channel is needed?  A member that watches its own node alone reads that
 * with each heartbeat. */
static bool tree_watch_needs(const char *key, const char *channel)
{
    char name[TREE_CHANNEL_MAX];

    tree_channel_of(name, key + 1);
    return strcmp(name, channel) == 0 && (*key == TREE_WATCH_LIST || strcmp(name, "members") != 0);
}

static bool tree_channel_is_used(const struct tree_watches *watches, const char *channel)
{
    struct tree_watch *watch = NULL;
    struct tree_watch *next = NULL;

    HASH_ITER(hh, watches->watches, watch, next)
    {
        if (tree_watch_needs(watch->key, channel)) {
            return true;
        }
    }
    return false;
}

static void tree_channel_use(struct tree_watches *watches, const char *name, int64_t last)
{
    struct tree_channel *channel = tree_channel_find(watches, name);
    const size_t size = strlen(name) + 1;

    if (channel == NULL) {
        channel = memory_new(sizeof(*channel) + size);
        memcpy(channel->name, name, size);
        channel->seen = last;
        HASH_ADD_STR(watches->channels, name, channel);
        watches->port->subscribe(watches->port->user, channel->name);
    }
    channel->unused_ms = 0;
}

static void tree_channel_drop(struct tree_watches *watches, struct tree_channel *channel)
{
    watches->port->unsubscribe(watches->port->user, channel->name);
    HASH_DEL(watches->channels, channel);
    free(channel);
}

void tree_watches_add(struct tree_watches *watches, const char *path, bool list, int64_t last)
{
    const int what = list ? TREE_WATCH_LIST : TREE_WATCH_NODE;
    struct tree_watch *watch = NULL;
    char channel[TREE_CHANNEL_MAX];

    if (tree_watch_find(watches, what, path) == NULL) {
        watch = memory_new(sizeof(*watch) + strlen(path) + 2);
        tree_watch_key(watch->key, what, path);
        HASH_ADD_STR(watches->watches, key, watch);
    }
    tree_channel_of(channel, path);
    if (list || strcmp(channel, "members") != 0) {
        tree_channel_use(watches, channel, last);
    }
}

void tree_watches_remove(struct tree_watches *watches, const char *path)
{
    (void) tree_watch_take(watches, TREE_WATCH_NODE, path);
}

/* Fire the watches of one channel, or all (NULL). */
static void tree_watches_fire_some(struct tree_watches *watches, const char *channel)
{
    struct tree_watch *fired = NULL;
    struct tree_watch *watch = NULL;
    struct tree_watch *next = NULL;
    char name[TREE_CHANNEL_MAX];

    HASH_ITER(hh, watches->watches, watch, next)
    {
        tree_channel_of(name, watch->key + 1);
        if (channel == NULL || strcmp(name, channel) == 0) {
            HASH_DEL(watches->watches, watch);
            HASH_ADD_STR(fired, key, watch);
        }
    }
    HASH_ITER(hh, fired, watch, next)
    {
        HASH_DEL(fired, watch);
        watches->changed(watches->user, watch->key + 1);
        free(watch);
    }
}

void tree_watches_fire(struct tree_watches *watches)
{
    tree_watches_fire_some(watches, NULL);
}

void tree_watches_doubt(struct tree_watches *watches, const char *channel)
{
    for (struct tree_channel *each = watches->channels; each != NULL; each = each->hh.next) {
        each->doubted |= channel == NULL;
    }
    if (channel != NULL && tree_channel_find(watches, channel) != NULL) {
        tree_channel_find(watches, channel)->doubted = true;
    }
}

void tree_watches_compare(struct tree_watches *watches, const char *channel, int64_t change)
{
    struct tree_channel *found = tree_channel_find(watches, channel);

    if (found != NULL && change > found->seen) {
        found->seen = change;
        tree_watches_fire_some(watches, channel);
    }
}

/* A node was written, or is new or gone. */
static void tree_watches_tell(struct tree_watches *watches, const struct tree_hint *hint)
{
    char *path = memory_copy(hint->path, hint->path_len);
    char *slash = strrchr(path, '/');

    if (tree_watch_take(watches, TREE_WATCH_NODE, path)) {
        watches->changed(watches->user, path);
    }
    if (hint->listed && slash != NULL) {
        *slash = '\0';
        if (tree_watch_take(watches, TREE_WATCH_LIST, path)) {
            watches->changed(watches->user, path);
        }
    }
    free(path);
}

void tree_watches_hear(struct tree_watches *watches, const char *channel, const char *data,
                       size_t len, int64_t unused_ms)
{
    struct tree_channel *found = tree_channel_find(watches, channel);
    struct tree_hint hint;
    int64_t now = 0;

    if (found == NULL || !tree_hint_parse(&hint, data, len) || hint.change < found->seen) {
        return;
    }
    if (!tree_channel_is_used(watches, channel)) {
        now = clock_now_ms();
        if (found->unused_ms == 0) {
            found->unused_ms = now;
        } else if (now - found->unused_ms > unused_ms) {
            tree_channel_drop(watches, found);
            return;
        }
    }
    if (hint.before > found->seen) { /* one was missed */
        found->seen = hint.change;
        tree_watches_fire_some(watches, channel);
        return;
    }
    found->seen = hint.change;
    tree_watches_tell(watches, &hint);
}

void tree_watches_clear(struct tree_watches *watches)
{
    struct tree_watch *watch = NULL;
    struct tree_watch *next = NULL;

    HASH_ITER(hh, watches->watches, watch, next)
    {
        HASH_DEL(watches->watches, watch);
        free(watch);
    }
    while (watches->channels != NULL) {
        tree_channel_drop(watches, watches->channels);
    }
}
