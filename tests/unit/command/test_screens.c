/* test_screens.c - what the tables of the command are on terminals of three widths, as files of
 * text: screen.h says how to change them. */
#include <stdlib.h>
#include <string.h>

#include "cli/doctor/doctor.h"
#include "cli/fleet/fleet_table.h"
#include "cli/message/listing.h"
#include "cli/stat/stat_table.h"
#include "cli/stat/work_table.h"
#include "cli/text/width.h"
#include "cli/topic/definition_table.h"
#include "screen.h"
#include "support/group.h"

/* 2026-01-31T07:00:00Z */
#define AT_MS INT64_C(1769842800000)

/* Ends alike, begins alike, and takes two columns a character. */
#define LONG_NAME "mail-to-customers-of-the-northern-region-that-pay-by-invoice/billing"
#define LIKE_IT   "mail-to-customers-of-the-northern-region-that-pay-by-invoice/search"
#define WIDE_TEXT                                                                                  \
    "\xe6\xb3\xa8\xe6\x96\x87\xe3\x81\xaf\xe5\xb1\x8a\xe3\x81\x8d\xe3\x81\xbe\xe3\x81\x9b\xe3\x82" \
    "\x93"

/* === stat =============================================================== */

#define COUNTS(...)                                                                                \
    {                                                                                              \
        .struct_size = sizeof(smq_stats), __VA_ARGS__                                              \
    }
#define BUSY                                                                                       \
    COUNTS(.waiting = 1234567, .due = 20500, .claimed = 1000, .resting = 32, .dead = 7,            \
           .oldest_due_age_ms = 441000, .sent = 98765432, .merged = 1200, .done = 97529826,        \
           .retried = 5400, .rejected = 7, .expired = 12, .released = 64, .lease_lost = 3)

static struct stat_slot slots[] = {
    {.owner = "orders-worker-7d9f8b6c5-x2k4q.shop.svc.cluster.local-17",
     .token = "0000000300000000000000a1",
     .stats = BUSY,
     .claim.by = ""},
    {.number = 1,
     .owner = "",
     .token = "",
     .stats = COUNTS(.waiting = 3, .oldest_due_age_ms = 0, .slots_paused = 1),
     .claim.by = ""},
};
static const struct stat_topic topics[] = {
    {.row.topic = "calls",
     .row.stats =
         COUNTS(.waiting = 12, .due = 12, .oldest_due_age_ms = SMQ_AGE_UNKNOWN, .sent = 12)},
    {.row.topic = LONG_NAME, .row.stats = BUSY, .slots = slots, .slot_count = 2},
    {.row.topic = LIKE_IT,
     .row.stats = COUNTS(.oldest_due_age_ms = 0, .sent = 98765432, .done = 98765432)},
    {.row.topic = "orders/billing", .row.stats = COUNTS(.waiting = 90, .slots_paused = 64)},
    {.row.topic = "orders/search",
     .row.stats = COUNTS(.waiting = 5, .due = 5, .oldest_due_age_ms = 90000, .slots_damaged = 1)},
};
enum { TOPICS = sizeof(topics) / sizeof(topics[0]) };

static size_t make_stat(struct table **tables)
{
    tables[0] = stat_table(topics, TOPICS, false);
    return 1;
}

static size_t make_stat_one(struct table **tables)
{
    tables[0] = stat_table(&topics[3], 1, false);
    return 1;
}

static size_t make_stat_groups(struct table **tables)
{
    tables[0] = stat_table(&topics[3], 2, false);
    return 1;
}

static size_t make_stat_slots(struct table **tables)
{
    tables[0] = stat_table(&topics[1], 1, true);
    return 1;
}

/* === work =============================================================== */

static struct stat_slot slots_in_work[] = {
    {.number = 17,
     .owner = "",
     .token = "",
     .stats =
         COUNTS(.claimed = 5, .oldest_claim_age_ms = 111000, .stalled = 5, .stalled_age_ms = 81000),
     .claim = {"orders-worker-7d9f8b6c5-x2k4q.shop.svc.cluster.local-17",
               AT_MS,
               {"customer-000001", 15},
               {"3f1c9a52-6d0e-4b17-9c58-2a7e41d0b9f6", 36},
               2}},
    {.number = 3,
     .owner = "worker-1",
     .token = "0000000300000000000000a1",
     .stats = COUNTS(.claimed = 1, .oldest_claim_age_ms = 40),
     .claim.by = ""},
    {.number = 5,
     .owner = "worker-2",
     .token = "0000000300000000000000a1",
     .stats = COUNTS(.claimed = 1, .oldest_claim_age_ms = 12000),
     .claim.by = "",
     .gone = true},
    {.number = 4, .owner = "worker-1", .token = "", .stats = COUNTS(.waiting = 2), .claim.by = ""},
};

static size_t make_work(struct table **tables)
{
    struct stat_topic in_work[] = {
        {.row.topic = "orders", .slots = slots_in_work + 1, .slot_count = 3},
        {.row.topic = LONG_NAME, .slots = slots_in_work, .slot_count = 1}};
    const struct stat_topics all = {.all = in_work, .count = 2};
    size_t count = 0;
    struct work_row *rows = work_rows(&count, &all);

    assert_int_equal(count, 3);
    tables[0] = work_table(rows, count);
    free(rows);
    return 1;
}

/* === topic ============================================================== */

static const smq_topic_options orders = {.struct_size = sizeof(smq_topic_options),
                                         .name = LONG_NAME,
                                         .type = SMQ_TYPE_FIXED_TIME,
                                         .layout = SMQ_LAYOUT_KEYED,
                                         .slots = 64,
                                         .max_retries = 16,
                                         .backoff = "ladder:1000,5000,30000,60000,300000,600000",
                                         .lease_ms = 30000,
                                         .ttl_ms = 86400000,
                                         .max_body = 1048576,
                                         .max_waiting = 1000000,
                                         .groups = "billing,search,shipping,statistics,archive-of-"
                                                   "all-orders,fraud-detection,mail"};
static const smq_topic_options calls = {.struct_size = sizeof(smq_topic_options),
                                        .name = "calls",
                                        .type = SMQ_TYPE_PRIORITY,
                                        .layout = SMQ_LAYOUT_INLINE,
                                        .slots = 65536,
                                        .shared = true,
                                        .max_retries = SMQ_NONE,
                                        .lease_ms = 90000};
static const smq_topic_info paused = {.name = LONG_NAME, .options = &orders, .paused = true};
static const smq_topic_info damaged = {.name = "calls", .options = &calls, .damaged = true};

static size_t make_topic_list(struct table **tables)
{
    tables[0] = definition_table_list();
    definition_table_list_add(tables[0], &damaged);
    definition_table_list_add(tables[0], &paused);
    return 1;
}

static size_t make_topic_show(struct table **tables)
{
    tables[0] = definition_table_show(&paused);
    return 1;
}

/* === peek, dead list ==================================================== */

#define MESSAGE(...)                                                                               \
    {                                                                                              \
        .struct_size = sizeof(smq_message_info), .cursor = "", __VA_ARGS__                         \
    }
#define BYTES(text)                                                                                \
    {                                                                                              \
        (text), sizeof(text) - 1                                                                   \
    }

/* Ids that differ at their ends, bodies of several scripts and none. */
static const smq_message_info messages[] = {
    MESSAGE(.slot = 3, .state = SMQ_STATE_WAITING, .due_at_ms = AT_MS, .id = BYTES("1"),
            .body = BYTES("short"), .priority = 5),
    MESSAGE(.slot = 17, .state = SMQ_STATE_RESTING, .due_at_ms = AT_MS + 60000, .attempt = 12,
            .id = BYTES("2f0c1d9a-6a1e-4f4e-9d0b-8c7b6a5d4e3f"), .key = BYTES("customer-000001"),
            .reason = "exit 75: connection to mail.example.com was refused",
            .body = BYTES("{\"customer\":\"000001\",\"mail\":\"welcome\",\"language\":\"ja\","
                          "\"text\":\"" WIDE_TEXT WIDE_TEXT "\",\"priority\":\"high\"}"),
            .priority = -8191, .dead_at_ms = AT_MS),
    MESSAGE(.slot = 63, .state = SMQ_STATE_DEAD, .attempt = 1,
            .id = BYTES("2f0c1d9a-6a1e-4f4e-9d0b-8c7b6a5d4e40"), .key = BYTES("customer-000002"),
            .reason = WIDE_TEXT, .body = BYTES("\033[1m" WIDE_TEXT WIDE_TEXT WIDE_TEXT "\xff"),
            .dead_at_ms = AT_MS + 441000),
};

static size_t make_listing(struct table **tables, const struct topic_facts *topic, bool dead)
{
    const struct command command = {.word_count = 0};
    struct listing listing = listing_begin(&command, topic, dead);

    for (size_t i = dead ? 1 : 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        assert_true(listing_add(&messages[i], &listing));
    }
    tables[0] = listing.table;
    listing.table = NULL;
    listing_drop(&listing);
    return 1;
}

static const struct topic_facts timed = {.type = SMQ_TYPE_FIXED_TIME, .layout = SMQ_LAYOUT_KEYED};
static const struct topic_facts ranked = {.type = SMQ_TYPE_PRIORITY, .layout = SMQ_LAYOUT_INLINE};

static size_t make_peek(struct table **tables)
{
    return make_listing(tables, &timed, false);
}

static size_t make_peek_priority(struct table **tables)
{
    return make_listing(tables, &ranked, false);
}

static size_t make_dead_list(struct table **tables)
{
    return make_listing(tables, &timed, true);
}

/* === fleet show ========================================================= */

#define FLEET(type, ...)                                                                           \
    &(const type)                                                                                  \
    {                                                                                              \
        .struct_size = sizeof(type), __VA_ARGS__                                                   \
    }
#define MEMBER "orders-worker-7d9f8b6c5-x2k4q.shop.svc.cluster.local-17"

static size_t make_fleet(struct table **out, bool which)
{
    struct fleet_tables fleet;

    fleet_tables_init(&fleet, which);
    fleet_tables_add_fleet(&fleet, FLEET(smq_fleet_info, .root = "/slotmq", .assigner = MEMBER,
                                         .assigner_since_at_ms = AT_MS, .epoch = 4, .generation = 1,
                                         .server = ""));
    fleet_tables_add_member(&fleet, FLEET(smq_fleet_member, .name = MEMBER, .host = "10.244.3.17",
                                          .pid = 17, .state = SMQ_MEMBER_ACTIVE,
                                          .since_at_ms = AT_MS, .topics = 2, .weight = 200,
                                          .slots = 65535, .giving_up = 1, .why = ""));
    fleet_tables_add_member(&fleet, FLEET(smq_fleet_member, .name = "w2", .host = "",
                                          .state = SMQ_MEMBER_UNREACHABLE, .since_at_ms = AT_MS,
                                          .weight = 100, .why = ""));
    fleet_tables_add_topic(&fleet, FLEET(smq_fleet_topic, .name = "orders.billing", .slots = 65536,
                                         .unowned = 1, .moving = 1, .members = 2,
                                         .since_at_ms = AT_MS, .why = ""));
    fleet_tables_add_share(&fleet, FLEET(smq_fleet_share, .topic = "orders.billing",
                                         .member = MEMBER, .weight = 100, .slots = 65535,
                                         .ranges = "0-4095,4097-8191,8193-16383,16385-65535,65536-"
                                                   "65536,70000-70001,70003-70003",
                                         .stands_by = ""));
    fleet_tables_add_share(&fleet,
                           FLEET(smq_fleet_share, .topic = "orders.billing", .member = "w2",
                                 .weight = 100, .ranges = "",
                                 .stands_by = "more members ask for the topic than it has slots"));
    fleet_tables_add_move(&fleet,
                          FLEET(smq_fleet_move, .topic = "orders.billing", .from = MEMBER,
                                .wait = SMQ_WAIT_DRAIN, .slots = 1,
                                .ranges = "4096-4096,8192-8192,16384-16384", .since_at_ms = AT_MS,
                                .why = "messages of it are in flight at member " MEMBER));
    memcpy(out, fleet.table, sizeof(fleet.table));
    return FLEET_TABLES;
}

static size_t make_fleet_show(struct table **tables)
{
    return make_fleet(tables, false);
}

static size_t make_fleet_show_slots(struct table **tables)
{
    return make_fleet(tables, true);
}

/* === doctor ============================================================= */

static size_t make_doctor(struct table **tables)
{
    struct doctor_report report = {.check = "redis"};

    doctor_report_add(&report, DOCTOR_OK, "", "", "nothing was found");
    report.check = "persistence";
    doctor_report_add(&report, DOCTOR_WARNING, "redis-cluster-0.redis.shop.svc.cluster.local:6379",
                      "CONFIG SET appendfsync everysec, and in its configuration file",
                      "appendfsync is no: a power failure loses up to 30 s of messages");
    report.check = "damage";
    doctor_report_add(&report, DOCTOR_ERROR, "orders/billing",
                      "run slotmq topic repair orders/billing",
                      "Redis lost a part of 3 slots: they stand still until they are repaired");
    report.check = "clocks";
    doctor_report_add(&report, DOCTOR_UNKNOWN, "", "", "it may not be read");
    tables[0] = doctor_table(&report);
    doctor_report_fini(&report);
    return 1;
}

/* ======================================================================== */

static const struct {
    const char *name;
    size_t (*make)(struct table **tables); /* gives how many it made */
} screens[] = {
    {"stat", make_stat},
    {"stat-one", make_stat_one},
    {"stat-groups", make_stat_groups},
    {"stat-slots", make_stat_slots},
    {"work", make_work},
    {"topic-list", make_topic_list},
    {"topic-show", make_topic_show},
    {"peek", make_peek},
    {"peek-priority", make_peek_priority},
    {"dead-list", make_dead_list},
    {"fleet-show", make_fleet_show},
    {"fleet-show-slots", make_fleet_show_slots},
    {"doctor", make_doctor},
};

static void test_screens_are_as_in_the_files(void **state)
{
    struct table *tables[FLEET_TABLES];

    for (size_t i = 0; i < sizeof(screens) / sizeof(screens[0]); i++) {
        for (size_t j = 0; j < sizeof(screen_widths) / sizeof(screen_widths[0]); j++) {
            const size_t count = screens[i].make(tables);
            assert_screen(screens[i].name, screen_widths[j], tables, count);
        }
    }
}

/* Scripts read pipes: every column, and every byte that prints. */
static void test_a_pipe_has_everything(void **state)
{
    struct table *table = NULL;
    static const char *const of_stat[] = {LONG_NAME, LIKE_IT, "LEASE_LOST", "98765432", "DUE"};
    static const char *const of_peek[] = {"customer-000001", "SLOT", "was refused",
                                          WIDE_TEXT "\",\"priority\":\"high\"}"};

    (void) make_stat(&table);
    char *text = table_text(table, 0);
    for (size_t i = 0; i < sizeof(of_stat) / sizeof(of_stat[0]); i++) {
        assert_non_null(strstr(text, of_stat[i]));
    }
    free(text);
    (void) make_peek(&table);
    text = table_text(table, 0);
    for (size_t i = 0; i < sizeof(of_peek) / sizeof(of_peek[0]); i++) {
        assert_non_null(strstr(text, of_peek[i]));
    }
    free(text);
}

/* On a terminal of any width no line is wider, and the name and the body stay. */
static void test_every_width_is_kept(void **state)
{
    struct table *tables[FLEET_TABLES];

    for (size_t i = 0; i < sizeof(screens) / sizeof(screens[0]); i++) {
        for (size_t columns = 20; columns < 300; columns += columns < 100 ? 1 : 17) {
            const size_t count = screens[i].make(tables);
            for (size_t j = 0; j < count; j++) {
                char *text = table_text(tables[j], columns);
                if (width_of(text) > columns || text[0] == '\0') {
                    fail_msg("%s in %zu columns:\n%s", screens[i].name, columns, text);
                }
                free(text);
            }
        }
    }
}

TEST_GROUP(screens)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_screens_are_as_in_the_files),
        cmocka_unit_test(test_a_pipe_has_everything),
        cmocka_unit_test(test_every_width_is_kept),
    };

    return cmocka_run_group_tests(tests, screen_setup, NULL);
}
