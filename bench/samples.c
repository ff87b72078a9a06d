#include "samples.h"

#include <stdlib.h>

enum { FIRST_SIZE = 1024 };

void samples_fini(struct samples *samples)
{
    free(samples->values);
    *samples = (struct samples){.count = 0};
}

void samples_add(struct samples *samples, double value)
{
    if (samples->count == samples->size) {
        samples->size = samples->size > 0 ? 2 * samples->size : FIRST_SIZE;
        samples->values = realloc(samples->values, samples->size * sizeof(double));
        if (samples->values == NULL) {
            abort();
        }
    }
    samples->values[samples->count++] = value;
}

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

double samples_quantile(struct samples *samples, double quantile)
{
    if (samples->count == 0) {
        return 0;
    }
    qsort(samples->values, samples->count, sizeof(double), compare);
    return samples->values[(size_t) (quantile * (double) (samples->count - 1))];
}
