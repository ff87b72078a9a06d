/* lockstep_failover.c - what a round may lose: at a failover, whose replica lacks the last writes,
 * or when the node of the slot loses its keys, and the topic is repaired. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lockstep_round.h"
#include "support/testing.h"

/* A slot as it was. */
struct snapshot {
    struct model model;
    uint64_t sent_step[MODEL_MEMBERS];
    redisReply *keys[KEY_DONE + 1], *schedule;
};

static size_t count_keys(const struct round *round)
{
    return round->model->keyed ? KEY_DONE + 1 : KEY_BODY;
}

void round_drop_replica(struct round *round)
{
    for (size_t i = 0; round->replica != NULL && i < count_keys(round); i++) {
        freeReplyObject(round->replica->keys[i]);
    }
    if (round->replica != NULL) {
        freeReplyObject(round->replica->schedule);
    }
    free(round->replica);
    round->replica = NULL;
}

void round_note_replica(struct round *round)
{
    struct snapshot *replica = memory_new(sizeof(*replica));

    round_drop_replica(round);
    round->replica = replica;
    replica->model = *round->model;
    memcpy(replica->sent_step, round->sent_step, sizeof(replica->sent_step));
    for (size_t i = 0; i < count_keys(round); i++) {
        replica->keys[i] = redisCommand(round->fixture->redis, "DUMP %s", fixture_keys[i]);
        assert_non_null(replica->keys[i]);
        assert_int_equal(replica->keys[i]->type, REDIS_REPLY_STRING);
    }
    replica->schedule = redisCommand(round->fixture->redis, "DUMP schedule{x}");
}

/* What is not of the slot continues. */
static void restore_model(struct round *round)
{
    struct model before = *round->model;

    *round->model = round->replica->model;
    round->model->now = before.now;
    round->model->set_back = before.set_back;
    round->model->step = before.step;
    round->model->wakes = before.wakes;
    memcpy(round->sent_step, round->replica->sent_step, sizeof(round->sent_step));
}

static void restore_keys(struct round *round)
{
    const redisReply *schedule = round->replica->schedule;

    freeReplyObject(redisCommand(round->fixture->redis, "DEL schedule{x}"));
    if (schedule->type == REDIS_REPLY_STRING) {
        freeReplyObject(redisCommand(round->fixture->redis, "RESTORE schedule{x} 0 %b",
                                     schedule->str, (size_t) schedule->len));
    }
    for (size_t i = 0; i < count_keys(round); i++) {
        const redisReply *key = round->replica->keys[i];
        redisReply *reply = redisCommand(round->fixture->redis, "RESTORE %s 0 %b REPLACE",
                                         fixture_keys[i], key->str, (size_t) key->len);

        assert_non_null(reply);
        assert_string_equal(reply->str, "OK");
        freeReplyObject(reply);
    }
}

static void doubt_claims(struct consumer *consumer)
{
    for (size_t i = 0; i < consumer->count; i++) {
        consumer->in_flight[i].sent = true;
    }
}

/* Of a claim that it knows in part, the owner could not tell the messages from those of another
 * claim with its number. */
static bool knows_a_part(const struct round *round)
{
    return round->consumers[0].position[0] != '\0' || round->consumers[1].position[0] != '\0';
}

/* The former owner is still the owner until the takeover of the next one is done. */
void round_fail_over(struct round *round)
{
    if (knows_a_part(round)) {
        return;
    }
    restore_model(round);
    restore_keys(round);
    round_drop_replica(round);
    doubt_claims(&round->consumers[0]);
    doubt_claims(&round->consumers[1]);
    for (size_t i = 0; i < round->push_count; i++) {
        round->pushes[i].undone = true;
    }
    buf_printf(round->report, "a failover\n");
}

/* Each caller begins anew.  The owner before continues with what it knows, and a late takeover may
 * make it the owner again. */
void round_lose_slot(struct round *round)
{
    struct model before = *round->model;

    if (knows_a_part(round)) {
        return;
    }
    round_drop_replica(round);
    model_init(round->model, before.kind, before.shared, before.keyed);
    round->model->version = round->definition.version;
    round->model->now = before.now;
    round->model->step = before.step;
    round->model->heard = before.heard;
    round->model->wakes = before.wakes;
    memset(round->sent_step, 0, sizeof(round->sent_step));
    round->push_count = 0;
    buf_printf(round->report, "the slot is lost and repaired\n");
    round_open_slot(round);
    if (!before.shared) {
        doubt_claims(&round->consumers[0]);
        round_take_over(round);
        return;
    }
    memset(round->consumers, 0, sizeof(round->consumers));
    for (size_t i = 0; i < SHARERS; i++) {
        round->consumers[i].ready = true;
    }
}
