/* rights.c - has the user of Redis the rights of an owner when the consumer begins?
 *
 * A right that is missing from the start ends the consumer, and one that is taken away later does
 * not.  The first call of a kind may come late: a renewal only when a handler is slow, and every
 * call of a consumer that stands by.  So the consumer asks as soon as it begins.
 *
 * Thread: smq:io. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/hash.h"
#include "base/memory.h"
#include "consume/consumer/consumer.h"

/* The question to one server. */
struct rights_question {
    STAILQ_ENTRY(rights_question) link;
    UT_hash_handle hh;
    char server[REDIS_SERVER_MAX];
    struct store_slot slot; /* one that it has */
    struct store_call call;
    smq_consumer *consumer;
};
STAILQ_HEAD(rights_questions, rights_question);

static void rights_on_answer(struct store_call *call, const struct store_result *result)
{
    struct rights_question *question = call->user;
    smq_consumer *consumer = question->consumer;
    char missing[STORE_RIGHTS_MAX] = "";

    if (result->outcome != STORE_OK || !store_rights_read(missing, sizeof(missing), result)) {
        consumer->rights.unknown = true;
    } else if (missing[0] != '\0') {
        memcpy(consumer->rights.missing, missing, sizeof(missing));
    }
    consumer->rights.running--;
    consumer->set.proved = consumer->rights.running == 0 && !consumer->rights.unknown &&
                           consumer->rights.missing[0] == '\0';
    store_call_fini(call);
    free(question);
    slot_set_turn(&consumer->set);
}

static struct rights_question *rights_question_new(smq_consumer *consumer, const char *server,
                                                   const struct store_slot *slot)
{
    struct rights_question *question = memory_new(sizeof(*question));

    question->consumer = consumer;
    question->slot = *slot;
    (void) snprintf(question->server, sizeof(question->server), "%s", server);
    store_call_init(&question->call, rights_on_answer, question);
    return question;
}

/* One question for each server. */
static void rights_prepare(struct rights_questions *out, smq_consumer *consumer)
{
    struct rights_question *by_server = NULL, *question;
    char server[REDIS_SERVER_MAX];
    struct store_slot slot;

    for (int32_t i = 0; i < consumer->set.topic.slots; i++) {
        store_slot_fill(&slot, &consumer->set.topic, i);
        redis_server_of(server, consumer->set.core->redis, slot.keys.hash_slot);
        HASH_FIND_STR(by_server, server, question);
        if (question == NULL) {
            question = rights_question_new(consumer, server, &slot);
            HASH_ADD_STR(by_server, server, question);
            STAILQ_INSERT_TAIL(out, question, link);
            consumer->rights.running++;
        }
    }
    HASH_CLEAR(hh, by_server);
}

void consumer_prove_rights(smq_consumer *consumer)
{
    const struct core *core = consumer->set.core;
    struct rights_questions questions = STAILQ_HEAD_INITIALIZER(questions);
    struct rights_question *question;

    if (consumer->set.proved || consumer->rights.running > 0) {
        return;
    }
    consumer->rights.unknown = false;
    consumer->rights.missing[0] = '\0';
    rights_prepare(&questions, consumer);
    while ((question = STAILQ_FIRST(&questions)) != NULL) {
        STAILQ_REMOVE_HEAD(&questions, link);
        store_rights(&question->call, core->redis, &question->slot, core->request_timeout_ms);
    }
}

bool consumer_lacked(const smq_consumer *consumer, const char *denial)
{
    char list[STORE_RIGHTS_MAX], quoted[STORE_RIGHTS_MAX + 2], *rest = NULL;

    memcpy(list, consumer->rights.missing, sizeof(list));
    for (const char *name = strtok_r(list, ",", &rest); name != NULL;
         name = strtok_r(NULL, ",", &rest)) {
        (void) snprintf(quoted, sizeof(quoted), "'%s'", name);
        if (strcasestr(denial, quoted) != NULL) {
            return true;
        }
    }
    return false;
}
