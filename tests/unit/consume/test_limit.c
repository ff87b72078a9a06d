/* test_limit.c - which of the consumers under a limit claims next. */
#include <pthread.h>
#include <string.h>

#include "consume/slot/limit.h"
#include "support/group.h"
#include "support/wait.h"

enum { CONSUMERS = 3, TURNS_MAX = 64, WAIT_MS = 30000 };

/* Consumers a, b and c, which claim one message in each turn while they want some. */
static struct {
    pthread_mutex_t lock;
    char turns[TURNS_MAX]; /* who claimed */
    struct core core;
    smq_limit *limit;
    struct consumer {
        struct limited limited;
        int wants;
        bool able; /* neither paused nor at a limit of its own */
    } consumers[CONSUMERS];
} model = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void end_turn(struct consumer *consumer)
{
    limit_turned(&consumer->limited, consumer->wants > 0 && consumer->able);
}

/* As a slot does: reserve, claim, and count the claim as unanswered.  In a call that settles it
 * claims what is left of its turn. */
static void take_turn(struct consumer *consumer, bool settles)
{
    const char name = (char) ('a' + (consumer - model.consumers));
    bool waits =
        settles ? limit_is_used_up(&consumer->limited) : limit_is_contended(&consumer->limited);
    bool claims =
        consumer->wants > 0 && consumer->able && limit_room(&consumer->limited) > 0 && !waits;

    if (claims) {
        pthread_mutex_lock(&model.lock);
        model.turns[strlen(model.turns)] = name;
        pthread_mutex_unlock(&model.lock);
        consumer->wants--;
        limit_count(&consumer->limited, 0, 1);
        limit_count(&consumer->limited, 1, -1);
    }
    end_turn(consumer);
}

static void on_turn(void *user)
{
    take_turn(user, false);
}

/* One word: "=2" (alone) makes 2 the limit; "a3" a wants three messages; "a." a message of a was
 * answered; "a+" so was one, and a call of a settles it; "a!" a is paused or at a limit of its own;
 * "a?" it is not any more; "a-" a leaves. */
static void do_word(const char *word)
{
    struct consumer *consumer = &model.consumers[word[0] - 'a'];

    switch (word[1]) {
    case '.':
        limit_count(&consumer->limited, -1, 0);
        break;
    case '+':
        limit_count(&consumer->limited, -1, 0);
        take_turn(consumer, true);
        return;
    case '!':
        consumer->able = false;
        break;
    case '?':
        consumer->able = true;
        break;
    case '-':
        consumer->wants = 0;
        limit_leave(&consumer->limited);
        return;
    default:
        consumer->wants = word[1] - '0';
    }
    on_turn(consumer);
}

static void do_words(void *user)
{
    for (const char *word = user; *word != '\0'; word += word[2] == ' ' ? 3 : 2) {
        do_word(word);
    }
}

static void begin(void *user)
{
    model.limit = limit_new(&model.core, *(const int *) user);
    for (int i = 0; i < CONSUMERS; i++) {
        struct consumer *consumer = &model.consumers[i];

        *consumer = (struct consumer){.limited.limit = limit_ref(model.limit), .able = true};
        limit_join(&consumer->limited,
                   &(struct limit_host){.turn = on_turn, .changed = on_turn, .user = consumer});
    }
}

static void end(void *user)
{
    (void) user;
    for (int i = 0; i < CONSUMERS; i++) {
        limit_leave(&model.consumers[i].limited);
        limit_unref(model.limit);
    }
}

struct turns {
    const char *expected;
    char had[TURNS_MAX];
};

/* All turns that are due were had: no alarm is set. */
static void look(void *user)
{
    *(bool *) user = model.limit->alarm.at_us == 0;
}

static bool have_come(void *user)
{
    struct turns *turns = user;
    bool rests = false;

    loop_call(model.core.io, look, &rests);
    pthread_mutex_lock(&model.lock);
    memcpy(turns->had, model.turns, sizeof(turns->had));
    pthread_mutex_unlock(&model.lock);
    return rests;
}

struct row {
    const char *words, *turns;
};

static void follow(int most, const struct row *rows, size_t count)
{
    smq_error err;

    atomic_init(&model.core.references, 2); /* it is no whole core, and is not freed */
    assert_int_equal(loop_new(&model.core.io, "test", &err), SMQ_OK);
    loop_call(model.core.io, begin, &most);
    for (size_t i = 0; i < count; i++) {
        struct turns turns = {.expected = rows[i].turns};
        char words[TURNS_MAX];

        memset(model.turns, 0, sizeof(model.turns));
        (void) strncpy(words, rows[i].words, sizeof(words) - 1);
        if (words[0] == '=') {
            limit_set(model.limit, words[1] - '0');
        } else {
            loop_call(model.core.io, do_words, words);
        }
        assert_true(wait_until(have_come, &turns, WAIT_MS));
        if (strcmp(turns.had, turns.expected) != 0) {
            fail_msg("row %zu, %s: %s instead of %s", i, rows[i].words, turns.had, turns.expected);
        }
    }
    loop_call(model.core.io, end, NULL);
    limit_unref(model.limit);
    loop_free(model.core.io);
}
#define FOLLOW(most, rows) follow(most, rows, sizeof(rows) / sizeof((rows)[0]))

static void each_in_turn(void **state)
{
    static const struct row rows[] = {
        {"a3 b2 c2", "a"}, {"a.", "b"}, {"b.", "c"}, {"c.", "a"},
        {"a.", "b"},       {"b.", "c"}, {"c.", "a"}, {"a.", ""},
    };

    FOLLOW(1, rows);
}

/* In the calls that settle it claims as many messages as the limit, until it has claimed least
 * again. */
static void one_that_settles_and_claims_uses_up_its_turn(void **state)
{
    static const struct row rows[] = {
        {"a9 b9 c9", "ab"}, {"a+", "c"}, {"b+", "b"}, {"b+", "a"},
        {"a+", "a"},        {"a+", "c"}, {"c+", "c"}, {"c+", "b"},
    };

    FOLLOW(2, rows);
}

/* a has two messages in work, and b and c one each: that is no reason for a to get more. */
static void one_with_more_in_work_gets_no_more(void **state)
{
    static const struct row rows[] = {
        {"a9 b9 c9", "abca"},
        {"a+ a+ b+ c+", "aabc"},
        {"a+ a+ b+ c+", "abcb"},
        {"a+ a+ b+ c+", "bcca"},
    };

    FOLLOW(4, rows);
}

static void nothing_is_claimed_beyond_a_limit_that_changes(void **state)
{
    static const struct row rows[] = {
        {"a3 b3", ""}, {"=1", "a"}, {"=3", "ba"}, {"=0", ""},
        {"a. b.", ""}, {"=2", "b"}, {"a.", "a"},  {"a. b.", "b"},
    };

    FOLLOW(0, rows);
}

static void one_that_cannot_claim_holds_up_no_other(void **state)
{
    static const struct row rows[] = {
        {"a1 b1 c1", "a"}, {"b!", ""}, {"a.", "c"}, {"b?", ""}, {"c.", "b"},
    };

    FOLLOW(1, rows);
}

static void one_that_leaves_makes_way(void **state)
{
    static const struct row rows[] = {
        {"a1 b1 c1", "a"},
        {"b-", ""},
        {"a.", "c"},
        {"c-", ""},
    };

    FOLLOW(1, rows);
}

TEST_GROUP(limit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_in_turn),
        cmocka_unit_test(one_that_settles_and_claims_uses_up_its_turn),
        cmocka_unit_test(one_with_more_in_work_gets_no_more),
        cmocka_unit_test(nothing_is_claimed_beyond_a_limit_that_changes),
        cmocka_unit_test(one_that_cannot_claim_holds_up_no_other),
        cmocka_unit_test(one_that_leaves_makes_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
