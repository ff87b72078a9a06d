/* fleet.h - a fleet of member processes (member.c), and the board on which stands who holds which
 * slot.
 *
 * Lines of all members are put into one order by their times before they count, so an overlap on
 * the board is an overlap in fact.  All waiting is for lines.
 *
 * Thread: one. */
#ifndef TESTS_COORD_FLEET_H
#define TESTS_COORD_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FLEET_MEMBERS = 32, FLEET_TOPICS = 40, FLEET_TIMEOUT_MS = 90000, FLEET_NOBODY = -1 };

/* One member process. */
struct member {
    char name[64];
    pid_t pid;
    int in, out;
    char *lines; /* read, not yet a whole line */
    size_t lines_len;
    bool ready, bye, ended;
    bool unclean;     /* killed, paused or hung: others may be granted what it holds */
    int status;       /* of its end */
    char refused[32]; /* the status with which it could not start */
    char failed[32];  /* the status with which a topic failed last */
    int left, failures, connected, disconnected, sessions_lost;
    int errors_logged; /* "log" events that say "cannot be read" or "denies access" */
};

/* One topic.  The counts are of all members; take differences. */
struct board {
    char name[128];
    int32_t slots;
    int16_t *holder;
    uint64_t *epochs; /* of the last grant */
    uint32_t generation;
    int granted, revoked, lost;
    int overlaps;  /* granted while a clean member held it */
    int backwards; /* granted with a token that is not larger */
};

struct line;

struct fleet {
    const char *servers;
    int64_t session_ms;
    struct member members[FLEET_MEMBERS];
    size_t member_count;
    struct board boards[FLEET_TOPICS];
    size_t board_count;
    struct line *waiting; /* lines not yet counted */
    size_t waiting_count, waiting_size;
};

/* What the tests of a group share: ZooKeeper. */
extern struct servers *fleet_servers;

/* Group set-up and tear-down of cmocka. */
int fleet_servers_start(void **state);
int fleet_servers_stop(void **state);

void fleet_init(struct fleet *fleet, const char *servers, int64_t session_ms);

/* End all members (killing what does not end) and free. */
void fleet_fini(struct fleet *fleet);

/* Start a member; wait for "ready" or "refused".  Returns its number. */
int fleet_start(struct fleet *fleet, const char *name);
int fleet_start_with(struct fleet *fleet, const char *name, const char *loss, const char *auth);

void fleet_tell(struct fleet *fleet, int member, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "join" with generation 1, weight 1, and 10 s to drain. */
void fleet_join(struct fleet *fleet, int member, const char *topic, const char *nonce,
                int32_t slots);

void fleet_kill(struct fleet *fleet, int member);   /* SIGKILL */
void fleet_pause(struct fleet *fleet, int member);  /* SIGSTOP */
void fleet_resume(struct fleet *fleet, int member); /* SIGCONT; clean again once it holds nothing */

/* "quit"; waits for the end.  Its exit status. */
int fleet_quit(struct fleet *fleet, int number);

struct board *fleet_board(struct fleet *fleet, const char *topic);

/* How many slots of the topic the member holds. */
int32_t fleet_held(struct fleet *fleet, int member, const char *topic);

typedef bool fleet_condition(struct fleet *fleet, void *arg);

/* Read lines until the condition holds; false after FLEET_TIMEOUT_MS, with the board on stderr. */
bool fleet_wait(struct fleet *fleet, fleet_condition *condition, void *arg);

/* Wait until exactly these members (ended by -1) hold all slots, none more than one above another.
 */
bool fleet_wait_even(struct fleet *fleet, const char *topic, const int *members);

/* Wait until *number >= least. */
bool fleet_wait_count(struct fleet *fleet, const int *number, int least);

/* Wait until *flag. */
bool fleet_wait_flag(struct fleet *fleet, const bool *flag);

#endif
