/* fuzz_entry.c - entries and scores of the sorted sets of a slot. */
#include <string.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "support/entry_text.h"

/* There is one form of an entry. */
static void read_entry(const char *text, size_t len)
{
    struct entry entry;
    struct buf again = {0};

    if (entry_decode(&entry, text, len)) {
        FUZZ_CHECK(entry.member + entry.member_len == text + len);
        entry_encode(&again, &entry);
        FUZZ_CHECK(again.len == len && memcmp(again.data, text, len) == 0);
        buf_fini(&again);
    }
}

/* There are several of a score; that which is written is read back. */
static void read_score(const char *text, size_t len)
{
    struct attempts attempts, attempts_again;
    int64_t integer, integer_again;
    char again[40];

    if (entry_score_parse(&integer, &attempts, text, len)) {
        FUZZ_CHECK(attempts.retries >= 0 && attempts.retries <= TOPIC_RETRIES_MAX);
        entry_score_format(again, integer, attempts);
        FUZZ_CHECK(entry_score_parse(&integer_again, &attempts_again, again, strlen(again)));
        FUZZ_CHECK(integer == integer_again && attempts.retries == attempts_again.retries &&
                   attempts.suspect == attempts_again.suspect);
    }
}

FUZZ_TARGET(entry)
{
    read_entry((const char *) data, size);
    read_score((const char *) data, size);
}
