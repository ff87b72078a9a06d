/* sender.c - which users of Redis may send to a topic, and what they lack to wake its consumers.
 *
 * Thread: the caller's; functions called ..._send and ..._done run on smq:io. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin.h"
#include "admin/fanout.h"
#include "base/memory.h"
#include "base/status.h"
#include "store/server.h"

enum { SENDER_MISSING_MAX = 2 * STORE_USER_RIGHT_MAX };

struct sender {
    char *user;
    bool may[STORE_USER_QUESTIONS];
    char missing[SENDER_MISSING_MAX];
};

struct sender_round {
    struct core *core;
    struct store_slot slot; /* one of the topic */
    bool all;               /* not only the user of the client */
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
static int32_t sender_questions(const struct sender_round *round)
{
    return STORE_USER_QUESTIONS - (round->all ? 0 : 1);
}

static struct sender *sender_asked(const struct sender_round *round, int32_t index,
                                   enum store_user_question *question)
{
    int32_t questions = sender_questions(round);

    *question = (enum store_user_question)(STORE_USER_QUESTIONS - questions + index % questions);
    return &round->senders[index / questions];
}

static void sender_ask_send(struct store_call *call, int32_t index, void *user)
{
    const struct sender_round *round = user;
    enum store_user_question question;
    const struct sender *sender = sender_asked(round, index, &question);

    store_user_ask(call, round->core->redis, &round->slot, sender->user, question, 0);
}

static enum fanout_next sender_ask_done(const struct store_result *result, int32_t index,
                                        void *user, smq_error *err)
{
    const struct sender_round *round = user;
    enum store_user_question question;
    struct sender *sender = sender_asked(round, index, &question);
    char right[STORE_USER_RIGHT_MAX];
    size_t used = strlen(sender->missing);

    if (result->outcome != STORE_OK) {
        (void) status_set(err, result->status, "%s", result->text);
        return FANOUT_STOP;
    }
    if (!store_user_read(&sender->may[question], right, &round->slot, question, result)) {
        (void) status_set(err, SMQ_BAD_SERVER, "its answer to ACL cannot be read");
        return FANOUT_STOP;
    }
    (void) snprintf(sender->missing + used, sizeof(sender->missing) - used, "%s%s",
                    used > 0 && right[0] != '\0' ? " " : "", right);
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

static void sender_show(const struct sender_round *round, const char *topic, smq_sender_fn *visit,
                        void *user)
{
    bool more = true;

    for (size_t i = 0; i < round->count && more; i++) {
        const struct sender *sender = &round->senders[i];
        const smq_sender_info info = {.struct_size = sizeof(info),
                                      .user = sender->user,
                                      .topic = topic,
                                      .missing = sender->missing};

        more = !sender_may_send(sender) || visit(&info, user);
    }
}

smq_status admin_sender_each(struct core *core, const char *topic, smq_sender_fn *visit, void *user,
                             smq_error *err)
{
    struct sender_round round = {.core = core};
    struct topic known;
    smq_status status = fanout_holder(&known, core, topic, err);

    if (status != SMQ_OK) {
        return status;
    }
    store_slot_fill(&round.slot, &known, 0);
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
