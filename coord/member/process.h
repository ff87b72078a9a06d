/* process.h - describes the process and machine of a member, and proves that another process is
 * dead.
 *
 * Below: member_text.h.  Thread: any. */
#ifndef COORD_MEMBER_PROCESS_H
#define COORD_MEMBER_PROCESS_H

#include "coord/node/member_text.h"

/* Fill in host, boot id, pid, pid namespace and start of this process. */
void process_describe(struct member_info *info);

/* Is the process that `other` names certainly dead?  `mine` is this process.  A pid is meaningful
 * only within one boot of one machine and one pid namespace, and only together with the time at
 * which its process began. */
bool process_is_dead(const struct member_info *mine, const struct member_info *other);

#endif
