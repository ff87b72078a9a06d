/* sender.c - which users of Redis may send to a topic, and what they lack to wake its consumers, or
 * to be members of its fleet in Redis.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/binding.h"
#include "admin/fanout.h"
#include "base/memory.h"
#include "base/status.h"
#include "store/server.h"

enum { SENDER_MISSING_MAX = STORE_USER_QUESTIONS * STORE_USER_RIGHT_MAX };

struct sender {
    char *user;
    bool may[STORE_USER_QUESTIONS];
    char lacks[STORE_USER_QUESTIONS][STORE_USER_RIGHT_MAX];
};

struct sender_round {
    struct core *core;
    struct store_user_keys keys; /* of one slot of the topic */
    bool all;                    /* not only the user of the client */
    bool has_tree;               /* its consumers need a tree */
    struct sender *senders;
    size_t count;
};

/* --- who --- */

static void sender_users_send(struct store_call *call, void *user)
{
    const struct sender_round *round = user;

    store_users(call, round->core->redis, round->all, 0);
}

static enum fanout_next sender_users_done(const struct store_result *result, void *user,
                                          smq_error *err)
{
    struct sender_round *round = user;
    size_t count;

    if (result->outcome != STORE_OK) {
        (void) status_set(err, result->status, "%s", result->text);
        return FANOUT_STOP;
    }
    count = store_users_count(result);
    round->senders = memory_new((count + 1) * sizeof(*round->senders));
    for (size_t i = 0; i < count; i++) {
        const char *name;

        if (store_users_read(&name, result, i)) {
            round->senders[round->count++].user = memory_string(name);
        }
    }
    return FANOUT_DONE;
}

static smq_status sender_list(struct sender_round *round, smq_error *err)
{
    smq_status status;

    round->all = true;
    status = fanout_one(round->core, sender_users_send, sender_users_done, round, err);
    if (status == SMQ_DENIED) {
        round->all = false;
        status = fanout_one(round->core, sender_users_send, sender_users_done, round, err);
    }
    return status;
}

/* --- what they may --- */

/* That the user of the client is on need not be asked. */
static enum store_user_question sender_first(const struct sender_round *round)
{
    return round->all ? STORE_USER_ON : STORE_USER_ON + 1;
}

static int32_t sender_questions(const struct sender_round *round)
{
    int32_t end = round->has_tree ? STORE_USER_QUESTIONS : STORE_USER_CONSUMES;

    return end - (int32_t) sender_first(round);
}

static struct sender *sender_asked(const struct sender_round *round, int32_t index,
                                   enum store_user_question *question)
{
    int32_t questions = sender_questions(round);

    *question = (enum store_user_question)((int32_t) sender_first(round) + index % questions);
    return &round->senders[index / questions];
}

static void sender_ask_send(struct store_call *call, int32_t index, void *user)
{
    const struct sender_round *round = user;
    enum store_user_question question;
    const struct sender *sender = sender_asked(round, index, &question);

    store_user_ask(call, round->core->redis, &round->keys, sender->user, question, 0);
}

static enum fanout_next sender_ask_done(const struct store_result *result, int32_t index,
                                        void *user, smq_error *err)
{
    const struct sender_round *round = user;
    enum store_user_question question;
    struct sender *sender = sender_asked(round, index, &question);

    if (result->outcome != STORE_OK) {
        (void) status_set(err, result->status, "%s", result->text);
        return FANOUT_STOP;
    }
    if (!store_user_read(&sender->may[question], sender->lacks[question], &round->keys, question,
                         result)) {
        (void) status_set(err, SMQ_BAD_SERVER, "its answer to ACL cannot be read");
        return FANOUT_STOP;
    }
    return FANOUT_DONE;
}

static smq_status sender_ask(struct sender_round *round, smq_error *err)
{
    for (size_t i = 0; i < round->count; i++) {
        round->senders[i].may[STORE_USER_ON] = !round->all;
    }
    return fanout_many(round->core, (int32_t) round->count * sender_questions(round),
                       sender_ask_send, sender_ask_done, round, err);
}

/* --- what is shown --- */

static bool sender_may_send(const struct sender *sender)
{
    return sender->may[STORE_USER_ON] && sender->may[STORE_USER_RUNS] &&
           sender->may[STORE_USER_WRITES];
}

/* Does an answer before name the same right? */
static bool sender_is_named(const struct sender *sender, int question)
{
    for (int i = 0; i < question; i++) {
        if (strcmp(sender->lacks[i], sender->lacks[question]) == 0) {
            return true;
        }
    }
    return false;
}

/* Who may not listen to the slot is no consumer, and needs no tree. */
static void sender_missing(char missing[SENDER_MISSING_MAX], const struct sender *sender)
{
    size_t used = 0;

    missing[0] = '\0';
    for (int i = 0; i < STORE_USER_QUESTIONS; i++) {
        const bool counts = i < STORE_USER_CONSUMES || sender->may[STORE_USER_CONSUMES];

        if (counts && sender->lacks[i][0] != '\0' && !sender_is_named(sender, i)) {
            used += (size_t) snprintf(missing + used, SENDER_MISSING_MAX - used, "%s%s",
                                      used > 0 ? " " : "", sender->lacks[i]);
        }
    }
}

static void sender_show(const struct sender_round *round, const char *topic, smq_sender_fn *visit,
                        void *user)
{
    char missing[SENDER_MISSING_MAX];
    bool more = true;

    for (size_t i = 0; i < round->count && more; i++) {
        const struct sender *sender = &round->senders[i];
        const smq_sender_info info = {
            .struct_size = sizeof(info), .user = sender->user, .topic = topic, .missing = missing};

        sender_missing(missing, sender);
        more = !sender_may_send(sender) || visit(&info, user);
    }
}

smq_status admin_sender_each(struct core *core, const char *topic, smq_sender_fn *visit, void *user,
                             smq_error *err)
{
    struct sender_round round = {.core = core};
    struct binding found;
    smq_status status = binding_read(&found, core, topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    store_slot_fill(&round.keys.slot, &found.topic, 0);
    round.has_tree = core->root != NULL && !found.topic.shared &&
                     strncmp(found.bound, "zookeeper:", strlen("zookeeper:")) != 0;
    if (round.has_tree) {
        store_tree_fill(&round.keys.tree, core->root);
    }
    status = sender_list(&round, err);
    if (status == SMQ_OK) {
        status = sender_ask(&round, err);
    }
    if (status == SMQ_OK) {
        sender_show(&round, topic, visit, user);
    }
    for (size_t i = 0; i < round.count; i++) {
        free(round.senders[i].user);
    }
    free(round.senders);
    return status;
}
