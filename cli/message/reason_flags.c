/* reason_flags.c - the flags that select messages by the reason of their last failure. */
#include "cli/message/reason_flags.h"

#include "cli/text/say.h"

bool reason_flags_select(const struct reason_flags *reason)
{
    return reason->part || reason->whole;
}

enum exit_code reason_flags_check(const struct reason_flags *reason)
{
    return reason->part && reason->whole
               ? say_error(EXIT_USAGE, "--reason and --reason-is are both given; give one")
               : EXIT_DONE;
}

void reason_flags_apply(smq_filter *out, const struct reason_flags *reason)
{
    out->reason = reason->part;
    out->reason_is = reason->whole;
}
