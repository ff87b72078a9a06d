/* pace.c - see pace.h. */
#include "model/pace.h"

/* docs/decisions/0020-departures.md and 0032-lingering-answers.md have the measurements. */
enum {
    PACE_LINGER_TIMES = 4, /* the longest time between two flushes: the longest to linger */
    PACE_LINGER_PART = 32  /* so one message of this many comes while answers of its slot linger */
};

void pace_init(struct pace *pace, int64_t linger_ms)
{
    *pace = (struct pace){.most_us = linger_ms * 1000 / 2, .flushed_us = -1};
}

int64_t pace_opens_us(const struct pace *pace)
{
    return pace->flushed_us < 0 || pace->answered ? 0 : pace->flushed_us + pace->most_us;
}

int64_t pace_linger_us(const struct pace *pace, int64_t apart_us)
{
    int64_t most_us = PACE_LINGER_TIMES * pace->most_us, part_us = apart_us / PACE_LINGER_PART;

    return part_us < most_us ? part_us : most_us;
}

void pace_flush(struct pace *pace, int64_t now_us)
{
    pace->answered = pace->answered && pace->flushed_us == now_us;
    pace->flushed_us = now_us;
}

void pace_answered(struct pace *pace, int64_t flushed_us)
{
    pace->answered = pace->answered || flushed_us == pace->flushed_us;
}
