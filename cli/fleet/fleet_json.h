/* fleet_json.h - what the nodes of a fleet say, as slotmq fleet show --json shows it.  Pure. */
#ifndef CLI_FLEET_JSON_H
#define CLI_FLEET_JSON_H

#include <jansson.h>

#include <slotmq/ops.h>
#include <slotmq/slotmq.h>

/* The functions are called in the order of smq_fleet_visitor. */
struct fleet_json {
    json_t *document;         /* owned by its user */
    json_t *members, *topics; /* in it */
    json_t *shares, *moves;   /* of the newest topic */
    bool slots;               /* which slots they are, and not only how many */
};

void fleet_json_begin(struct fleet_json *json, bool slots);
void fleet_json_add_fleet(struct fleet_json *json, const smq_fleet_info *fleet);
void fleet_json_add_member(struct fleet_json *json, const smq_fleet_member *member);
void fleet_json_add_topic(struct fleet_json *json, const smq_fleet_topic *topic);
void fleet_json_add_share(struct fleet_json *json, const smq_fleet_share *share);
void fleet_json_add_move(struct fleet_json *json, const smq_fleet_move *move);

#endif
