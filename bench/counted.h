/* counted.h - a Redis whose instructions in scripts are counted, because it runs under callgrind of
 * valgrind.  They depend on what scripts do, and on nothing else that the machine does.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_COUNTED_H
#define BENCH_COUNTED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct counted;

/* From now on each redis-server that this process starts is counted; end: no more.  NULL: that
 * cannot be.  end and free: NULL is nothing. */
struct counted *counted_begin(void);
void counted_end(struct counted *counted);
void counted_free(struct counted *counted);

/* The instructions of this server in scripts since the last call. */
bool counted_take(struct counted *counted, pid_t server, uint64_t *out);

#endif
