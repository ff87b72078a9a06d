/* test_page.c - the files that slotmq serve answers as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/page/page.h"
#include "support/group.h"

static const struct {
    const char *address;
    const char *file; /* below serve */
    const char *type;
} rows[] = {
    {"/", "page/index.html", "text/html; charset=utf-8"},
    {"/api/v1/openapi.json", "openapi.json", "application/json"},
    {"/page/icon.svg", "page/icon.svg", "image/svg+xml"},
    {"/page/style.css", "page/style.css", "text/css; charset=utf-8"},
    {"/page/address.js", "page/address.js", "text/javascript; charset=utf-8"},
    {"/page/alter.js", "page/alter.js", "text/javascript; charset=utf-8"},
    {"/page/api.js", "page/api.js", "text/javascript; charset=utf-8"},
    {"/page/app.js", "page/app.js", "text/javascript; charset=utf-8"},
    {"/page/chart.js", "page/chart.js", "text/javascript; charset=utf-8"},
    {"/page/dead.js", "page/dead.js", "text/javascript; charset=utf-8"},
    {"/page/doctor.js", "page/doctor.js", "text/javascript; charset=utf-8"},
    {"/page/dom.js", "page/dom.js", "text/javascript; charset=utf-8"},
    {"/page/fleet.js", "page/fleet.js", "text/javascript; charset=utf-8"},
    {"/page/format.js", "page/format.js", "text/javascript; charset=utf-8"},
    {"/page/jobs.js", "page/jobs.js", "text/javascript; charset=utf-8"},
    {"/page/message.js", "page/message.js", "text/javascript; charset=utf-8"},
    {"/page/messages.js", "page/messages.js", "text/javascript; charset=utf-8"},
    {"/page/parts.js", "page/parts.js", "text/javascript; charset=utf-8"},
    {"/page/purge.js", "page/purge.js", "text/javascript; charset=utf-8"},
    {"/page/requeue.js", "page/requeue.js", "text/javascript; charset=utf-8"},
    {"/page/schedules.js", "page/schedules.js", "text/javascript; charset=utf-8"},
    {"/page/selection.js", "page/selection.js", "text/javascript; charset=utf-8"},
    {"/page/topic.js", "page/topic.js", "text/javascript; charset=utf-8"},
    {"/page/topics.js", "page/topics.js", "text/javascript; charset=utf-8"},
    {"/page/work.js", "page/work.js", "text/javascript; charset=utf-8"},
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
