/* test_mutants.c - proves that the randomized test can see: each deliberate mistake in a script
 * must be found. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "clocked.h"
#include "duel.h"

enum { CALLS_MAX = 40000 };

/* `from`, which must stand in the script exactly once, becomes `to`. */
struct mutant {
    const char *mistake;
    const char *script;
    const char *from;
    const char *to;
};

static const struct mutant mutants[] = {
    {"a lost reply is not noticed", "consume", "local lost = not shared and last < claims",
     "local lost = false"},
    {"what is delivered again is not leased again", "consume",
     "renew(all[i], all[i + 1])\n            if body", "if body"},
    {"consume does not check the token", "consume", "if token ~= ARGV[2] or token == NOBODY then",
     "if false then"},
    {"renew does not check the token", "renew", "if token ~= ARGV[2] or token == NOBODY then",
     "if false then"},
    {"an owner loses what it meets lapsed", "consume", "not shared and tonumber(claim) > base",
     "false"},
    {"lapsed claims of sharers stay", "consume", "not shared and tonumber(claim) > base",
     "tonumber(claim) > base"},
    {"a takeover does not set base", "takeover", "base = claims\n", "base = base\n"},
    {"a late takeover takes the owner's own claims", "takeover",
     "or tonumber(claims) > tonumber(base)", ""},
    {"a takeover with a smaller token is accepted", "takeover", "newer(token, ARGV[2])", "false"},
    {"a lost claim is no suspect", "takeover", "give_back(member, before, attempts + 1)",
     "give_back(member, before, attempts)"},
    {"a suspect never uses a retry", "takeover", "give_back(member, before, attempts + 2)",
     "give_back(member, before, attempts)"},
    {"a suspect never dies", "consume",
     "elseif attempts < 2 * limit_of(member) then\n        give_back",
     "elseif true then\n        give_back"},
    {"a suspect is claimed beside others", "consume", "attempts % 2 == 1 and lease or not fits",
     "not fits"},
    {"others are claimed beside a suspect", "consume", "n > 0 and not suspect_in_hand", "n > 0"},
    {"an answer does not clear the suspicion", "consume",
     "attempts = attempts - attempts % 2\n    if attempts >= 2", "if attempts >= 2"},
    {"one retry too many", "consume",
     "if attempts >= 2 * limit_of(member) then\n        count('rej",
     "if attempts > 2 * limit_of(member) then\n        count('rej"},
    {"a merge forgets the larger retries", "consume", "math.max(a - a % 2, b - b % 2) + suspect",
     "b - b % 2 + suspect"},
    {"a merge forgets the suspicion", "consume", "local suspect = math.max(a % 2, b % 2)",
     "local suspect = 0"},
    {"a return forgets the earlier time", "consume",
     "kind ~= 'm' and kind ~= 'f' or waiting < integer", "true"},
    {"a send forgets the attempts", "send", "_, attempts = split(old)", "_ = split(old)"},
    {"range_merge takes the last time", "send", "return kind == 'm' and debounce_ms == 0",
     "return false"},
    {"the same priority loses its place", "send", "kind == 'p' and has_priority(score, when)",
     "false"},
    {"a time that is past is stored", "send", "math.max(now, tonumber(when))", "tonumber(when)"},
    {"send does not check the definition", "send", "if refused then", "if false then"},
    {"a message comes early", "consume", "'-inf', before_score(now + 1)",
     "'-inf', before_score(now + 2)"},
    {"a rest ends early", "consume", "before_score(from + now + 1)",
     "before_score(from + now + 2)"},
    {"one more is removed than claimed", "consume", "store, -ranks, -1", "store, -ranks - 1, -1"},
    {"claims share a number", "consume", "claims = claims + 1\n", "claims = claims\n"},
    {"a resting message forgets its time", "consume", "before .. 'r' .. claim",
     "string.format('%.0f', now) .. 'r' .. claim"},
    {"a renewal forgets the attempts", "renew", "join(lease_end, attempts)", "join(lease_end, 0)"},
    {"a consume with n = 0 parks", "consume", "n > 0 and taken == 0 and reply",
     "taken == 0 and reply"},
    {"a sharer parks over the others", "consume",
     "shared and math.max(due, tonumber(parked or 0)) or due", "due"},
    {"sharers do not wake each other", "consume",
     "elseif shared and not paused then\n    wake(parked, due)",
     "elseif shared and not paused then\n"},
    {"a claim leaves an owner parked", "consume", "taken > 0 and parked", "false"},
    {"a wake-up that nobody heard ends the parking", "send",
     "type(heard) == 'number' and heard > 0", "true"},
    {"a send later than the sleep wakes", "send", "due >= tonumber(parked)", "false"},
    {"a requeue keeps the attempts", "edit", "give_back(member, before, 0)",
     "give_back(member, before, 2)"},
    {"a requeue leaves the reason", "edit",
     "redis.call('HDEL', why, entry, 'H' .. entry, 'B' .. entry)", ""},
    {"a vacate does not check the token", "vacate", "if token ~= ARGV[2] or token == NOBODY then",
     "if false then"},
};

static void mutate(struct buf *out, const struct mutant *mutant)
{
    const char *text = fixture_script(mutant->script)->text;
    const char *found = strstr(text, mutant->from);

    if (found == NULL || strstr(found + 1, mutant->from) != NULL) {
        fail_msg("%s: `%s` must stand in %s.lua once", mutant->mistake, mutant->from,
                 mutant->script);
        return;
    }
    buf_add(out, text, (size_t) (found - text));
    buf_printf(out, "%s%s", mutant->to, found + strlen(mutant->from));
}

static bool is_found(struct fixture *fixture, const struct mutant *mutant)
{
    const char *scripts[SCRIPTS_COUNT];
    char sha1[SHA1_SIZE];
    struct buf text = {0}, report = {0};
    bool same;

    mutate(&text, mutant);
    fixture_load(fixture, text.data, sha1);
    for (size_t i = 0; i < SCRIPTS_COUNT; i++) {
        scripts[i] =
            strcmp(scripts_all[i]->name, mutant->script) == 0 ? sha1 : scripts_all[i]->sha1;
    }
    same = duel(fixture, scripts, 1, CALLS_MAX, &report);
    buf_fini(&text);
    buf_fini(&report);
    return !same;
}

static void test_every_mistake_is_found(void **state)
{
    const size_t count = sizeof(mutants) / sizeof(mutants[0]);
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        if (is_found(*state, &mutants[i])) {
            found++;
        } else {
            print_error("not found: %s\n", mutants[i].mistake);
        }
    }
    assert_int_equal(found, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mistake_is_found),
    };

    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
