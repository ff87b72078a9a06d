/* exit.c - from a status of the library to an exit code.  Pure. */
#include "cli/text/exit.h"

enum exit_code exit_code_of(smq_status status)
{
    switch (status) {
    case SMQ_OK:
        return EXIT_DONE;
    case SMQ_INVALID:
    case SMQ_WRONG_TYPE:
        return EXIT_USAGE;
    case SMQ_TOO_BIG:
        return EXIT_DATA;
    case SMQ_NO_TOPIC:
    case SMQ_NO_MESSAGE:
    case SMQ_NO_SCHEDULE:
    case SMQ_NOT_EMPTY:
    case SMQ_DAMAGED:
    case SMQ_DUPLICATE:
        return EXIT_NOT_DONE;
    case SMQ_TOPIC_DIFFERS:
    case SMQ_OTHER_FLEET:
        return EXIT_DIFFERS;
    case SMQ_DENIED:
        return EXIT_DENIED;
    case SMQ_BAD_SERVER:
        return EXIT_SERVER;
    case SMQ_UNAVAILABLE:
        return EXIT_UNAVAILABLE;
    case SMQ_NO_MEMORY:
    case SMQ_TIMED_OUT:
    case SMQ_FULL:
    case SMQ_IN_WORK:
    case SMQ_UNKNOWN:
    case SMQ_LEASE_LOST:
    case SMQ_FENCED:
    case SMQ_NAME_TAKEN:
        return EXIT_TEMPORARY;
    case SMQ_WRONG_THREAD:
    case SMQ_FORKED:
    case SMQ_CLOSED:
    case SMQ_INTERNAL:
        return EXIT_DEFECT;
    }
    return EXIT_DEFECT;
}

enum exit_code exit_code_left_out(smq_status status)
{
    switch (status) {
    case SMQ_OK:
    case SMQ_DENIED:
    case SMQ_BAD_SERVER:
    case SMQ_UNAVAILABLE:
    case SMQ_TIMED_OUT:
    case SMQ_UNKNOWN:
        return exit_code_of(status);
    default:
        return EXIT_NOT_DONE;
    }
}

enum exit_code exit_code_both(enum exit_code so_far, enum exit_code more)
{
    return more == EXIT_NOT_DONE || so_far == EXIT_DONE ? more : so_far;
}
