/* model_slot.h - what the calls of the model share: the lists of a slot, what becomes of a message,
 * and the words of replies.
 *
 * Thread: main. */
#ifndef TESTS_LUA_MODEL_SLOT_H
#define TESTS_LUA_MODEL_SLOT_H

#include "model.h"

bool model_by_priority(const struct model *model); /* the largest comes first */
bool model_timed(const struct model *model);       /* what waits is due at a time */

/* Is it whole in its member?  The member that it has as soon as it is not; and the time in the id
 * of a member that is one of these. */
bool model_is_whole(int member);
int model_plain(int member);
int64_t model_made_at(int member);

/* What is known of a message whose place, while it waits, is or was that. */
struct model_body model_body_of(const struct model *model, int member, int64_t place);

/* --- lists --- */

struct model_message list_take(struct model_list *list, size_t index);
void list_put(struct model_list *list, const struct model_message *message);
struct model_message *list_find(struct model_list *list, int member);

/* "20d:order-7" of a dead letter. */
void model_dead_entry(char out[MODEL_NAME], const struct model_message *message);

/* In the order of the sorted sets. */
void sort_waiting(struct model_list *list);
void sort_prepare(struct model_list *list);
void sort_dead(struct model_list *list);

/* What is in flight now. */
struct in_flight {
    size_t count;
    bool suspect;
    int64_t first_end, first_rest; /* INT64_MAX: none */
};
struct in_flight model_in_flight(const struct model *model);

/* Leases last no longer when the clock was set back; one may be given now. */
void model_keep_leases(struct model *model);

/* The integer part of its score in the sorted set. */
int64_t model_score(const struct model_message *message);

/* What is scheduled of a member, in `prepare`; -1: nothing.  And how many messages are. */
int model_find_scheduled(const struct model *model, int member);
size_t model_count_scheduled(const struct model *model);

/* The claimed message of that name; -1: none. */
int model_find_claim(const struct model *model, const char *name);

/* --- the life of a message --- */

int attempts_number(struct model_attempts attempts);
/* Two messages become one. */
struct model_attempts model_join(struct model_attempts a, struct model_attempts b);

/* Entries that refer to the body of a member. */
int model_references(const struct model *model, int member);
/* Will a body that is sent stand behind its header, if nothing is stored beside the member? */
bool model_joins(const struct call *call, size_t index);
/* Was a message of that id done within the window? */
bool model_is_in_window(const struct model *model, int member, int64_t dedup);
bool model_has_expired(const struct model *model, int member, int64_t place);
int32_t model_limit(const struct model *model, int member, int32_t max_retries);

/* Back to the waiting ones; answers where it stands then.  Of the lists it is taken out before,
 * here as in what follows. */
int64_t model_give_back(struct model *model, const struct model_message *message,
                        struct model_attempts attempts);
/* It was answered for good. */
void model_handled(struct model *model, const struct model_message *message);
void model_bury(struct model *model, const struct model_message *message,
                struct model_attempts attempts, enum model_counter cause, const char *reason);
/* An entry with this many attempts has ended: what is stored of its tries goes along. */
void model_forget(struct model *model, int member, struct model_attempts attempts);
/* A try of a message that lives on has ended; `message` has the attempts before. */
void model_try(struct model *model, const struct model_message *message, char how,
               const char *reason);
/* Why a message that is not dead failed last, and its tries. */
struct model_tries model_why(const struct model *model, const struct model_message *message);
/* What a dead letter keeps of them; it died for that cause and reason. */
struct model_tries model_last_words(const struct model *model, const struct model_message *message,
                                    enum model_counter cause, const char *reason);
/* Its process died or hung: dead for that cause and reason if no retries are left. */
void model_lose(struct model *model, const struct model_message *message, int32_t max_retries,
                enum model_counter cause, const char *reason);
extern const char *const model_died;

/* Something is due: who sleeps for longer is woken, and who was pushed something and did not call
 * within a second. */
void model_wake(struct model *model, int64_t due);
/* No owner sleeps, or one was pushed something; or an owner sleeps, open for pushes of that lease.
 */
void model_unpark(struct model *model);
void model_park(struct model *model, int64_t until, int64_t push_lease);

/* The same in a shared slot in which somebody sleeps.  A call there has found that something is due
 * next, or (`*again`) now, and has `taken` messages or not; its reply has what `*next` and `*again`
 * are then, and if its caller sleeps how many do, which is returned; -1: it does not. */
void sleepers_clear(struct model *model);
void sleepers_wake(struct model *model, int64_t due);
int sleepers_called(struct model *model, const struct call *call, bool taken, int64_t *next,
                    int *again);

/* --- calls and replies --- */

/* Answers a caller whose definition or token is not that of the slot. */
bool model_refused(const struct model *model, struct buf *reply, const struct call *call,
                   bool needs_token);
/* A call that writes brings the slot's definition up to its own. */
void model_keep_version(struct model *model, const struct call *call);
void add_time(struct buf *reply, int64_t time); /* INT64_MAX: none */
void add_token(struct buf *reply, const struct model *model);
void add_owner(struct buf *reply, const struct model *model);
/* REASON|HOW TIME|HOW TIME:TEXT...: how a hash is shown */
void add_tries(struct buf *out, const struct model_tries *tries);
/* FIRST or FIRST,LIMIT,EXPIRY,REFS */
void add_header(struct buf *out, const struct model_body *body, int references);

/* Adds, merges, refuses or pushes the messages of a send that is none of before. */
void model_send_all(struct model *model, char *results, const struct call *call);
void model_schedule_put(struct model *model, struct buf *reply, const struct call *call);
void model_tick(struct model *model, struct buf *reply, const struct call *call);
void model_show_schedules(struct buf *out, const struct model *model);

/* A new place in the store. */
int64_t model_place(struct model *model, bool relative, int64_t when);
/* Kind p: does a place have that priority? */
bool model_has_priority(int64_t place, int64_t priority);

/* Kinds p and b: puts a message where a send or a reschedule says, with the priority `when` and the
 * `time` behind it; what waits of it, or is scheduled, becomes one with it.  `added` is put if
 * there is nothing; NULL: nothing is.  Answers when something is due by it. */
int64_t model_put_priority(struct model *model, int64_t when, const char *time,
                           const struct model_message *added);

/* Is the call a repeat, or late?  Then `reply` has the answer. */
bool model_sent_before(struct model *model, struct buf *reply, const struct call *call);
/* What the slot remembers of a call, and which sends it has stored. */
void model_remember(struct model *model, const struct call *call, const char *results);
void model_send(struct model *model, struct buf *reply, const struct call *call);
/* Is the message of this send claimed for an owner that sleeps?  Then nothing is left to do. */
bool model_push(struct model *model, const struct call *call);
void model_consume(struct model *model, struct buf *reply, const struct call *call);

void model_rank(struct model *model, struct buf *reply, const struct call *call);
void model_page(struct model *model, struct buf *reply, const struct call *call);
void model_find(struct model *model, struct buf *reply, const struct call *call);
void model_requeue(struct model *model, struct buf *reply, const struct call *call);
void model_remove(struct model *model, struct buf *reply, const struct call *call);
void model_reschedule(struct model *model, struct buf *reply, const struct call *call);
void model_pause(struct model *model, struct buf *reply, const struct call *call);
void model_alter(struct model *model, struct buf *reply, const struct call *call);

#endif
