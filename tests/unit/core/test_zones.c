/* test_zones.c - zones that are kept, so that a tick need not read a file. */
#include "core/zones.h"
#include "support/group.h"

#include <stdio.h>

static void some_zones_are_kept(void **state)
{
    struct zones zones = {0};
    const struct zone *berlin = zones_get(&zones, "Europe/Berlin", NULL);
    smq_error err = SMQ_ERROR_INIT;
    char name[16];

    assert_non_null(berlin);
    assert_int_equal(zones_get(&zones, "UTC", NULL)->count, 0);
    assert_null(zones_get(&zones, "Mars/Olympus", &err));
    assert_int_equal(err.status, SMQ_INVALID);
    assert_true(berlin == zones_get(&zones, "Europe/Berlin", NULL));
    for (int i = -12; i <= 12; i++) { /* more than are kept */
        const struct zone *zone;

        (void) snprintf(name, sizeof(name), "Etc/GMT%+d", i);
        zone = zones_get(&zones, name, &err);
        assert_non_null(zone);
        assert_int_equal(zone_span_at(zone, 0).offset_s, -3600 * i);
    }
    assert_int_equal(zone_span_at(zones_get(&zones, "Europe/Berlin", NULL), 0).offset_s, 3600);
    zones_fini(&zones);
}

TEST_GROUP(zones)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(some_zones_are_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
