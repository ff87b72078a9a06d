/* listing.c - many messages as a table or as lines of JSON. */
#include "cli/message/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message/message.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"

/* More than any table has. */
#define COLUMNS_MAX 8

/* Where the state is, in a list of messages in any state. */
#define COLUMN_STATE 1

/* A row, in the order of the columns. */
struct row {
    struct table_cell cell[COLUMNS_MAX];
    size_t count;
};

static void listing_add_bytes(struct row *row, const void *bytes, size_t size)
{
    row->cell[row->count++] = (struct table_cell){bytes, bytes ? size : 0};
}

static void listing_put(struct row *row, const char *text)
{
    listing_add_bytes(row, text, strlen(text));
}

static struct table *listing_make_table(const struct topic_facts *topic, bool dead)
{
    struct table_column columns[COLUMNS_MAX];
    size_t count = 0;

    columns[count++] = (struct table_column){.title = "SLOT", .right = true, .weight = 1};
    if (dead) {
        columns[count++] = (struct table_column){.title = "DEAD_AT", .weight = 3};
    } else {
        columns[count++] = (struct table_column){.title = "STATE", .weight = 6};
        columns[count++] =
            topic->type == SMQ_TYPE_PRIORITY
                ? (struct table_column){.title = "PRIORITY", .right = true, .weight = 3}
                : (struct table_column){.title = "DUE_AT", .weight = 3};
    }
    columns[count++] = (struct table_column){.title = "ATTEMPTS", .right = true, .weight = 2};
    columns[count++] = (struct table_column){"REASON", TABLE_CUT, .weight = 5, .least = 10};
    columns[count++] = (struct table_column){"KEY", TABLE_SHORTEN, .weight = 4, .least = 12};
    if (topic->layout == SMQ_LAYOUT_KEYED) {
        columns[count++] = (struct table_column){"ID", TABLE_SHORTEN, .weight = 7, .least = 12};
    }
    columns[count++] = (struct table_column){"BODY", TABLE_CUT, .weight = 8, .least = 16};
    return table_new(columns, count);
}

struct listing listing_begin(const struct command *command, const struct topic_facts *topic,
                             bool dead)
{
    const bool json = command->global.json;

    return (struct listing){
        .topic = topic,
        .dead = dead,
        .table = json ? NULL : listing_make_table(topic, dead),
        .cursor = say_alloc(1, 1),
    };
}

/* What is due when, or the priority. */
static void listing_when_text(char *text, size_t size, const struct listing *listing,
                              const smq_message_info *message)
{
    if (listing->topic->type == SMQ_TYPE_PRIORITY) {
        snprintf(text, size, "%" PRId64, message->priority);
    } else if (message->due_at_ms != 0) {
        output_time(text, size, message->due_at_ms);
    } else {
        snprintf(text, size, "-");
    }
}

static void listing_add_row(const struct listing *listing, const smq_message_info *message)
{
    struct row row = {.count = 0};
    char slot[16];
    char attempt[16];
    char when[40];

    snprintf(slot, sizeof(slot), "%" PRId32, message->slot);
    snprintf(attempt, sizeof(attempt), "%" PRId32, message->attempt);
    listing_put(&row, slot);
    if (listing->dead) {
        output_time(when, sizeof(when), message->dead_at_ms);
    } else {
        listing_put(&row, smq_state_name(message->state));
        listing_when_text(when, sizeof(when), listing, message);
    }
    listing_put(&row, when);
    listing_put(&row, attempt);
    listing_put(&row, message->reason ? message->reason : "");
    if (message_has_own_key(message)) {
        listing_add_bytes(&row, message->key.data, message->key.len);
    } else {
        listing_put(&row, "-");
    }
    if (listing->topic->layout == SMQ_LAYOUT_KEYED) {
        listing_add_bytes(&row, message->id.data, message->id.len);
    }
    listing_add_bytes(&row, message->body.data, message->body.len);
    table_row_bytes(listing->table, row.cell, row.count);
    if (!listing->dead && message->state == SMQ_STATE_DEAD) {
        table_emphasise(listing->table, COLUMN_STATE, TABLE_ERROR);
    }
}

static void listing_keep_cursor(struct listing *listing, const char *cursor)
{
    char *copy = say_copy(cursor);

    free(listing->cursor);
    listing->cursor = copy;
}

bool listing_add(const smq_message_info *message, void *user)
{
    struct listing *listing = user;

    if (listing->table) {
        listing_add_row(listing, message);
    } else {
        output_json(message_info_json(message));
    }
    listing_keep_cursor(listing, message->cursor);
    listing->count++;
    return !ferror(stdout) && !signals_came();
}

void listing_end(struct listing *listing)
{
    if (listing->table) {
        table_print(listing->table);
        listing->table = NULL;
    }
}

void listing_drop(struct listing *listing)
{
    table_free(listing->table);
    listing->table = NULL;
    free(listing->cursor);
    listing->cursor = NULL;
}
