/* test_epoch.c - the epoch of the assigner is missing, or a newer one than its own. */
#include "fixture.h"
#include "support/group.h"

enum { SESSION_MS = 4000 };

static void a_missing_leader_epoch_is_made_again(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    long before = 0;

    assert_true(queue_side_owns(a, SLOTS));
    before = fixture_requests();
    fixture_delete("/leader_epoch");
    fixture_assert_works(a);
    fixture_delete("/leader_epoch");
    fixture_delete("/leader");
    fixture_assert_works(a);
    assert_int_equal(queue_side_get(a, &a->lost), 0);
    fixture_assert_no_storm(before);
    queue_side_free(a);
}

static void an_assigner_of_a_former_epoch_writes_nothing(void **state)
{
    struct queue_side *a = fixture_consumer("a");
    struct Stat stat = {0};
    char text[256];

    assert_true(queue_side_owns(a, SLOTS));
    /* as another one does when it is elected */
    raw_set(fixture.raw, fixture_path("/leader_epoch"), "", 0);
    assert_true(raw_get(fixture.raw, fixture_path("/leader_epoch"), text, sizeof(text), &stat));
    fixture_assert_works(a);
    assert_true(fixture_assignment_epoch() > stat.version);
    queue_side_free(a);
}

TEST_GROUP(epoch)
{
#define ON_EPOCH(test)                                                                             \
    cmocka_unit_test_setup_teardown(test, fixture_setup_raw, fixture_teardown_raw)
    const struct CMUnitTest tests[] = {
        ON_EPOCH(a_missing_leader_epoch_is_made_again),
        ON_EPOCH(an_assigner_of_a_former_epoch_writes_nothing),
    };
    int failed = 0;

    if (!fixture_start("/epoch", SESSION_MS)) {
        return 1;
    }
    failed = cmocka_run_group_tests_name("epoch", tests, NULL, NULL);
    fixture_end();
    return failed;
}
