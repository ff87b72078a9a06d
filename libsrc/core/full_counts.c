/* full_counts.c - see full_counts.h. */
#include "core/full_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct full_count {
    UT_hash_handle hh;
    struct metrics_full metric;
};

void full_counts_init(struct full_counts *counts)
{
    pthread_mutex_init(&counts->lock, NULL);
    counts->table = NULL;
}

void full_counts_fini(struct full_counts *counts)
{
    struct full_count *count, *next;

    HASH_ITER(hh, counts->table, count, next)
    {
        HASH_DEL(counts->table, count);
        free(count);
    }
    pthread_mutex_destroy(&counts->lock);
}

/* The lock is held. */
static struct full_count *full_counts_find(struct full_counts *counts, const char *name)
{
    struct full_count *count;

    HASH_FIND_STR(counts->table, name, count);
    if (count == NULL) {
        count = memory_new(sizeof(*count));
        memcpy(count->metric.name, name, strlen(name) + 1);
        HASH_ADD_STR(counts->table, metric.name, count);
    }
    return count;
}

void full_counts_add(struct full_counts *counts, const char *name, uint64_t sends)
{
    pthread_mutex_lock(&counts->lock);
    full_counts_find(counts, name)->metric.sends += sends;
    pthread_mutex_unlock(&counts->lock);
}

static int full_counts_compare(const void *a, const void *b)
{
    const struct metrics_full *left = a, *right = b;

    return strcmp(left->name, right->name);
}

void full_counts_read(struct metrics_full **out, size_t *count, struct full_counts *counts)
{
    struct full_count *each, *next;

    *count = 0;
    pthread_mutex_lock(&counts->lock);
    *out = memory_new((HASH_COUNT(counts->table) + 1) * sizeof(**out));
    HASH_ITER(hh, counts->table, each, next)
    {
        (*out)[(*count)++] = each->metric;
    }
    pthread_mutex_unlock(&counts->lock);
    qsort(*out, *count, sizeof(**out), full_counts_compare);
}
