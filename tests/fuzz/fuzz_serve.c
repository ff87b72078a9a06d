/* fuzz_serve.c - what clients send to slotmq serve, and the text that it reads.  The first line of
 * an input names the reader; the others are what it reads. */
#include <string.h>

#include "cli/http/address.h"
#include "cli/http/guard.h"
#include "cli/http/query.h"
#include "fuzz/fuzz.h"

static const struct query_field named[] = {
    {.name = "id", .type = QUERY_BYTES}, {.name = "key", .type = QUERY_BYTES}, {.name = NULL}};
static const struct query_field fields[] = {
    {.name = "topic", .type = QUERY_TEXT, .required = true},
    {.name = "limit", .type = QUERY_NUMBER, .min = 1, .max = 1000},
    {.name = "all", .type = QUERY_SWITCH},
    {.name = "state", .type = QUERY_WORDS, .max = 4},
    {.name = "id", .type = QUERY_BYTES},
    {.name = "reason_is", .type = QUERY_STRING},
    {.name = "messages", .type = QUERY_OBJECTS, .max = 10, .of = named},
    {.name = NULL},
};

/* What was checked can be used. */
static void use(json_t *query, bool address)
{
    char why[QUERY_WHY] = "";
    char *decoded = NULL;

    if (!query_check(query, fields, address, why)) {
        FUZZ_CHECK(why[0] != '\0' && strlen(why) < QUERY_WHY);
        return;
    }
    const int64_t limit = query_number(query, "limit", 1);
    FUZZ_CHECK(query_text(query, "topic") != NULL);
    FUZZ_CHECK(limit >= 1 && limit <= 1000);
    FUZZ_CHECK(json_array_size(json_object_get(query, "state")) <= 4);
    (void) query_switch(query, "all");
    (void) query_bytes(query, "id", &decoded);
    free(decoded);
    const smq_bytes reason = query_bytes(query, "reason_is", &decoded);
    FUZZ_CHECK(!reason.data || strlen(reason.data) == reason.len);
    free(decoded);
}

/* "name=value&name=value", as libmicrohttpd splits it. */
static void read_address(const char *text, size_t size)
{
    json_t *query = json_object();
    char why[QUERY_WHY] = "";
    bool good = true;

    while (size > 0 && good) {
        const char *end = memchr(text, '&', size);
        const size_t length = end ? (size_t) (end - text) : size;
        const char *equals = memchr(text, '=', length);
        const size_t name = equals ? (size_t) (equals - text) : length;
        good = query_add(query, text, name, equals ? equals + 1 : NULL,
                         equals ? length - name - 1 : 0, why);
        FUZZ_CHECK(good || why[0] != '\0');
        text += length + (end ? 1 : 0);
        size -= length + (end ? 1 : 0);
    }
    if (good) {
        use(query, true);
    }
    json_decref(query);
}

static void read_body(const char *text, size_t size)
{
    char why[QUERY_WHY] = "";
    json_t *query = query_read(text, size, why);

    if (query) {
        use(query, false);
    } else {
        FUZZ_CHECK(why[0] != '\0');
    }
    json_decref(query);
}

/* The lines are Host, Origin, Authorization. */
static void read_headers(const char *text, size_t size)
{
    const struct guard guard = {.token = "0123456789abcdef", .names = "a.example,b.example"};
    char *copy = malloc(size + 1);
    char *lines[3] = {"", NULL, NULL};
    struct guard_caller caller;
    struct address address;

    FUZZ_CHECK(copy != NULL);
    memcpy(copy, text, size);
    copy[size] = '\0';
    char *rest = copy;
    for (size_t i = 0; i < 3 && rest; i++) {
        lines[i] = strsep(&rest, "\n");
    }
    (void) address_parse(&address, lines[0]);
    const enum guard_verdict verdict = guard_check(
        &caller, &guard,
        &(struct guard_facts){.host = lines[0], .origin = lines[1], .authorization = lines[2]});
    FUZZ_CHECK(!caller.write && (verdict == GUARD_KNOWN || (!caller.read && !caller.personal)));
    FUZZ_CHECK(!caller.personal || (lines[2] && strstr(lines[2], guard.token) != NULL));
    free(copy);
}

FUZZ_TARGET(serve)
{
    static const struct {
        const char *name;
        void (*read)(const char *text, size_t size);
    } readers[] = {{"address", read_address}, {"body", read_body}, {"headers", read_headers}};
    const char *text = (const char *) data;
    const char *end = memchr(text, '\n', size);
    const size_t length = end ? (size_t) (end - text) : size;

    for (size_t i = 0; end && i < sizeof(readers) / sizeof(readers[0]); i++) {
        if (strlen(readers[i].name) == length && memcmp(readers[i].name, text, length) == 0) {
            readers[i].read(end + 1, size - length - 1);
        }
    }
}
