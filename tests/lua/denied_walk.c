/* denied_walk.c - see denied_walk.h. */
#include "denied_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "call.h"
#include "denied_round.h"
#include "denied_state.h"
#include "support/testing.h"
enum { STEPS = 70, DRAIN_CALLS = 120 };

const char *const walk_roles[WALK_ROLES] = {"sender", "owner", "editor"};

uint64_t walk_chance(struct walk *walk, uint64_t below)
{
    walk->random ^= walk->random << 13;
    walk->random ^= walk->random >> 7;
    walk->random ^= walk->random << 17;
    return (walk->random >> 11) % below;
}

bool walk_percent(struct walk *walk, uint64_t of)
{
    return walk_chance(walk, 100) < of;
}

void walk_fail(struct walk *walk, const char *what, const char *of)
{
    if (!walk->failed) {
        buf_printf(walk->report, "--- %s: %s\n", what, of);
    }
    walk->failed = true;
}

/* --- users --- */

static void command(redisContext *redis, const char *text)
{
    redisReply *reply = redisCommand(redis, text);

    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR) {
        fail_msg("%s: %s", text, reply->str);
    }
    freeReplyObject(reply);
}

void walk_users_init(struct walk_users *users, struct fixture *fixture)
{
    for (int i = 0; i < WALK_ROLES; i++) {
        char text[128];

        snprintf(text, sizeof(text), "ACL SETUSER %s reset on nopass allkeys allchannels +@all",
                 walk_roles[i]);
        command(fixture->redis, text);
        users->connection[i] = fixture_connect(fixture);
        snprintf(text, sizeof(text), "AUTH %s none", walk_roles[i]);
        command(users->connection[i], text);
    }
}

void walk_users_fini(struct walk_users *users)
{
    for (int i = 0; i < WALK_ROLES; i++) {
        redisFree(users->connection[i]);
    }
}

void walk_deny(struct fixture *fixture, const struct walk_denial *denial)
{
    struct buf text = {0};

    buf_printf(&text, "ACL SETUSER %s -%s", walk_roles[denial->role], denial->command);
    for (int key = 0; key < KEYS_COUNT && denial->key >= 0; key++) {
        if (key != denial->key) {
            buf_printf(&text, " (+%s ~%s)", denial->command, fixture_keys[key]);
        }
    }
    command(fixture->redis, text.data);
    buf_fini(&text);
}

void walk_allow(struct fixture *fixture, const struct walk_denial *denial)
{
    char text[64];

    snprintf(text, sizeof(text), "ACL SETUSER %s +@all clearselectors", walk_roles[denial->role]);
    command(fixture->redis, text);
}

static void deny(struct walk *walk)
{
    walk_deny(walk->fixture, walk->denial);
    buf_printf(walk->report, "the %s may not run %s\n", walk_roles[walk->denial->role],
               walk->denial->command);
    walk->denied = true;
}

static void allow(struct walk *walk)
{
    if (walk->denied) {
        walk_allow(walk->fixture, walk->denial);
        buf_printf(walk->report, "it may again\n");
    }
    walk->denied = false;
}

static void hit(struct walk *walk, const char *script)
{
    const struct walk_denial *denial = walk->denial;
    struct walk_hits *hits = walk->hits;
    struct walk_hit *it;

    for (size_t i = 0; i < hits->count; i++) {
        it = &hits->hit[i];
        if (strcmp(it->script, script) == 0 && strcmp(it->command, denial->command) == 0 &&
            it->key == denial->key) {
            it->count++;
            return;
        }
    }
    assert_true(hits->count < WALK_HITS_MAX);
    it = &hits->hit[hits->count++];
    snprintf(it->script, sizeof(it->script), "%s", script);
    snprintf(it->command, sizeof(it->command), "%s", denial->command);
    it->key = denial->key;
    it->count = 1;
}

/* --- calls --- */

static void report_call(struct walk *walk, enum walk_role role, const struct call *call,
                        const struct args *args, const char *reply)
{
    buf_printf(walk->report, "at %" PRId64 ", %s: %s", walk->now, walk_roles[role],
               call_script(call));
    for (size_t i = 0; i < args->count; i++) {
        buf_add(walk->report, " ", 1);
        text_format(walk->report, args->data[i], args->lens[i]);
    }
    buf_printf(walk->report, "\n    %s\n", reply);
}

/* Errors of this server, and of later ones. */
static bool is_denial(const char *error)
{
    return strstr(error, "can't ") != NULL || strstr(error, "ACL failure") != NULL;
}

bool walk_call(struct walk *walk, enum walk_role role, const struct call *call, struct buf *seen)
{
    redisContext *admin = walk->fixture->redis;
    struct args *args = memory_new(sizeof(*args));
    redisReply *reply;
    const char *broken;
    bool done;

    call_args(args, walk->model, call);
    walk->fixture->redis = walk->users->connection[role];
    walk->fixture->any = walk_percent(walk, 40);
    walk->fixture->keyed = walk->model->keyed && !call->whole;
    reply = fixture_call(walk->fixture, fixture_script(call_script(call)), args);
    walk->fixture->keyed = walk->model->keyed;
    walk->fixture->redis = admin;
    walk->fixture->any = false;
    buf_clear(seen);
    reply_format(seen, reply);
    report_call(walk, role, call, args, seen->data);
    done = reply->type != REDIS_REPLY_ERROR;
    if (!done) {
        hit(walk, walk->fixture->called);
        if (!walk->denied || role != walk->denial->role || !is_denial(seen->data)) {
            walk_fail(walk, "an error", seen->data);
        }
    }
    broken = state_broken(walk->fixture);
    if (broken != NULL) {
        walk_fail(walk, "the state", broken);
    }
    freeReplyObject(reply);
    args_clear(args);
    free(args);
    return done;
}

struct call *walk_new_call(struct walk *walk, enum call_kind kind, uint64_t token)
{
    const struct walk_topic *topic = walk->topic;
    struct call *call = memory_new(sizeof(*call));

    walk->version += walk_percent(walk, 2) ? 1 : 0;
    *call = (struct call){.kind = kind,
                          .version = walk->version,
                          .token = token,
                          .limit = 2 + (int32_t) walk_chance(walk, 9),
                          .max_retries = walk->max_retries,
                          .max_bytes = 1048576,
                          .max_waiting = topic->max_waiting,
                          .debounce = topic->debounce,
                          .dedup = topic->dedup,
                          .field_from = walk_percent(walk, 50) ? 4096 : 0,
                          .skip_failed = topic->skip_failed,
                          .expired_to_dead = topic->expired_to_dead,
                          .strict = topic->strict,
                          .lease = LEASE_MS};
    return call;
}
/* --- a walk --- */

void walk_pass_time(struct walk *walk, int64_t ms)
{
    walk->now += ms;
    fixture_set_time(walk->fixture, walk->now);
}

/* The clock is set back: leases end by another time. */
static void set_back(struct walk *walk, int64_t ms)
{
    for (int i = 0; i < SHARERS; i++) {
        for (size_t j = 0; j < walk->walkers[i].count; j++) {
            walk->walkers[i].in_flight[j].until -= ms;
        }
    }
    walk_pass_time(walk, -ms);
}

static void pass_time(struct walk *walk)
{
    if (walk_percent(walk, 20)) {
        walk_pass_time(walk, LEASE_MS + 7);
    } else if (walk_percent(walk, 20)) {
        set_back(walk, 5);
    } else {
        walk_pass_time(walk, 1 + (int64_t) walk_chance(walk, 10));
    }
}

static void step(struct walk *walk)
{
    bool shared = walk->topic->shared;
    struct walker *walker = &walk->walkers[shared ? walk_chance(walk, SHARERS) : 0];
    uint64_t x = walk_chance(walk, 100);

    if (!walker->ready) {
        x = x < 50 ? 80 : x; /* the takeover is repeated */
    }
    if (x < 28) {
        walk_send(walk);
    } else if (x < 38) {
        pass_time(walk);
    } else if (x < 74) {
        if (walker->ready) {
            walk_consume(walk, walker);
        }
    } else if (x < 78) {
        if (walker->ready) {
            walk_renew(walk, walker);
        }
    } else if (x < 84) {
        if (!shared) {
            walk_take_over(walk);
        }
    } else {
        walk_edit(walk);
    }
}

static void open_slot(struct walk *walk)
{
    const struct walk_topic *topic = walk->topic;
    struct args args = {0};
    const char kind[2] = {topic->kind, '\0'};
    static const char *const rest[] = {"text", "1", "0", "0", "0"};

    walk->fixture->keyed = topic->keyed;
    fixture_flush(walk->fixture);
    args_add(&args, "n.1");
    args_add(&args, kind);
    args_add(&args, "wake{x}");
    args_add(&args, topic->shared ? "1" : "0");
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
        args_add(&args, rest[i]);
    }
    freeReplyObject(fixture_call(walk->fixture, fixture_script("slot_open"), &args));
    args_clear(&args);
    walk_pass_time(walk, 0);
    for (int i = 0; i < SHARERS; i++) {
        walk->walkers[i].ready = topic->shared;
    }
    walk_hear(walk);
    if (!topic->shared) {
        walk_end_owner(walk, &walk->walkers[0]);
        walk_take_over(walk);
    }
}

/* Everybody may do everything again: what is left is handled, without a wait of several leases. */
static void drain(struct walk *walk)
{
    struct walker *walker = &walk->walkers[0];
    int64_t began;

    allow(walk);
    walk->calm = true;
    for (int i = 1; i < SHARERS; i++) {
        while (walk->topic->shared && !walk->failed &&
               (walk->walkers[i].count > 0 || walk->walkers[i].call != NULL)) {
            walk_consume(walk, &walk->walkers[i]);
        }
    }
    if (!walker->ready) {
        walk_take_over(walk);
    }
    began = walk->now;
    for (int i = 0; i < DRAIN_CALLS && !walk->failed; i++) {
        if (walker->count == 0 && walker->call == NULL && state_is_empty(walk->fixture)) {
            return;
        }
        walk_consume(walk, walker);
        walk_hear(walk);
        if (i % 4 == 3) {
            walk_pass_time(walk, 100);
        }
        if (walk->now - began > INT64_C(2) * LEASE_MS) {
            break;
        }
    }
    walk_fail(walk, "it does not drain", "within two leases");
}

static void judge(struct walk *walk, int member)
{
    const struct fate *fate = &walk->fates[member];
    const char *name = model_members[member];
    int dead = state_dead(walk->fixture, name);
    bool excused = fate->by_hand || (fate->expires && walk->model->keyed);

    if (fate->owed && dead == 0 && !excused) {
        walk_fail(walk, "lost", name);
    }
    if (fate->done + dead > fate->copies + fate->repeats) {
        walk_fail(walk, "handled too often, or dead although it was handled", name);
    }
}

static void walk_steps(struct walk *walk)
{
    int from = 5 + (int) walk_chance(walk, 20), until = from + 1 + (int) walk_chance(walk, 9);

    open_slot(walk);
    for (int i = 0; i < STEPS && !walk->failed; i++) {
        if (i == from) {
            deny(walk);
        } else if (i == until) {
            allow(walk);
            from = until + 1 + (int) walk_chance(walk, 20);
            until = from + 1 + (int) walk_chance(walk, 9);
        }
        step(walk);
    }
    if (!walk->failed) {
        drain(walk);
    }
    for (int i = 0; i < MODEL_MEMBERS && !walk->failed; i++) {
        judge(walk, i);
    }
    if (!walk->failed && state_left_over(walk->fixture) != NULL) {
        walk_fail(walk, "left over", state_left_over(walk->fixture));
    }
}

bool walk_run(struct fixture *fixture, struct walk_users *users, const struct walk_topic *topic,
              const struct walk_denial *denial, uint64_t seed, struct walk_hits *hits,
              struct buf *report)
{
    struct walk *walk = memory_new(sizeof(*walk));
    bool failed;

    *walk = (struct walk){.fixture = fixture,
                          .users = users,
                          .topic = topic,
                          .denial = denial,
                          .hits = hits,
                          .report = report,
                          .random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1,
                          .now = 1000000,
                          .version = 1};
    walk->max_retries = (int32_t) walk_chance(walk, 3);
    walk->model = memory_new(sizeof(*walk->model));
    model_init(walk->model, topic->kind, topic->shared, topic->keyed);
    buf_clear(report);
    buf_printf(report, "topic %s, seed %" PRIu64 "\n", topic->name, seed);
    walk_steps(walk);
    allow(walk);
    for (int i = 0; i < SHARERS; i++) {
        free(walk->walkers[i].call);
    }
    failed = walk->failed;
    free(walk->model);
    free(walk);
    return !failed;
}
