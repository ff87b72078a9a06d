/* owner.h - who owns a slot: renewing and taking over, the binding of a topic to a fleet, and what
 * Redis has stored of the owner.
 *
 * Thread: smq:io. */
#ifndef STORE_OWNER_H
#define STORE_OWNER_H

#include "model/token.h"
#include "store/store.h"

/* --- renew --- */
/* The oldest claim that a process has not answered, which the slot notes. */
struct store_oldest {
    const char *owner; /* name of the process */
    int64_t age_ms;    /* for how long it has had the claim */
    const char *entry; /* of the claim */
    size_t entry_len;  /* 0: there is none */
};
void store_renew_begin(struct store_call *call, const struct store_slot *slot, struct token token,
                       int64_t lease_ms, const struct store_oldest *oldest);
void store_renew_add(struct store_call *call, const char *entry, size_t len); /* up to 1,000 */
void store_renew(struct store_call *call, struct redis *redis, int64_t timeout_ms);
bool store_renew_read(const char **results, const struct store_result *result, size_t count);

/* --- rights --- */
/* Which commands that the owner of this slot needs may the user not run?  It needs no definition.
 * `missing`: "ZADD,TIME"; "": there are none. */
enum { STORE_RIGHTS_MAX = 256 };
void store_rights(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                  int64_t timeout_ms);
bool store_rights_read(char *missing, size_t size, const struct store_result *result);

/* --- takeover, vacate --- */
/* The owner that takes a slot over, and the binding of the topic, which the slot stores. */
struct store_taker {
    struct token token;
    const char *name, *coord;
};
void store_takeover(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                    const struct store_taker *taker, const struct topic *topic, int64_t timeout_ms);
bool store_takeover_read(uint64_t *base, bool *more, const struct store_result *result);
void store_vacate(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                  struct token token, int64_t timeout_ms);

/* The token in a FENCED reply. */
bool store_fenced_token(struct token *out, const struct store_result *result);

/* --- binding, owner --- */
/* `succeeds`: a standalone topic of version 0.2 is bound to this fleet in Redis when no process has
 * its lease.  REFUSED "HELD": one has it. */
void store_bind(struct store_call *call, struct redis *redis, const char *topic, const char *nonce,
                const char *coord, bool succeeds, int64_t timeout_ms);
/* OK: has a fleet had the topic before?  STORE_FIRST: none that its server remembers.  SURE: the
 * server has forgotten nothing since the topic was created. */
enum store_first { STORE_FIRST_NOT, STORE_FIRST, STORE_FIRST_SURE };
enum store_first store_bound_first(const struct store_result *result);
bool store_bound_read(char *out, size_t size, const struct store_result *result); /* OTHER_FLEET */

/* Bind the topic to another coordination, under a generation that is larger than any before and
 * than `above`.  REFUSED "HELD", without `force`: a process holds the lease. */
struct store_rebind {
    const char *nonce, *coord;
    uint32_t above;
    bool force;
};
void store_rebind(struct store_call *call, struct redis *redis, const char *topic,
                  const struct store_rebind *rebind, int64_t timeout_ms);

/* Change the binding of the topic from `from` to `to`, under its present generation.  REFUSED
 * "OTHER_FLEET": it is bound to neither. */
void store_follow(struct store_call *call, struct redis *redis, const char *topic,
                  const char *nonce, const char *from, const char *to, int64_t timeout_ms);

/* The owner of a slot that Redis has stored, whatever the slot's definition is. */
struct store_owner {
    struct token token; /* all zero: there is no owner */
    bool shared;
    /* time until the last lease ends; 0: nothing is claimed, or all leases have ended */
    int64_t leased_ms;
    uint32_t bound_at; /* the generation under which the slot stored its binding; 0: none */
};
void store_owner(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                 int64_t timeout_ms);
bool store_owner_read(struct store_owner *out, const struct store_result *result);

/* The process of version 0.2 that holds the lease of the topic: REFUSED "HELD". */
enum { STORE_HOLDER_MAX = 160 };
struct store_lease_holder {
    char owner[STORE_HOLDER_MAX];
    int64_t remaining_ms;
};
bool store_lease_holder_read(struct store_lease_holder *out, const struct store_result *result);

/* How many connections are subscribed to the slot's wake channel. */
void store_listeners(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     int64_t timeout_ms);
bool store_listeners_read(uint64_t *count, const struct store_result *result);

#endif
