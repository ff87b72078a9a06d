/* fleet_table.c - see fleet_table.h. */
#include "cli/fleet/fleet_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/text/output.h"

#define COUNT(columns) (sizeof(columns) / sizeof((columns)[0]))

static const struct table_column member_columns[] = {
    {.title = "MEMBER", .narrow = TABLE_SHORTEN, .weight = 9, .least = 20},
    {.title = "HOST", .narrow = TABLE_SHORTEN, .weight = 5, .least = 12},
    {.title = "PID", .right = true, .weight = 4},
    {.title = "WEIGHT", .right = true, .weight = 1},
    {.title = "STATE", .weight = 8},
    {.title = "SINCE", .weight = 6},
    {.title = "SLOTS", .right = true, .weight = 7},
    {.title = "GIVING_UP", .right = true, .weight = 3},
    {.title = "TOPICS", .right = true, .weight = 2}};
enum { MEMBER_STATE = 4 };

static const struct table_column topic_columns[] = {
    {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = 6, .least = 20},
    {.title = "SLOTS", .right = true, .weight = 3},
    {.title = "UNOWNED", .right = true, .weight = 5},
    {.title = "MOVING", .right = true, .weight = 4},
    {.title = "MEMBERS", .right = true, .weight = 1},
    {.title = "SINCE", .weight = 2}};
enum { TOPIC_UNOWNED = 2 };

static const struct table_column share_columns[] = {
    {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = 4, .least = 16},
    {.title = "MEMBER", .narrow = TABLE_SHORTEN, .weight = 5, .least = 16},
    {.title = "WEIGHT", .right = true, .weight = 1},
    {.title = "SLOTS", .right = true, .weight = 3},
    {.title = "NOTE", .narrow = TABLE_WRAP, .weight = 2, .least = 20}};
static const struct table_column owned_columns[] = {
    {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = 4, .least = 16},
    {.title = "MEMBER", .narrow = TABLE_SHORTEN, .weight = 5, .least = 16},
    {.title = "WEIGHT", .right = true, .weight = 1},
    {.title = "SLOTS", .right = true, .weight = 2},
    {.title = "WHICH", .narrow = TABLE_WRAP, .weight = 3, .least = 20}};

#define MOVE_COLUMNS(...)                                                                          \
    {                                                                                              \
        {.title = "TOPIC", .narrow = TABLE_SHORTEN, .weight = 4, .least = 16},                     \
            {.title = "MOVING", .weight = 3, __VA_ARGS__}, {.title = "SINCE", .weight = 1},        \
        {                                                                                          \
            .title = "WAITS FOR", .narrow = TABLE_WRAP, .weight = 2, .least = 24                   \
        }                                                                                          \
    }
static const struct table_column move_columns[] = MOVE_COLUMNS(.right = true);
static const struct table_column moving_columns[] = MOVE_COLUMNS(.narrow = TABLE_WRAP, .least = 12);

const char *fleet_state_name(smq_member_state state)
{
    static const char *const names[] = {[SMQ_MEMBER_ACTIVE] = "active",
                                        [SMQ_MEMBER_UNREACHABLE] = "unreachable",
                                        [SMQ_MEMBER_LEAVING] = "leaving",
                                        [SMQ_MEMBER_UNREADABLE] = "unreadable"};

    return names[state];
}

/* === Cells ============================================================== */

/* Room for a number or a time. */
enum { CELL = 32 };

static const char *fleet_number(char cell[CELL], uint64_t number)
{
    snprintf(cell, CELL, "%" PRIu64, number);
    return cell;
}

static const char *fleet_time(char cell[CELL], int64_t at_ms)
{
    if (at_ms == 0) {
        return "-";
    }
    output_time(cell, CELL, at_ms);
    return cell;
}

static const char *fleet_text(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

/* === Tables ============================================================= */

void fleet_tables_init(struct fleet_tables *tables, bool slots)
{
    *tables = (struct fleet_tables){
        .table = {[FLEET_SELF] = table_pairs(),
                  [FLEET_MEMBERS] = table_new(member_columns, COUNT(member_columns)),
                  [FLEET_TOPICS] = table_new(topic_columns, COUNT(topic_columns)),
                  [FLEET_SHARES] =
                      table_new(slots ? owned_columns : share_columns, COUNT(share_columns)),
                  [FLEET_MOVES] =
                      table_new(slots ? moving_columns : move_columns, COUNT(move_columns))},
        .slots = slots};
}

void fleet_tables_fini(struct fleet_tables *tables)
{
    for (size_t i = 0; i < FLEET_TABLES; i++) {
        table_free(tables->table[i]);
        tables->table[i] = NULL;
    }
}

void fleet_tables_add_fleet(struct fleet_tables *tables, const smq_fleet_info *fleet)
{
    struct table *table = tables->table[FLEET_SELF];
    char cell[CELL], place[300];

    table_pair(table, "root", fleet->root);
    snprintf(place, sizeof(place), "Redis, at %s", fleet->server);
    table_pair(table, "nodes in", fleet->reign != 0 ? place : "ZooKeeper");
    table_pair(table, "assigner", fleet_text(fleet->assigner));
    table_pair(table, "assigner since", fleet_time(cell, fleet->assigner_since_at_ms));
    snprintf(cell, sizeof(cell), "%" PRId32, fleet->epoch);
    table_pair(table, "epoch", fleet->epoch == SMQ_NONE ? "-" : cell);
    table_pair(table, "fence generation", fleet_number(cell, fleet->generation));
    if (fleet->reign != 0) {
        snprintf(cell, sizeof(cell), "%016" PRIx64, (uint64_t) fleet->reign);
        table_pair(table, "reign of the tree in Redis", cell);
    }
    if (fleet->grace_ms > 0) {
        snprintf(cell, sizeof(cell), "%" PRId64 " ms more", fleet->grace_ms);
        table_pair(table, "waits for its members", cell);
    }
}

void fleet_tables_add_member(struct fleet_tables *tables, const smq_fleet_member *member)
{
    struct table *table = tables->table[FLEET_MEMBERS];
    char pid[CELL], weight[CELL], since[CELL], slots[CELL], giving_up[CELL], topics[CELL];
    const char *const row[] = {member->name,
                               fleet_text(member->host),
                               fleet_number(pid, (uint64_t) member->pid),
                               fleet_number(weight, (uint64_t) member->weight),
                               fleet_state_name(member->state),
                               fleet_time(since, member->since_at_ms),
                               fleet_number(slots, member->slots),
                               fleet_number(giving_up, member->giving_up),
                               fleet_number(topics, (uint64_t) member->topics)};

    table_row(table, row, COUNT(row));
    if (member->state != SMQ_MEMBER_ACTIVE) {
        table_emphasise(table, MEMBER_STATE,
                        member->state == SMQ_MEMBER_LEAVING ? TABLE_WARNING : TABLE_ERROR);
    }
}

void fleet_tables_add_topic(struct fleet_tables *tables, const smq_fleet_topic *topic)
{
    struct table *table = tables->table[FLEET_TOPICS];
    char slots[CELL], unowned[CELL], moving[CELL], members[CELL], since[CELL];
    const char *const row[] = {topic->name,
                               fleet_number(slots, (uint64_t) topic->slots),
                               fleet_number(unowned, topic->unowned),
                               fleet_number(moving, topic->moving),
                               fleet_number(members, (uint64_t) topic->members),
                               fleet_time(since, topic->since_at_ms)};

    table_row(table, row, COUNT(row));
    if (topic->unowned > 0) {
        table_emphasise(table, TOPIC_UNOWNED, TABLE_ERROR);
    }
}

void fleet_tables_add_share(struct fleet_tables *tables, const smq_fleet_share *share)
{
    char weight[CELL], slots[CELL];
    const char *const note = share->leaving ? "it gives the topic up" : share->stands_by;
    const char *const row[] = {
        share->topic, share->member, fleet_number(weight, (uint64_t) share->weight),
        fleet_number(slots, share->slots), fleet_text(tables->slots ? share->ranges : note)};

    table_row(tables->table[FLEET_SHARES], row, COUNT(row));
}

void fleet_tables_add_move(struct fleet_tables *tables, const smq_fleet_move *move)
{
    char slots[CELL], since[CELL];
    const char *const row[] = {move->topic,
                               tables->slots ? move->ranges : fleet_number(slots, move->slots),
                               fleet_time(since, move->since_at_ms), move->why};

    table_row(tables->table[FLEET_MOVES], row, COUNT(row));
}

void fleet_tables_print(struct fleet_tables *tables)
{
    for (size_t i = 0; i < FLEET_TABLES; i++) {
        if (i > 0 && !table_is_empty(tables->table[i])) {
            putchar('\n');
        }
        table_print(tables->table[i]);
        tables->table[i] = NULL;
    }
}
