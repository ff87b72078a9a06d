/* samples.h - many measured times and their quantiles.
 *
 * Thread: one at a time. */
#ifndef BENCH_SAMPLES_H
#define BENCH_SAMPLES_H

#include <stddef.h>

/* Zero is empty and valid. */
struct samples {
    double *values;
    size_t count, size;
};

void samples_fini(struct samples *samples);
void samples_add(struct samples *samples, double value);

/* 0.5: the median.  Sorts them; 0 when there are none. */
double samples_quantile(struct samples *samples, double quantile);

#endif
