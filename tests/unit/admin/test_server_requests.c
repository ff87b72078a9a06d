/* test_server_requests.c - how servers are asked what they say of themselves: masters of a fake of
 * the Redis client, and a ZooKeeper server of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <slotmq/server.h>

#include "support/group.h"
#include "unit/fixture/fake_redis.h"

enum { PATIENCE_MS = 10000 };

/* --- masters --- */

static struct {
    pthread_mutex_t lock;
    bool lost, held; /* what becomes of INFO */
    int infos, others;
} masters = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool answer_info(struct fake_answer *answer)
{
    masters.infos++;
    if (masters.lost) {
        *answer = (struct fake_answer){.outcome = REDIS_UNKNOWN, .status = SMQ_UNKNOWN};
    } else if (!masters.held) {
        answer->reply = fake_text("redis_version:7.0.15\r\nrole:master\r\n");
    }
    return !masters.held;
}

static bool serve(const struct redis_command *command, struct fake_answer *answer, void *user)
{
    bool answered = true;

    (void) user;
    pthread_mutex_lock(&masters.lock);
    if (command->script == NULL && fake_arg_is(command, 0, "INFO")) {
        answered = answer_info(answer);
    } else {
        masters.others++;
        answer->reply = fake_integer(0);
    }
    pthread_mutex_unlock(&masters.lock);
    return answered;
}

static void let_masters_answer(void)
{
    pthread_mutex_lock(&masters.lock);
    masters.held = false;
    pthread_mutex_unlock(&masters.lock);
    fake_resume();
}

/* --- ZooKeeper --- */

struct zookeeper {
    pthread_t thread;
    int listener;
    char address[32];
    bool asked; /* while the masters were held back */
};

/* Answers one question, and lets the masters answer theirs then, or when none has come. */
static void *answer_words(void *arg)
{
    static const char words[] = "Zookeeper version: 3.8.0-5a02a05, built on x\nMode: standalone\n";
    struct zookeeper *zookeeper = arg;
    struct pollfd ready = {.fd = zookeeper->listener, .events = POLLIN};
    char question[4];

    zookeeper->asked = poll(&ready, 1, PATIENCE_MS) == 1;
    let_masters_answer();
    if (zookeeper->asked) {
        int fd = accept(zookeeper->listener, NULL, NULL);

        if (recv(fd, question, sizeof(question), MSG_WAITALL) == sizeof(question)) {
            (void) send(fd, words, strlen(words), MSG_NOSIGNAL);
        }
        close(fd);
    }
    return NULL;
}

static void zookeeper_begin(struct zookeeper *zookeeper)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    *zookeeper = (struct zookeeper){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    assert_int_equal(bind(zookeeper->listener, (struct sockaddr *) &address, size), 0);
    assert_int_equal(listen(zookeeper->listener, 4), 0);
    assert_int_equal(getsockname(zookeeper->listener, (struct sockaddr *) &address, &size), 0);
    snprintf(zookeeper->address, sizeof(zookeeper->address), "127.0.0.1:%d",
             ntohs(address.sin_port));
    assert_int_equal(pthread_create(&zookeeper->thread, NULL, answer_words, zookeeper), 0);
}

static void zookeeper_end(struct zookeeper *zookeeper)
{
    pthread_join(zookeeper->thread, NULL);
    close(zookeeper->listener);
}

/* --- what is shown --- */

struct shown {
    int good, away, zookeepers;
    char version[32];
};

static bool show(const smq_server_info *server, void *user)
{
    struct shown *shown = user;

    shown->good += server->status == SMQ_OK ? 1 : 0;
    shown->away += server->status != SMQ_OK ? 1 : 0;
    if (server->kind == SMQ_SERVER_ZOOKEEPER) {
        shown->zookeepers++;
        snprintf(shown->version, sizeof(shown->version), "%s", server->version);
    }
    return true;
}

static struct shown look(const char *zookeeper)
{
    smq_client_options options = SMQ_CLIENT_OPTIONS_INIT;
    smq_client *client = NULL;
    struct shown shown = {.good = 0};
    smq_error err;

    masters.infos = masters.others = 0;
    fake_serve(serve, NULL);
    fake_connects(SMQ_OK);
    options.redis = "fake:1";
    options.zookeeper = zookeeper;
    options.request_timeout_ms = 4L * PATIENCE_MS;
    assert_int_equal(smq_client_new(&client, &options, &err), SMQ_OK);
    assert_int_equal(smq_server_each(client, show, &shown, &err), SMQ_OK);
    smq_client_free(client);
    return shown;
}

/* ======================================================================== */

static void a_master_that_answers_is_asked_for_the_rest(void **state)
{
    struct shown shown = look(NULL);

    (void) state;
    assert_int_equal(shown.good, FAKE_MASTERS);
    assert_int_equal(shown.zookeepers, 0);
    assert_int_equal(masters.infos, FAKE_MASTERS);
    assert_int_equal(masters.others, 4 * FAKE_MASTERS);
}

/* Each question costs a whole time-out. */
static void a_master_that_does_not_answer_is_not_asked_again(void **state)
{
    struct shown shown;

    (void) state;
    masters.lost = true;
    shown = look(NULL);
    masters.lost = false;
    assert_int_equal(shown.away, FAKE_MASTERS);
    assert_int_equal(masters.infos, FAKE_MASTERS);
    assert_int_equal(masters.others, 0);
}

static void zookeeper_is_asked_while_the_masters_are(void **state)
{
    struct zookeeper zookeeper;
    struct shown shown;

    (void) state;
    masters.held = true;
    zookeeper_begin(&zookeeper);
    shown = look(zookeeper.address);
    zookeeper_end(&zookeeper);
    assert_true(zookeeper.asked);
    assert_int_equal(shown.good, FAKE_MASTERS + 1);
    assert_int_equal(shown.zookeepers, 1);
    assert_string_equal(shown.version, "3.8.0");
}

TEST_GROUP(server_requests)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_master_that_answers_is_asked_for_the_rest),
        cmocka_unit_test(a_master_that_does_not_answer_is_not_asked_again),
        cmocka_unit_test(zookeeper_is_asked_while_the_masters_are),
    };

    return cmocka_run_group_tests_name("server_requests", tests, NULL, NULL);
}
