/* pace.c - see pace.h. */
#include "model/pace.h"

/* A departure takes this many times as long as its replies, before the next one leaves. */
enum { PACE_TIMES = 2 };

void pace_init(struct pace *pace, int64_t linger_ms)
{
    *pace = (struct pace){.most_us = linger_ms * 1000 / 2, .departed_us = -1};
}

int64_t pace_wait_us(const struct pace *pace)
{
    int64_t wait_us = PACE_TIMES * pace->took_us;

    return pace->answered && wait_us < pace->most_us ? wait_us : pace->most_us;
}

int64_t pace_opens_us(const struct pace *pace)
{
    return pace->departed_us < 0 ? 0 : pace->departed_us + pace_wait_us(pace);
}

void pace_depart(struct pace *pace, int64_t now_us)
{
    pace->answered = pace->answered && pace->departed_us == now_us;
    pace->departed_us = now_us;
}

void pace_answered(struct pace *pace, int64_t departed_us, int64_t now_us)
{
    if (departed_us == pace->departed_us) {
        pace->answered = true;
        pace->took_us = now_us - departed_us;
    }
}
