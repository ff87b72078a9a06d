/* steady.h - what the benchmarks of open loops share: one rate, sent by one way, and the highest
 * rate that goes through.
 *
 * Thread: main.  Failures are printed on standard error. */
#ifndef BENCH_STEADY_H
#define BENCH_STEADY_H

#include "ways.h"

/* Of the trials of one run that measure lateness. */
struct stillness {
    double percent; /* how long processors stood still, all trials together */
    int trials, repeated;
};

struct steady {
    struct lab *lab;
    struct stillness *stillness;
    smq_client *client;
    const char *address; /* of Redis, for ways by hand */
    double most;         /* of the first form, as found last */
    double least_ms;     /* no message can be handled earlier; 0: any can */
};

/* One rate, sent by one way. */
struct trial {
    double rate, seconds, give_up_s;
    struct flow_result result;
    struct way_found found; /* of the library */
    double redis_us, client_us, scripts;
    double stood_still; /* percent of the time */
};

enum way { LIBRARY, STREAMS, TWO_SCRIPTS };

/* The default topic, without keys. */
extern const struct form *const steady_form;

bool steady_send(const struct steady *steady, enum way way, const struct form *form,
                 struct flow *flow, struct meter *cost, struct way_found *found);

/* `name`: of the run and of its figures. */
bool steady_try(const struct steady *steady, enum way way, const struct form *form,
                struct trial *trial, const char *name);

/* The highest rate whose backlog does not grow; 0: none was found. */
bool steady_find_most(const struct steady *steady, const struct form *form, double guess,
                      double *out);

/* "20k" */
enum { STEADY_WORD_SIZE = 24 };
const char *steady_word(char out[STEADY_WORD_SIZE], double rate);

/* One master, with so many replicas.  Processors are kept awake before there are connections, which
 * the processes that do it would keep open. */
typedef bool steady_fn(struct steady *steady);
bool steady_repeat(struct lab *lab, int runs, int replicas, steady_fn *measure);

#endif
