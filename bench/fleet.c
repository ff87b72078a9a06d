#include "fleet.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <slotmq/ops.h>

#include "library.h"
#include "member.h"
#include "meter.h"
#include "owners.h"
#include "support/process.h"
#include "support/wait.h"
#include "wire.h"

enum {
    PATIENCE_MS = 180000,
    RATE = 200, /* messages per second: enough to show a loss, too few to slow the fleet */
    MESSAGES_MAX = 200000,
    PIPELINE = 1024
};

/* A process. */
struct fleet_member {
    pid_t pid; /* 0: it does not run */
    int64_t joined_ns;
    bool leaves; /* fleet_tell_leave() was called */
};

/* What the lines of the members say so far.  Invariant: messages 0 .. sent - 1 were sent, and
 * `tally` has those that were handled; of these since fleet_watch(), `waits` has the longest time
 * of each slot. */
struct fleet {
    struct lab *lab;
    struct fleet_options options;
    smq_client *client;
    smq_producer *producer;
    struct tally *tally;
    uint64_t sent;
    int64_t begin_ns;
    char topic[LAB_NAME_SIZE], path[PATH_MAX];
    FILE *lines;
    char line[128]; /* `len` bytes of the last one, whose end is not read yet */
    size_t len;
    struct fleet_member *members;
    struct owners *owners;
    int64_t *waits;
    int wanted; /* this number of members share all slots alike */
};

/* --- reading --- */

/* What message `number` waited for. */
static void note_wait(struct fleet *fleet, int slot, int64_t number, int64_t handled_ns)
{
    int64_t wait_ns = handled_ns - (fleet->begin_ns + number * 1000000000 / RATE);

    if (wait_ns > fleet->waits[slot]) {
        fleet->waits[slot] = wait_ns;
    }
}

static void take_line(struct fleet *fleet, const char *line)
{
    char kind, token[OWNERS_TOKEN_SIZE] = "";
    int member, slot;
    long long at_ns;

    if (sscanf(line, "%c %d %d %lld %24s", &kind, &member, &slot, &at_ns, token) < 4 ||
        member < 0 || member >= fleet->options.members || slot < 0 ||
        slot >= fleet->options.slots) {
        fprintf(stderr, "bench: a member wrote \"%s\"\n", line);
    } else if (kind == 'H') {
        tally_tick_number(fleet->tally, slot, (uint64_t) at_ns);
        note_wait(fleet, slot, at_ns, strtoll(token, NULL, 10));
    } else if (kind == 'S') {
        fleet->members[member].joined_ns = at_ns;
    } else if (kind == 'G') {
        owners_gain(fleet->owners, member, slot, at_ns, token);
    } else {
        owners_lose(fleet->owners, member, slot, at_ns);
    }
}

/* The end of the file may be a line of which a part is written. */
static void read_on(struct fleet *fleet)
{
    clearerr(fleet->lines);
    while (fgets(fleet->line + fleet->len, (int) (sizeof(fleet->line) - fleet->len),
                 fleet->lines) != NULL) {
        fleet->len = strlen(fleet->line);
        if (fleet->line[fleet->len - 1] != '\n') {
            return;
        }
        take_line(fleet, fleet->line);
        fleet->len = 0;
    }
}

const char *fleet_topic(const struct fleet *fleet)
{
    return fleet->topic;
}

struct owners_counts fleet_counts(struct fleet *fleet)
{
    read_on(fleet);
    return owners_counts(fleet->owners);
}

int64_t fleet_joined_ns(const struct fleet *fleet, int number)
{
    return fleet->members[number].joined_ns;
}

double fleet_coverage_s(const struct fleet *fleet, int64_t start_ns, struct samples *pauses)
{
    return owners_coverage_s(fleet->owners, start_ns, pauses);
}

/* --- waiting --- */

/* What should be sent by now.  What is refused was not sent. */
static void send_on(struct fleet *fleet)
{
    int64_t ns = meter_now_ns() - fleet->begin_ns;
    char body[TALLY_BODY];

    while (fleet->sent < MESSAGES_MAX && (int64_t) fleet->sent * 1000000000 < ns * RATE) {
        smq_message message = library_message(body, fleet->sent);
        if (smq_send_async(fleet->producer, fleet->topic, &message, NULL, NULL, NULL) != SMQ_OK) {
            return;
        }
        fleet->sent++;
    }
}

struct awaited {
    struct fleet *fleet;
    bool (*condition)(void *arg);
    void *arg;
};

static bool read_and_ask(void *arg)
{
    const struct awaited *awaited = arg;

    send_on(awaited->fleet);
    read_on(awaited->fleet);
    return awaited->condition(awaited->arg);
}

bool fleet_await(struct fleet *fleet, bool (*condition)(void *arg), void *arg, const char *what)
{
    struct awaited awaited = {.fleet = fleet, .condition = condition, .arg = arg};

    if (!wait_until(read_and_ask, &awaited, PATIENCE_MS)) {
        fprintf(stderr, "bench: after %d s this is not so: %s\n", PATIENCE_MS / 1000, what);
        return false;
    }
    return true;
}

static bool has_passed(void *arg)
{
    return meter_now_ns() >= *(int64_t *) arg;
}

void fleet_pass(struct fleet *fleet, int64_t ms)
{
    int64_t until_ns = meter_now_ns() + ms * 1000000;

    fleet_await(fleet, has_passed, &until_ns, "the time has passed");
}

void fleet_watch(struct fleet *fleet)
{
    read_on(fleet);
    memset(fleet->waits, 0, (size_t) fleet->options.slots * sizeof(*fleet->waits));
}

double fleet_longest_wait_ms(const struct fleet *fleet, const struct server *node, bool others)
{
    char key[LAB_NAME_SIZE + 32];
    int64_t longest = 0;

    for (int i = 0; i < fleet->options.slots; i++) {
        snprintf(key, sizeof(key), "slot{%s_%d}", fleet->topic, i);
        if (fleet->waits[i] > longest && (lab_node_of(fleet->lab, key) == node) != others) {
            longest = fleet->waits[i];
        }
    }
    return (double) longest / 1e6;
}

static bool has_share(const struct fleet *fleet, int member)
{
    return owners_owned(fleet->owners, member) >= fleet->options.slots / fleet->wanted;
}

static bool is_shared_out(void *arg)
{
    const struct fleet *fleet = arg;
    int shares = 0;

    if (owners_unowned(fleet->owners) > 0) {
        return false;
    }
    for (int i = 0; i < fleet->options.members; i++) {
        if (fleet->members[i].leaves && owners_owned(fleet->owners, i) > 0) {
            return false;
        }
        shares += has_share(fleet, i) ? 1 : 0;
    }
    return shares == fleet->wanted;
}

static void tell_shares(const struct fleet *fleet)
{
    fprintf(stderr, "bench: %d slots have no owner\n", owners_unowned(fleet->owners));
    for (int i = 0; i < fleet->options.members; i++) {
        if (fleet->members[i].pid > 0 && (fleet->members[i].leaves || !has_share(fleet, i))) {
            fprintf(stderr, "bench: member %d%s owns %d slots\n", i,
                    fleet->members[i].leaves ? ", which leaves," : "",
                    owners_owned(fleet->owners, i));
        }
    }
}

bool fleet_await_shares(struct fleet *fleet, int members)
{
    char what[64];

    fleet->wanted = members;
    snprintf(what, sizeof(what), "%d members share the slots", members);
    if (!fleet_await(fleet, is_shared_out, fleet, what)) {
        tell_shares(fleet);
        return false;
    }
    return true;
}

/* --- changing --- */

bool fleet_start_member(struct fleet *fleet, int number)
{
    struct fleet_member *member = &fleet->members[number];
    char digits[12], session[24];
    const char *const argv[] = {lab_options(fleet->lab)->program,
                                MEMBER_OPTION,
                                lab_redis(fleet->lab),
                                fleet->options.in_redis ? MEMBER_IN_REDIS
                                                        : lab_zookeeper(fleet->lab),
                                fleet->topic,
                                digits,
                                session,
                                fleet->path,
                                NULL};
    struct process_options options = {.argv = argv, .err = STDERR_FILENO};

    snprintf(digits, sizeof(digits), "%d", number);
    snprintf(session, sizeof(session), "%lld", (long long) fleet->options.session_ms);
    member->leaves = false;
    member->pid = process_start(&options);
    return member->pid > 0;
}

void fleet_tell_leave(struct fleet *fleet, int number)
{
    fleet->members[number].leaves = true;
    kill(fleet->members[number].pid, SIGTERM);
}

struct ending {
    pid_t pid;
    int status;
};

static bool has_ended(void *arg)
{
    struct ending *ending = arg;

    return process_ended(ending->pid, &ending->status);
}

bool fleet_await_end(struct fleet *fleet, int number)
{
    struct ending ending = {.pid = fleet->members[number].pid};

    if (!fleet_await(fleet, has_ended, &ending, "a member that leaves has ended")) {
        return false;
    }
    fleet->members[number].pid = 0;
    if (ending.status != 0) {
        fprintf(stderr, "bench: member %d ended with status %d\n", number, ending.status);
    }
    return ending.status == 0;
}

void fleet_kill_member(struct fleet *fleet, int number)
{
    process_kill(fleet->members[number].pid);
    fleet->members[number].pid = 0;
    read_on(fleet);
    owners_kill(fleet->owners, number);
}

/* --- what the servers say --- */

static bool token_is_stored(struct fleet *fleet, int slot)
{
    redisReply *reply = wire_reply(lab_wire(fleet->lab, 0));
    const char *stored = reply != NULL && reply->type == REDIS_REPLY_STRING ? reply->str : "";
    const char *token = owners_token(fleet->owners, slot);
    bool good = *token != '\0' && strcmp(stored, token) == 0;

    if (!good) {
        fprintf(stderr, "bench: slot %d of member %d has the token \"%s\", not \"%s\"\n", slot,
                owners_of(fleet->owners, slot), stored, token);
    }
    freeReplyObject(reply);
    return good;
}

static bool tokens_are_stored(struct fleet *fleet)
{
    struct wire *wire = lab_wire(fleet->lab, 0);
    char key[LAB_NAME_SIZE + 32];
    bool good = true;

    for (int first = 0; first < fleet->options.slots && good; first += PIPELINE) {
        int end = first + PIPELINE < fleet->options.slots ? first + PIPELINE : fleet->options.slots;

        for (int i = first; i < end; i++) {
            snprintf(key, sizeof(key), "slot{%s_%d}", fleet->topic, i);
            wire_command(wire, 3);
            wire_text(wire, "HGET");
            wire_text(wire, key);
            wire_text(wire, "token");
        }
        for (int i = first; i < end; i++) {
            good = token_is_stored(fleet, i) && good;
        }
    }
    return good;
}

/* What the assignment has, and what of it differs from what the members say. */
struct described {
    const struct fleet *fleet;
    uint64_t slots;
    bool good;
};

static bool take_topic(const smq_fleet_topic *topic, void *user)
{
    struct described *described = user;

    if (strcmp(topic->name, described->fleet->topic) == 0 &&
        (topic->unowned > 0 || topic->moving > 0)) {
        fprintf(stderr, "bench: by the assignment %llu slots have no owner, and %llu move\n",
                (unsigned long long) topic->unowned, (unsigned long long) topic->moving);
        described->good = false;
    }
    return true;
}

static bool take_share(const smq_fleet_share *share, void *user)
{
    struct described *described = user;
    const struct fleet *fleet = described->fleet;
    int number = -1;

    if (strcmp(share->topic, fleet->topic) != 0) {
        return true;
    }
    if (sscanf(share->member, MEMBER_NAME, &number) != 1 || number < 0 ||
        number >= fleet->options.members ||
        (uint64_t) owners_owned(fleet->owners, number) != share->slots) {
        fprintf(stderr, "bench: the assignment grants %llu slots to %s, which owns others\n",
                (unsigned long long) share->slots, share->member);
        described->good = false;
    }
    described->slots += share->slots;
    return true;
}

static bool is_assigned(struct fleet *fleet)
{
    struct described described = {.fleet = fleet, .good = true};
    smq_fleet_visitor visitor = SMQ_FLEET_VISITOR_INIT;
    smq_error err = SMQ_ERROR_INIT;

    visitor.topic = take_topic;
    visitor.share = take_share;
    visitor.user = &described;
    if (!lab_good(smq_fleet_describe(fleet->client, &visitor, &err), &err)) {
        return false;
    }
    if (described.slots != (uint64_t) fleet->options.slots) {
        fprintf(stderr, "bench: the assignment grants %llu of %d slots\n",
                (unsigned long long) described.slots, fleet->options.slots);
        return false;
    }
    return described.good;
}

bool fleet_is_agreed(struct fleet *fleet)
{
    read_on(fleet);
    return tokens_are_stored(fleet) && is_assigned(fleet);
}

/* --- begin and end --- */

static bool lines_open(struct fleet *fleet)
{
    snprintf(fleet->path, sizeof(fleet->path), "%s/members", getenv("TMPDIR"));
    fleet->lines = fopen(fleet->path, "w+e");
    if (fleet->lines == NULL) {
        perror(fleet->path);
    }
    return fleet->lines != NULL;
}

struct fleet *fleet_open(struct lab *lab, const struct fleet_options *options)
{
    struct fleet *fleet = calloc(1, sizeof(*fleet));
    struct fleet_member *members = calloc((size_t) options->members, sizeof(*members));

    if (fleet == NULL || members == NULL) {
        abort();
    }
    *fleet = (struct fleet){.lab = lab,
                            .options = *options,
                            .tally = tally_new(MESSAGES_MAX, options->slots),
                            .begin_ns = meter_now_ns(),
                            .members = members,
                            .owners = owners_new(options->members, options->slots),
                            .waits = calloc((size_t) options->slots, sizeof(*fleet->waits))};
    fleet->client = lab_client(lab);
    fleet->producer = fleet->client != NULL ? library_producer(fleet->client) : NULL;
    if (fleet->waits == NULL || fleet->producer == NULL || !lines_open(fleet) ||
        !lab_topic(lab, fleet->client, fleet->topic, options->slots)) {
        fleet_close(fleet);
        return NULL;
    }
    return fleet;
}

static bool all_handled(void *arg)
{
    struct fleet *fleet = arg;

    return tally_counts(fleet->tally).handled == fleet->sent;
}

static bool all_read(void *arg)
{
    struct fleet *fleet = arg;

    read_on(fleet);
    return all_handled(fleet);
}

bool fleet_settle(struct fleet *fleet, const char *who)
{
    smq_error err = SMQ_ERROR_INIT;

    if (!lab_good(smq_producer_flush(fleet->producer, PATIENCE_MS, &err), &err)) {
        return false;
    }
    (void) wait_until(all_read, fleet, PATIENCE_MS); /* what is not handled by then was lost */
    struct tally_counts counts = tally_counts(fleet->tally);
    counts.sent = fleet->sent;
    counts.lost = counts.sent - counts.handled;
    report_tally(lab_report(fleet->lab), who, counts,
                 (double) (meter_now_ns() - fleet->begin_ns) / 1e9);
    return true;
}

void fleet_close(struct fleet *fleet)
{
    if (fleet == NULL) {
        return;
    }
    for (int i = 0; i < fleet->options.members; i++) {
        if (fleet->members[i].pid > 0) {
            kill(fleet->members[i].pid, SIGTERM);
        }
    }
    for (int i = 0; i < fleet->options.members; i++) {
        if (fleet->members[i].pid > 0) {
            process_stop(fleet->members[i].pid, PATIENCE_MS);
        }
    }
    if (fleet->lines != NULL) {
        fclose(fleet->lines);
    }
    smq_producer_free(fleet->producer);
    smq_client_free(fleet->client);
    tally_free(fleet->tally);
    free(fleet->members);
    free(fleet->waits);
    owners_free(fleet->owners);
    free(fleet);
}
