/* descriptor.h - the standard descriptors of a process that was started without them.
 *
 * Thread: any. */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <stdbool.h>

/* Open those of the descriptors 0, 1 and 2 that are closed, so that no connection gets one of these
 * numbers: libuv aborts when it closes such a descriptor, and output for people would be written
 * into the connection.  They stay open in this process, not in programs that it runs; reading 0 and
 * writing 1 and 2 fail as before (EBADF). */
void descriptors_reserve(void);

/* From now on descriptors_reserve() does nothing; false: it does again. */
void descriptors_leave(bool leave);

#endif
