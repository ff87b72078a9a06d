/* test_page.c - the files that slotmq serve answers as they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/serve/page/page.h"
#include "support/group.h"

static const struct {
    const char *address;
    const char *file; /* below cli/serve */
    const char *type;
} rows[] = {
    {"/api/v1/openapi.json", "openapi.json", "application/json"},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static char *file_text(const char *name, size_t *size)
{
    char path[4096];
    char *text = NULL;
    FILE *file = NULL;
    int byte = 0;

    snprintf(path, sizeof(path), "%s/%s", getenv("SLOTMQ_SERVE"), name);
    file = fopen(path, "re");
    assert_non_null(file);
    FILE *copy = open_memstream(&text, size);
    assert_non_null(copy);
    while ((byte = fgetc(file)) != EOF) {
        fputc(byte, copy);
    }
    fclose(copy);
    fclose(file);
    return text;
}

static void test_each_file_is_found_as_it_is(void **state)
{
    (void) state;
    assert_int_equal(page_count, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const struct page_file *found = page_find(rows[i].address);
        size_t size = 0;
        char *wanted = file_text(rows[i].file, &size);
        assert_non_null(found);
        assert_string_equal(found->type, rows[i].type);
        assert_int_equal(found->size, size);
        assert_string_equal(found->text, wanted);
        free(wanted);
    }
}

static void test_other_addresses_have_none(void **state)
{
    static const char *const others[] = {
        "",         "/index.html",           "/page",
        "/page/",   "/page/../openapi.json", "/api/v1/openapi.json/",
        "/page/\n", "/API/v1/openapi.json"};

    (void) state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_null(page_find(others[i]));
    }
}

TEST_GROUP(page)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_file_is_found_as_it_is),
        cmocka_unit_test(test_other_addresses_have_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
