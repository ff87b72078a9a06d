/* scan.h - the names of topics, found by the keys that all masters have.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#ifndef ADMIN_SCAN_H
#define ADMIN_SCAN_H

#include "admin/fanout.h"
#include "base/hash.h"

/* How many keys of each master are looked at, at most about: by a look that should be quick, and
 * by one that should find everything. */
enum { SCAN_KEYS_FEW = 100000, SCAN_KEYS_ALL = INT32_MAX };

/* A name that some key has.  The topic may be deleted. */
struct scan_name {
    char name[TOPIC_NAME_MAX + 1];
    int32_t slots; /* one more than the largest number of a slot that has a key */
    UT_hash_handle hh;
};

struct scan {
    struct scan_name *names;
    bool whole; /* all keys of all masters were looked at */
};

/* Look at the keys.  `out` is to be freed, whatever the result is.  Blocks: request_timeout_ms per
 * round trip.  Fails: DENIED, UNAVAILABLE and others; what was found is kept. */
smq_status scan_masters(struct scan *out, struct core *core, int32_t keys, smq_error *err);
void scan_free(struct scan *scan);

#endif
