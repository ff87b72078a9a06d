/* test_credentials.c - what a client authenticates with, and when it does so again; against
 * scripted nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nodes.h"
#include "redis/credentials.h"
#include "support/group.h"
#include "support/wait.h"

enum { TIMEOUT_MS = 20000, VALID_MS = 800 };

static const char wrong[] = "-WRONGPASS invalid username-password pair\r\n";

static char path[] = "/tmp/slotmq-password-XXXXXX";

static void write_password(const char *text)
{
    char fresh[64];
    FILE *file;

    (void) snprintf(fresh, sizeof(fresh), "%s.new", path);
    file = fopen(fresh, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(fresh, path), 0);
}

static int make_file(void **state)
{
    int file = mkstemp(path);

    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    return unlink(path);
}

static struct redis_options options_of(const char *servers)
{
    return (struct redis_options){
        .servers = servers, .connect_timeout_ms = TIMEOUT_MS, .request_timeout_ms = TIMEOUT_MS};
}

static void start(struct nodes *nodes, const struct redis_credentials *credentials)
{
    char servers[128];
    struct redis_options options;

    (void) snprintf(servers, sizeof(servers), "redis://me@%s", fake_node_address(nodes->a));
    options = options_of(servers);
    options.credentials = *credentials;
    client_start_with(&nodes->client, &options, NULL);
    assert_string_equal(nodes->client.ready_text, "");
}

static bool last_is(struct fake_node *node, const char *command)
{
    size_t count = fake_node_count(node, "AUTH");
    const char *last = count > 0 ? fake_node_command(node, "AUTH", count - 1) : "";

    return strcmp(last, command) == 0;
}

/* --- options --- */

static void one_password_is_given(void **state)
{
    static const struct {
        const char *servers, *file, *content, *text; /* text NULL: they are good */
    } rows[] = {
        {"a:1", NULL, NULL, NULL},
        {"redis://me:x@a:1", NULL, NULL, NULL},
        {"redis://me@a:1", path, "x\n", NULL},
        {"a:1", path, "x", NULL},
        {"redis://hunter2@a:1", NULL, NULL, "without a password"},
        {"redis://me:hunter2@a:1", path, "x", "given twice"},
        {"a:1", path, "", "its first line is empty"},
        {"a:1", path, "\nhunter2", "its first line is empty"},
        {"a:1", "/tmp", NULL, "no regular file"},
        {"a:1", "/dev/null", NULL, "no regular file"},
        {"a:1", "/nowhere/at all", NULL, "/nowhere/at all cannot be read: No such file"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct redis_options options = options_of(rows[i].servers);
        smq_error err = SMQ_ERROR_INIT;

        options.credentials.file = rows[i].file;
        if (rows[i].content != NULL) {
            write_password(rows[i].content);
        }
        assert_int_equal(redis_check_options(&options, &err),
                         rows[i].text == NULL ? SMQ_OK : SMQ_INVALID);
        assert_null(strstr(err.text, "hunter2"));
        if (rows[i].text != NULL && strstr(err.text, rows[i].text) == NULL) {
            fail_msg("%s: %s", rows[i].servers, err.text);
        }
    }
}

static void what_a_callback_gives_is_checked(void **state)
{
    struct smq_credentials given = {0};
    smq_error err;

    assert_int_equal(credentials_set(&given, "me", NULL, 0, &err), SMQ_INVALID);
    assert_int_equal(credentials_set(&given, "me", "", 0, &err), SMQ_INVALID);
    assert_int_equal(credentials_set(&given, "me", "x", -1, &err), SMQ_INVALID);
    assert_non_null(strstr(err.text, "valid_ms"));
    assert_int_equal(credentials_set(&given, "me", "x", 0, &err), SMQ_OK);
    assert_int_equal(credentials_set(&given, NULL, "y", 5, &err), SMQ_OK);
    assert_null(given.user);
    assert_string_equal(given.password, "y");
    free(given.password);
}

/* --- the file --- */

static void a_file_that_changes_is_followed_on_live_connections(void **state)
{
    struct nodes *nodes = *state;
    size_t connections;

    write_password("first\r\nsecond line\n");
    start(nodes, &(struct redis_credentials){.file = path});
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_true(last_is(nodes->a, "AUTH me first"));
    connections = fake_node_connections(nodes->a);
    write_password("second\n");
    assert_true(fake_node_wait(nodes->a, "AUTH me second", 1));
    write_password(""); /* about to be written */
    write_password("third\n");
    assert_true(fake_node_wait(nodes->a, "AUTH me third", 1));
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_connections(nodes->a), connections);
    client_stop(&nodes->client);
}

/* The server does not know the new password yet: the connection stays what it was. */
static void a_new_password_that_is_refused_is_tried_again(void **state)
{
    struct nodes *nodes = *state;

    write_password("first\n");
    start(nodes, &(struct redis_credentials){.file = path});
    nodes_step(nodes->a, "AUTH me second", wrong);
    write_password("second\n");
    assert_true(fake_node_wait(nodes->a, "AUTH me second", 1));
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_true(fake_node_wait(nodes->a, "AUTH me second", 2));
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_connections(nodes->a), 1);
    client_stop(&nodes->client);
}

/* The old password is gone before the file has the new one: commands wait for that. */
static void commands_wait_for_the_end_of_a_rotation(void **state)
{
    struct nodes *nodes = *state;
    struct pending pending = {0};
    atomic_int ended = -1;

    write_password("first\n");
    start(nodes, &(struct redis_credentials){.file = path});
    fake_node_rule(nodes->a, "AUTH me first", wrong);
    fake_node_hang_up(nodes->a);
    assert_true(fake_node_wait(nodes->a, "AUTH me first", 2)); /* it is known to be away */
    pending.ended = &ended;
    client_post_eval(&nodes->client, &pending, &nodes_script, "k", "x", TIMEOUT_MS);
    assert_true(fake_node_wait(nodes->a, "AUTH me first", 4));
    assert_int_equal(atomic_load(&ended), -1);
    write_password("second\n");
    outcome_assert_done(nodes_eval(nodes), "1");
    outcome_assert_done(pending.outcome, "1");
    client_stop(&nodes->client);
}

static void no_auth_on_a_connection_makes_it_authenticate_again(void **state)
{
    struct nodes *nodes = *state;

    write_password("first\n");
    start(nodes, &(struct redis_credentials){.file = path});
    nodes_step(nodes->a, "EVALSHA", "-NOAUTH Authentication required.\r\n");
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_count(nodes->a, "AUTH me first"), 2);
    assert_int_equal(fake_node_connections(nodes->a), 1);
    client_stop(&nodes->client);
}

/* --- the callback --- */

struct tokens {
    atomic_int asked;
    int64_t valid_ms;
    atomic_bool broken;
};

static smq_status next_token(smq_credentials *credentials, void *user)
{
    struct tokens *tokens = user;
    char text[32];

    if (atomic_load(&tokens->broken)) {
        atomic_fetch_add(&tokens->asked, 1);
        return SMQ_UNAVAILABLE;
    }
    (void) snprintf(text, sizeof(text), "token-%d", atomic_fetch_add(&tokens->asked, 1));
    return credentials_set(credentials, "iam", text, tokens->valid_ms, NULL);
}

static void a_callback_is_asked_before_each_auth(void **state)
{
    struct nodes *nodes = *state;
    struct tokens tokens = {.valid_ms = 0};

    start(nodes, &(struct redis_credentials){.ask = next_token, .ask_user = &tokens});
    assert_true(last_is(nodes->a, "AUTH iam token-0"));
    fake_node_hang_up(nodes->a);
    assert_true(fake_node_wait(nodes->a, "AUTH iam token-1", 1));
    client_stop(&nodes->client);
    assert_int_equal(atomic_load(&tokens.asked), fake_node_count(nodes->a, "AUTH"));
}

static void live_connections_authenticate_before_a_token_ends(void **state)
{
    struct nodes *nodes = *state;
    struct tokens tokens = {.valid_ms = VALID_MS};

    start(nodes, &(struct redis_credentials){.ask = next_token, .ask_user = &tokens});
    assert_true(fake_node_wait(nodes->a, "AUTH iam token-3", 1));
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_connections(nodes->a), 1);
    client_stop(&nodes->client);
}

static bool was_asked_five_times(void *arg)
{
    return atomic_load(&((struct tokens *) arg)->asked) >= 5;
}

static void a_callback_that_fails_is_asked_again(void **state)
{
    struct nodes *nodes = *state;
    struct tokens tokens = {.valid_ms = VALID_MS};
    struct redis_options options = options_of(fake_node_address(nodes->a));
    struct client client;

    atomic_store(&tokens.broken, true);
    options.credentials = (struct redis_credentials){.ask = next_token, .ask_user = &tokens};
    client_start_with(&client, &options, NULL);
    assert_int_equal(client.ready, SMQ_DENIED);
    assert_non_null(strstr(client.ready_text, "the callback for credentials gave none"));
    client_stop(&client);

    atomic_store(&tokens.broken, false);
    start(nodes, &options.credentials);
    atomic_store(&tokens.broken, true);
    assert_true(wait_until(was_asked_five_times, &tokens, TIMEOUT_MS));
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_connections(nodes->a), 2); /* one of each client */
    atomic_store(&tokens.broken, false);
    client_stop(&nodes->client);
}

/* --- subscriptions --- */

static atomic_int subscribed;

static void on_notice(enum redis_notice notice, const char *data, size_t len, void *user)
{
    (void) data;
    (void) len;
    (void) user;
    if (notice == REDIS_NOTICE_SUBSCRIBED) {
        atomic_fetch_add(&subscribed, 1);
    }
}

static struct redis_subscription subscription = {.channel = "k", .notice = on_notice};

static void subscribe(void *arg)
{
    redis_subscribe(((struct client *) arg)->redis, &subscription);
}

static void unsubscribe(void *arg)
{
    redis_unsubscribe(((struct client *) arg)->redis, &subscription);
}

static bool is_subscribed(void *arg)
{
    return atomic_load(&subscribed) >= *(int *) arg;
}

static void await_subscribed(int times)
{
    assert_true(wait_until(is_subscribed, &times, TIMEOUT_MS));
}

/* A connection that has subscribed may not send AUTH, so another one takes its place; while the
 * new password is refused it stays. */
static void a_subscription_moves_to_a_connection_that_authenticated_anew(void **state)
{
    struct nodes *nodes = *state;

    write_password("first\n");
    start(nodes, &(struct redis_credentials){.file = path});
    atomic_store(&subscribed, 0);
    client_call(&nodes->client, subscribe, &nodes->client);
    await_subscribed(1);
    fake_node_rule(nodes->a, "AUTH me second", wrong);
    write_password("second\n");
    assert_true(fake_node_wait(nodes->a, "AUTH me second", 3));
    assert_int_equal(atomic_load(&subscribed), 1);
    fake_node_rule(nodes->a, "AUTH me second", "+OK\r\n");
    await_subscribed(2);
    client_call(&nodes->client, unsubscribe, &nodes->client);
    client_stop(&nodes->client);
}

/* Not to those that had theirs before. */
static void a_token_goes_to_the_connection_that_has_asked(void **state)
{
    struct nodes *nodes = *state;
    struct tokens tokens = {.valid_ms = 0};

    start(nodes, &(struct redis_credentials){.ask = next_token, .ask_user = &tokens});
    atomic_store(&subscribed, 0);
    client_call(&nodes->client, subscribe, &nodes->client);
    await_subscribed(1);
    outcome_assert_done(nodes_eval(nodes), "1");
    assert_int_equal(fake_node_connections(nodes->a), 2);
    assert_int_equal(fake_node_count(nodes->a, "AUTH iam token-0"), 1);
    assert_int_equal(fake_node_count(nodes->a, "AUTH iam token-1"), 1);
    client_call(&nodes->client, unsubscribe, &nodes->client);
    client_stop(&nodes->client);
}

TEST_GROUP(credentials)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, nodes_set_up, nodes_tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_password_is_given),
        cmocka_unit_test(what_a_callback_gives_is_checked),
        TEST(a_file_that_changes_is_followed_on_live_connections),
        TEST(a_new_password_that_is_refused_is_tried_again),
        TEST(commands_wait_for_the_end_of_a_rotation),
        TEST(no_auth_on_a_connection_makes_it_authenticate_again),
        TEST(a_callback_is_asked_before_each_auth),
        TEST(live_connections_authenticate_before_a_token_ends),
        TEST(a_callback_that_fails_is_asked_again),
        TEST(a_subscription_moves_to_a_connection_that_authenticated_anew),
        TEST(a_token_goes_to_the_connection_that_has_asked),
    };
#undef TEST

    return cmocka_run_group_tests_name("credentials", tests, make_file, remove_file);
}
