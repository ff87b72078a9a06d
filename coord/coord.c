/* coord.c - the public functions of coordination: calls of any thread become commands on smq:coord.
 *
 * Thread: any, as coord.h says. */
#include "coord/coord.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/owner_of.h"
#include "base/secret.h"
#include "coord/coord_internal.h"

static void coord_command_free(struct coord_command *command)
{
    free((char *) command->topic.name);
    free((char *) command->topic.nonce);
    free(command->text);
    free(command);
}

static void coord_command_run(struct loop_task *task)
{
    struct coord_command *command = OWNER_OF(task, struct coord_command, task);

    if (!command->coord->stopping) {
        command->coord->calls->run(command->coord, command);
    }
    coord_command_free(command);
}

static struct coord_command *coord_command_new(struct coord *coord, enum coord_command_kind kind,
                                               const char *topic)
{
    struct coord_command *command = memory_new(sizeof(*command));

    command->task.run = coord_command_run;
    command->coord = coord;
    command->kind = kind;
    command->topic.name = memory_string(topic);
    return command;
}

void coord_join(struct coord *coord, const struct coord_topic *topic)
{
    struct coord_command *command = coord_command_new(coord, COORD_JOIN, topic->name);
    const char *name = command->topic.name;

    command->topic = *topic;
    command->topic.name = name;
    command->topic.nonce = memory_string(topic->nonce);
    loop_post(coord->loop, &command->task);
}

void coord_leave(struct coord *coord, const char *topic)
{
    struct coord_command *command = coord_command_new(coord, COORD_LEAVE, topic);

    loop_post(coord->loop, &command->task);
}

void coord_answer(struct coord *coord, enum coord_answer answer, const char *topic, int32_t slot,
                  struct token token)
{
    struct coord_command *command = coord_command_new(coord, COORD_ANSWERED, topic);

    command->answer = answer;
    command->slot = slot;
    command->token = token;
    loop_post(coord->loop, &command->task);
}

void coord_checked(struct coord *coord, const char *topic, smq_status status, const char *text)
{
    struct coord_command *command = coord_command_new(coord, COORD_CHECKED, topic);

    command->status = status;
    command->text = memory_string(text);
    loop_post(coord->loop, &command->task);
}

void coord_raise(struct coord *coord, const char *topic, uint32_t generation)
{
    struct coord_command *command = coord_command_new(coord, COORD_RAISED, topic);

    command->topic.generation = generation;
    loop_post(coord->loop, &command->task);
}

void coord_surpassed(struct coord *coord, const char *topic, struct token token)
{
    struct coord_command *command = coord_command_new(coord, COORD_SURPASSED, topic);

    command->token = token;
    loop_post(coord->loop, &command->task);
}

void coord_explain(struct coord *coord, const char *topic)
{
    struct coord_command *command = coord_command_new(coord, COORD_EXPLAIN, topic);

    loop_post(coord->loop, &command->task);
}

void coord_set_fingerprint(struct coord *coord, const struct fingerprint *fingerprint)
{
    struct coord_command *command = coord_command_new(coord, COORD_FINGERPRINT, NULL);

    command->fingerprint = *fingerprint;
    loop_post(coord->loop, &command->task);
}

void coord_set_reachable(struct coord *coord, bool reachable)
{
    struct coord_command *command = coord_command_new(coord, COORD_REACHABLE, NULL);

    command->reachable = reachable;
    loop_post(coord->loop, &command->task);
}

void coord_binding(struct coord *coord, char out[COORD_BINDING_MAX])
{
    coord->calls->binding(coord, out);
}

int64_t coord_reign(struct coord *coord)
{
    return coord->calls->reign(coord);
}

static void coord_run_stop(struct loop_task *task)
{
    struct coord *coord = OWNER_OF(task, struct coord, stop);

    coord->stopping = true;
    coord->calls->stop(coord);
}

smq_status coord_new(struct coord **out, const struct coord_calls *calls,
                     const struct coord_options *options, smq_error *err)
{
    struct coord *coord = memory_new(sizeof(*coord));
    smq_status status = loop_new(&coord->loop, "smq:coord", err);

    if (status != SMQ_OK) {
        free(coord);
        return status;
    }
    coord->calls = calls;
    coord->options = *options;
    coord->options.name = memory_string(options->name);
    coord->options.servers = memory_string(options->servers);
    coord->options.auth = memory_string(options->auth);
    coord->options.auth_file = memory_string(options->auth_file);
    coord->stop.run = coord_run_stop;
    *out = coord;
    return SMQ_OK;
}

void coord_free(struct coord *coord)
{
    if (coord == NULL) {
        return;
    }
    loop_post(coord->loop, &coord->stop);
    loop_free(coord->loop);
    coord->calls->free(coord);
    free((char *) coord->options.name);
    free((char *) coord->options.servers);
    secret_free((char *) coord->options.auth);
    free((char *) coord->options.auth_file);
    free(coord);
}

void coord_call_granted(struct coord *coord, const char *topic, const struct coord_grant *grants,
                        size_t count)
{
    if (!coord->stopping && count > 0) {
        coord->options.listener.granted(coord->options.listener.user, topic, grants, count);
    }
}

void coord_call_revoked(struct coord *coord, const char *topic, const int32_t *slots, size_t count)
{
    if (!coord->stopping && count > 0) {
        coord->options.listener.revoked(coord->options.listener.user, topic, slots, count);
    }
}

void coord_call_lost(struct coord *coord, const char *topic, const int32_t *slots, size_t count)
{
    if (!coord->stopping && count > 0) {
        coord->options.listener.lost(coord->options.listener.user, topic, slots, count);
    }
}

void coord_call_failed(struct coord *coord, const char *topic, smq_status status, const char *text)
{
    if (!coord->stopping) {
        coord->options.listener.failed(coord->options.listener.user, topic, status, text);
    }
}

void coord_call_check(struct coord *coord, const char *topic, const char *binding)
{
    if (!coord->stopping) {
        coord->options.listener.check(coord->options.listener.user, topic, binding);
    }
}

void coord_call_left(struct coord *coord, const char *topic)
{
    if (!coord->stopping) {
        coord->options.listener.left(coord->options.listener.user, topic);
    }
}

void coord_call_leased(struct coord *coord, int64_t until_ms, int64_t lease_ms)
{
    if (!coord->stopping) {
        coord->options.listener.leased(coord->options.listener.user, until_ms, lease_ms);
    }
}

void coord_call_not_released(struct coord *coord, size_t slots)
{
    if (!coord->stopping) {
        coord->options.listener.not_released(coord->options.listener.user, slots);
    }
}

void coord_call_explained(struct coord *coord, const char *topic, enum coord_no_slot why)
{
    if (!coord->stopping) {
        coord->options.listener.explained(coord->options.listener.user, topic, why);
    }
}
