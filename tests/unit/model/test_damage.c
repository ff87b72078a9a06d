/* test_damage.c - what slots know of their topic, and what follows from it. */
#include <stdio.h>
#include <string.h>

#include "model/damage.h"
#include "support/group.h"

#define A "00000000000000aa"
#define B "00000000000000bb"

/* A slot as "NONCE VERSION", the text's version, and the numbers; text_version 0: no text. */
struct slot_row {
    const char *nonce; /* NULL: not open */
    uint32_t version, text_version, generation, token, pauses, sealed;
    int32_t slots, retries; /* of the text */
    uint64_t messages;
    bool incomplete;
    const char *coord;
    uint32_t bound_at;
};

struct case_row {
    const char *name;
    struct slot_row slots[4];
    uint32_t version, generation, pauses, deletes; /* stored; version 0: nothing */
    smq_status status;
    const char *expected; /* the verdict, or a part of the error */
};

static void text_of(struct buf *out, int32_t slots, int32_t retries)
{
    struct topic topic;

    smq_topic_options options = SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_PRIORITY,
                                                  .slots = slots, .max_retries = retries);
    assert_int_equal(topic_from_options(&topic, &options, NULL), SMQ_OK);
    topic_format(out, &topic);
}

static void note(struct damage *damage, int32_t slot, const struct slot_row *row)
{
    struct slot_notes notes = {.open = row->nonce != NULL,
                               .version = row->version,
                               .text_version = row->text_version,
                               .generation = row->generation,
                               .token = {.generation = row->token},
                               .pauses = row->pauses,
                               .paused = row->pauses % 2 == 1,
                               .sealed = row->sealed,
                               .messages = row->messages,
                               .complete = row->nonce != NULL && !row->incomplete,
                               .coord = row->coord,
                               .bound_at = row->bound_at};
    struct buf text = {0};

    if (row->nonce != NULL) {
        memcpy(notes.nonce, row->nonce, sizeof(notes.nonce));
    }
    text_of(&text, row->slots != 0 ? row->slots : 4, row->retries != 0 ? row->retries : 1);
    notes.text = text.data;
    notes.text_len = text.len;
    damage_note(damage, slot, &notes);
    buf_fini(&text);
}

static void stored_of(struct topic *out, const struct case_row *row)
{
    struct buf text = {0};

    text_of(&text, 4, 1);
    assert_int_equal(topic_parse(out, "t", text.data, text.len, NULL), SMQ_OK);
    memcpy(out->nonce, A, sizeof(out->nonce));
    out->version = row->version;
    out->generation = row->generation;
    out->pauses = row->pauses;
    out->paused = row->pauses % 2 == 1;
    out->deletes = row->deletes;
    buf_fini(&text);
}

static void show(char *out, size_t size, const struct damage_verdict *verdict)
{
    const struct topic *topic = &verdict->topic;

    snprintf(out, size, "%s%s%s%.2s v%u g%u p%u%s d%u r%d [%s] %d%s%.20s",
             verdict->whole ? "whole " : "", verdict->rewrite ? "write " : "",
             verdict->lost_alteration ? "lost " : "", topic->nonce + 14, topic->version,
             topic->generation, topic->pauses, topic->paused ? " paused" : "", topic->deletes,
             (int) topic->max_retries, verdict->closed_list, (int) verdict->messages,
             verdict->coord[0] != '\0' ? " " : "", verdict->coord);
}

static void judged(const struct case_row *row)
{
    struct damage *damage = damage_new(4);
    struct damage_verdict verdict;
    struct topic stored;
    smq_error err = SMQ_ERROR_INIT;
    smq_status status;
    char seen[200];

    for (int i = 0; i < 4; i++) {
        note(damage, i, &row->slots[i]);
    }
    if (row->version > 0) {
        stored_of(&stored, row);
    }
    status = damage_decide(&verdict, damage, "t", row->version > 0 ? &stored : NULL, &err);
    if (status == SMQ_OK) {
        show(seen, sizeof(seen), &verdict);
    }
    if (status != row->status || (status == SMQ_OK ? strcmp(seen, row->expected) != 0
                                                   : strstr(err.text, row->expected) == NULL)) {
        fail_msg("%s: %s: %s", row->name, smq_status_name(status),
                 status == SMQ_OK ? seen : err.text);
    }
    damage_free(damage);
}

/* Slots of the topic: open, with the rest of its row; without fault; bound as it was stored;
 * without keys. */
/* clang-format off */
#define OPEN(...)        {.nonce = A, .version = 1, .text_version = 1, __VA_ARGS__}
#define WHOLE            OPEN(.generation = 3, .messages = 5)
#define TOLD(what, when) OPEN(.generation = 3, .messages = 5, .coord = what, .bound_at = when)
#define LOST             {.nonce = NULL}
/* clang-format on */

static const struct case_row rows[] = {
    {.name = "all is well",
     .slots = {WHOLE, WHOLE, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .expected = "whole aa v1 g3 p0 d0 r1 [] 20"},
    {.name = "tokens of a raised fence are above the generation",
     .slots = {OPEN(.generation = 3, .token = 9), WHOLE, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .expected = "whole aa v1 g3 p0 d0 r1 [] 15"},
    {.name = "a slot has no keys",
     .slots = {WHOLE, LOST, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .expected = "aa v1 g3 p0 d0 r1 [1] 15"},
    {.name = "some of its keys are missing",
     .slots = {WHOLE, WHOLE, WHOLE, OPEN(.generation = 3, .incomplete = true)},
     .version = 1,
     .generation = 3,
     .expected = "aa v1 g3 p0 d0 r1 [3] 15"},
    {.name = "topic{T} is lost: above every token",
     .slots = {WHOLE, OPEN(.generation = 3, .token = 7, .sealed = 2), WHOLE, WHOLE},
     .expected = "write aa v1 g8 p0 d2 r1 [] 15"},
    {.name = "... and above every generation",
     .slots = {WHOLE, OPEN(.generation = 9, .token = 7, .pauses = 1), WHOLE, WHOLE},
     .expected = "write aa v1 g10 p1 paused d0 r1 [] 15"},
    {.name = "topic{T} and slots are lost",
     .slots = {LOST, WHOLE, LOST, WHOLE},
     .expected = "write aa v1 g4 p0 d0 r1 [0, 2] 10"},
    {.name = "an alteration is lost",
     .slots = {{.nonce = A, .version = 2, .text_version = 2, .generation = 3, .retries = 6},
               WHOLE,
               WHOLE,
               WHOLE},
     .version = 1,
     .generation = 3,
     .expected = "write aa v2 g3 p0 d0 r6 [] 15"},
    {.name = "... and its text",
     .slots = {{.nonce = A, .version = 4, .text_version = 1, .generation = 3}, WHOLE, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .expected = "write lost aa v5 g3 p0 d0 r1 [] 15"},
    {.name = "an alteration has not reached all slots",
     .slots = {{.nonce = A, .version = 2, .text_version = 2, .generation = 3, .retries = 6},
               WHOLE,
               WHOLE,
               WHOLE},
     .version = 2,
     .generation = 3,
     .expected = "whole aa v2 g3 p0 d0 r1 [] 15"},
    {.name = "a pause is lost",
     .slots = {OPEN(.generation = 3, .pauses = 3), WHOLE, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .pauses = 2,
     .expected = "write aa v1 g3 p3 paused d0 r1 [] 15"},
    {.name = "a deletion is lost",
     .slots = {{.generation = 3, .sealed = 4, .messages = 5}, WHOLE, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .deletes = 3,
     .expected = "write aa v1 g3 p0 d4 r1 [0] 20"},
    {.name = "a late creation left an empty slot",
     .slots = {{.nonce = B, .version = 1, .text_version = 1, .generation = 2}, WHOLE, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .expected = "aa v1 g3 p0 d0 r1 [0] 15"},
    {.name = "... and topic{T} is lost: nothing of that creation counts",
     .slots = {{.nonce = B,
                .version = 9,
                .text_version = 9,
                .generation = 2,
                .pauses = 3,
                .slots = 8,
                .retries = 7},
               WHOLE,
               WHOLE,
               WHOLE},
     .expected = "write aa v1 g4 p0 d0 r1 [0] 15"},
    {.name = "a larger generation is lost",
     .slots = {OPEN(.generation = 5), WHOLE, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .expected = "write aa v1 g5 p0 d0 r1 [] 15"},
    {.name = "a pause and its end are lost",
     .slots = {OPEN(.generation = 3, .pauses = 4), WHOLE, WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .pauses = 2,
     .expected = "write aa v1 g3 p4 d0 r1 [] 15"},
    {.name = "two creations",
     .slots = {{.nonce = B, .version = 1, .text_version = 1, .generation = 2, .messages = 1},
               WHOLE,
               {.nonce = B, .version = 1, .text_version = 1, .generation = 3},
               WHOLE},
     .version = 1,
     .generation = 3,
     .status = SMQ_DAMAGED,
     .expected = "slots 0, 2 belong to another creation"},
    {.name = "other options that cannot be changed",
     .slots = {WHOLE, OPEN(.generation = 3, .slots = 8, .messages = 1), WHOLE, WHOLE},
     .status = SMQ_DAMAGED,
     .expected = "have a definition with other options"},
    {.name = "a definition of more slots than were read",
     .slots = {OPEN(.generation = 3, .slots = 8, .messages = 5),
               OPEN(.generation = 3, .slots = 8, .messages = 5),
               OPEN(.generation = 3, .slots = 8, .messages = 5),
               OPEN(.generation = 3, .slots = 8, .messages = 5)},
     .status = SMQ_DAMAGED,
     .expected = "slots 0, 1, 2, 3 have a definition with other options"},
    {.name = "no slot has a text",
     .slots = {{.nonce = A, .version = 1, .generation = 3, .messages = 1}, LOST, LOST, LOST},
     .status = SMQ_DAMAGED,
     .expected = "no slot has its definition"},
    {.name = "topic{T} is lost: bound as slots say, under a generation above that",
     .slots = {WHOLE, TOLD("fleet", 3), TOLD("fleet", 7), WHOLE},
     .expected = "write aa v1 g8 p0 d0 r1 [] 20 fleet"},
    {.name = "... as those say that were told last",
     .slots = {TOLD("other", 6), TOLD("fleet", 3), TOLD("fleet", 4), WHOLE},
     .expected = "write aa v1 g7 p0 d0 r1 [] 20 other"},
    {.name = "... but not as another creation was",
     .slots = {TOLD("fleet", 3),
               {.nonce = B,
                .version = 1,
                .text_version = 1,
                .generation = 2,
                .coord = "other",
                .bound_at = 9},
               WHOLE,
               WHOLE},
     .expected = "write aa v1 g10 p0 d0 r1 [1] 15 fleet"},
    {.name = "slots that were told different things at a time",
     .slots = {TOLD("fleet", 6), TOLD("other", 6), TOLD("third", 5), TOLD("other", 6)},
     .status = SMQ_DAMAGED,
     .expected = "slots 1, 3 have another binding of it"},
    {.name = "... while topic{T} is there: that says it",
     .slots = {TOLD("fleet", 6), TOLD("other", 6), WHOLE, WHOLE},
     .version = 1,
     .generation = 3,
     .expected = "whole aa v1 g3 p0 d0 r1 [] 20"},
    {.name = "nothing is there",
     .slots = {{.generation = 5, .token = 6, .sealed = 1}, LOST, LOST, LOST},
     .status = SMQ_NO_TOPIC,
     .expected = "no slot knows it"},
};

static void what_is_to_be_done(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        judged(&rows[i]);
    }
}

static void long_lists_are_cut(void **state)
{
    struct slot_row whole = {
        .nonce = A, .version = 1, .text_version = 1, .generation = 1, .slots = 256};
    struct damage *damage = damage_new(256);
    struct damage_verdict verdict;
    smq_error err;

    note(damage, 255, &whole);
    assert_int_equal(damage_decide(&verdict, damage, "t", NULL, &err), SMQ_OK);
    assert_int_equal(verdict.closed, 255);
    assert_non_null(strstr(verdict.closed_list, "0, 1, 2, 3"));
    assert_non_null(strstr(verdict.closed_list, " more"));
    damage_free(damage);
}

static void what_slots_remember_of_topics_that_are_gone(void **state)
{
    static const struct slot_row closed[] = {{.generation = 4, .token = 6, .sealed = 2},
                                             {.generation = 5, .token = 1, .sealed = 9}};
    struct damage *damage = damage_new(2);
    uint32_t generation = 3, deletes = 1;

    note(damage, 0, &closed[0]);
    note(damage, 1, &closed[1]);
    damage_memory(&generation, &deletes, damage);
    assert_int_equal(generation, 6);
    assert_int_equal(deletes, 9);
    note(damage, 0, &(struct slot_row){.generation = 8, .token = 6});
    damage_memory(&generation, &deletes, damage);
    assert_int_equal(generation, 8);
    damage_free(damage);
}

TEST_GROUP(damage)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_to_be_done),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(what_slots_remember_of_topics_that_are_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
