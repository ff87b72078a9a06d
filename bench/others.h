/* others.h - the processor time of all other processes: figures of a busy machine mean little.
 *
 * Thread: main. */
#ifndef BENCH_OTHERS_H
#define BENCH_OTHERS_H

struct others {
    double seconds, cpu_s;
};

/* Begin; stop: the CPU that other processes took since, in percent of one core.  This process and
 * its children do not count. */
void others_start(struct others *others);
double others_stop(const struct others *others);

/* How many other processes run or wait for a processor, in the mean of 2 s, which it blocks; -1 if
 * that cannot be read. */
double others_load(void);

#endif
