/* descriptors.h - the descriptors of a process that was just forked, from a number on.
 *
 * Thread: the only one of such a process; all calls are allowed between fork() and exec. */
#ifndef CLI_DESCRIPTORS_H
#define CLI_DESCRIPTORS_H

/* Closes them. */
void descriptors_close(int first);

/* The next exec closes them. */
void descriptors_close_on_exec(int first);

#endif
