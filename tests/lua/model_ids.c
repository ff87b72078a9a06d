/* model_ids.c - send ids: what a slot remembers of the requests of producers. */
#include <stdio.h>
#include <string.h>

#include "model_slot.h"

enum { REMEMBER_MS = 3600000 };

void model_producer(char out[8], int producer)
{
    snprintf(out, 8, "p%d", producer);
}

bool model_sent_before(struct model *model, struct buf *reply, const struct call *call)
{
    struct model_record *record = &model->records[call->producer];
    uint64_t before = record->last - strlen(record->results);

    model->sent_before = call->producer > 0 && call->sequence <= record->last;
    if (!model->sent_before) {
        return false;
    }
    buf_printf(reply, "OK ");
    for (uint64_t at = call->sequence; at < call->sequence + call->count; at++) {
        bool known = at > before && at <= record->last;

        buf_printf(reply, "%c", known ? record->results[at - before - 1] : 'u');
    }
    model_keep_version(model, call);
    record->at = model->now;
    model_wake(model, 0);
    return true;
}

/* The law of send ids: within an hour a send is stored once.  A clock that was set back makes the
 * hour longer. */
static void ids_note_stored(struct model *model, const struct call *call, const char *results)
{
    int64_t passed = model->now + model->set_back;

    for (size_t i = 0; i < call->count; i++) {
        int64_t *at = &model->stored_at[call->sends[i].text];

        if (results[i] == 'f' || results[i] == 'd') {
            continue;
        }
        model->stored_twice = model->stored_twice || (*at > 0 && passed - *at <= REMEMBER_MS);
        *at = passed;
    }
}

void model_remember(struct model *model, const struct call *call, const char *results)
{
    struct model_record *record = &model->records[call->producer];

    if (call->producer == 0) {
        return;
    }
    ids_note_stored(model, call, results);
    if (record->last == 0) {
        for (int i = 1; i <= MODEL_PRODUCERS; i++) {
            bool old = model->now - model->records[i].at > REMEMBER_MS;

            model->records[i].last = old ? 0 : model->records[i].last;
        }
        model->swept = true;
    }
    record->last = call->sequence + call->count - 1;
    record->at = model->now;
    snprintf(record->results, sizeof(record->results), "%s", results);
}
