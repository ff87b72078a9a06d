/* call_wait.c - see call_wait.h. */
#include "model/call_wait.h"

static enum call_wait_for call_wait_of(enum next_call_why why)
{
    switch (why) {
    case NEXT_CALL_TOGETHER:
    case NEXT_CALL_BUSY:
    case NEXT_CALL_IDLE:
    case NEXT_CALL_HALF:
        return CALL_WAIT_PACE;
    case NEXT_CALL_ROOM:
    case NEXT_CALL_RATE:
    case NEXT_CALL_MEMBER:
        return CALL_WAIT_ROOM;
    case NEXT_CALL_NOTHING:
    case NEXT_CALL_NOW:
    case NEXT_CALL_ANSWERS:
    case NEXT_CALL_TIME:
    case NEXT_CALLS:
        break;
    }
    return CALL_WAIT_SLOT;
}

static void call_wait_pass(struct call_wait *wait, int64_t now_us)
{
    if (now_us > wait->since_us) {
        wait->us[wait->what] += now_us - wait->since_us;
        wait->since_us = now_us;
    }
}

void call_wait_told(struct call_wait *wait, int64_t now_us)
{
    if (wait->since_us == 0 || wait->halved) {
        *wait = (struct call_wait){.since_us = now_us, .what = CALL_WAIT_SLOT};
    }
}

void call_wait_claimed(struct call_wait *wait, bool more, int64_t now_us)
{
    *wait = (struct call_wait){.since_us = now_us, .what = CALL_WAIT_SLOT, .halved = !more};
}

void call_wait_decided(struct call_wait *wait, enum next_call_why why, int64_t now_us)
{
    if (wait->since_us != 0 && why != NEXT_CALL_NOW) {
        call_wait_pass(wait, now_us);
        wait->what = call_wait_of(why);
    }
}

void call_wait_end(struct call_wait *wait, int64_t out[CALL_WAITS], int64_t now_us)
{
    if (wait->since_us != 0) {
        call_wait_pass(wait, now_us);
    }
    for (int i = 0; i < CALL_WAITS; i++) {
        out[i] = wait->halved ? wait->us[i] / 2 : wait->us[i];
    }
    *wait = (struct call_wait){.since_us = 0};
}
