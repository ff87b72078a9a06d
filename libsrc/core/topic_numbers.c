/* topic_numbers.c - see topic_numbers.h. */
#include "core/topic_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"

struct topic_number {
    UT_hash_handle hh;
    struct metrics_topic metric;
    int64_t claimed_us; /* of the oldest delivery without an answer; 0: there is none */
};

void topic_numbers_init(struct topic_numbers *counts)
{
    pthread_mutex_init(&counts->lock, NULL);
    counts->table = NULL;
}

void topic_numbers_fini(struct topic_numbers *counts)
{
    struct topic_number *count, *next;

    HASH_ITER(hh, counts->table, count, next)
    {
        HASH_DEL(counts->table, count);
        free(count);
    }
    pthread_mutex_destroy(&counts->lock);
}

/* The lock is held. */
static struct topic_number *topic_numbers_find(struct topic_numbers *counts, const char *name)
{
    struct topic_number *count;

    HASH_FIND_STR(counts->table, name, count);
    if (count == NULL) {
        count = memory_new(sizeof(*count));
        memcpy(count->metric.name, name, strlen(name) + 1);
        HASH_ADD_STR(counts->table, metric.name, count);
    }
    return count;
}

void topic_numbers_add(struct topic_numbers *counts, const char *name, uint64_t sends)
{
    struct topic_number *count;

    pthread_mutex_lock(&counts->lock);
    count = topic_numbers_find(counts, name);
    count->metric.sends = true;
    count->metric.refused += sends;
    pthread_mutex_unlock(&counts->lock);
}

void topic_numbers_set_oldest(struct topic_numbers *counts, const char *name, int64_t claimed_us)
{
    struct topic_number *count;

    pthread_mutex_lock(&counts->lock);
    count = topic_numbers_find(counts, name);
    count->metric.consumes = true;
    count->claimed_us = claimed_us;
    pthread_mutex_unlock(&counts->lock);
}

static int topic_numbers_compare(const void *a, const void *b)
{
    const struct metrics_topic *left = a, *right = b;

    return strcmp(left->name, right->name);
}

void topic_numbers_read(struct metrics_topic **out, size_t *count, struct topic_numbers *counts)
{
    struct topic_number *each, *next;

    *count = 0;
    pthread_mutex_lock(&counts->lock);
    *out = memory_new((HASH_COUNT(counts->table) + 1) * sizeof(**out));
    HASH_ITER(hh, counts->table, each, next)
    {
        if (each->claimed_us > 0) {
            each->metric.oldest_age_ms = (uint64_t) (clock_now_us() - each->claimed_us) / 1000;
        } else {
            each->metric.oldest_age_ms = 0;
        }
        (*out)[(*count)++] = each->metric;
    }
    pthread_mutex_unlock(&counts->lock);
    qsort(*out, *count, sizeof(**out), topic_numbers_compare);
}
