/* test_servers.c - "host:port,.../root" is taken or refused with a line that names the fault. */
#include <stdlib.h>
#include <string.h>

#include "coord/coord.h"
#include "support/group.h"

static void good_servers_give_their_root(void **state)
{
    static const struct {
        const char *servers;
        const char *root;
    } cases[] = {
        {"localhost:2181", "/slotmq"},
        {"localhost:2181/", "/slotmq"},
        {"localhost", "/slotmq"},
        {"a,b:1,/team", "/team"},
        {"10.0.0.1:2181,10.0.0.2:2181,zk-3.example:65535", "/slotmq"},
        {"localhost:1/a", "/a"},
        {"localhost:2181/team/orders.v2", "/team/orders.v2"},
        {"localhost:2181/zookeeper-of-ours", "/zookeeper-of-ours"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char root[256];
        smq_error err = SMQ_ERROR_INIT;

        assert_int_equal(coord_check_servers(root, sizeof(root), cases[i].servers, &err), SMQ_OK);
        assert_string_equal(root, cases[i].root);
    }
}

static void a_port_may_be_left_out(void **state)
{
    static const char *const cases[][2] = {
        {"a:1,b:2", "a:1,b:2"},
        {"localhost", "localhost:2181"},
        {"a,b:7,c,/team", "a:2181,b:7,c:2181"},
        {"[::1],[::2]:3/x", "[::1]:2181,[::2]:3"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char root[256];
        char *hosts = coord_servers_hosts(cases[i][0]);

        assert_int_equal(coord_check_servers(root, sizeof(root), cases[i][0], NULL), SMQ_OK);
        assert_string_equal(hosts, cases[i][1]);
        free(hosts);
    }
}

static void bad_servers_are_named(void **state)
{
    static const struct {
        const char *servers;
        const char *named;
    } cases[] = {
        {NULL, "HOST:PORT"},
        {"", "HOST:PORT"},
        {"localhost:", "\"localhost:\""},
        {":2181", "\":2181\""},
        {"localhost:0", "\"localhost:0\""},
        {"localhost:65536", "\"localhost:65536\""},
        {"localhost:99999999999999999999", "HOST:PORT"},
        {"localhost:21a1", "\"localhost:21a1\""},
        {"a:1,,b:2", "\"\""},
        {",a:1", "\"\""},
        {"a:1, b:2", "\" b:2\""},
        {",", "HOST:PORT"},
        {"/root", "\"\""},
        {"a:1//", "//"},
        {"a:1/x/", "/x/"},
        {"a:1/x//y", "/x//y"},
        {"a:1/./x", "/./x"},
        {"a:1/x/..", "/x/.."},
        {"a:1/x y", "/x y"},
        {"a:1/x\ty", "root"},
        {"a:1/zookeeper", "/zookeeper"},
        {"a:1/zookeeper/quota", "/zookeeper/quota"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char root[256] = "untouched";
        smq_error err = SMQ_ERROR_INIT;

        assert_int_equal(coord_check_servers(root, sizeof(root), cases[i].servers, &err),
                         SMQ_INVALID);
        assert_int_equal(err.status, SMQ_INVALID);
        assert_non_null(strstr(err.text, cases[i].named));
        assert_string_equal(root, "untouched");
    }
}

static void a_root_that_does_not_fit_is_refused(void **state)
{
    char root[4];
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(coord_check_servers(root, sizeof(root), "a:1/ab", &err), SMQ_OK);
    assert_string_equal(root, "/ab");
    assert_int_equal(coord_check_servers(root, sizeof(root), "a:1/abc", &err), SMQ_INVALID);
}

TEST_GROUP(servers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_servers_give_their_root),
        cmocka_unit_test(a_port_may_be_left_out),
        cmocka_unit_test(bad_servers_are_named),
        cmocka_unit_test(a_root_that_does_not_fit_is_refused),
    };

    return cmocka_run_group_tests_name("servers", tests, NULL, NULL);
}
