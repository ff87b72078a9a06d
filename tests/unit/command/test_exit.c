/* test_exit.c - every status of the library has the exit code that is documented. */
#include "cli/text/exit.h"
#include "support/group.h"

static void test_documented_codes(void **state)
{
    static const struct {
        smq_status status;
        int code;
    } rows[] = {
        {SMQ_OK, 0},         {SMQ_NO_TOPIC, 1},       {SMQ_NO_MESSAGE, 1},
        {SMQ_NOT_EMPTY, 1},  {SMQ_INVALID, 64},       {SMQ_WRONG_TYPE, 64},
        {SMQ_TOO_BIG, 65},   {SMQ_UNAVAILABLE, 69},   {SMQ_FENCED, 75},
        {SMQ_INTERNAL, 70},  {SMQ_TOPIC_DIFFERS, 73}, {SMQ_OTHER_FLEET, 73},
        {SMQ_TIMED_OUT, 75}, {SMQ_UNKNOWN, 75},       {SMQ_FULL, 75},
        {SMQ_DENIED, 77},    {SMQ_BAD_SERVER, 78},    {SMQ_WRONG_THREAD, 70},
        {SMQ_FORKED, 70},    {SMQ_CLOSED, 70},        {SMQ_NAME_TAKEN, 75},
        {SMQ_NO_MEMORY, 75}, {SMQ_IN_WORK, 75},       {SMQ_LEASE_LOST, 75},
        {SMQ_DAMAGED, 1},    {SMQ_DUPLICATE, 1},      {SMQ_NO_SCHEDULE, 1},
    };
    size_t known = 0;

#define SMQ_X(name, value, class_, text) known++;
    SMQ_STATUS_MAP(SMQ_X)
#undef SMQ_X
    assert_int_equal(sizeof(rows) / sizeof(rows[0]), known);
    for (size_t i = 0; i < known; i++) {
        assert_int_equal(exit_code_of(rows[i].status), rows[i].code);
    }
}

static void test_a_status_of_a_newer_library_is_a_defect(void **state)
{
    assert_int_equal(exit_code_of((smq_status) -1000), EXIT_DEFECT);
}

static void test_one_of_many_that_is_left_out(void **state)
{
    static const struct {
        smq_status status;
        int code;
    } rows[] = {{SMQ_OK, 0},         {SMQ_DAMAGED, 1},     {SMQ_INTERNAL, 1},
                {SMQ_INVALID, 1},    {SMQ_NO_TOPIC, 1},    {SMQ_TOPIC_DIFFERS, 1},
                {SMQ_DENIED, 77},    {SMQ_BAD_SERVER, 78}, {SMQ_UNAVAILABLE, 69},
                {SMQ_TIMED_OUT, 75}, {SMQ_UNKNOWN, 75}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(exit_code_left_out(rows[i].status), rows[i].code);
    }
}

static void test_damage_goes_before_what_passes(void **state)
{
    static const struct {
        int so_far, more, both;
    } rows[] = {{0, 0, 0},  {0, 69, 69}, {69, 0, 69}, {69, 77, 69},
                {69, 1, 1}, {1, 69, 1},  {1, 0, 1},   {0, 1, 1}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(
            exit_code_both((enum exit_code) rows[i].so_far, (enum exit_code) rows[i].more),
            rows[i].both);
    }
}

TEST_GROUP(exit)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documented_codes),
        cmocka_unit_test(test_a_status_of_a_newer_library_is_a_defect),
        cmocka_unit_test(test_one_of_many_that_is_left_out),
        cmocka_unit_test(test_damage_goes_before_what_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
