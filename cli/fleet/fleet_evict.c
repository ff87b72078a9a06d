/* fleet_evict.c - fleet evict: a member that hangs is taken out of its fleet. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/fleet/fleet.h"
#include "cli/text/output.h"
#include "cli/text/say.h"
#include "cli/verb/confirm.h"
#include "cli/verb/verb.h"

struct evict_options {
    const char *root;
    bool yes;
};

static const struct flag evict_flags[] = {
    TEXT_FLAG("root", offsetof(struct evict_options, root), "PATH",
              "of the fleet, in place of what follows the addresses of --zookeeper"),
    SWITCH_FLAG("yes", offsetof(struct evict_options, yes),
                "do not ask; needed without a terminal"),
};

/* The member that is meant. */
struct evict {
    const char *name;
    bool found;
    int64_t incarnation;
    uint64_t slots, others; /* that it owns; other members */
    char where[300];        /* "process 7 on host h" */
};

static bool evict_look_at(const smq_fleet_member *member, void *user)
{
    struct evict *evict = user;

    if (strcmp(member->name, evict->name) != 0) {
        evict->others++;
        return true;
    }
    evict->found = true;
    evict->incarnation = member->incarnation;
    evict->slots = member->slots + member->giving_up;
    if (member->host[0] != '\0') {
        snprintf(evict->where, sizeof(evict->where), " (process %" PRId64 " on host %s)",
                 member->pid, member->host);
    }
    return true;
}

static enum exit_code evict_look(smq_client *client, struct evict *evict)
{
    const smq_fleet_visitor visitor = {
        .struct_size = sizeof(visitor), .member = evict_look_at, .user = evict};
    smq_error err;

    if (smq_fleet_describe(client, &visitor, &err) != SMQ_OK) {
        return say_failure(&err);
    }
    if (!evict->found) {
        return say_error(EXIT_NOT_DONE,
                         "the fleet has no member %s; slotmq fleet show lists its members",
                         evict->name);
    }
    return EXIT_DONE;
}

static void evict_report(const struct command *command, const struct evict *evict)
{
    if (command->global.json) {
        json_t *document = json_object();
        output_set(document, "evicted", json_string(evict->name));
        output_set(document, "incarnation", json_integer(evict->incarnation));
        output_set(document, "slots", json_integer((json_int_t) evict->slots));
        output_json(document);
    } else if (!command->global.quiet) {
        say("member %s is taken out; %" PRIu64 " slots of it %s; its process joins again if it "
            "lives",
            evict->name, evict->slots,
            evict->others > 0 ? "go to other members" : "wait for another member");
    }
}

static enum exit_code evict_member(smq_client *client, const struct command *command)
{
    const struct evict_options *flags = command->options;
    struct evict evict = {.name = command->words[0]};
    smq_error err;
    enum exit_code code = evict_look(client, &evict);

    if (code == EXIT_DONE) {
        code = confirm(command, flags->yes,
                       "Take member %.100s%s out of its fleet?  What it has claimed is delivered "
                       "again.",
                       evict.name, evict.where);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    if (smq_fleet_evict(client, evict.name, evict.incarnation, &err) != SMQ_OK) {
        return err.status == SMQ_INVALID ? say_error(EXIT_NOT_DONE, "%s", err.text)
                                         : say_failure(&err);
    }
    evict_report(command, &evict);
    return EXIT_DONE;
}

static enum exit_code evict_run(const struct command *command)
{
    const struct evict_options *flags = command->options;

    return fleet_run(command, flags->root, evict_member);
}

const struct verb fleet_evict_verb = {
    .name = "fleet evict",
    .operands = "MEMBER",
    .summary = "take a member that hangs out of its fleet",
    .text =
        "The node of the member in ZooKeeper is deleted, and that of the assigner if it is this "
        "member. Its slots go to the other members at once, and what it had claimed is "
        "delivered again. If its process lives, it notices within a sixth of its session "
        "timeout, begins nothing more, and joins again. End or restart the process first when "
        "that is possible: then it gives its slots up by itself.",
    VERB_FLAGS(evict_flags, struct evict_options),
    .min_words = 1,
    .max_words = 1,
    .run = evict_run,
};
