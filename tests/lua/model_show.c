/* model_show.c - the state of a model as text, and the laws that hold over all calls. */
#include "model_slot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void show_score(struct buf *out, int64_t at, struct model_attempts attempts)
{
    buf_printf(out, " %" PRId64, at);
    if (attempts_number(attempts) > 0) {
        buf_printf(out, "~%d%s", attempts.retries, attempts.suspect ? "s" : "");
    }
}

static void show_body(struct buf *out, const char *field, const struct model_body *body)
{
    char text[MODEL_NAME];

    model_text(text, body->text);
    buf_printf(out, "%s %s\n", field, text[0] == '\0' ? "''" : text);
}

/* What a dead letter holds beside its name. */
static void show_letter(struct buf *out, const struct model_message *message, bool keyed)
{
    char entry[MODEL_NAME], field[MODEL_NAME + 8];

    model_dead_entry(entry, message);
    buf_printf(out, "why %s ", entry);
    add_tries(out, &message->why);
    buf_printf(out, "\n");
    if (keyed) {
        snprintf(field, sizeof(field), "why B%s", entry);
        show_body(out, field, &message->body);
        buf_printf(out, "why H%s ", entry);
        add_header(out, &message->body, 1);
        buf_printf(out, "\n");
    }
}

static void show_reasons(struct buf *out, const struct model *model)
{
    for (int i = 0; i < MODEL_MEMBERS; i++) {
        if (model->tries[i].count > 0) {
            buf_printf(out, "why R%s ", model_members[i]);
            add_tries(out, &model->tries[i]);
            buf_printf(out, "\n");
        }
    }
}

/* Each body has as many references as there are entries; without any it is gone. */
static void show_bodies(struct buf *out, const struct model *model)
{
    buf_printf(out, "body '' ''\n");
    for (int i = 0; i < MODEL_MEMBERS; i++) {
        int references = model_is_whole(i) ? 0 : model_references(model, i);
        char field[MODEL_NAME + 8], text[MODEL_NAME];

        if (references > 0) {
            buf_printf(out, "body h%s ", model_members[i]);
            add_header(out, &model->bodies[i], references);
            if (model->bodies[i].joined) {
                model_text(text, model->bodies[i].text);
                buf_printf(out, "!%s\n", text);
                continue;
            }
            snprintf(field, sizeof(field), "\nbody b%s", model_members[i]);
            show_body(out, field, &model->bodies[i]);
        }
    }
}

static void show_done(struct buf *out, const struct model *model)
{
    buf_printf(out, "done '' +inf\n");
    for (int i = 0; i < MODEL_MEMBERS; i++) {
        if (model->done_at[i] > 0) {
            buf_printf(out, "done %s %" PRId64 "\n", model_members[i], model->done_at[i]);
        }
    }
}

static void show_list(struct buf *out, const char *name, const struct model_list *list, bool keyed)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct model_message *message = &list->item[i];
        char entry[MODEL_NAME];

        if (strcmp(name, "store") == 0) {
            snprintf(entry, sizeof(entry), "%s", model_members[message->member]);
        } else if (strcmp(name, "prepare") == 0) {
            model_entry(entry, message);
        } else {
            model_dead_entry(entry, message);
            show_letter(out, message, keyed);
        }
        buf_printf(out, "%s %s", name, entry);
        show_score(out, model_score(message), message->attempts);
        buf_printf(out, "\n");
        if (message->scheduled) {
            buf_printf(out, "%s S%s %" PRId64 "\n", keyed ? "body" : "slot",
                       model_members[message->member], message->before);
        }
    }
}

static void show_sleepers(struct buf *out, const struct model_sleepers *sleepers)
{
    buf_printf(out, "slot parked %" PRId64 " %" PRId64 " ", sleepers->due, sleepers->woken_at);
    buf_printf(out, sleepers->woken >= 0 ? "w%x|" : "-|", (unsigned) sleepers->woken);
    for (int i = 0; i < sleepers->count; i++) {
        buf_printf(out, "w%x", (unsigned) sleepers->item[i].caller);
        if (sleepers->item[i].told >= 0) {
            buf_printf(out, "@%" PRId64, sleepers->item[i].told);
        }
        buf_printf(out, " ");
    }
    buf_printf(out, "\n");
}

static void show_parked(struct buf *out, const struct model *model)
{
    if (model->sleepers.count > 0) {
        show_sleepers(out, &model->sleepers);
    } else if (model->pushed_at >= 0 && model->push_again >= 0) {
        buf_printf(out, "slot parked -%" PRId64 ":%" PRId64 "\n", model->pushed_at,
                   model->push_again);
    } else if (model->pushed_at >= 0) {
        buf_printf(out, "slot parked -%" PRId64 "\n", model->pushed_at);
    } else if (model->push_lease > 0) {
        buf_printf(out, "slot parked %" PRId64 "/%" PRId64 "\n", model->parked, model->push_lease);
    } else if (model->parked >= 0) {
        buf_printf(out, "slot parked %" PRId64 "\n", model->parked);
    }
}

/* Results that are all alike are one character. */
static void show_records(struct buf *out, const struct model *model)
{
    for (int i = 1; i <= MODEL_PRODUCERS; i++) {
        const struct model_record *record = &model->records[i];
        size_t count = strlen(record->results);
        bool alike = strspn(record->results, (char[]){record->results[0], '\0'}) == count;
        char name[8];

        if (record->last > 0) {
            model_producer(name, i);
            buf_printf(out, "slot P%s %" PRIu64 ",%zu,%" PRId64 ",%.*s\n", name, record->last,
                       count, record->at, alike ? 1 : (int) count, record->results);
        }
    }
    if (model->swept) {
        buf_printf(out, "slot swept 0\n");
    }
}

static void show_slot(struct buf *out, const struct model *model)
{
    buf_printf(out, "slot '' ''\n");
    if (!model->sealed) {
        buf_printf(out, "slot def n.%d\n", model->version);
    }
    if (model->text > 0) {
        buf_printf(out, "slot definition d%d\nslot version %d\n", model->text, model->text);
    }
    if (model->sealed) {
        buf_printf(out, "slot sealed 1\n");
    }
    buf_printf(out, "slot generation 1\n");
    buf_printf(out, "slot base %" PRIu64 "\nslot claims %" PRIu64 "\n", model->base, model->claims);
    if (model->former >= 0) {
        buf_printf(out, "slot former %" PRId64 "\n", model->former);
    }
    if (model->bound > 0) {
        buf_printf(out, "slot bound 1 fleet-%" PRIu64 "\n", model->bound);
    }
    if (model->claimed_until >= 0) {
        buf_printf(out, "slot claimed_until %" PRId64 "\n", model->claimed_until);
    }
    if (model->leased >= 0) {
        buf_printf(out, "slot leased %" PRId64 "\n", model->leased);
    }
    if (model->noted[0] != '\0') {
        buf_printf(out, "slot oldest %" PRId64 " me %s\n", model->noted_since, model->noted);
    }
    show_parked(out, model);
    if (model->paused) {
        buf_printf(out, "slot paused 1\n");
    }
    if (model->pauses >= 0) {
        buf_printf(out, "slot pauses %d\n", model->pauses);
    }
    if (model->seq > 0) {
        buf_printf(out, "slot seq %" PRIu64 "\n", model->seq);
    }
    for (int i = 0; i < MODEL_COUNTERS; i++) {
        if (model->counters[i] > 0) {
            buf_printf(out, "slot %s %" PRIu64 "\n", model_counters[i], model->counters[i]);
        }
    }
    show_records(out, model);
}

void model_show(struct buf *out, const struct model *model)
{
    buf_printf(out, "store '' %s\nprepare '' +inf\ndead '' +inf\nwhy '' ''\n",
               model_by_priority(model) ? "-inf" : "+inf");
    show_list(out, "store", &model->waiting, model->keyed);
    show_list(out, "prepare", &model->prepare, model->keyed);
    show_list(out, "dead", &model->dead, model->keyed);
    show_reasons(out, model);
    if (model->keyed) {
        show_bodies(out, model);
        show_done(out, model);
    }
    show_slot(out, model);
    model_show_schedules(out, model);
}

/* --- laws --- */

/* Kind f: what the last call claimed was sent before all that is left of its key and not passed
 * over, and what failed before is answered first.  A push does not wait for that answer if its
 * owner has both messages: then the owner begins it later. */
static bool overtakes(const struct model *model, const struct model_message *claimed)
{
    for (size_t i = 0; i < model->waiting.count; i++) {
        const struct model_message *other = &model->waiting.item[i];
        int key = model_key(other->member);

        if (other->at < claimed->before && (model->passes >> key & 1) == 0 &&
            key == model_key(claimed->member)) {
            return true;
        }
    }
    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *other = &model->prepare.item[i];
        bool both = claimed->pushed && other->claim > model->base;
        bool failed = !both && other->attempts.retries > 0;

        if ((other->resting || failed) && other->before < claimed->before &&
            model_key(other->member) == model_key(claimed->member)) {
            return true;
        }
    }
    return false;
}

/* After a strict takeover: the former owner may still handle a message of its key. */
static bool is_of_former(const struct model *model, const struct model_message *claimed)
{
    for (size_t i = 0; model->strict && i < model->prepare.count; i++) {
        const struct model_message *other = &model->prepare.item[i];

        if (!other->resting && other->claim <= model->base && claimed->claim > model->base &&
            model_key(other->member) == model_key(claimed->member)) {
            return true;
        }
    }
    return false;
}

static const char *law_of_claims(const struct model *model)
{
    for (size_t i = 0; i < model->prepare.count; i++) {
        const struct model_message *message = &model->prepare.item[i];

        if (message->resting || message->claimed_step != model->step) {
            continue;
        }
        if (model->kind == 'f' && !model->passing && overtakes(model, message)) {
            return "a message was overtaken by one that was sent later";
        }
        if (is_of_former(model, message)) {
            return "a message was claimed while the former owner has one of its key";
        }
        if (model_has_expired(model, message->member, message->before)) {
            return "a message was claimed that had expired";
        }
    }
    return NULL;
}

static bool list_has_retried(const struct model_list *list, int member)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->item[i].member == member && list->item[i].attempts.retries > 0) {
            return true;
        }
    }
    return false;
}

/* Tries are stored beside a message that failed, or nothing would take them away. */
static const char *law_of_reasons(const struct model *model)
{
    for (int i = 0; i < MODEL_MEMBERS; i++) {
        if (model->tries[i].count > 0 && !list_has_retried(&model->waiting, i) &&
            !list_has_retried(&model->prepare, i)) {
            return "a reason is left of a message that is gone";
        }
    }
    return NULL;
}

const char *model_broken_law(const struct model *model)
{
    struct in_flight in_flight = model_in_flight(model);
    int64_t live = (int64_t) (model->waiting.count + model->prepare.count + model->dead.count);
    int64_t gone = (int64_t) model->counters[MODEL_DONE] + model->dropped;

    if ((int64_t) model->counters[MODEL_SENT] != live + gone + model->joined) {
        return "a message came from nowhere, or went there";
    }
    if (model->stored_twice) {
        return "a send with an id was stored twice";
    }
    if (in_flight.suspect && in_flight.count > 1) {
        return "a suspect is in flight beside another message";
    }
    return law_of_reasons(model) != NULL ? law_of_reasons(model) : law_of_claims(model);
}
