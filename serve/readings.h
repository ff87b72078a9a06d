/* readings.h - the topics of a server, as they were read last, and their last hour.
 *
 * A thread of its own surveys all topics again and again, at the pace of readings_calls_per_s().
 * What readers ask for comes from memory.
 *
 * Thread: any, but for readings_begin(), readings_stop() and readings_end(): main. */
#ifndef SERVE_READINGS_H
#define SERVE_READINGS_H

#include <stdbool.h>

#include <slotmq/ops.h>

#include "cli/stat/rate.h"
#include "cli/verb/verb.h"
#include "serve/history.h"

/* One topic.  Times ending in _at_ms are those of this machine. */
struct reading_topic {
    char *name;   /* owned */
    bool defined; /* its definition was read: the next line says what it is */
    smq_topic_type type;
    smq_layout layout;
    bool shared;
    int32_t slots;
    bool unlisted;
    char *unreadable;     /* owned: why it cannot be read; NULL: it can */
    smq_survey_topic row; /* as the last round found it; without texts and options */
    smq_survey_topic now; /* the last numbers that were read; of a topic that cannot be read now
                             only slots_damaged and slots_silent are of the last round */
    int64_t read_at_ms;   /* when `now` was read; 0: never */
    int64_t read_us;      /* the same, of a clock that does not jump */
    bool has_rates;
    struct rates rates;
    double failed_per_s;
    struct history history;
    uint64_t round; /* the last one in which it was there */
};

struct reading_state {
    int64_t since_at_ms; /* when it began */
    int64_t round_at_ms; /* when the last whole round ended; 0: none has */
    int64_t round_ms;    /* how long it took */
    uint64_t rounds, failures;
    smq_error err;    /* of the last attempt */
    int64_t alive_ms; /* when the thread did something last; the clock does not jump */
};

struct readings;

/* What runs after each round, also one that failed.  Thread: that of the readings. */
typedef void readings_round_fn(void *user);

struct readings_options {
    const struct command *command; /* names the servers */
    const char *only;              /* these topics, with commas between them; NULL: all */
    readings_round_fn *round;
    void *user;
};

/* Calls of Redis a second, over all masters, for a round of so many calls; 0: not known.  A round
 * takes 20 s at most, but for those that would need more than 4,000 a second. */
int64_t readings_calls_per_s(int64_t calls);

/* Takes the client, which may be NULL: then it connects itself, again and again. */
struct readings *readings_begin(const struct readings_options *options, smq_client *client);
void readings_stop(struct readings *readings); /* and waits for the end of its thread */
void readings_end(struct readings *readings);

/* The client, which lives as long as the readings; NULL: there is none yet, and *err says why. */
smq_client *readings_client(struct readings *readings, smq_error *err);

/* Is the topic one of `only`, or a group of one?  NULL: all are. */
bool readings_wants(const char *only, const char *name);

/* === Looking ============================================================ */

/* The topics do not change until readings_close(), which the caller must call without blocking. */
struct readings_view {
    struct reading_topic *const *topics; /* by their names */
    size_t count;
    const struct reading_state *state;
    int64_t now_ms; /* of the wall clock */
};

struct readings_view readings_open(struct readings *readings);
void readings_close(struct readings *readings);

/* NULL: there is none of this name. */
struct reading_topic *readings_find(const struct readings_view *view, const char *name);

/* All topics as Prometheus text, as the last whole round found them, to be freed. */
char *readings_text(struct readings *readings, size_t *size);

/* Is there a reading, and is it not too old?  false: `why` says what is wrong, in one line. */
bool readings_ready(struct readings *readings, char *why, size_t size);

/* Does the thread that reads still run? */
bool readings_alive(struct readings *readings);

#endif
