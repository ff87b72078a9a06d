/* fleet_table.h - what the nodes of a fleet say, as the tables of slotmq fleet show.  Pure. */
#ifndef CLI_FLEET_TABLE_H
#define CLI_FLEET_TABLE_H

#include <slotmq/ops.h>
#include <slotmq/slotmq.h>

#include "cli/text/table.h"

enum fleet_table { FLEET_SELF, FLEET_MEMBERS, FLEET_TOPICS, FLEET_SHARES, FLEET_MOVES };
enum { FLEET_TABLES = FLEET_MOVES + 1 };

struct fleet_tables {
    struct table *table[FLEET_TABLES]; /* owned; NULL: it was printed */
    bool slots;                        /* which slots they are, and not only how many */
};

void fleet_tables_init(struct fleet_tables *tables, bool slots);
void fleet_tables_fini(struct fleet_tables *tables);

void fleet_tables_add_fleet(struct fleet_tables *tables, const smq_fleet_info *fleet);
void fleet_tables_add_member(struct fleet_tables *tables, const smq_fleet_member *member);
void fleet_tables_add_topic(struct fleet_tables *tables, const smq_fleet_topic *topic);
void fleet_tables_add_share(struct fleet_tables *tables, const smq_fleet_share *share);
void fleet_tables_add_move(struct fleet_tables *tables, const smq_fleet_move *move);

/* Prints them with a blank line between two; those without a row are left out. */
void fleet_tables_print(struct fleet_tables *tables);

/* "active", "unreachable", "leaving", "unreadable". */
const char *fleet_state_name(smq_member_state state);

#endif
