/* test_server_requests.c - how masters, those of a fake of the Redis client, are asked what they
 * say of themselves. */
#include <slotmq/ops.h>

#include "support/group.h"
#include "unit/fixture/fake_redis.h"

static struct {
    bool lost, refused; /* what becomes of INFO */
    bool silent;        /* what becomes of the rest */
    int infos, others;
} masters;

static void answer_info(struct fake_answer *answer)
{
    masters.infos++;
    if (masters.lost) {
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
    } else if (masters.refused) {
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_DENIED};
    } else {
        answer->reply = fake_text("redis_version:7.0.15\r\nrole:master\r\n");
    }
}

static void answer_rest(const struct redis_command *command, struct fake_answer *answer)
{
    masters.others++;
    if (masters.silent) {
        *answer = (struct fake_answer){.outcome = REDIS_NOT_DONE, .status = SMQ_DENIED};
    } else if (fake_arg_is(command, 0, "TIME")) {
        answer->reply = fake_array(2);
        fake_put(answer->reply, 0, fake_text("1700000000"));
        fake_put(answer->reply, 1, fake_text("5"));
    } else {
        answer->reply = fake_integer(0);
    }
}

static bool serve(const struct redis_command *command, struct fake_answer *answer)
{
    if (command->script == NULL && fake_arg_is(command, 0, "INFO")) {
        answer_info(answer);
    } else {
        answer_rest(command, answer);
    }
    return true;
}

struct shown {
    int good, away, versions;
};

static bool show(const smq_server_info *server, void *user)
{
    struct shown *shown = user;

    shown->good += server->status == SMQ_OK ? 1 : 0;
    shown->away += server->status != SMQ_OK ? 1 : 0;
    shown->versions += server->version[0] != '\0' ? 1 : 0;
    return true;
}

static struct shown look(void)
{
    smq_client *client = NULL;
    struct shown shown = {.good = 0};
    smq_error err;

    masters.infos = masters.others = 0;
    fake_serve(serve);
    fake_connects(SMQ_OK);
    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = "fake:1");
    assert_int_equal(smq_client_new(&client, &options, &err), SMQ_OK);
    assert_int_equal(smq_server_each(client, show, &shown, &err), SMQ_OK);
    smq_client_free(client);
    return shown;
}

/* ======================================================================== */

static void a_master_that_answers_is_asked_for_the_rest(void **state)
{
    struct shown shown = look();

    assert_int_equal(shown.good, FAKE_MASTERS);
    assert_int_equal(masters.infos, FAKE_MASTERS);
    assert_int_equal(masters.others, 5 * FAKE_MASTERS);
}

/* Each question costs a whole time-out. */
static void a_master_that_does_not_answer_is_not_asked_again(void **state)
{
    struct shown shown;

    masters.lost = true;
    shown = look();
    masters.lost = false;
    assert_int_equal(shown.away, FAKE_MASTERS);
    assert_int_equal(masters.infos, FAKE_MASTERS);
    assert_int_equal(masters.others, 0);
}

/* Renamed, or for want of a right: the other questions show that it is there. */
static void a_master_that_refuses_info_is_not_away(void **state)
{
    struct shown shown;

    masters.refused = true;
    shown = look();
    assert_int_equal(shown.good, FAKE_MASTERS);
    assert_int_equal(shown.versions, 0);
    masters.silent = true;
    shown = look();
    masters.refused = masters.silent = false;
    assert_int_equal(shown.away, FAKE_MASTERS);
}

TEST_GROUP(server_requests)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_master_that_answers_is_asked_for_the_rest),
        cmocka_unit_test(a_master_that_does_not_answer_is_not_asked_again),
        cmocka_unit_test(a_master_that_refuses_info_is_not_away),
    };

    return cmocka_run_group_tests_name("server_requests", tests, NULL, NULL);
}
