/* test_away.c - many topics while a node of the cluster does not reply: they are read at once, so
 * they cost a few time-outs together, not one each. */
#include "command.h"
#include "support/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TOPICS = 24, REQUEST_TIMEOUT_S = 2 };

/* Each topic has slots on all three nodes. */
static int set_up(void **state)
{
    static const char *const config[] = {"cluster-require-full-coverage no", NULL};
    char name[16];

    if (command_setup_with(
            &(struct servers_options){.redis = REDIS_CLUSTER, .redis_config = config}) != 0) {
        return -1;
    }
    for (int i = 0; i < TOPICS; i++) {
        snprintf(name, sizeof(name), "topic-%02d", i);
        command_done(NULL, ARGS("topic", "create", name, "--slots", "8"));
    }
    return 0;
}

static int64_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* How many topics are shown that have silent slots. */
static size_t count_silent(const char *out)
{
    json_t *document = json_loads(out, 0, NULL);
    json_t *topics = json_object_get(document, "topics");
    size_t silent = 0;

    for (size_t i = 0; i < json_array_size(topics); i++) {
        silent += json_number(json_array_get(topics, i), "slots_silent") > 0 ? 1 : 0;
    }
    json_decref(document);
    return silent;
}

/* Run it while one node is frozen.  One after the other, the topics would take a time-out each. */
static char *shown_in_time(const char *const *arguments)
{
    struct server *frozen = servers_node(command_servers(), 0);
    const char *all[12] = {"-X", "request_timeout_ms=2s"};
    struct run run;

    for (size_t i = 0; arguments[i] != NULL; i++) {
        assert_true(i + 3 < sizeof(all) / sizeof(all[0]));
        all[i + 2] = arguments[i];
    }
    server_pause(frozen);
    const int64_t begun_s = now_s();
    command_run(&run, NULL, all);
    const int64_t taken_s = now_s() - begun_s;
    server_resume(frozen);
    if (taken_s > (int64_t) TOPICS * REQUEST_TIMEOUT_S / 3) {
        fail_msg("%s took %d s, one topic after the other", arguments[0], (int) taken_s);
    }
    assert_true(run.exit_code == 69 || run.exit_code == 75 || run.exit_code == 1);
    char *out = strdup(run.out);
    assert_non_null(out);
    run_fini(&run);
    return out;
}

static void stat_asks_for_all_topics_at_once(void **state)
{
    char *out = shown_in_time(ARGS("stat", "--json"));

    assert_true(count_silent(out) >= TOPICS / 2);
    free(out);
}

static void top_asks_for_all_topics_at_once(void **state)
{
    char *out = shown_in_time(ARGS("top", "--json", "--count", "1"));

    assert_true(count_silent(out) >= TOPICS / 2);
    free(out);
}

static void prometheus_asks_for_all_topics_at_once(void **state)
{
    char *out = shown_in_time(ARGS("stat", "--prometheus"));

    assert_non_null(strstr(out, "slotmq_topic_slots_silent{topic=\"topic-"));
    free(out);
}

TEST_GROUP(away)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_asks_for_all_topics_at_once),
        cmocka_unit_test(top_asks_for_all_topics_at_once),
        cmocka_unit_test(prometheus_asks_for_all_topics_at_once),
    };

    return cmocka_run_group_tests_name("away", tests, set_up, command_teardown);
}
