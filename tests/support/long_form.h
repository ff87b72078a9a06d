/* long_form.h - how large the tests of faults are in each of their two forms: the quick form runs
 * in
 * ./dev test and in CI, the long one in ./dev test faults.  All sizes are in one table, in
 * long_form.c.
 *
 * Thread: any. */
#ifndef SUPPORT_LONG_FORM_H
#define SUPPORT_LONG_FORM_H

enum long_form_size {
    SIZE_BURST,              /* messages that are sent at a time                            */
    SIZE_MOVED_KINDS,        /* kinds of topics whose hash slots move                       */
    SIZE_HALF_MOVED_MS,      /* how long a hash slot of each is half moved                  */
    SIZE_REQUEST_TIMEOUT_MS, /* of the producers whose replies are lost, or come too late   */
    SIZE_PAUSE_MS,           /* CLIENT PAUSE, at least                                      */
    SIZE_BLACK_HOLE_MS,      /* no packet arrives, at least                                 */
    SIZE_LOST_REPLY_ROUNDS,  /* how often each of these comes                               */
    SIZE_AWAY_MS,            /* a master is dead or frozen, after its replica took over     */
    SIZE_BEHIND_MS,          /* a replica hears nothing of its master before it takes over  */
    SIZE_FAILOVERS,          /* by agreement, one after another                             */
    SIZE_DISTURBANCES,       /* how often scripts are flushed and connections are killed    */
    SIZE_FULL_MS,            /* a server has no memory, at least                            */
    SIZE_BUSY_MS,            /* a server runs a script that does not end, at least          */
    SIZE_READ_ONLY_MS,       /* a server takes no writes, at least                          */
    SIZE_LOADING_MESSAGES,   /* what a server has to load when it starts again              */
    SIZE_NODE_ROUNDS,        /* how often a node is emptied, forgotten and added            */
    SIZE_CLIENTS,            /* that reconnect at the same time                             */
    SIZE_NO_DESCRIPTORS_MS,  /* a process cannot open anything, at least                    */
    SIZE_RESTARTS,           /* members that are restarted in turn while messages come      */
    LONG_FORM_SIZES
};

/* That size in the form that runs: the long one if SLOTMQ_TEST_LONG is in the environment, which
 * the suite `faults` sets. */
int long_form(enum long_form_size size);

#endif
