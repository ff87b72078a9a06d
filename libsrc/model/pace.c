/* pace.c - see pace.h. */
#include "model/pace.h"

/* docs/decisions/0020-departures.md, 0032-lingering-answers.md and 0063-one-bound-for-each-wait.md
 * have the measurements. */
enum {
    PACE_TOGETHER_PART = 4, /* of the linger time: the longest time between two flushes */
    PACE_LINGER_PART = 32   /* so one message of this many comes while answers of its slot linger */
};

void pace_init(struct pace *pace, int64_t linger_ms)
{
    *pace = (struct pace){.linger_us = linger_ms * 1000, .flushed_us = -1};
}

int64_t pace_together_us(const struct pace *pace)
{
    return pace->linger_us / PACE_TOGETHER_PART;
}

int64_t pace_opens_us(const struct pace *pace)
{
    return pace->flushed_us < 0 || pace->answered ? 0 : pace->flushed_us + pace_together_us(pace);
}

int64_t pace_linger_us(const struct pace *pace, int64_t apart_us)
{
    int64_t part_us = apart_us / PACE_LINGER_PART;

    return part_us < pace->linger_us ? part_us : pace->linger_us;
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
