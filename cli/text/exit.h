/* exit.h - the exit codes of the command, one number per kind of outcome.
 *
 * The numbers from 64 on are those of sysexits.h where it has one. */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

#include <slotmq/slotmq.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_NOT_DONE = 1,     /* not found, refused by what is there, or partly done */
    EXIT_ERRORS = 2,       /* doctor or check has found errors; 1: warnings */
    EXIT_UNKNOWN = 3,      /* check cannot tell */
    EXIT_USAGE = 64,       /* a wrong command line */
    EXIT_DATA = 65,        /* a message that can never be stored */
    EXIT_NO_INPUT = 66,    /* what to read is not there */
    EXIT_UNAVAILABLE = 69, /* no Redis or no ZooKeeper */
    EXIT_DEFECT = 70,
    EXIT_DIFFERS = 73, /* the topic exists, and otherwise */
    EXIT_IO = 74,
    EXIT_TEMPORARY = 75, /* time-out, full, or it is not known whether it was done */
    EXIT_DENIED = 77,
    EXIT_SERVER = 78,      /* the server's version or configuration cannot be used */
    EXIT_INTERRUPTED = 128 /* done in part: the process ends by the signal that came (signals.h) */
};

enum exit_code exit_code_of(smq_status status);

/* Of many things one is left out because of `status`, and the others are shown: 1 when something
 * must be done about it, the code of the status when it is away or may not be read. */
enum exit_code exit_code_left_out(smq_status status);

/* Of the code so far and that of one more thing: 1 goes before the others, then the first. */
enum exit_code exit_code_both(enum exit_code so_far, enum exit_code more);

#endif
