/* test_assigner_mismatch.c - which members are said to work on different clusters, and when. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coord/assigner/assigner.h"
#include "support/group.h"

/* --- when --- */

enum { FOR_MS = 1000, REMIND_MS = 60000 };

static const struct zookeeper_timings timings = {.mismatch = FOR_MS, .remind = REMIND_MS};

struct moment {
    int64_t now_ms, one, other;
    int64_t due_ms; /* what is to be answered */
};

struct story {
    const char *name;
    struct moment moments[8]; /* until now_ms is 0 */
};

static void they_are_named_when_it_lasts_and_not_too_often(void **state)
{
    static const struct story stories[] = {
        {"nobody", {{1, 0, 0, 0}, {5000, 0, 0, 0}}},
        {"for a while", {{10, 1, 2, 1010}, {500, 1, 2, 1010}, {600, 0, 0, 0}}},
        {"it lasts: once",
         {{10, 1, 2, 1010}, {1010, 1, 2, 1010}, {1020, 1, 2, 0}, {90000, 1, 2, 0}}},
        {"who it is changes before", {{10, 1, 2, 1010}, {900, 1, 3, 1010}, {1010, 1, 3, 1010}}},
        {"it is over and begins again",
         {{10, 1, 2, 1010},
          {1010, 1, 2, 1010},
          {70000, 0, 0, 0},
          {70010, 1, 2, 71010},
          {71010, 1, 2, 71010}}},
        {"again, but soon",
         {{10, 1, 2, 1010},
          {1010, 1, 2, 1010},
          {2000, 0, 0, 0},
          {3000, 1, 2, 61010},
          {61000, 1, 2, 61010},
          {61010, 1, 2, 61010},
          {61020, 1, 2, 0}}},
        {"others",
         {{10, 1, 2, 1010},
          {1010, 1, 2, 1010},
          {2000, 3, 2, 61010},
          {61010, 3, 2, 61010},
          {61020, 3, 2, 0}}},
    };

    for (size_t i = 0; i < sizeof(stories) / sizeof(stories[0]); i++) {
        struct assigner_mismatch mismatch = {0};

        print_message("%s\n", stories[i].name);
        for (const struct moment *at = stories[i].moments; at->now_ms != 0; at++) {
            assert_int_equal(
                assigner_mismatch_note(&mismatch, &timings, at->one, at->other, at->now_ms),
                at->due_ms);
        }
    }
}

/* --- who --- */

enum { MEMBERS_MAX = 6, NOTHING = -1 };

/* An assigner that has read members and the topics "t" and "u". */
struct stage {
    struct loop *call;
    struct zookeeper_env env;
    struct assigner assigner;
    struct assigner_topic topics[2];
    char said[1024]; /* the last warning; read when `call` has ended */
};

static void on_event(const smq_event *event, void *user)
{
    struct stage *stage = user;

    assert_int_equal(event->level, SMQ_LEVEL_WARN);
    (void) snprintf(stage->said, sizeof(stage->said), "%s", event->text);
}

static int set_up(void **state)
{
    struct stage *stage = memory_new(sizeof(*stage));
    smq_error err;

    assert_int_equal(loop_new(&stage->call, "smq:call", &err), SMQ_OK);
    stage->env =
        (struct zookeeper_env){.events = events_new(stage->call, on_event, SMQ_LEVEL_INFO, stage),
                               .root = "/fleet",
                               .timings = {.mismatch = FOR_MS}};
    stage->assigner.env = &stage->env;
    stage->assigner.members = memory_new(MEMBERS_MAX * sizeof(*stage->assigner.members));
    LIST_INIT(&stage->assigner.topics);
    for (int i = 0; i < 2; i++) {
        stage->topics[i].name = i == 0 ? "t" : "u";
        (void) snprintf(stage->topics[i].nonce, sizeof(stage->topics[i].nonce), "n1");
        LIST_INSERT_HEAD(&stage->assigner.topics, &stage->topics[i], link);
    }
    *state = stage;
    return 0;
}

/* What was logged.  Nothing is logged after it. */
static const char *said(struct stage *stage)
{
    loop_free(stage->call);
    stage->call = NULL;
    return stage->said;
}

static int tear_down(void **state)
{
    struct stage *stage = *state;

    loop_free(stage->call);
    events_free(stage->env.events);
    for (size_t i = 0; i < stage->assigner.member_count; i++) {
        free(stage->assigner.members[i].id);
        member_info_fini(&stage->assigner.members[i].info);
    }
    free(stage->assigner.members);
    free(stage);
    return 0;
}

/* A member "0", "1", ... that lists "TOPIC NONCE" and shows the nodes from `first` to `last`. */
static void add(struct stage *stage, const char *topic, const char *nonce, int first, int last)
{
    size_t number = stage->assigner.member_count++;
    struct assigner_member *member = &stage->assigner.members[number];
    struct member_topic *line = memory_new(sizeof(*line));
    char id[16];

    assert_in_range(number, 0, MEMBERS_MAX - 1);
    (void) snprintf(line->name, sizeof(line->name), "%s", topic);
    (void) snprintf(line->nonce, sizeof(line->nonce), "%s", nonce);
    (void) snprintf(id, sizeof(id), "m%zu", number);
    *member = (struct assigner_member){.id = memory_string(id),
                                       .incarnation = (int64_t) number + 1,
                                       .info = {.topics = line, .topic_count = 1}};
    (void) snprintf(member->info.host, sizeof(member->info.host), "h%zu", number);
    for (int i = first; i <= last; i++) {
        fingerprint_add(&member->info.fingerprint, (const char *) &i, sizeof(i));
    }
}

struct shown {
    const char *topic, *nonce;
    int first, last; /* nodes */
};

struct situation {
    const char *name;
    struct shown members[MEMBERS_MAX]; /* until the topic is NULL */
    const char *said;                  /* how the warning begins; "": there is none */
};

static const struct situation situations[] = {
    {"one cluster", {{"t", "n1", 1, 3}, {"t", "n1", 1, 3}, {"t", "n1", 3, 5}}, ""},
    {"two clusters",
     {{"t", "n1", 1, 3}, {"t", "n1", 1, 3}, {"t", "n1", 4, 6}, {"t", "n1", 4, 6}},
     "topic t: member m0 on host h0 and member m2 on host h2 are"},
    {"one does not show its nodes", {{"t", "n1", 1, 3}, {"t", "n1", 0, -1}}, ""},
    {"a third does not show its nodes",
     {{"t", "n1", 0, -1}, {"t", "n1", 1, 3}, {"t", "n1", 4, 6}},
     "topic t: member m1 on host h1 and member m2 on host h2 are"},
    {"a third has seen nodes of both",
     {{"t", "n1", 1, 3}, {"t", "n1", 4, 6}, {"u", "n1", 3, 4}},
     ""},
    {"no topic in common", {{"t", "n1", 1, 3}, {"u", "n1", 4, 6}}, ""},
    {"topics of one name", {{"t", "n1", 1, 3}, {"t", "n2", 4, 6}}, ""},
    {"of two topics the one with the oldest members",
     {{"t", "n1", 1, 3}, {"u", "n1", 1, 3}, {"u", "n1", 4, 6}, {"t", "n1", 4, 6}},
     "topic t: member m0 on host h0 and member m3 on host h3 are"},
};

static void members_of_different_clusters_are_named(void **state)
{
    for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++) {
        const struct situation *situation = &situations[i];
        const char *text = NULL;
        void *self = NULL;
        struct stage *stage = NULL;

        print_message("%s\n", situation->name);
        (void) set_up(&self);
        stage = self;
        for (const struct shown *it = situation->members; it->topic != NULL; it++) {
            add(stage, it->topic, it->nonce, it->first, it->last);
        }
        assigner_log_mismatch(&stage->assigner, 1);
        assert_int_equal(stage->assigner.wake_at, situation->said[0] != '\0' ? 1 + FOR_MS : 0);
        assigner_log_mismatch(&stage->assigner, 1 + FOR_MS);
        text = said(stage);
        assert_int_equal(strncmp(text, situation->said, strlen(situation->said)), 0);
        assert_int_equal(text[0] != '\0', situation->said[0] != '\0');
        (void) tear_down(&self);
    }
}

TEST_GROUP(assigner_mismatch)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_named_when_it_lasts_and_not_too_often),
        cmocka_unit_test(members_of_different_clusters_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
