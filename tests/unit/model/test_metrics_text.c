/* test_metrics_text.c - Prometheus text, read as strictly as its format says. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/metric.h"
#include "model/metrics_text.h"
#include "model/statistic.h"
#include "support/group.h"

enum { FAMILIES_MAX = 128 };

enum { CAUSES = 6 };

struct sample {
    char name[96], label[16], label_value[256], value[32];
    char cause[16]; /* "": none */
};

struct family {
    char name[96], type[16], help[256];
    struct sample samples[32];
    int count;
};

struct page {
    struct family families[FAMILIES_MAX];
    int count;
};

/* --- reading --- */

static bool is_name(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (name[i] != '_' && !islower((unsigned char) name[i]) &&
            (i == 0 || !isdigit((unsigned char) name[i]))) {
            return false;
        }
    }
    return len > 0;
}

/* Copy up to one of `ends`, and move behind; the copy must fit. */
static const char *take_until(char *out, size_t size, const char *from, const char *ends)
{
    size_t len = strcspn(from, ends);

    assert_true(len < size && from[len] != '\0');
    memcpy(out, from, len);
    out[len] = '\0';
    return from + len;
}

static const char *take_literal(const char *from, const char *literal)
{
    assert_int_equal(strncmp(from, literal, strlen(literal)), 0);
    return from + strlen(literal);
}

static const char *take_label_value(char *out, size_t size, const char *from)
{
    size_t used = 0;

    for (from = take_literal(from, "\""); *from != '"'; from++) {
        assert_true(used + 1 < size && *from != '\0' && *from != '\n');
        if (*from != '\\') {
            out[used++] = *from;
            continue;
        }
        from++;
        assert_non_null(strchr("\\\"n", *from));
        out[used++] = (char) (*from == 'n' ? '\n' : *from);
    }
    out[used] = '\0';
    return from + 1;
}

/* NAME VALUE, or NAME{LABEL="VALUE"} VALUE, or NAME{LABEL="VALUE",cause="CAUSE"} VALUE */
static const char *take_sample(struct sample *out, const char *from)
{
    char *end;

    memset(out, 0, sizeof(*out));
    from = take_until(out->name, sizeof(out->name), from, "{ \n");
    assert_true(is_name(out->name, strlen(out->name)));
    if (*from == '{') {
        from = take_until(out->label, sizeof(out->label), from + 1, "=");
        assert_true(is_name(out->label, strlen(out->label)));
        from = take_label_value(out->label_value, sizeof(out->label_value), from + 1);
        if (*from == ',') {
            from = take_literal(from, ",cause=");
            from = take_label_value(out->cause, sizeof(out->cause), from);
        }
        from = take_literal(from, "}");
    }
    from = take_literal(from, " ");
    from = take_until(out->value, sizeof(out->value), from, " \n");
    assert_true(strspn(out->value, "0123456789.") == strlen(out->value));
    (void) strtod(out->value, &end);
    assert_int_equal(*end, '\0');
    return take_literal(from, "\n");
}

static bool belongs(const struct family *family, const char *name)
{
    size_t len = strlen(family->name);

    if (strcmp(family->type, "histogram") != 0) {
        return strcmp(family->name, name) == 0;
    }
    return strncmp(family->name, name, len) == 0 &&
           (strcmp(name + len, "_bucket") == 0 || strcmp(name + len, "_sum") == 0 ||
            strcmp(name + len, "_count") == 0);
}

static const char *take_family(struct family *out, const char *from)
{
    char name[96];

    memset(out, 0, sizeof(*out));
    from = take_literal(from, "# HELP ");
    from = take_until(out->name, sizeof(out->name), from, " \n");
    from = take_literal(from, " ");
    from = take_until(out->help, sizeof(out->help), from, "\n");
    from = take_literal(from, "\n# TYPE ");
    from = take_until(name, sizeof(name), from, " \n");
    assert_string_equal(name, out->name);
    from = take_literal(from, " ");
    from = take_until(out->type, sizeof(out->type), from, "\n");
    from = take_literal(from, "\n");
    while (*from != '\0' && *from != '#') {
        assert_true(out->count < 32);
        from = take_sample(&out->samples[out->count], from);
        assert_true(belongs(out, out->samples[out->count].name));
        out->count++;
    }
    assert_true(out->count > 0);
    return from;
}

static struct page *page_read(const char *text)
{
    struct page *page = calloc(1, sizeof(*page));

    assert_non_null(page);
    while (*text != '\0') {
        assert_true(page->count < FAMILIES_MAX);
        text = take_family(&page->families[page->count++], text);
    }
    return page;
}

static const struct family *page_find(const struct page *page, const char *name)
{
    for (int i = 0; i < page->count; i++) {
        if (strcmp(page->families[i].name, name) == 0) {
            return &page->families[i];
        }
    }
    fail_msg("no family %s", name);
    return NULL;
}

static const struct metrics_topic full[2] = {{"orders/billing", true, false, 0, 0},
                                             {"orders/search", true, true, 3, 61002}};

static struct page *page_of(const smq_metrics *metrics, const smq_survey_topic *topics,
                            size_t count)
{
    struct buf text = {.len = 0};
    struct page *page;

    metrics_text_process(&text, metrics);
    metrics_text_by_topic(&text, full, 2);
    metrics_text_topics(&text, topics, count);
    page = page_read(text.data);
    buf_fini(&text);
    return page;
}

/* Every number is another one. */
static void fill(void *numbers, size_t size, uint64_t first)
{
    for (size_t at = sizeof(size_t); at + sizeof(uint64_t) <= size; at += sizeof(uint64_t)) {
        uint64_t value = first++;

        memcpy((char *) numbers + at, &value, sizeof(value));
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);

    return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

/* --- the tests --- */

static void names_follow_the_conventions(void **state)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_survey_topic topic = {.topic = "orders", .stats = SMQ_STATS_INIT};
    struct page *page = page_of(&metrics, &topic, 1);

    for (int i = 0; i < page->count; i++) {
        const struct family *family = &page->families[i];

        assert_int_equal(strncmp(family->name, "slotmq_", 7), 0);
        assert_true(strcmp(family->type, "gauge") == 0 || strcmp(family->type, "histogram") == 0 ||
                    strcmp(family->type, "counter") == 0);
        assert_int_equal(ends_with(family->name, "_total"), strcmp(family->type, "counter") == 0);
        assert_null(strstr(family->name, "_ms"));
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(family->name, page->families[j].name);
        }
    }
    free(page);
}

static bool has_labels(const struct family *family)
{
    return strcmp(family->name, "slotmq_sends_full_total") == 0 ||
           strcmp(family->name, "slotmq_oldest_delivery_age_seconds") == 0 ||
           strcmp(family->name, "slotmq_wait_seconds_total") == 0;
}

static void numbers_of_a_topic_have_its_name(void **state)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    struct page *page = page_of(&metrics, NULL, 0);
    const struct family *family = page_find(page, "slotmq_sends_full_total");
    struct buf text = {.len = 0};

    assert_int_equal(family->count, 2);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(family->samples[i].label, "topic");
        assert_string_equal(family->samples[i].label_value, full[i].name);
        assert_int_equal(strtoull(family->samples[i].value, NULL, 10), full[i].refused);
    }
    family = page_find(page, "slotmq_oldest_delivery_age_seconds");
    assert_int_equal(family->count, 1); /* this process consumes one of them */
    assert_string_equal(family->samples[0].label_value, "orders/search");
    assert_string_equal(family->samples[0].value, "61.002");
    free(page);
    metrics_text_by_topic(&text, NULL, 0);
    assert_int_equal(text.len, 0);
    buf_fini(&text);
}

static void each_number_of_a_process_stands_in_the_text(void **state)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    struct page *page;
    int plain = 0;

    fill(&metrics, sizeof(metrics), 1000);
    page = page_of(&metrics, NULL, 0);
    for (int i = 0; i < page->count; i++) {
        const struct family *family = &page->families[i];

        if (strcmp(family->type, "histogram") != 0 && !has_labels(family) &&
            strstr(family->name, "schedule") == NULL) {
            assert_int_equal(family->count, 1);
            assert_string_equal(family->samples[0].label, "");
            assert_int_equal(strtol(family->samples[0].value, NULL, 10), 1000 + plain);
            plain++;
        }
    }
    /* all that comes before the histogram, in the order of the struct */
    assert_int_equal(plain, offsetof(smq_metrics, handling_ms_sum) / sizeof(uint64_t) - 1);
    assert_string_equal(page_find(page, "slotmq_messages_sent_total")->samples[0].value, "1000");
    free(page);
    metrics = (smq_metrics){.struct_size = sizeof(metrics), .ticks = 7, .ticks_late_ms = 1250};
    page = page_of(&metrics, NULL, 0);
    assert_string_equal(page_find(page, "slotmq_schedule_ticks_total")->samples[0].value, "7");
    assert_string_equal(
        page_find(page, "slotmq_schedule_ticks_late_seconds_total")->samples[0].value, "1.250");
    free(page);
}

static void waits_say_for_what_in_seconds(void **state)
{
    static const char *const rows[][2] = {
        {"send", "1.000001"}, {"request", "0.000002"}, {"slot", "0.000003"},   {"pace", "0.000004"},
        {"room", "0.000005"}, {"claim", "0.000006"},   {"handler", "0.000007"}};
    const smq_metrics metrics = {.struct_size = sizeof(metrics),
                                 .wait_send_us = 1000001,
                                 .wait_request_us = 2,
                                 .wait_slot_us = 3,
                                 .wait_pace_us = 4,
                                 .wait_room_us = 5,
                                 .wait_claim_us = 6,
                                 .wait_handler_us = 7};
    struct page *page = page_of(&metrics, NULL, 0);
    const struct family *family = page_find(page, "slotmq_wait_seconds_total");

    assert_int_equal(family->count, 7);
    for (int i = 0; i < 7; i++) {
        assert_string_equal(family->samples[i].label, "for");
        assert_string_equal(family->samples[i].label_value, rows[i][0]);
        assert_string_equal(family->samples[i].value, rows[i][1]);
    }
    free(page);
}

static void histogram_is_cumulative_and_ends_with_inf(void **state)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    struct page *page;
    const struct family *family;
    char bound[32];

    metrics.handling_ms[0] = 3;
    metrics.handling_ms[2] = 4;
    metrics.handling_ms[SMQ_HISTOGRAM_SIZE - 1] = 5;
    metrics.handling_count = 12;
    metrics.handling_ms_sum = 1234567;
    page = page_of(&metrics, NULL, 0);
    family = page_find(page, "slotmq_handling_seconds");
    assert_string_equal(family->type, "histogram");
    assert_int_equal(family->count, SMQ_HISTOGRAM_SIZE + 2);
    for (int i = 0; i < SMQ_HISTOGRAM_SIZE; i++) {
        const struct sample *sample = &family->samples[i];
        int expected = i < 2 ? 3 : i < SMQ_HISTOGRAM_SIZE - 1 ? 7 : 12;

        snprintf(bound, sizeof(bound), "%d.%03d", (1 << i) / 1000, (1 << i) % 1000);
        assert_string_equal(sample->name, "slotmq_handling_seconds_bucket");
        assert_string_equal(sample->label, "le");
        assert_string_equal(sample->label_value, i < SMQ_HISTOGRAM_SIZE - 1 ? bound : "+Inf");
        assert_int_equal(strtol(sample->value, NULL, 10), expected);
    }
    assert_string_equal(family->samples[SMQ_HISTOGRAM_SIZE].name, "slotmq_handling_seconds_sum");
    assert_string_equal(family->samples[SMQ_HISTOGRAM_SIZE].value, "1234.567");
    assert_string_equal(family->samples[SMQ_HISTOGRAM_SIZE + 1].name,
                        "slotmq_handling_seconds_count");
    assert_string_equal(family->samples[SMQ_HISTOGRAM_SIZE + 1].value, "12");
    free(page);
}

static bool is_by_cause(const struct family *family)
{
    return strcmp(family->name, "slotmq_topic_dead_letters_total") == 0;
}

static void deaths_have_their_cause(void **state)
{
    static const char *const causes[CAUSES] = {"rejected",  "failed",  "crashed",
                                               "timed_out", "expired", "bodiless"};
    smq_survey_topic topic = {.topic = "orders", .stats = SMQ_STATS_INIT};
    uint64_t *const numbers[CAUSES] = {&topic.stats.dead_rejected, &topic.stats.dead_failed,
                                       &topic.stats.dead_crashed,  &topic.stats.dead_timed_out,
                                       &topic.stats.dead_expired,  &topic.stats.dead_bodiless};
    smq_metrics metrics = SMQ_METRICS_INIT;
    const struct family *family;
    struct page *page;

    for (int i = 0; i < CAUSES; i++) {
        *numbers[i] = 10U + (unsigned) i;
    }
    page = page_of(&metrics, &topic, 1);
    family = page_find(page, "slotmq_topic_dead_letters_total");
    assert_int_equal(family->count, CAUSES);
    for (int i = 0; i < CAUSES; i++) {
        assert_string_equal(family->samples[i].cause, causes[i]);
        assert_int_equal(strtoull(family->samples[i].value, NULL, 10), 10 + i);
    }
    free(page);
}

static void topics_stand_together_in_each_family(void **state)
{
    smq_survey_topic topics[2] = {{.topic = "orders", .stats = SMQ_STATS_INIT},
                                  {.topic = "mail-2", .stats = SMQ_STATS_INIT}};
    smq_metrics metrics = SMQ_METRICS_INIT;
    struct page *page;
    int families = 0;

    topics[0].stats.waiting = 7;
    topics[0].stats.oldest_due_age_ms = 61005;
    topics[1].stats.lease_lost = 9;
    page = page_of(&metrics, topics, 2);
    for (int i = 0; i < page->count; i++) {
        const struct family *family = &page->families[i];

        if (strncmp(family->name, "slotmq_topic_", 13) == 0) {
            families++;
            assert_int_equal(family->count, is_by_cause(family) ? 2 * CAUSES : 2);
            for (int j = 0; j < family->count; j++) {
                assert_string_equal(family->samples[j].label, "topic");
                assert_string_equal(family->samples[j].label_value, topics[j % 2].topic);
            }
        }
    }
    /* all of smq_stats but its size and next_due_at_ms, the causes of death in one, and whether it
     * is unreadable */
    assert_int_equal(families, sizeof(smq_stats) / sizeof(uint64_t) - 2 - (CAUSES - 1) + 1);
    assert_string_equal(page_find(page, "slotmq_topic_messages_waiting")->samples[0].value, "7");
    assert_string_equal(page_find(page, "slotmq_topic_oldest_due_age_seconds")->samples[0].value,
                        "61.005");
    assert_string_equal(page_find(page, "slotmq_topic_messages_lease_lost_total")->samples[1].value,
                        "9");
    free(page);
}

/* A lag that is not known is left out; an alert on it cannot be silenced by a 0. */
static void an_unknown_lag_has_no_sample(void **state)
{
    smq_survey_topic topics[2] = {{.topic = "orders", .stats = SMQ_STATS_INIT},
                                  {.topic = "mail-2", .stats = SMQ_STATS_INIT}};
    smq_metrics metrics = SMQ_METRICS_INIT;
    const struct family *lag;
    struct page *page;

    topics[0].stats.oldest_due_age_ms = SMQ_AGE_UNKNOWN;
    page = page_of(&metrics, topics, 2);
    lag = page_find(page, "slotmq_topic_oldest_due_age_seconds");
    assert_int_equal(lag->count, 1);
    assert_string_equal(lag->samples[0].label_value, "mail-2");
    free(page);
}

/* Redis does not know who consumes a shared topic, so a 0 would be false. */
static void only_exclusive_topics_have_owners(void **state)
{
    smq_survey_topic topics[3] = {
        {.topic = "orders",
         .stats = SMQ_STATS_INIT,
         .has_owners = true,
         .owners = 2,
         .slots_unowned = 5},
        {.topic = "shared", .stats = SMQ_STATS_INIT},
        {.topic = "mail-2", .status = SMQ_UNAVAILABLE, .has_owners = true, .owners = 1}};
    smq_metrics metrics = SMQ_METRICS_INIT;
    struct page *page = page_of(&metrics, topics, 3);
    const struct family *owners = page_find(page, "slotmq_topic_owners");
    const struct family *unowned = page_find(page, "slotmq_topic_slots_unowned");

    assert_int_equal(owners->count, 1);
    assert_string_equal(owners->samples[0].label_value, "orders");
    assert_string_equal(owners->samples[0].value, "2");
    assert_int_equal(unowned->count, 1);
    assert_string_equal(unowned->samples[0].label_value, "orders");
    assert_string_equal(unowned->samples[0].value, "5");
    free(page);
}

/* A 0 would say that it is empty. */
static void an_unreadable_topic_has_no_other_sample(void **state)
{
    smq_survey_topic topics[2] = {{.topic = "orders", .stats = SMQ_STATS_INIT},
                                  {.topic = "mail-2", .status = SMQ_UNAVAILABLE}};
    smq_metrics metrics = SMQ_METRICS_INIT;
    struct page *page = page_of(&metrics, topics, 2);

    for (int i = 0; i < page->count; i++) {
        const struct family *family = &page->families[i];

        if (strcmp(family->name, "slotmq_topic_unreadable") == 0) {
            assert_int_equal(family->count, 2);
            assert_string_equal(family->samples[0].value, "0");
            assert_string_equal(family->samples[1].value, "1");
        } else if (strncmp(family->name, "slotmq_topic_", 13) == 0) {
            assert_int_equal(family->count, is_by_cause(family) ? CAUSES : 1);
            assert_string_equal(family->samples[0].label_value, "orders");
        }
    }
    assert_non_null(page_find(page, "slotmq_topic_unreadable"));
    free(page);
}

static void label_values_are_escaped(void **state)
{
    smq_survey_topic topic = {.topic = "a\"b\\c\nd", .stats = SMQ_STATS_INIT};
    smq_metrics metrics = SMQ_METRICS_INIT;
    struct page *page = page_of(&metrics, &topic, 1);

    assert_string_equal(page_find(page, "slotmq_topic_messages_waiting")->samples[0].label_value,
                        "a\"b\\c\nd");
    free(page);
}

static void without_topics_there_is_no_family_of_topics(void **state)
{
    struct buf text = {.len = 0};

    metrics_text_topics(&text, NULL, 0);
    assert_int_equal(text.len, 0);
    buf_fini(&text);
}

/* The next row "| `NAME` | TYPE | HELP |" that names a metric of the library; false: there is none.
 * command_serve holds those of slotmq serve. */
static bool take_row(FILE *file, struct family *out)
{
    char line[512];

    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "| `slotmq_serve_", 16) == 0) {
            continue;
        }
        if (strncmp(line, "| `slotmq_", 10) == 0) {
            const char *at = take_until(out->name, sizeof(out->name), line + 3, "`\n");

            at = take_until(out->type, sizeof(out->type), take_literal(at, "` | "), " \n");
            at = take_until(out->help, sizeof(out->help), take_literal(at, " | "), "|\n");
            assert_string_equal(at, "|\n");
            out->help[strlen(out->help) - 1] = '\0';
            return true;
        }
    }
    return false;
}

static void document_lists_every_metric_as_the_text_does(void **state)
{
    smq_metrics metrics = SMQ_METRICS_INIT;
    smq_survey_topic topic = {
        .topic = "orders", .stats = SMQ_STATS_INIT, .has_owners = true, .list_read = true};
    struct page *page = page_of(&metrics, &topic, 1);
    struct family row;
    FILE *file = fopen(DOCUMENT, "r");
    int rows = 0;

    assert_non_null(file);
    while (take_row(file, &row)) {
        assert_true(rows < page->count);
        assert_string_equal(row.name, page->families[rows].name);
        assert_string_equal(row.type, page->families[rows].type);
        assert_string_equal(row.help, page->families[rows].help);
        rows++;
    }
    assert_int_equal(rows, page->count);
    fclose(file);
    free(page);
}

static void count_field(int *fields, size_t struct_size, const smq_number_info *number)
{
    size_t place = (number->offset - sizeof(size_t)) / sizeof(uint64_t);

    assert_true(number->offset >= sizeof(size_t) && number->offset < struct_size);
    assert_int_equal(number->offset % sizeof(uint64_t), 0);
    fields[place]++;
    assert_int_equal(fields[place], 1);
}

/* A field without a row would be in no text, no JSON and no sum. */
static void each_field_has_one_row(void **state)
{
    int stats[sizeof(smq_stats) / sizeof(uint64_t)] = {0};
    int metrics[sizeof(smq_metrics) / sizeof(uint64_t)] = {0};

    for (size_t i = 0; i < statistic_count; i++) {
        count_field(stats, sizeof(smq_stats), &statistic_table[i].info);
    }
    assert_int_equal(statistic_count, sizeof(smq_stats) / sizeof(uint64_t) - 1);
    for (size_t i = 0; i < metric_count; i++) {
        count_field(metrics, sizeof(smq_metrics), &metric_table[i]);
    }
    assert_int_equal(metric_count,
                     sizeof(smq_metrics) / sizeof(uint64_t) - 1 - (SMQ_HISTOGRAM_SIZE - 1));
}

static void a_topic_has_the_sums_of_its_slots(void **state)
{
    static const struct {
        int64_t topic_age, slot_age, age, topic_next, slot_next, next;
    } rows[] = {
        {0, 5, 5, 0, 100, 100},
        {7, 5, 7, 100, 0, 100},
        {7, SMQ_AGE_UNKNOWN, SMQ_AGE_UNKNOWN, 100, 90, 90},
        {SMQ_AGE_UNKNOWN, 0, SMQ_AGE_UNKNOWN, 0, 0, 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        smq_stats topic = {.waiting = 3,
                           .duplicates = 1,
                           .oldest_due_age_ms = rows[i].topic_age,
                           .next_due_at_ms = rows[i].topic_next};
        const smq_stats slot = {.waiting = 4,
                                .slots_paused = 1,
                                .oldest_due_age_ms = rows[i].slot_age,
                                .next_due_at_ms = rows[i].slot_next};

        statistic_add_slot(&topic, &slot);
        assert_int_equal(topic.waiting, 7);
        assert_int_equal(topic.duplicates, 1);
        assert_int_equal(topic.slots_paused, 1);
        assert_int_equal(topic.oldest_due_age_ms, rows[i].age);
        assert_int_equal(topic.next_due_at_ms, rows[i].next);
    }
}

TEST_GROUP(metrics_text)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_has_one_row),
        cmocka_unit_test(a_topic_has_the_sums_of_its_slots),
        cmocka_unit_test(names_follow_the_conventions),
        cmocka_unit_test(each_number_of_a_process_stands_in_the_text),
        cmocka_unit_test(numbers_of_a_topic_have_its_name),
        cmocka_unit_test(waits_say_for_what_in_seconds),
        cmocka_unit_test(histogram_is_cumulative_and_ends_with_inf),
        cmocka_unit_test(deaths_have_their_cause),
        cmocka_unit_test(topics_stand_together_in_each_family),
        cmocka_unit_test(an_unknown_lag_has_no_sample),
        cmocka_unit_test(only_exclusive_topics_have_owners),
        cmocka_unit_test(an_unreadable_topic_has_no_other_sample),
        cmocka_unit_test(label_values_are_escaped),
        cmocka_unit_test(without_topics_there_is_no_family_of_topics),
        cmocka_unit_test(document_lists_every_metric_as_the_text_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
