/* test_slotmap.c - what CLUSTER SLOTS may answer. */
#include <string.h>

#include "redis/slotmap.h"
#include "resp.h"
#include "support/group.h"

#define NODE(host, port)         "*3\r\n" host "\r\n:" port "\r\n$2\r\nid\r\n"
#define RANGE(first, last, node) "*3\r\n:" first "\r\n:" last "\r\n" node

#define UNNAMED(port, data) "*4\r\n$1\r\n?\r\n:" port "\r\n$2\r\nid\r\n" data
#define IP(ip)              "*2\r\n$2\r\nip\r\n" ip "\r\n"

struct map_case {
    const char *name, *text;
    const char *first, *last; /* hosts of the owners of hash slots 0 and 16383; "": nobody;
                                 NULL: refused */
};

static const struct map_case cases[] = {
    {"one master", "*1\r\n" RANGE("0", "16383", NODE("$1\r\na", "1")), "a", "a"},
    {"two masters",
     "*2\r\n" RANGE("0", "5000", NODE("$1\r\na", "1")) RANGE("5001", "16383", NODE("$1\r\nb", "2")),
     "a", "b"},
    {"no host: the one asked", "*1\r\n" RANGE("0", "16383", NODE("$-1", "1")), "origin", "origin"},
    {"empty host: the one asked", "*1\r\n" RANGE("0", "16383", NODE("$0\r\n", "1")), "origin",
     "origin"},
    {"IPv6", "*1\r\n" RANGE("0", "16383", NODE("$3\r\n::1", "7000")), "::1", "::1"},
    {"unknown host", "*1\r\n" RANGE("0", "16383", NODE("$1\r\n?", "1")), NULL, NULL},
    {"unknown host with an address", "*1\r\n" RANGE("0", "16383", UNNAMED("1", IP("$3\r\n::1"))),
     "::1", "::1"},
    {"unknown host with an address among other data",
     "*1\r\n" RANGE("0", "16383",
                    UNNAMED("1", "*4\r\n$1\r\na\r\n$1\r\nb\r\n$2\r\nip\r\n$1\r\nc\r\n")),
     "c", "c"},
    {"a name although there is an address",
     "*1\r\n" RANGE("0", "16383", "*4\r\n$1\r\na\r\n:1\r\n$2\r\nid\r\n" IP("$1\r\nb")), "a", "a"},
    {"unknown host with data that are none", "*1\r\n" RANGE("0", "16383", UNNAMED("1", ":1\r\n")),
     NULL, NULL},
    {"unknown host with half of an address",
     "*1\r\n" RANGE("0", "16383", UNNAMED("1", "*1\r\n$2\r\nip\r\n")), NULL, NULL},
    {"unknown host with a number as address", "*1\r\n" RANGE("0", "16383", UNNAMED("1", IP(":7"))),
     NULL, NULL},
    {"unknown host with an empty address", "*1\r\n" RANGE("0", "16383", UNNAMED("1", IP("$0\r\n"))),
     NULL, NULL},
    {"empty", "*0\r\n", NULL, NULL},
    {"a hole",
     "*2\r\n" RANGE("0", "5000", NODE("$1\r\na", "1")) RANGE("5002", "16383", NODE("$1\r\nb", "2")),
     "a", "b"},
    {"a host that nobody knows",
     "*2\r\n" RANGE("0", "5000", NODE("$1\r\na", "1")) RANGE("5001", "16383", NODE("$1\r\n?", "2")),
     "a", ""},
    {"port 0 in part",
     "*2\r\n" RANGE("0", "5000", NODE("$1\r\na", "0")) RANGE("5001", "16383", NODE("$1\r\nb", "2")),
     "", "b"},
    {"two masters for one hash slot",
     "*2\r\n" RANGE("0", "5000", NODE("$1\r\na", "1")) RANGE("5000", "16383", NODE("$1\r\nb", "2")),
     NULL, NULL},
    {"beyond the last", "*1\r\n" RANGE("0", "16384", NODE("$1\r\na", "1")), NULL, NULL},
    {"negative", "*1\r\n" RANGE("-1", "16383", NODE("$1\r\na", "1")), NULL, NULL},
    {"backwards", "*1\r\n" RANGE("16383", "0", NODE("$1\r\na", "1")), NULL, NULL},
    {"port 0", "*1\r\n" RANGE("0", "16383", NODE("$1\r\na", "0")), NULL, NULL},
    {"no list", ":1\r\n", NULL, NULL},
    {"no ranges", "*1\r\n:1\r\n", NULL, NULL},
    {"no node", "*1\r\n*2\r\n:0\r\n:16383\r\n", NULL, NULL},
    {"a range that is none behind a whole map",
     "*2\r\n" RANGE("0", "16383", NODE("$1\r\na", "1")) ":1\r\n", NULL, NULL},
    {"a node that is none", "*1\r\n*3\r\n:0\r\n:16383\r\n:1\r\n", NULL, NULL},
};

static const char *owner_of(const struct slotmap *map, int32_t hash_slot)
{
    const struct server_address *owner = slotmap_owner(map, hash_slot);

    return owner == NULL ? "" : owner->host;
}

static void test_replies(void **state)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct map_case *it = &cases[i];
        struct slotmap map = {0};
        const char *why = NULL;
        redisReply *reply = resp(it->text, strlen(it->text), 16385);
        print_message("%s\n", it->name);
        assert_non_null(reply);
        assert_int_equal(slotmap_parse(&map, reply, "origin", &why), it->first != NULL);
        assert_int_equal(why != NULL, it->first == NULL);
        if (it->first != NULL) {
            assert_string_equal(owner_of(&map, 0), it->first);
            assert_string_equal(owner_of(&map, 16383), it->last);
        } else {
            assert_null(slotmap_owner(&map, 0));
        }
        resp_free();
        slotmap_fini(&map);
    }
}

/* Creating a cluster anew would lose one that is whole. */
static void test_what_is_missing_is_said(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"*0\r\n", "create the cluster first"},
        {"*1\r\n" RANGE("0", "16383", NODE("$1\r\n?", "1")), "set cluster-announce-hostname"},
        {"*1\r\n" RANGE("0", "16383", NODE("$1\r\na", "0")), "set cluster-announce-hostname"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slotmap map = {0};
        const char *why = "";

        assert_false(
            slotmap_parse(&map, resp(rows[i].text, strlen(rows[i].text), 16385), "origin", &why));
        if (strstr(why, rows[i].why) == NULL) {
            fail_msg("row %zu: \"%s\"", i, why);
        }
        resp_free();
        slotmap_fini(&map);
    }
}

#define WITH(host, port, id) "*3\r\n" host "\r\n:" port "\r\n" id "\r\n"
#define A                    WITH("$1\r\na", "1", "$3\r\nida")
#define B                    WITH("$1\r\nb", "2", "$3\r\nidb")
#define MAP(text)            "*1\r\n" text

/* What tells a cluster from others are the ids of its masters and replicas, wherever they serve. */
static void test_a_fingerprint_is_of_all_nodes(void **state)
{
    static const struct {
        const char *text;
        const char *ids[3];
    } fingerprints[] = {
        {MAP("*3\r\n:0\r\n:16383\r\n" A), {"ida"}},
        {MAP("*4\r\n:0\r\n:16383\r\n" A B), {"ida", "idb"}},
        {MAP("*4\r\n:0\r\n:16383\r\n" B A), {"ida", "idb"}},
        {"*2\r\n*3\r\n:0\r\n:5\r\n" A "*3\r\n:6\r\n:16383\r\n" B, {"ida", "idb"}},
        {MAP("*4\r\n:0\r\n:16383\r\n" A ":7\r\n"), {"ida"}},
        {MAP("*4\r\n:0\r\n:16383\r\n" A "*2\r\n$1\r\nb\r\n:2\r\n"), {"ida"}},
        {MAP("*4\r\n:0\r\n:16383\r\n" A WITH("$1\r\nb", "2", "$0\r\n")), {"ida"}},
        {MAP("*4\r\n:0\r\n:16383\r\n" A WITH("$1\r\nb", "2", ":9")), {"ida"}},
        {MAP("*3\r\n:0\r\n:16383\r\n" WITH("$1\r\na", "1", "$-1")), {NULL}},
    };
    const struct server_address server = {.host = "one", .port = 1};

    for (size_t i = 0; i < sizeof(fingerprints) / sizeof(fingerprints[0]); i++) {
        struct slotmap map = {0};
        struct fingerprint expected = {0};
        const char *why = NULL;
        redisReply *reply = resp(fingerprints[i].text, strlen(fingerprints[i].text), 16385);

        print_message("%zu\n", i);
        for (size_t k = 0; fingerprints[i].ids[k] != NULL; k++) {
            fingerprint_add(&expected, fingerprints[i].ids[k], strlen(fingerprints[i].ids[k]));
        }
        assert_true(slotmap_parse(&map, reply, "origin", &why));
        assert_true(fingerprint_equal(&map.fingerprint, &expected));
        slotmap_single(&map, &server);
        assert_int_equal(map.fingerprint.count, 0);
        resp_free();
        slotmap_fini(&map);
    }
}

static void test_a_bad_map_never_replaces_a_good_one(void **state)
{
    static const char *const texts[] = {"*0\r\n",
                                        "*1\r\n" RANGE("0", "16382", NODE("$1\r\na", "1"))};
    const struct server_address server = {.host = "good", .port = 1};
    struct slotmap map = {0};

    slotmap_single(&map, &server);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *why = NULL;
        redisReply *reply = resp(texts[i], strlen(texts[i]), 16385);
        assert_false(slotmap_parse(&map, reply, "origin", &why));
        assert_non_null(why);
        assert_string_equal(slotmap_owner(&map, 77)->host, "good");
        resp_free();
    }
    slotmap_fini(&map);
}

static void test_a_redirect_changes_one_hash_slot(void **state)
{
    const struct server_address one = {.host = "one", .port = 1}, two = {.host = "two", .port = 2};
    struct slotmap map = {0};

    slotmap_single(&map, &one);
    slotmap_set(&map, 5, &two);
    assert_string_equal(slotmap_owner(&map, 4)->host, "one");
    assert_string_equal(slotmap_owner(&map, 5)->host, "two");
    slotmap_set(&map, 5, &one);
    assert_string_equal(slotmap_owner(&map, 5)->host, "one");
    assert_int_equal(map.count, 2);
    slotmap_fini(&map);
}

/* Over a unix socket "the one asked" has no host. */
static void test_a_unix_socket_is_no_host_of_a_node(void **state)
{
    static const char *const texts[] = {
        "*1\r\n" RANGE("0", "16383", NODE("$-1", "1")),
        "*1\r\n" RANGE("0", "16383", NODE("$1\r\na", "1")),
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct slotmap map = {0};
        redisReply *reply = resp(texts[i], strlen(texts[i]), 16385);
        const char *why = "";

        assert_int_equal(slotmap_parse(&map, reply, "/run/redis.sock", &why), i == 1);
        assert_int_equal(strstr(why, "not its Unix socket") != NULL, i == 0);
        slotmap_fini(&map);
        resp_free();
    }
}

TEST_GROUP(slotmap)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replies),
        cmocka_unit_test(test_what_is_missing_is_said),
        cmocka_unit_test(test_a_fingerprint_is_of_all_nodes),
        cmocka_unit_test(test_a_bad_map_never_replaces_a_good_one),
        cmocka_unit_test(test_a_redirect_changes_one_hash_slot),
        cmocka_unit_test(test_a_unix_socket_is_no_host_of_a_node),
    };

    return cmocka_run_group_tests_name("slotmap", tests, NULL, NULL);
}
