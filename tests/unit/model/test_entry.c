/* test_entry.c - entries and scores, on the vectors that the scripts are tested on too. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/entry.h"
#include "support/entry_text.h"
#include "support/group.h"
#include "support/vectors.h"

static int64_t vector_number(const char *text)
{
    char *end = NULL;
    long long value = strtoll(text, &end, 10);

    assert_int_equal(*end, '\0');
    return value;
}

/* The bytes behind hex digits; "-" is none. */
static struct buf vector_bytes(const char *hex)
{
    struct buf bytes = {0};
    char pair[3] = "";

    buf_add(&bytes, "", 0);
    for (; hex[0] != '\0' && hex[0] != '-'; hex += 2) {
        char byte = 0;

        memcpy(pair, hex, 2);
        byte = (char) strtol(pair, NULL, 16);
        buf_add(&bytes, &byte, 1);
    }
    return bytes;
}

/* --- scores --- */

static void score_reads_as(const char *text, int64_t integer, int retries, bool suspect)
{
    int64_t found = -7;
    struct attempts attempts = {.retries = -7};

    if (!entry_score_parse(&found, &attempts, text, strlen(text))) {
        fail_msg("score %s was refused", text);
    }
    if (found != integer || attempts.retries != retries || attempts.suspect != suspect) {
        fail_msg("score %s was read as %lld, %d, %d", text, (long long) found, attempts.retries,
                 attempts.suspect);
    }
}

static void check_score(const struct vector *vector, void *user)
{
    int64_t integer = vector_number(vector->fields[1]);
    struct attempts attempts = {.retries = (int) vector_number(vector->fields[2]),
                                .suspect = vector_number(vector->fields[3]) == 1};
    char text[40];

    (void) user;
    entry_score_format(text, integer, attempts);
    assert_string_equal(text, vector->fields[4]);
    score_reads_as(vector->fields[4], integer, attempts.retries, attempts.suspect);
    score_reads_as(vector->fields[5], integer, attempts.retries, attempts.suspect);
}

static void check_read(const struct vector *vector, void *user)
{
    (void) user;
    score_reads_as(vector->fields[1], vector_number(vector->fields[2]),
                   (int) vector_number(vector->fields[3]), vector_number(vector->fields[4]) == 1);
}

static void check_notscore(const struct vector *vector, void *user)
{
    int64_t integer = -7;
    struct attempts attempts = {.retries = -7};

    (void) user;
    if (entry_score_parse(&integer, &attempts, vector->fields[1], strlen(vector->fields[1]))) {
        fail_msg("score %s was taken", vector->fields[1]);
    }
    assert_int_equal(integer, -7);
    assert_int_equal(attempts.retries, -7);
}

static void scores_are_written_and_read_exactly(void **state)
{
    vector_each(VECTORS "/entries.txt", "score", 5, check_score, NULL);
    vector_each(VECTORS "/entries.txt", "read", 4, check_read, NULL);
}

static void other_texts_are_no_scores(void **state)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {{"", 0},    {" 5", 2},  {"5 ", 2},
                 {"5\0", 2}, {"5\n", 2}, {"0000000000000000000000000000000005", 34}};

    vector_each(VECTORS "/entries.txt", "notscore", 1, check_notscore, NULL);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t integer = 0;
        struct attempts attempts;

        assert_false(entry_score_parse(&integer, &attempts, cases[i].text, cases[i].len));
    }
}

/* A program that links the library may have set a locale in which the decimal point is a comma. */
static void scores_do_not_depend_on_the_locale(void **state)
{
    static const char *const names[] = {"de_DE.utf8", "fr_FR.utf8", "pl_PL.utf8", "de_DE", "fr_FR"};
    size_t i = 0;

    while (i < sizeof(names) / sizeof(names[0]) && setlocale(LC_ALL, names[i]) == NULL) {
        i++;
    }
    if (strcmp(localeconv()->decimal_point, ",") != 0) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
    vector_each(VECTORS "/entries.txt", "score", 5, check_score, NULL);
    vector_each(VECTORS "/entries.txt", "read", 4, check_read, NULL);
    vector_each(VECTORS "/entries.txt", "notscore", 1, check_notscore, NULL);
    setlocale(LC_ALL, "C");
}

/* --- entries --- */

static void check_entry(const struct vector *vector, void *user)
{
    struct buf member = vector_bytes(vector->fields[4]);
    struct buf bytes = vector_bytes(vector->fields[5]);
    struct buf encoded = {0};
    struct entry entry = {0};
    struct entry again = {.before = vector_number(vector->fields[1]),
                          .kind = (enum entry_kind) vector->fields[2][0],
                          .claim = strtoull(vector->fields[3], NULL, 10),
                          .member = member.data,
                          .member_len = member.len};

    (void) user;
    if (!entry_decode(&entry, bytes.data, bytes.len)) {
        fail_msg("entry \"%s\" was refused", bytes.data);
    }
    assert_int_equal(entry.before, again.before);
    assert_int_equal(entry.kind, again.kind);
    assert_int_equal(entry.claim, again.claim);
    assert_int_equal(entry.member_len, member.len);
    assert_memory_equal(entry.member, member.data, member.len);
    assert_true(entry.member == bytes.data + (bytes.len - member.len));
    entry_encode(&encoded, &again);
    assert_int_equal(encoded.len, bytes.len);
    assert_memory_equal(encoded.data, bytes.data, bytes.len);
    buf_fini(&encoded);
    buf_fini(&bytes);
    buf_fini(&member);
}

static void check_notentry(const struct vector *vector, void *user)
{
    struct buf bytes = vector_bytes(vector->fields[1]);
    struct entry entry = {.before = -7};

    (void) user;
    if (entry_decode(&entry, bytes.data, bytes.len)) {
        fail_msg("entry \"%s\" was taken", bytes.data);
    }
    assert_int_equal(entry.before, -7);
    buf_fini(&bytes);
}

static void entries_are_written_and_read(void **state)
{
    vector_each(VECTORS "/entries.txt", "entry", 5, check_entry, NULL);
}

static void other_bytes_are_no_entries(void **state)
{
    vector_each(VECTORS "/entries.txt", "notentry", 1, check_notentry, NULL);
    assert_false(entry_decode(&(struct entry){0}, NULL, 0));
}

/* --- what integers mean --- */

static void check_ties(const struct vector *vector, void *user)
{
    int64_t priority = vector_number(vector->fields[1]);
    int64_t integer = vector_number(vector->fields[3]);

    (void) user;
    assert_int_equal(entry_priority('p', integer), priority);
    assert_int_equal(entry_priority('b', integer), integer);
}

static void check_rest(const struct vector *vector, void *user)
{
    (void) user;
    assert_int_equal(ENTRY_REST_OFFSET + vector_number(vector->fields[1]),
                     vector_number(vector->fields[2]));
}

static void integers_mean_a_priority_or_a_time(void **state)
{
    vector_each(VECTORS "/entries.txt", "ties", 3, check_ties, NULL);
    vector_each(VECTORS "/entries.txt", "rest", 2, check_rest, NULL);
    assert_int_equal(entry_priority('m', 1700000000020), 1700000000020);
    assert_int_equal(entry_priority('t', -5), -5);
}

TEST_GROUP(entry)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_written_and_read_exactly),
        cmocka_unit_test(other_texts_are_no_scores),
        cmocka_unit_test(scores_do_not_depend_on_the_locale),
        cmocka_unit_test(entries_are_written_and_read),
        cmocka_unit_test(other_bytes_are_no_entries),
        cmocka_unit_test(integers_mean_a_priority_or_a_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
