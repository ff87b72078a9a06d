/* show_fleet.c - the fleet, and what doctor finds.
 *
 * Thread: serve:ask-N. */
#include "cli/doctor/doctor.h"
#include "cli/fleet/fleet_json.h"
#include "cli/text/moment.h"
#include "cli/text/output.h"
#include "cli/verb/look_flags.h"
#include "serve/serve.h"

/* How long doctor may wait for servers that do not answer. */
enum { DOCTOR_TIMEOUT_MS = 20000 };

/* === The fleet ========================================================== */

static bool fleet_on_fleet(const smq_fleet_info *fleet, void *user)
{
    fleet_json_add_fleet(user, fleet);
    return true;
}

static bool fleet_on_member(const smq_fleet_member *member, void *user)
{
    fleet_json_add_member(user, member);
    return true;
}

static bool fleet_on_topic(const smq_fleet_topic *topic, void *user)
{
    fleet_json_add_topic(user, topic);
    return true;
}

static bool fleet_on_share(const smq_fleet_share *share, void *user)
{
    fleet_json_add_share(user, share);
    return true;
}

static bool fleet_on_move(const smq_fleet_move *move, void *user)
{
    fleet_json_add_move(user, move);
    return true;
}

struct answer *show_fleet(struct serve *serve, const json_t *query,
                          const struct guard_caller *caller)
{
    struct fleet_json json;
    const smq_fleet_visitor visitor = {.struct_size = sizeof(visitor),
                                       .fleet = fleet_on_fleet,
                                       .member = fleet_on_member,
                                       .topic = fleet_on_topic,
                                       .share = fleet_on_share,
                                       .move = fleet_on_move,
                                       .user = &json};
    smq_error err = SMQ_ERROR_INIT;
    smq_client *client = readings_client(serve->readings, &err);

    (void) query;
    (void) caller;
    fleet_json_begin(&json, true);
    if (!client || smq_fleet_describe(client, &visitor, &err) != SMQ_OK) {
        json_decref(json.document);
        return answer_failure(&err);
    }
    output_set(json.document, "at_ms", json_integer(moment_wall_ms()));
    return answer_json(200, json.document);
}

/* === Doctor ============================================================= */

struct answer *show_doctor(struct serve *serve, const json_t *query,
                           const struct guard_caller *caller)
{
    const struct look look = {.timeout = {.given = true, .value = DOCTOR_TIMEOUT_MS}};
    struct command command = *serve->command;
    struct doctor_facts facts = {.deep = false};
    struct doctor_report report = {.count = 0};
    struct answer *answer = NULL;

    (void) query;
    (void) caller;
    command.verb = &doctor_verb;
    command.options = &look;
    if (doctor_examine(&report, &facts, &command) == EXIT_DONE) {
        json_t *document = doctor_json(&report);
        output_set(document, "at_ms", json_integer(moment_wall_ms()));
        answer = answer_json(200, document);
    } else {
        answer = answer_problem(500, SMQ_INTERNAL,
                                "doctor cannot look: standard error of this server says why");
    }
    doctor_report_fini(&report);
    doctor_facts_fini(&facts);
    return answer;
}
