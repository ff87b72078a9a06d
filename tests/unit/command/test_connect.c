/* test_connect.c - which events a verb prints that says its states. */
#include "cli/verb/connect.h"
#include "support/group.h"

/* An event, and whether it is printed. */
struct row {
    smq_event_kind kind;
    bool printed;
};

static const smq_level levels[] = {
#define SMQ_X(name, value, level, id) [name] = SMQ_LEVEL_##level,
    SMQ_EVENT_MAP(SMQ_X)
#undef SMQ_X
};

static void follow(const struct row *rows, size_t count)
{
    struct connect_states states = {0};

    for (size_t i = 0; i < count; i++) {
        const smq_event event = {.kind = rows[i].kind, .level = levels[rows[i].kind]};
        if (connect_says(&states, &event) != rows[i].printed) {
            fail_msg("event %zu is %s", i, rows[i].printed ? "not printed" : "printed");
        }
    }
}

#define FOLLOW(rows) follow((rows), sizeof(rows) / sizeof((rows)[0]))

/* Two connections are lost: two are expected again, and what comes after that is no news. */
static void each_lost_connection_is_reported_once_and_its_end_too(void **state)
{
    static const struct row rows[] = {
        {SMQ_EVENT_CONNECTED, false},   {SMQ_EVENT_DISCONNECTED, true},
        {SMQ_EVENT_CONNECTED, true},    {SMQ_EVENT_CONNECTED, false},
        {SMQ_EVENT_DISCONNECTED, true}, {SMQ_EVENT_DISCONNECTED, true},
        {SMQ_EVENT_CONNECTED, true},    {SMQ_EVENT_CONNECTED, true},
        {SMQ_EVENT_CONNECTED, false},   {SMQ_EVENT_CONNECTED, false},
    };

    FOLLOW(rows);
}

/* A process that lost its slots is fenced once for each of them. */
static void fenced_is_reported_once_until_a_slot_is_gained(void **state)
{
    static const struct {
        smq_event_kind kind;
        int32_t gained;
        bool printed;
    } rows[] = {
        {SMQ_EVENT_ASSIGNED, 4, false},  {SMQ_EVENT_FENCED, 0, true},
        {SMQ_EVENT_FENCED, 0, false},    {SMQ_EVENT_ASSIGNED, 0, false}, /* two were lost */
        {SMQ_EVENT_CONNECTED, 0, false}, {SMQ_EVENT_FENCED, 0, false},
        {SMQ_EVENT_ASSIGNED, 1, false},  {SMQ_EVENT_FENCED, 0, true},
    };
    struct connect_states states = {0};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const smq_event event = {
            .kind = rows[i].kind, .level = levels[rows[i].kind], .slots_gained = rows[i].gained};

        if (connect_says(&states, &event) != rows[i].printed) {
            fail_msg("event %zu is %s", i, rows[i].printed ? "not printed" : "printed");
        }
    }
}

static void only_at_a_terminal_the_number_of_slots_is_printed(void **state)
{
    struct connect_states states = {.terminal = true};
    const smq_event event = {.kind = SMQ_EVENT_ASSIGNED, .level = SMQ_LEVEL_INFO};

    assert_true(connect_says(&states, &event));
    states.terminal = false;
    assert_false(connect_says(&states, &event));
}

static void warnings_are_printed_and_the_end_of_a_pause(void **state)
{
    static const struct row rows[] = {
        {SMQ_EVENT_PAUSED, true},   {SMQ_EVENT_RESUMED, true}, {SMQ_EVENT_DEAD, true},
        {SMQ_EVENT_DEAD, true},     {SMQ_EVENT_OVERDUE, true}, {SMQ_EVENT_LEASE_LOST, true},
        {SMQ_EVENT_STOPPED, true},  {SMQ_EVENT_DAMAGED, true}, {SMQ_EVENT_DONE, false},
        {SMQ_EVENT_RETRIED, false}, {SMQ_EVENT_LOG, false},
    };

    FOLLOW(rows);
}

TEST_GROUP(connect)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_lost_connection_is_reported_once_and_its_end_too),
        cmocka_unit_test(fenced_is_reported_once_until_a_slot_is_gained),
        cmocka_unit_test(only_at_a_terminal_the_number_of_slots_is_printed),
        cmocka_unit_test(warnings_are_printed_and_the_end_of_a_pause),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
