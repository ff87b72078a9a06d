/* work_table.c - see work_table.h. */
#include "cli/stat/work_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/units.h"

static const struct table_column work_columns[] = {
    {.title = "AGE", .right = true, .weight = 9},
    {.title = "STATE", .weight = 7},
    {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = 8, .least = 12},
    {.title = "SLOT", .right = true, .weight = 2},
    {.title = "MEMBER", .narrow = TABLE_SHORTEN, .weight = 6, .least = 12},
    {.title = "CLAIMED", .right = true, .weight = 5},
    {.title = "ATTEMPTS", .right = true, .weight = 1},
    {.title = "KEY", .narrow = TABLE_SHORTEN, .weight = 3, .least = 12},
    {.title = "ID", .narrow = TABLE_SHORTEN, .weight = 4, .least = 12},
};
enum { WORK_COLUMNS = sizeof(work_columns) / sizeof(work_columns[0]), WORK_STATE = 1 };

static int work_compare(const void *left, const void *right)
{
    const struct work_row *a = left;
    const struct work_row *b = right;
    const int64_t a_ms = a->slot->stats.oldest_claim_age_ms;
    const int64_t b_ms = b->slot->stats.oldest_claim_age_ms;

    if (a_ms != b_ms) {
        return a_ms > b_ms ? -1 : 1;
    }
    const int topics = strcmp(a->topic, b->topic);
    return topics != 0 ? topics : a->slot->number - b->slot->number;
}

struct work_row *work_rows(size_t *count, const struct stat_topics *topics)
{
    struct work_row *rows = NULL;
    size_t room = 0;

    *count = 0;
    for (size_t i = 0; i < topics->count; i++) {
        room += topics->all[i].slot_count;
    }
    rows = say_alloc(room + 1, sizeof(*rows));
    for (size_t i = 0; i < topics->count; i++) {
        const struct stat_topic *topic = &topics->all[i];

        for (size_t s = 0; s < topic->slot_count; s++) {
            if (topic->slots[s].stats.claimed > 0) {
                rows[(*count)++] = (struct work_row){topic->row.topic, &topic->slots[s],
                                                     topic->layout == SMQ_LAYOUT_KEYED};
            }
        }
    }
    qsort(rows, *count, sizeof(*rows), work_compare);
    return rows;
}

/* The process that has the oldest claim; "": its name is not known. */
static const char *work_member(const struct stat_slot *slot)
{
    return slot->claim.by[0] != '\0' ? slot->claim.by : slot->owner;
}

static const char *work_state(const struct stat_slot *slot)
{
    return slot->gone ? "gone" : slot->stats.stalled > 0 ? "stalled" : "-";
}

static struct table_cell work_cell(const char *text)
{
    return (struct table_cell){text, strlen(text)};
}

static struct table_cell work_bytes(const smq_bytes *bytes)
{
    return bytes->data ? (struct table_cell){bytes->data, bytes->len} : work_cell("-");
}

struct table *work_table(const struct work_row *rows, size_t count)
{
    struct table *table = table_new(work_columns, WORK_COLUMNS);

    for (size_t i = 0; i < count; i++) {
        const struct stat_slot *slot = rows[i].slot;
        const char *state = work_state(slot);
        const char *member = work_member(slot);
        char age[UNITS_MAX], number[16], claimed[24], attempt[16] = "-";

        units_age(age, slot->stats.oldest_claim_age_ms);
        snprintf(number, sizeof(number), "%" PRId32, slot->number);
        snprintf(claimed, sizeof(claimed), "%" PRIu64, slot->stats.claimed);
        if (slot->claim.at_ms > 0) {
            snprintf(attempt, sizeof(attempt), "%" PRId32, slot->claim.attempt);
        }
        const struct table_cell cells[WORK_COLUMNS] = {
            work_cell(age),
            work_cell(state),
            work_cell(rows[i].topic),
            work_cell(number),
            work_cell(member[0] != '\0' ? member : "-"),
            work_cell(claimed),
            work_cell(attempt),
            work_bytes(&slot->claim.key),
            work_bytes(&slot->claim.id),
        };
        table_row_bytes(table, cells, WORK_COLUMNS);
        if (state[0] != '-') {
            table_emphasise(table, WORK_STATE, TABLE_ERROR);
        }
    }
    return table;
}

static void work_set_bytes(json_t *object, const char *name, const smq_bytes *bytes)
{
    if (bytes->data) {
        output_set_bytes(object, name, bytes->data, bytes->len);
    } else {
        output_set(object, name, json_null());
    }
}

json_t *work_json(const struct work_row *rows, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct stat_slot *slot = rows[i].slot;
        const bool noted = slot->claim.at_ms > 0;
        const char *member = work_member(slot);
        json_t *object = json_object();

        output_set(object, "topic", output_text(rows[i].topic));
        output_set(object, "slot", json_integer(slot->number));
        output_set(object, "member", member[0] != '\0' ? output_text(member) : json_null());
        output_set(object, "age_ms", json_integer(slot->stats.oldest_claim_age_ms));
        output_set(object, "claimed", json_integer((json_int_t) slot->stats.claimed));
        output_set(object, "stalled", json_integer((json_int_t) slot->stats.stalled));
        output_set(object, "gone", json_boolean(slot->gone));
        output_set(object, "claimed_at_ms", noted ? json_integer(slot->claim.at_ms) : json_null());
        output_set(object, "attempt", noted ? json_integer(slot->claim.attempt) : json_null());
        work_set_bytes(object, "key", &slot->claim.key);
        work_set_bytes(object, "id", &slot->claim.id);
        output_append(array, object);
    }
    return array;
}
