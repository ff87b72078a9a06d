/* others.h - how much of the machine everybody else takes: figures of a busy machine mean little.
 *
 * Thread: main. */
#ifndef BENCH_OTHERS_H
#define BENCH_OTHERS_H

struct others {
    double seconds, cpu_s;
};

/* Begin; stop: the CPU that others took since, in percent of one core.  Ours is that of this
 * process and of its children. */
void others_start(struct others *others);
double others_stop(const struct others *others);

#endif
