/* process.h - which process of which machine a member is, and the proof that another one is dead.
 *
 * Below: member_text.h.  Thread: any. */
#ifndef COORD_PROCESS_H
#define COORD_PROCESS_H

#include "coord/member_text.h"

/* Fill in host, boot id, pid, pid namespace and start of this process. */
void process_describe(struct member_info *info);

/* Is the process that `other` names certainly dead?  `mine` is this one.  A pid says something only
 * within one boot of one machine and one pid namespace, and only together with the start. */
bool process_is_dead(const struct member_info *mine, const struct member_info *other);

#endif
