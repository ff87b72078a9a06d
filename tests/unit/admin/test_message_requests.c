/* test_message_requests.c - looking at messages and editing them against a fake of the Redis
 * client: replies that are lost, cut or nonsense, and what happens between two steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slotmq/admin.h>
#include <slotmq/schedule.h>
#include <slotmq/topic.h>

#include "support/group.h"
#include "unit/fixture/fake_redis.h"

#define TOKEN "000000010000000000000001"
/* of get and page: what they say of the slot */
#define FOUND "OK #5 " TOKEN " '' #0 ''"

enum { REPLIES_MAX = 8, WORDS_MAX = 40 };

/* What the scripts answer, in this order; "" is a lost reply.  The last one is repeated. */
static struct script_replies {
    const char *list[REPLIES_MAX];
    size_t count, next;
    char asked[256]; /* the names of the scripts that were called */
} replies;

static smq_layout layout;
static bool altered; /* between two reads of the definition, each time */

/* Words separated by spaces; #7 is an integer, '' an empty string. */
static redisReply *reply_of(const char *line)
{
    char copy[256], *words[WORDS_MAX], *save = NULL;
    redisReply *reply;
    size_t count = 0;

    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save)) {
        assert_true(count < WORDS_MAX);
        words[count++] = word;
    }
    reply = fake_array(count);
    for (size_t i = 0; i < count; i++) {
        bool empty = strcmp(words[i], "''") == 0;

        fake_put(reply, i,
                 words[i][0] == '#' ? fake_integer(strtoll(words[i] + 1, NULL, 10))
                                    : fake_text(empty ? "" : words[i]));
    }
    return reply;
}

static redisReply *definition(void)
{
    static int32_t versions;
    struct topic topic;

    smq_topic_options options =
        SMQ_TOPIC_OPTIONS(.name = "t", .type = SMQ_TYPE_FIXED_TIME, .layout = layout, .slots = 1);
    assert_int_equal(topic_from_options(&topic, &options, NULL), SMQ_OK);
    (void) snprintf(topic.nonce, sizeof(topic.nonce), "00000000000000aa");
    topic.version = altered ? ++versions : 1;
    topic.generation = 1;
    return fake_topic(&topic, "ready");
}

static bool serve(const struct redis_command *command, struct fake_answer *answer)
{
    const char *line;

    if (command->script == NULL) {
        answer->reply = definition();
        return true;
    }
    line = replies.list[replies.next];
    replies.next += replies.next + 1 < replies.count ? 1 : 0;
    strncat(replies.asked, command->script->name,
            sizeof(replies.asked) - strlen(replies.asked) - 1);
    strncat(replies.asked, " ", sizeof(replies.asked) - strlen(replies.asked) - 1);
    if (line[0] != '\0') {
        answer->reply = reply_of(line);
    } else {
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
    }
    return true;
}

#define ANSWER(...)                                                                                \
    do {                                                                                           \
        static const char *const lines[] = {__VA_ARGS__};                                          \
        answer_with(lines, sizeof(lines) / sizeof(lines[0]));                                      \
    } while (0)

static void answer_with(const char *const *lines, size_t count)
{
    fake_lock();
    memcpy(replies.list, lines, count * sizeof(lines[0]));
    replies.count = count;
    replies.next = 0;
    replies.asked[0] = '\0';
    fake_unlock();
}

static smq_client *client;
static smq_message_ref which;

static int set_up(void **state)
{
    layout = SMQ_LAYOUT_INLINE;
    altered = false;
    which = SMQ_MESSAGE_REF();
    which.body = (smq_bytes){"a", 1};
    client = fake_client(serve, NULL);
    return 0;
}

/* --- what cannot be read --- */

static bool never(const smq_message_info *message, void *user)
{
    (void) message;
    (void) user;
    fail_msg("a message was made of a reply that is none");
    return false;
}

static smq_status get(void)
{
    return smq_message_get(client, "t", &which, NULL, NULL);
}

static smq_status visit(void)
{
    smq_filter filter = SMQ_FILTER(.states = SMQ_STATE_WAITING | SMQ_STATE_DEAD);
    return smq_message_each(client, "t", &filter, never, NULL, NULL);
}

static smq_status rank(void)
{
    uint64_t out;

    return smq_message_rank(client, "t", &which, &out, NULL);
}

static smq_status reschedule(void)
{
    return smq_message_reschedule(client, "t", &which, &SMQ_MESSAGE(), NULL);
}

static smq_status requeue(void)
{
    return smq_dead_requeue(client, "t", NULL, NULL, NULL, NULL, NULL);
}

static smq_status alter(void)
{
    return smq_topic_alter(client, &SMQ_TOPIC_OPTIONS(.name = "t", .max_retries = 3), "max_retries",
                           NULL);
}

/* What inspect answers of a slot with one due and one dead message, and with two dead ones. */
#define CLAIMS(stalled, attempts)                                                                  \
    " '' '' me " TOKEN " #0 #0 " stalled " '' '' '' " attempts                                     \
    " #0 #0 #0 #0 #0 #0 #0 #0 #0 #0 #0 #0 #0 #0 #0 #0"
#define COUNTED  CLAIMS("#0", "#0")
#define HOLDS    "OK #5 #1 #1 #0 #0 #1" COUNTED
#define TWO_DEAD "OK #5 #0 #0 #0 #0 #2" COUNTED
#define PAGED    FOUND

static void nonsense_is_refused(void **state)
{
    static const struct {
        smq_status (*call)(void);
        const char *first, *reply;
    } cases[] = {
        {get, NULL, "OK"},
        {get, NULL, FOUND},
        {get, NULL, "OK #5 " TOKEN " -"},
        {get, NULL, "OK #5 " TOKEN " '' -1 '' -"},
        {get, NULL, FOUND " z a 1 ''"},
        {get, NULL, FOUND " w"},
        {get, NULL, FOUND " w a nan ''"},
        {get, NULL, FOUND " w '' 1 ''"},
        {get, NULL, FOUND " c a 1 ''"},
        {get, NULL, FOUND " c 1d:a 1 ''"},
        {get, NULL, FOUND " d 1d:a 1 #7"},
        {get, NULL, FOUND " + p"},
        {get, NULL, FOUND " + pd 1 a"},
        {get, NULL, "OK now " TOKEN " '' #0 '' -"},
        {get, NULL, "OK #5 this-is-no-token-for-it-is-too-long '' #0 '' -"},
        {rank, NULL, "OK"},
        {rank, NULL, "OK #-1 5"},
        {rank, NULL, "OK #1"},
        {rank, NULL, "OK #1 1234567890123456789012345678901234567890"},
        {reschedule, NULL, "OK"},
        {reschedule, NULL, "OK ''"},
        {reschedule, NULL, "OK 11"},
        {reschedule, NULL, "OK x"},
        {alter, NULL, "OK"},
        {alter, NULL, "OK #0"},
        {alter, NULL, "OK #4294967296"},
        {visit, NULL, "OK #5 #1 #1 #0 #0 #1" CLAIMS("#1", "#0")},
        {visit, NULL, "OK #5 #1 #1 #0 #0 #1" CLAIMS("#0", "#128")},
        {visit, HOLDS, "OK"},
        {visit, HOLDS, PAGED " #0 1"},
        {visit, HOLDS, PAGED " #0 '' '' a"},
        {visit, HOLDS, PAGED " #0 1 a a 1"},
        {visit, HOLDS, PAGED " #0 1 a a one ''"},
        {visit, HOLDS, PAGED " #0 1 a '' 1 ''"},
        {visit, HOLDS, PAGED " more 1 a a 1 ''"},
        {requeue, HOLDS, PAGED " #0 1 1d:a 1d:a 1"},
        {requeue, HOLDS, PAGED " #0 1 1c1:a 1c1:a 1 ''"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *lines[] = {cases[i].first, cases[i].reply};
        bool two = cases[i].first != NULL;
        smq_status status;

        answer_with(two ? lines : lines + 1, two ? 2 : 1);
        status = cases[i].call();
        if (status != SMQ_INTERNAL) {
            fail_msg("%s: %s", cases[i].reply, smq_status_name(status));
        }
    }
}

static void keyed_nonsense_is_refused(void **state)
{
    static const char *const cases[] = {FOUND " w a 1 ''", FOUND " w a 1 '' 1",
                                        FOUND " w a 1 '' x body", FOUND " w a 1 '' 1,2 body",
                                        FOUND " w a 1 '' 1,64,,1 body"};

    layout = SMQ_LAYOUT_KEYED;
    which.id = (smq_bytes){"a", 1};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        answer_with(&cases[i], 1);
        assert_int_equal(get(), SMQ_INTERNAL);
    }
    ANSWER(FOUND " w a 1 '' '' ''"); /* another caller removed what is beside it */
    assert_int_equal(get(), SMQ_OK);
}

/* A repeat finds another version: that which its first try has stored, or another one. */
#define NO_SCHEDULE    "OK #5 #0"
#define SCHEDULE(body) "OK #5 #0 s 9,6000,0,,0, 16:\n1000\n\n0\n0\n0\none1:" body "2:+00:0:0:"

static void what_a_put_has_changed_is_known_without_its_reply(void **state)
{
    static const struct {
        const char *lines[5];
        smq_schedule_change change;
    } cases[] = {
        {{NO_SCHEDULE, "OK #9"}, SMQ_SCHEDULE_MADE},
        {{SCHEDULE("s")}, SMQ_SCHEDULE_SAME},
        {{NO_SCHEDULE, "", "MOVED", SCHEDULE("s")}, SMQ_SCHEDULE_MADE},
        {{SCHEDULE("z"), "", "MOVED", SCHEDULE("s")}, SMQ_SCHEDULE_CHANGED},
        {{NO_SCHEDULE, "MOVED", SCHEDULE("z"), "OK #10"}, SMQ_SCHEDULE_CHANGED},
    };
    const smq_message message = SMQ_MESSAGE(.body = {"s", 1});
    const smq_schedule schedule = SMQ_SCHEDULE(.every_ms = 1000, .message = &message);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        smq_schedule_change change;
        smq_error err = SMQ_ERROR_INIT;
        size_t count = 0;

        while (cases[i].lines[count] != NULL) {
            count++;
        }
        answer_with(cases[i].lines, count);
        if (smq_schedule_put(client, "t", "s", &schedule, &change, &err) != SMQ_OK ||
            change != cases[i].change) {
            fail_msg("row %zu: %s %s", i, smq_schedule_change_name(change), err.text);
        }
    }
}

static void what_a_slot_says_is_passed_on(void **state)
{
    ANSWER("FULL");
    assert_int_equal(reschedule(), SMQ_FULL);
    ANSWER("CHANGED");
    assert_int_equal(alter(), SMQ_TOPIC_DIFFERS);
    ANSWER("");
    assert_int_equal(get(), SMQ_UNKNOWN);
}

/* It has lost its keys only if the definition is what it was when the call began. */
static void a_slot_that_does_not_know_its_topic_is_damaged_unless_that_was_altered(void **state)
{
    ANSWER("NO_TOPIC");
    assert_int_equal(get(), SMQ_DAMAGED);
    ANSWER("STALE");
    assert_int_equal(rank(), SMQ_DAMAGED);
    altered = true;
    ANSWER("NO_TOPIC");
    assert_int_equal(get(), SMQ_NO_TOPIC);
    ANSWER("STALE");
    assert_int_equal(rank(), SMQ_NO_TOPIC);
}

/* --- between two steps --- */

/* The first try may have removed it: that it is gone is what was wanted. */
static void a_removal_whose_reply_was_lost_is_done(void **state)
{
    ANSWER(FOUND " w a 1 ''", "", "OK 0", FOUND " -");
    assert_int_equal(smq_message_remove(client, "t", &which, NULL), SMQ_OK);
    assert_string_equal(replies.asked, "find edit edit find ");
}

static void a_message_that_was_claimed_while_a_reply_was_lost_is_in_work(void **state)
{
    ANSWER(FOUND " w a 1 ''", "", "OK 0", FOUND " c 1c2:a 900 ''");
    assert_int_equal(smq_message_remove(client, "t", &which, NULL), SMQ_IN_WORK);
}

static void a_message_that_moves_is_followed(void **state)
{
    ANSWER(FOUND " r 1r2:a 17592186044500 ''", "OK 0", FOUND " w a 1 ''", "OK 1");
    assert_int_equal(smq_message_remove(client, "t", &which, NULL), SMQ_OK);
    assert_string_equal(replies.asked, "find edit find edit ");
    ANSWER(FOUND " w a 1 ''", "OK 0", FOUND " c 1c2:a 900 ''");
    assert_int_equal(smq_message_remove(client, "t", &which, NULL), SMQ_IN_WORK);
    ANSWER("OK 0", FOUND " w a 1 ''", "OK 1");
    assert_int_equal(reschedule(), SMQ_OK);
    ANSWER("NO_MESSAGE", FOUND " w a 1 ''", "OK #0 1");
    assert_int_equal(rank(), SMQ_OK);
}

static void a_search_goes_on_piece_by_piece(void **state)
{
    ANSWER(FOUND " + p 1 1c1:b", "", FOUND " + d '' ''", FOUND " d 1d:a 2 why");
    assert_int_equal(get(), SMQ_OK);
    assert_string_equal(replies.asked, "find find find find ");
}

/* What a repeated try does was not done before; the rest is not known. */
static void a_requeue_whose_reply_was_lost_counts_what_is_certain(void **state)
{
    static const struct {
        const char *second;
        uint64_t count;
        smq_status status;
        const char *unknown;
    } cases[] = {{"OK 11", 2, SMQ_OK, NULL},
                 {"OK 01", 1, SMQ_UNKNOWN, " 1 messages"},
                 {"OK 00", 0, SMQ_UNKNOWN, " 2 messages"}};
    smq_error err;
    uint64_t count;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *lines[] = {TWO_DEAD, PAGED " #0 2 1d:b 1d:a 1 '' 1d:b 2 ''", "",
                               cases[i].second};

        answer_with(lines, 4);
        assert_int_equal(smq_dead_requeue(client, "t", NULL, &count, NULL, NULL, &err),
                         cases[i].status);
        assert_int_equal(count, cases[i].count);
        assert_string_equal(replies.asked, "inspect page edit edit ");
        if (cases[i].unknown != NULL) {
            assert_non_null(strstr(err.text, cases[i].unknown));
        }
    }
}

/* Another caller has taken it since the page was read: that is certain. */
static void what_is_gone_at_the_first_try_is_not_unknown(void **state)
{
    uint64_t count;

    ANSWER(TWO_DEAD, PAGED " #0 2 1d:b 1d:a 1 '' 1d:b 2 ''", "OK 01");
    assert_int_equal(smq_dead_requeue(client, "t", NULL, &count, NULL, NULL, NULL), SMQ_OK);
    assert_int_equal(count, 1);
}

/* Nor may the limit be passed by what was perhaps changed. */
static void what_is_unknown_counts_against_the_limit(void **state)
{
    uint64_t count;

    smq_filter filter = SMQ_FILTER(.limit = 1);
    ANSWER(TWO_DEAD, PAGED " #0 2 1d:b 1d:a 1 '' 1d:b 2 ''", "", "OK 0");
    assert_int_equal(smq_dead_requeue(client, "t", &filter, &count, NULL, NULL, NULL), SMQ_UNKNOWN);
    assert_int_equal(count, 0);
    assert_string_equal(replies.asked, "inspect page edit edit ");
}

#define EDITING_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, fake_tear_down)

TEST_GROUP(message_requests)
{
    const struct CMUnitTest tests[] = {
        EDITING_TEST(nonsense_is_refused),
        EDITING_TEST(keyed_nonsense_is_refused),
        EDITING_TEST(what_a_put_has_changed_is_known_without_its_reply),
        EDITING_TEST(what_a_slot_says_is_passed_on),
        EDITING_TEST(a_slot_that_does_not_know_its_topic_is_damaged_unless_that_was_altered),
        EDITING_TEST(a_removal_whose_reply_was_lost_is_done),
        EDITING_TEST(a_message_that_was_claimed_while_a_reply_was_lost_is_in_work),
        EDITING_TEST(a_message_that_moves_is_followed),
        EDITING_TEST(a_search_goes_on_piece_by_piece),
        EDITING_TEST(a_requeue_whose_reply_was_lost_counts_what_is_certain),
        EDITING_TEST(what_is_gone_at_the_first_try_is_not_unknown),
        EDITING_TEST(what_is_unknown_counts_against_the_limit),
    };

    return cmocka_run_group_tests_name("message_requests", tests, NULL, NULL);
}
