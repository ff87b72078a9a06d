/* damage.c - see damage.h.
 *
 * Pure. */
#include "model/damage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "model/slot.h"

/* A definition that slots have; usually all slots have the same. */
struct damage_text {
    struct damage_text *next;
    char nonce[TOPIC_NONCE_LEN + 1];
    uint32_t version;
    size_t len;
    char *text;
};

/* A binding that slots have; usually all slots have the same. */
struct damage_coord {
    struct damage_coord *next;
    char text[];
};

struct damage {
    int32_t slots;
    /* by slot; each text is one of `texts`, each binding one of `coords` */
    struct slot_notes *notes;
    struct damage_text *texts;
    struct damage_coord *coords;
};

struct damage *damage_new(int32_t slots)
{
    struct damage *damage = memory_new(sizeof(*damage));

    damage->slots = slots;
    damage->notes = memory_new((size_t) slots * sizeof(*damage->notes));
    return damage;
}

void damage_free(struct damage *damage)
{
    struct damage_text *text, *next;
    struct damage_coord *coord, *next_coord;

    if (damage == NULL) {
        return;
    }
    for (coord = damage->coords; coord != NULL; coord = next_coord) {
        next_coord = coord->next;
        free(coord);
    }
    for (text = damage->texts; text != NULL; text = next) {
        next = text->next;
        free(text->text);
        free(text);
    }
    free(damage->notes);
    free(damage);
}

static const struct damage_text *damage_text_copy(struct damage *damage,
                                                  const struct slot_notes *notes)
{
    struct damage_text *text = damage->texts;

    while (text != NULL &&
           (text->version != notes->text_version || strcmp(text->nonce, notes->nonce) != 0 ||
            text->len != notes->text_len || memcmp(text->text, notes->text, text->len) != 0)) {
        text = text->next;
    }
    if (text == NULL) {
        text = memory_new(sizeof(*text));
        memcpy(text->nonce, notes->nonce, sizeof(text->nonce));
        text->version = notes->text_version;
        text->len = notes->text_len;
        text->text = memory_copy(notes->text, notes->text_len);
        text->next = damage->texts;
        damage->texts = text;
    }
    return text;
}

static const char *damage_coord_keep(struct damage *damage, const char *text)
{
    struct damage_coord *coord = damage->coords;
    size_t size = strlen(text) + 1;

    while (coord != NULL && strcmp(coord->text, text) != 0) {
        coord = coord->next;
    }
    if (coord == NULL) {
        coord = memory_new(sizeof(*coord) + size);
        memcpy(coord->text, text, size);
        coord->next = damage->coords;
        damage->coords = coord;
    }
    return coord->text;
}

void damage_note(struct damage *damage, int32_t slot, const struct slot_notes *notes)
{
    damage->notes[slot] = *notes;
    damage->notes[slot].text = NULL;
    if (notes->open && notes->text_version > 0) {
        damage->notes[slot].text = damage_text_copy(damage, notes)->text;
    }
    if (notes->coord != NULL) {
        damage->notes[slot].coord = damage_coord_keep(damage, notes->coord);
    }
}

/* --- lists of slots, for people --- */

struct damage_list {
    char text[DAMAGE_LIST_MAX];
    size_t used;
    int32_t count, shown;
};

static void damage_list_add(struct damage_list *list, int32_t slot)
{
    char number[16];
    int len = snprintf(number, sizeof(number), "%s%" PRId32, list->count > 0 ? ", " : "", slot);

    list->count++;
    if (list->shown == list->count - 1 && list->used + (size_t) len + 24 < sizeof(list->text)) {
        memcpy(list->text + list->used, number, (size_t) len + 1);
        list->used += (size_t) len;
        list->shown++;
    }
}

static const char *damage_list_end(struct damage_list *list)
{
    if (list->shown < list->count) {
        snprintf(list->text + list->used, sizeof(list->text) - list->used, " and %" PRId32 " more",
                 list->count - list->shown);
    }
    return list->text;
}

/* --- the creation --- */

/* The open slot with the largest generation: its creation of the topic is restored. */
static const struct slot_notes *damage_latest(const struct damage *damage)
{
    const struct slot_notes *latest = NULL;

    for (int32_t i = 0; i < damage->slots; i++) {
        const struct slot_notes *notes = &damage->notes[i];

        if (notes->open && (latest == NULL || notes->generation > latest->generation)) {
            latest = notes;
        }
    }
    return latest;
}

static bool damage_is_of(const struct slot_notes *notes, const char *nonce)
{
    return notes->open && strcmp(notes->nonce, nonce) == 0;
}

/* An empty slot of an earlier creation was left by a late call; opening it again replaces that. */
static smq_status damage_check_nonces(const struct damage *damage, const char *name,
                                      const char *nonce, uint32_t generation, smq_error *err)
{
    struct damage_list list = {.count = 0};
    char key[SLOT_KEY_MAX];

    for (int32_t i = 0; i < damage->slots; i++) {
        const struct slot_notes *notes = &damage->notes[i];

        if (notes->open && !damage_is_of(notes, nonce) &&
            (notes->generation >= generation || notes->messages > 0)) {
            damage_list_add(&list, i);
        }
    }
    if (list.count == 0) {
        return SMQ_OK;
    }
    slot_key_shown(key, name);
    return status_set(
        err, SMQ_DAMAGED,
        "topic %s cannot be repaired: slots %s belong to another creation of it; look "
        "at %s there, and remove the keys of the creation that is not wanted",
        name, damage_list_end(&list), key);
}

/* --- the definition --- */

/* The newest definition of the creation, or the stored one if that is not older. */
static smq_status damage_newest(struct topic *out, const struct damage *damage, const char *name,
                                const char *nonce, const struct topic *stored, smq_error *err)
{
    const struct damage_text *newest = NULL;
    smq_status status = SMQ_OK;

    for (const struct damage_text *text = damage->texts; text != NULL; text = text->next) {
        if (strcmp(text->nonce, nonce) == 0 &&
            (newest == NULL || text->version > newest->version)) {
            newest = text;
        }
    }
    if (stored != NULL && (newest == NULL || newest->version <= stored->version)) {
        *out = *stored;
        return SMQ_OK;
    }
    if (newest == NULL) {
        return status_set(err, SMQ_DAMAGED,
                          "topic %s cannot be repaired: no slot has its definition", name);
    }
    status = topic_parse(out, name, newest->text, newest->len, err);
    out->version = newest->version;
    return status;
}

/* Do all definitions of the creation have the same options that cannot be changed? */
static smq_status damage_check_fixed(const struct damage *damage, const struct topic *topic,
                                     smq_error *err)
{
    for (const struct damage_text *text = damage->texts; text != NULL; text = text->next) {
        struct damage_list list = {.count = 0};
        char difference[160], key[SLOT_KEY_MAX];
        struct topic other;
        smq_status status;

        if (strcmp(text->nonce, topic->nonce) != 0) {
            continue;
        }
        status = topic_parse(&other, topic->name, text->text, text->len, err);
        if (status != SMQ_OK) {
            return status;
        }
        if (other.slots == damage->slots &&
            !topic_fixed_difference(difference, sizeof(difference), &other, topic)) {
            continue;
        }
        for (int32_t i = 0; i < damage->slots; i++) {
            if (damage->notes[i].text == text->text) {
                damage_list_add(&list, i);
            }
        }
        slot_key_shown(key, topic->name);
        return status_set(err, SMQ_DAMAGED,
                          "topic %s cannot be repaired: slots %s have a definition with other "
                          "options that cannot be changed; look at %s there",
                          topic->name, damage_list_end(&list), key);
    }
    return SMQ_OK;
}

/* --- the binding --- */

/* The slot with the latest binding.  A new binding has a larger generation, so slots with an older
 * one do not contradict it. */
static const struct slot_notes *damage_bound_last(const struct damage *damage, const char *nonce)
{
    const struct slot_notes *last = NULL;

    for (int32_t i = 0; i < damage->slots; i++) {
        const struct slot_notes *notes = &damage->notes[i];

        if (damage_is_of(notes, nonce) && notes->coord != NULL &&
            (last == NULL || notes->bound_at > last->bound_at)) {
            last = notes;
        }
    }
    return last;
}

static smq_status damage_find_coord(struct damage_verdict *out, const struct damage *damage,
                                    smq_error *err)
{
    const struct slot_notes *last = damage_bound_last(damage, out->topic.nonce);
    struct damage_list list = {.count = 0};
    char key[SLOT_KEY_MAX];

    if (last == NULL) {
        return SMQ_OK;
    }
    for (int32_t i = 0; i < damage->slots; i++) {
        const struct slot_notes *notes = &damage->notes[i];

        if (damage_is_of(notes, out->topic.nonce) && notes->coord != NULL &&
            notes->bound_at == last->bound_at && notes->coord != last->coord) {
            damage_list_add(&list, i);
        }
    }
    if (list.count == 0) {
        (void) snprintf(out->coord, sizeof(out->coord), "%s", last->coord);
        return SMQ_OK;
    }
    slot_key_shown(key, out->topic.name);
    return status_set(err, SMQ_DAMAGED,
                      "topic %s cannot be repaired: slots %s have another binding of it "
                      "than the other slots; look at the field bound of %s, and remove it "
                      "where it is wrong",
                      out->topic.name, damage_list_end(&list), key);
}

/* --- the numbers --- */

static uint32_t damage_larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Set the numbers that are stored next to the definition, from what the slots know. */
static void damage_set_numbers(struct damage_verdict *out, const struct damage *damage,
                               const struct topic *stored)
{
    struct topic *topic = &out->topic;
    uint32_t newest = topic->version;
    uint32_t generation = topic->generation = stored != NULL ? stored->generation : 0;

    for (int32_t i = 0; i < damage->slots; i++) {
        const struct slot_notes *notes = &damage->notes[i];

        topic->deletes = damage_larger(topic->deletes, notes->sealed);
        generation = damage_larger(generation, notes->generation);
        if (stored == NULL) {
            generation = damage_larger(generation, notes->token.generation);
            generation = damage_larger(generation, notes->bound_at);
        }
        if (damage_is_of(notes, topic->nonce)) {
            newest = damage_larger(newest, notes->version);
            if (notes->pauses > topic->pauses) {
                topic->pauses = notes->pauses;
                topic->paused = notes->paused;
            }
        }
    }
    if (newest > topic->version) { /* no slot has the definition of the newest alteration */
        topic->version = newest + 1;
        out->lost_alteration = true;
    }
    topic->generation = stored == NULL ? generation + 1 : generation;
}

static bool damage_is_whole(const struct slot_notes *notes, const struct topic *topic)
{
    return damage_is_of(notes, topic->nonce) && notes->complete &&
           notes->generation <= topic->generation;
}

static void damage_count(struct damage_verdict *out, const struct damage *damage)
{
    struct damage_list list = {.count = 0};

    for (int32_t i = 0; i < damage->slots; i++) {
        out->messages += damage->notes[i].messages;
        if (!damage_is_whole(&damage->notes[i], &out->topic)) {
            damage_list_add(&list, i);
        }
    }
    out->closed = list.count;
    snprintf(out->closed_list, sizeof(out->closed_list), "%s", damage_list_end(&list));
}

static bool damage_is_same_topic(const struct topic *a, const struct topic *b)
{
    return a->version == b->version && a->generation == b->generation && a->pauses == b->pauses &&
           a->paused == b->paused && a->deletes == b->deletes;
}

smq_status damage_decide(struct damage_verdict *out, const struct damage *damage, const char *name,
                         const struct topic *stored, smq_error *err)
{
    const struct slot_notes *latest = damage_latest(damage);
    const char *nonce = stored != NULL ? stored->nonce : latest != NULL ? latest->nonce : NULL;
    smq_status status;

    *out = (struct damage_verdict){.whole = false};
    if (nonce == NULL) {
        char key[SLOT_KEY_MAX];

        slot_topic_key(key, name);
        return status_set(err, SMQ_NO_TOPIC, "no topic %s: %s does not exist, and no slot knows it",
                          name, key);
    }
    status = damage_check_nonces(damage, name, nonce,
                                 stored != NULL ? stored->generation : latest->generation, err);
    if (status != SMQ_OK) {
        return status;
    }
    status = damage_newest(&out->topic, damage, name, nonce, stored, err);
    if (status != SMQ_OK) {
        return status;
    }
    snprintf(out->topic.nonce, sizeof(out->topic.nonce), "%s", nonce);
    if (stored != NULL) {
        out->topic.pauses = stored->pauses;
        out->topic.paused = stored->paused;
        out->topic.deletes = stored->deletes;
    }
    status = damage_check_fixed(damage, &out->topic, err);
    if (status == SMQ_OK && stored == NULL) {
        status = damage_find_coord(out, damage, err);
    }
    if (status != SMQ_OK) {
        return status;
    }
    damage_set_numbers(out, damage, stored);
    damage_count(out, damage);
    out->rewrite = stored == NULL || !damage_is_same_topic(stored, &out->topic);
    out->whole = !out->rewrite && out->closed == 0;
    return SMQ_OK;
}

void damage_memory(uint32_t *generation, uint32_t *deletes, const struct damage *damage)
{
    for (int32_t i = 0; i < damage->slots; i++) {
        *generation = damage_larger(*generation, damage->notes[i].generation);
        *generation = damage_larger(*generation, damage->notes[i].token.generation);
        *deletes = damage_larger(*deletes, damage->notes[i].sealed);
    }
}
