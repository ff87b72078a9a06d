/* test_servers.c - addresses of servers, good and bad. */
#include <string.h>

#include "redis/servers.h"
#include "support/group.h"

struct list_case {
    const char *text;
    size_t count; /* 0: refused */
    const char *first, *user, *password;
};

static const struct list_case cases[] = {
    {"127.0.0.1:6379", 1, "127.0.0.1:6379", "", ""},
    {"a:1,b:2,c:65535", 3, "a:1", "", ""},
    {"[::1]:7000,b:2", 2, "[::1]:7000", "", ""},
    {"redis://a:1,b:2", 2, "a:1", "", ""},
    {"redis://me:secret@a:1,b:2", 2, "a:1", "me", "secret"},
    {"localhost", 1, "localhost:6379", "", ""},
    {"[::1]", 1, "[::1]:6379", "", ""},
    {"redis://me:secret@a", 1, "a:6379", "me", "secret"},
    {"redis://a,b:2", 2, "a:6379", "", ""},
    {"redis://a/", 1, "a:6379", "", ""},
    {"redis://a:1/0", 1, "a:1", "", ""},
    {"redis://me:sec/ret@a:1,b:2/0", 2, "a:1", "me", "sec/ret"},
    {"a:1,", 1, "a:1", "", ""},
    {"redis://a:1,b:2,/0", 2, "a:1", "", ""},
    {"redis://:secret@a:1", 1, "a:1", "", "secret"},
    {"redis://me:s%40c%3Ar%2f@a:1", 1, "a:1", "me", "s@c:r/"},
    {"redis://me:a@b@c:1", 1, "c:1", "me", "a@b"},
    {"redis://me:s%4@a:1", 0, NULL, NULL, NULL},
    {"redis://me:s%zz@a:1", 0, NULL, NULL, NULL},
    {"redis://me:s%00@a:1", 0, NULL, NULL, NULL},
    {"redis://me@a:1", 1, "a:1", "me", ""},
    {"redis://@a:1", 0, NULL, NULL, NULL},
    {"redis://me:@a:1", 0, NULL, NULL, NULL},
    {"rediss://me:secret@a:1,b/0", 2, "a:1", "me", "secret"},
    {"rediss:a:1", 0, NULL, NULL, NULL},
    {"rediss://", 0, NULL, NULL, NULL},
    {"/run/redis.sock", 1, "/run/redis.sock", "", ""},
    {"/run/redis.sock,a:1", 2, "/run/redis.sock", "", ""},
    {"unix:///run/redis.sock", 1, "/run/redis.sock", "", ""},
    {"unix://me:secret@/run/redis.sock", 1, "/run/redis.sock", "me", "secret"},
    {"unix://a:1", 0, NULL, NULL, NULL},
    {"unix://", 0, NULL, NULL, NULL},
    {"/", 0, NULL, NULL, NULL},
    {"rediss:///run/redis.sock", 0, NULL, NULL, NULL},
    {"", 0, NULL, NULL, NULL},
    {"a:", 0, NULL, NULL, NULL},
    {":1", 0, NULL, NULL, NULL},
    {"a:0", 0, NULL, NULL, NULL},
    {"a:65536", 0, NULL, NULL, NULL},
    {"a:1x", 0, NULL, NULL, NULL},
    {",", 0, NULL, NULL, NULL},
    {"a:1,,", 0, NULL, NULL, NULL},
    {"redis://", 0, NULL, NULL, NULL},
    {"redis:///0", 0, NULL, NULL, NULL},
    {"redis://a:1/1", 0, NULL, NULL, NULL},
    {"redis://a:1/0,b:2", 0, NULL, NULL, NULL},
    {"a:1/0", 0, NULL, NULL, NULL},
    {",a:1", 0, NULL, NULL, NULL},
    {"a:1 b:2", 0, NULL, NULL, NULL},
    {"a b:2", 0, NULL, NULL, NULL},
};

static void test_lists(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct list_case *it = &cases[i];
        struct server_list list = {0};
        char text[SERVER_TEXT_MAX];
        smq_error err = SMQ_ERROR_INIT;
        print_message("%s\n", it->text);
        smq_status status = server_list_parse(&list, it->text, &err);
        if (it->count == 0) {
            assert_int_equal(status, SMQ_INVALID);
            assert_int_equal(err.status, SMQ_INVALID);
            assert_null(list.addresses);
            continue;
        }
        assert_int_equal(status, SMQ_OK);
        assert_int_equal(list.count, it->count);
        assert_int_equal(list.tls, strncmp(it->text, "rediss:", 7) == 0);
        server_address_format(text, &list.addresses[0]);
        assert_string_equal(text, it->first);
        assert_string_equal(list.user, it->user);
        assert_string_equal(list.password, it->password);
        server_list_fini(&list);
    }
}

/* What cannot be used is refused for what it is. */
static void test_refusals_name_the_way_out(void **state)
{
    static const char *const rows[][2] = {
        {"redis://a:1/3", "database 3 "},
        {"redis://a:1/x", "/0"},
        {"unix:/run/redis.sock", "unix://"},
        {"unix://a:1", "unix:///path"},
        {"redis-sentinel://a:26379", "Sentinel is not supported: use Redis Cluster"},
        {"redis+unix:///run/redis.sock", "Unix socket"},
        {"redis-socket:///run/redis.sock", "Unix socket"},
        {"http://a:1", "for TLS, rediss://"},
        {"a:1x", "host:port"},
        {",a:1", "comma"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct server_list list;
        smq_error err;
        assert_int_equal(server_list_parse(&list, rows[i][0], &err), SMQ_INVALID);
        if (!strstr(err.text, rows[i][1])) {
            fail_msg("%s: %s", rows[i][0], err.text);
        }
    }
}

static void test_a_password_is_never_shown(void **state)
{
    static const char *const texts[] = {"redis://me:hunter2@a:x",   "redis://me:hunter2%z@a:1",
                                        "me:hunter2@a:1",           "me:hunter2,3@a:1",
                                        "rediss://me:hunter2@a:1x", "redis://me:hunter2@a:1/2",
                                        "redis://me:hunter2@/x",    "unix://me:hunter2@run/x"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct server_list list;
        smq_error err;
        assert_int_equal(server_list_parse(&list, texts[i], &err), SMQ_INVALID);
        assert_null(strstr(err.text, "hunter2"));
    }
}

TEST_GROUP(servers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_refusals_name_the_way_out),
        cmocka_unit_test(test_a_password_is_never_shown),
    };

    return cmocka_run_group_tests_name("servers", tests, NULL, NULL);
}
