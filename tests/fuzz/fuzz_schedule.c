/* fuzz_schedule.c - what is stored of a schedule: a state, or a definition in a topic of layout
 * keyed. */
#include <string.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "model/schedule.h"

static void fuzz_schedule_state(const char *text)
{
    struct schedule_state state, again;
    struct buf written = {0};

    if (!schedule_parse_state(&state, text)) {
        return;
    }
    buf_printf(&written, "%lld,", (long long) state.version);
    schedule_format_state(&written, &state);
    FUZZ_CHECK(schedule_parse_state(&again, written.data));
    FUZZ_CHECK(again.due_ms == state.due_ms && again.ticks == state.ticks &&
               again.paused == state.paused && strcmp(again.note, state.note) == 0);
    buf_fini(&written);
}

FUZZ_TARGET(schedule)
{
    const struct topic keyed = {.type = SMQ_TYPE_PRIORITY, .layout = SMQ_LAYOUT_KEYED};
    char *text = calloc(1, size + 1); /* as in a reply, a NUL stands behind it */
    char times[SCHEDULE_TIMES_MAX];
    smq_header headers[SMQ_HEADERS_MAX];
    smq_message message;
    smq_schedule schedule;
    smq_error err;
    struct ticks ticks;

    if (text == NULL) {
        abort();
    }
    memcpy(text, data, size);
    if (schedule_read(times, &message, headers, &keyed, text, size)) {
        FUZZ_CHECK(message.body.len <= size && message.header_count <= SMQ_HEADERS_MAX);
        if (schedule_parse_times(&schedule, times)) {
            (void) schedule_check(&ticks, &schedule, &err);
        }
    }
    fuzz_schedule_state(text);
    free(text);
}
