/* slot.h - what a slot knows of its topic, and its statistics.
 *
 * Thread: smq:io. */
#ifndef STORE_SLOT_H
#define STORE_SLOT_H

#include <slotmq/admin.h>

#include "model/damage.h"
#include "model/token.h"
#include "store/store.h"

/* --- what a slot knows of its topic --- */

/* Open the slot, or bring its definition up to date.  REFUSED: "FOREIGN" (another program uses a
 * key of this name), "TAKEN" (the slot belongs to another creation that was not deleted), "GONE"
 * (this creation was deleted, or is older). */
void store_slot_open(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     const struct topic *topic, int64_t timeout_ms);
bool store_slot_open_read(bool *made, const struct store_result *result); /* the slot had no keys */

/* The key that another program uses: REFUSED "FOREIGN". */
bool store_slot_foreign_read(char key[SLOT_KEY_MAX], const struct store_result *result);

/* Read what the slot knows.  Needs only the topic's name and layout.  REFUSED "FOREIGN". */
void store_slot_read(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     int64_t timeout_ms);
/* The texts point into the reply. */
bool store_slot_notes_read(struct slot_notes *out, const struct store_result *result);

/* How many producers of versions before 0.3.0 have sent to the slot within that time. */
void store_slot_old_senders(struct store_call *call, struct redis *redis,
                            const struct store_slot *slot, int64_t sent_ms);
bool store_slot_old_senders_read(uint64_t *out, const struct store_result *result);

/* Store an altered definition, a pause or a resume in the slot.  STALE: the slot has a newer
 * definition; REFUSED "CHANGED": it has a later pause or resume. */
void store_slot_alter(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const struct topic *topic, int64_t timeout_ms);
void store_slot_pause(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      const struct topic *topic, int64_t timeout_ms);

/* Store the binding of the topic, with its `generation`, in the slot.  REFUSED: "GONE" (the slot is
 * not open, or belongs to another creation), "CHANGED" (it has a later binding). */
void store_slot_bind(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     uint32_t generation, const char *coord, int64_t timeout_ms);

/* Seal the slot: remove its definition, with `force` also if it holds messages; `deletion` is the
 * number of the deletion.  REFUSED: "NOT_EMPTY", "GONE" (another creation), "CHANGED" (that
 * deletion was undone). */
void store_slot_seal(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                     bool force, uint32_t deletion, int64_t timeout_ms);
bool store_slot_seal_read(uint64_t *messages, const struct store_result *result); /* NOT_EMPTY */

/* Unseal a slot that this deletion has sealed.  REFUSED "GONE": it has not. */
void store_slot_unseal(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       uint32_t deletion, int64_t timeout_ms);

/* Remove the keys of a slot that this deletion has sealed, a limited part per call.  REFUSED
 * "IN_USE". */
void store_slot_clear(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                      uint32_t deletion, int64_t timeout_ms);
bool store_slot_clear_read(bool *more, const struct store_result *result);

/* Give the bodies of a slot that stand behind their headers fields of their own, a limited part per
 * call.  cursor: "0", or that of the call before. */
enum { STORE_DIVIDED_MAX = 24 };
void store_slot_divide(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       const char *cursor, int64_t timeout_ms);
bool store_slot_divide_read(char cursor[STORE_DIVIDED_MAX], uint64_t *divided,
                            const struct store_result *result);

/* Remove all keys of a slot that this deletion has sealed and cleared, and leave a tombstone;
 * deletion 0: any deletion, whose version of slotmq did not do that.  REFUSED "IN_USE". */
void store_slot_forget(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       uint32_t deletion, int64_t timeout_ms);

/* Remove the keys of a slot that was opened and never used.  REFUSED "GONE": it was used. */
void store_slot_remove(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                       int64_t timeout_ms);

/* --- the stats of a slot --- */
enum { STORE_OLDEST_MAX = 400 };
struct store_inspected {
    int64_t now_ms;
    smq_stats stats;                /* slots_paused is 0 or 1 */
    uint64_t scheduled;             /* of those that wait, in priority topics */
    char owner[STORE_OWNER_MAX];    /* "": none */
    char token[TOKEN_TEXT_LEN + 1]; /* "" if the topic is shared */
    struct {
        int64_t since_ms; /* -1: no claim is noted */
        char owner[STORE_OWNER_MAX];
        char entry[STORE_OLDEST_MAX]; /* of no whole message, and none if it is longer */
        size_t entry_len;
        int32_t retries; /* used before this claim */
    } oldest;            /* claim, as its owner has noted it */
};
void store_inspect(struct store_call *call, struct redis *redis, const struct store_slot *slot,
                   int64_t timeout_ms);
bool store_inspect_read(struct store_inspected *out, const struct store_result *result,
                        int64_t lease_ms);

#endif
