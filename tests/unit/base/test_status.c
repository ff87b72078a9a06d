/* test_status.c - the table of statuses, and errors. */
#include <string.h>

#include "base/status.h"
#include "support/group.h"

static void version_is_that_of_the_project(void **state)
{
    assert_string_equal(smq_version(), PROJECT_VERSION);
}

static void statuses_have_name_text_and_class(void **state)
{
    static const struct {
        const char *name, *text;
        smq_status status;
        smq_class class;
    } cases[] = {
        {"SMQ_OK", "success", SMQ_OK, SMQ_CLASS_OK},
        {"SMQ_INVALID", "invalid argument or option", SMQ_INVALID, SMQ_CLASS_USAGE},
        {"SMQ_FULL", "send buffer, topic or Redis is full", SMQ_FULL, SMQ_CLASS_RETRY},
        {"SMQ_UNKNOWN", "reply lost; it may have been done", SMQ_UNKNOWN, SMQ_CLASS_UNKNOWN},
        {"SMQ_FENCED", "a newer owner holds the slot", SMQ_FENCED, SMQ_CLASS_ABORT},
        {"SMQ_CLOSED", "the handle is closing or closed", SMQ_CLOSED, SMQ_CLASS_FATAL},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(smq_status_name(cases[i].status), cases[i].name);
        assert_string_equal(smq_status_text(cases[i].status), cases[i].text);
        assert_int_equal(smq_status_class(cases[i].status), cases[i].class);
    }
}

static void status_numbers_have_no_holes(void **state)
{
    int number = 0;

    while (strcmp(smq_status_name((smq_status) number), "SMQ_?") != 0) {
        number--;
    }
#define COUNT(name, value, class_, text) number++;
    SMQ_STATUS_MAP(COUNT)
#undef COUNT
    assert_int_equal(number, 0);
}

static void numbers_that_are_no_status_are_safe(void **state)
{
    static const int numbers[] = {1, 1000, -1000, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_string_equal(smq_status_name((smq_status) numbers[i]), "SMQ_?");
        assert_string_equal(smq_status_text((smq_status) numbers[i]), "unknown status");
        assert_int_equal(smq_status_class((smq_status) numbers[i]), SMQ_CLASS_FATAL);
    }
}

static void error_gets_one_line(void **state)
{
    smq_error err;

    assert_int_equal(status_set(&err, SMQ_FULL, "topic %s,\nslot %d", "orders", 7), SMQ_FULL);
    assert_int_equal(err.status, SMQ_FULL);
    assert_string_equal(err.text, "topic orders, slot 7");
    assert_int_equal(status_set(NULL, SMQ_FULL, "%s", "nobody reads it"), SMQ_FULL);
}

static void long_error_is_cut(void **state)
{
    smq_error err;

    status_set(&err, SMQ_INVALID, "%0*d", 5000, 7);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

static void error_is_copied(void **state)
{
    smq_error from = {.status = SMQ_DENIED, .text = "wrong password"};
    smq_error err = SMQ_ERROR_INIT;

    assert_int_equal(status_copy(&err, &from), SMQ_DENIED);
    assert_int_equal(err.status, SMQ_DENIED);
    assert_string_equal(err.text, "wrong password");
    assert_int_equal(status_copy(NULL, &from), SMQ_DENIED);
}

TEST_GROUP(status)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_is_that_of_the_project),
        cmocka_unit_test(statuses_have_name_text_and_class),
        cmocka_unit_test(status_numbers_have_no_holes),
        cmocka_unit_test(numbers_that_are_no_status_are_safe),
        cmocka_unit_test(error_gets_one_line),
        cmocka_unit_test(long_error_is_cut),
        cmocka_unit_test(error_is_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
