/* test_reply.c - replies that a hostile server might send. */
#include <string.h>

#include "base/buf.h"
#include "resp.h"
#include "support/group.h"

static void test_good_replies(void **state)
{
    const char text[] = "*3\r\n$2\r\nOK\r\n:7\r\n*1\r\n$-1\r\n";
    redisReply *reply = resp(text, sizeof(text) - 1, 3);

    assert_non_null(reply);
    assert_int_equal(reply->elements, 3);
    assert_true(reply_is(reply->element[0], "OK"));
    assert_false(reply_is(reply->element[0], "O"));
    assert_false(reply_is(reply->element[1], "7"));
    assert_int_equal(reply->element[1]->integer, 7);
    assert_int_equal(reply->element[2]->element[0]->type, REDIS_REPLY_NIL);
    resp_free();
}

static void test_bad_replies(void **state)
{
    static const char *const texts[] = {
        "*100000000\r\n",                             /* a header, nothing behind it */
        "*4\r\n:1\r\n:2\r\n:3\r\n:4\r\n",             /* more than asked for */
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", /* deep */
        "*1\r\n*2147483647\r\n",                      /* inside */
        "?what\r\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_null(resp(texts[i], strlen(texts[i]), 3));
    }
    resp_free();
}

/* No connection asks for RESP3. */
static void test_types_that_were_not_asked_for(void **state)
{
    static const char *const texts[] = {
        ",3.5\r\n",
        "#t\r\n",
        "#f\r\n",
        "(3492890328\r\n",
        "=7\r\ntxt:abc\r\n",
        "%1\r\n+a\r\n:1\r\n",
        "~1\r\n:1\r\n",
        ">1\r\n:1\r\n",
        "|1\r\n+a\r\n:1\r\n:2\r\n",
        "*1\r\n,3.5\r\n",
        "*2\r\n+OK\r\n#t\r\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_null(resp(texts[i], strlen(texts[i]), 3));
    }
    resp_free();
}

/* An array of `count` arrays of 60 numbers, filled up to 60 with numbers. */
static redisReply *arrays_of_arrays(size_t count)
{
    struct buf text = {0};

    buf_printf(&text, "*60\r\n");
    for (size_t i = 0; i < 60; i++) {
        buf_printf(&text, i < count ? "*60\r\n" : ":1\r\n");
        for (size_t j = 0; j < 60 && i < count; j++) {
            buf_printf(&text, ":1\r\n");
        }
    }
    redisReply *reply = resp(text.data, text.len, 60);
    buf_fini(&text);
    return reply;
}

static void test_arrays_do_not_multiply(void **state)
{
    redisReply *reply = arrays_of_arrays(REPLY_ARRAYS_MAX - 1);

    assert_non_null(reply);
    resp_free();
    assert_null(arrays_of_arrays(REPLY_ARRAYS_MAX));
    resp_free();
}

TEST_GROUP(reply)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_replies),
        cmocka_unit_test(test_bad_replies),
        cmocka_unit_test(test_types_that_were_not_asked_for),
        cmocka_unit_test(test_arrays_do_not_multiply),
    };

    return cmocka_run_group_tests_name("reply", tests, NULL, NULL);
}
