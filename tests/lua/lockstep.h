/* lockstep.h - drives the scripts and the model with the same random calls, and compares.
 *
 * Senders, owners and sharers behave as the library does; their replies get lost, their calls come
 * late or twice, processes die and others take over while the dead ones still call, and a caller
 * edits, pauses, alters and deletes.  Each reply and the whole slot must be as the model says, and
 * over all calls some laws must hold: nothing is lost, nothing is delivered again while it is in
 * flight or when it has expired, every body has as many references as there are entries, kind f
 * keeps the order of sends, nothing can be claimed before the time that a consume names as the
 * next, and in the end everything is handled.
 *
 * Thread: main. */
#ifndef TESTS_LUA_LOCKSTEP_H
#define TESTS_LUA_LOCKSTEP_H

#include "fixture.h"
#include "model.h"

/* The kinds of slots, without messages that are whole. */
#define LOCKSTEP_PLAIN "mtpbfm"

/* Run about `calls` calls from `seed`.  `scripts[i]` is the SHA1 to run for scripts_all[i].
 * `kinds`: of the slots, a letter each, a capital of those whose messages are of both forms; NULL:
 * all.  `pushing`: sends may claim for owners that sleep, and failovers happen.  `scheduling`:
 * exclusive slots have schedules (those of shared ones: test_schedule.c).  false: the scripts and
 * the model differ, or a law is broken; `report` says how and after which calls. */
bool lockstep_run(struct fixture *fixture, const char *const scripts[], uint64_t seed,
                  uint64_t calls, const char *kinds, bool pushing, bool scheduling,
                  struct buf *report);

#endif
