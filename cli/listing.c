/* listing.c - many messages as a table or as lines of JSON. */
#include "listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "output.h"
#include "say.h"
#include "signals.h"

/* More than any table has. */
#define COLUMNS_MAX 8

/* The titles of a table. */
struct titles {
    const char *title[COLUMNS_MAX];
    size_t count;
};

/* A row of it, in the same order. */
struct row {
    struct output_cell cell[COLUMNS_MAX];
    size_t count;
};

static void listing_add_title(struct titles *titles, const char *title)
{
    titles->title[titles->count++] = title;
}

static void listing_add_bytes(struct row *row, const void *bytes, size_t size)
{
    row->cell[row->count++] = (struct output_cell){bytes, bytes ? size : 0};
}

static void listing_put(struct row *row, const char *text)
{
    listing_add_bytes(row, text, strlen(text));
}

static struct libscols_table *listing_make_table(const struct topic_facts *topic, bool dead)
{
    struct titles titles = {.count = 0};

    listing_add_title(&titles, ">SLOT");
    if (dead) {
        listing_add_title(&titles, "DEAD_AT");
    } else {
        listing_add_title(&titles, "STATE");
        listing_add_title(&titles, topic->type == SMQ_TYPE_PRIORITY ? ">PRIORITY" : "DUE_AT");
    }
    listing_add_title(&titles, ">ATTEMPTS");
    listing_add_title(&titles, "REASON");
    listing_add_title(&titles, "KEY");
    if (topic->layout == SMQ_LAYOUT_KEYED) {
        listing_add_title(&titles, "ID");
    }
    listing_add_title(&titles, "~BODY");
    return output_table(titles.title, titles.count);
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

/* Was it sent with a key?  Without one it has none, or its id is the key. */
static bool listing_has_own_key(const smq_message_info *message)
{
    return message->key.data && (!message->id.data || message->key.len != message->id.len ||
                                 memcmp(message->key.data, message->id.data, message->id.len) != 0);
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
        listing_put(&row, message_state_name(message->state));
        listing_when_text(when, sizeof(when), listing, message);
    }
    listing_put(&row, when);
    listing_put(&row, attempt);
    listing_put(&row, message->reason ? message->reason : "");
    if (listing_has_own_key(message)) {
        listing_add_bytes(&row, message->key.data, message->key.len);
    } else {
        listing_put(&row, "-");
    }
    if (listing->topic->layout == SMQ_LAYOUT_KEYED) {
        listing_add_bytes(&row, message->id.data, message->id.len);
    }
    listing_add_bytes(&row, message->body.data, message->body.len);
    output_row_bytes(listing->table, row.cell, row.count);
}

static void listing_keep_cursor(struct listing *listing, const char *cursor)
{
    char *copy = strdup(cursor ? cursor : "");

    if (!copy) {
        say_no_memory();
    }
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
        output_table_print(listing->table);
        listing->table = NULL;
    }
}

void listing_drop(struct listing *listing)
{
    output_table_free(listing->table);
    listing->table = NULL;
    free(listing->cursor);
    listing->cursor = NULL;
}
