/* alarms.c - see alarms.h.
 *
 * Thread: the loop's. */
#include "base/alarms.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"

enum { US_PER_S = 1000000, NS_PER_US = 1000, ROOM_FIRST = 16 };

/* --- the heap --- */

static bool alarms_before(const struct alarm *one, const struct alarm *other)
{
    return one->at_us < other->at_us || (one->at_us == other->at_us && one->number < other->number);
}

static void alarms_put(struct alarms *alarms, size_t place, struct alarm *alarm)
{
    alarms->heap[place] = alarm;
    alarm->place = place;
}

/* Put the alarm at `place`, or further up, where its time belongs. */
static void alarms_rise(struct alarms *alarms, size_t place, struct alarm *alarm)
{
    while (place > 0 && alarms_before(alarm, alarms->heap[(place - 1) / 2])) {
        alarms_put(alarms, place, alarms->heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    alarms_put(alarms, place, alarm);
}

/* Put the alarm at `place`, or further down. */
static void alarms_sink(struct alarms *alarms, size_t place, struct alarm *alarm)
{
    size_t next;

    while ((next = 2 * place + 1) < alarms->count) {
        if (next + 1 < alarms->count && alarms_before(alarms->heap[next + 1], alarms->heap[next])) {
            next++;
        }
        if (!alarms_before(alarms->heap[next], alarm)) {
            break;
        }
        alarms_put(alarms, place, alarms->heap[next]);
        place = next;
    }
    alarms_put(alarms, place, alarm);
}

static void alarms_insert(struct alarms *alarms, struct alarm *alarm)
{
    if (alarms->count == alarms->room) {
        alarms->room = alarms->room > 0 ? 2 * alarms->room : ROOM_FIRST;
        alarms->heap = memory_grow(alarms->heap, alarms->room, sizeof(*alarms->heap));
    }
    alarm->number = alarms->numbers++;
    alarms_rise(alarms, alarms->count++, alarm);
}

static void alarms_remove(struct alarms *alarms, struct alarm *alarm)
{
    struct alarm *last = alarms->heap[--alarms->count];

    alarm->at_us = 0;
    if (last == alarm) {
        return;
    }
    if (alarm->place > 0 && alarms_before(last, alarms->heap[(alarm->place - 1) / 2])) {
        alarms_rise(alarms, alarm->place, last);
    } else {
        alarms_sink(alarms, alarm->place, last);
    }
}

void alarm_set(struct alarms *alarms, struct alarm *alarm, int64_t at_us)
{
    at_us = at_us > 0 ? at_us : 1;
    if (alarm->at_us == at_us) {
        return;
    }
    alarm_clear(alarms, alarm);
    alarm->at_us = at_us;
    alarms_insert(alarms, alarm);
}

void alarm_clear(struct alarms *alarms, struct alarm *alarm)
{
    if (alarm->at_us != 0) {
        alarms_remove(alarms, alarm);
    }
}

/* --- the timer --- */

/* Before the loop waits: have the descriptor become readable when the first alarm is due. */
static void alarms_on_prepare(uv_prepare_t *prepare)
{
    struct alarms *alarms = prepare->data;
    struct itimerspec in = {.it_value = {0}};
    int64_t left_us;

    if (alarms->count == 0 || alarms->heap[0]->at_us == alarms->wound_us) {
        return;
    }
    alarms->wound_us = alarms->heap[0]->at_us;
    left_us = alarms->wound_us - clock_now_us();
    left_us = left_us > 0 ? left_us : 1;
    in.it_value.tv_sec = left_us / US_PER_S;
    in.it_value.tv_nsec = left_us % US_PER_S * NS_PER_US;
    (void) timerfd_settime(alarms->timer, 0, &in, NULL);
}

static void alarms_on_due(uv_poll_t *poll, int status, int events)
{
    struct alarms *alarms = poll->data;
    int64_t now_us = clock_now_us();
    uint64_t times, numbers = alarms->numbers;

    (void) status;
    (void) events;
    (void) !read(alarms->timer, &times, sizeof(times));
    alarms->wound_us = 0;
    /* what a ring() sets waits for the next turn of the loop, even for a time that has passed */
    while (alarms->count > 0 && alarms->heap[0]->at_us <= now_us &&
           alarms->heap[0]->number < numbers) {
        struct alarm *alarm = alarms->heap[0];

        alarms_remove(alarms, alarm);
        alarm->ring(alarm);
    }
}

int alarms_open(struct alarms *alarms, uv_loop_t *uv)
{
    int failed;

    *alarms = (struct alarms){.timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)};
    if (alarms->timer < 0) {
        return uv_translate_sys_error(errno);
    }
    failed = uv_poll_init(uv, &alarms->poll, alarms->timer);
    if (failed != 0) {
        alarms_fini(alarms);
        return failed;
    }
    (void) uv_prepare_init(uv, &alarms->prepare);
    alarms->poll.data = alarms->prepare.data = alarms;
    (void) uv_poll_start(&alarms->poll, UV_READABLE, alarms_on_due);
    (void) uv_prepare_start(&alarms->prepare, alarms_on_prepare);
    uv_unref((uv_handle_t *) &alarms->poll);
    uv_unref((uv_handle_t *) &alarms->prepare);
    return 0;
}

void alarms_close(struct alarms *alarms)
{
    if (alarms->timer >= 0) {
        uv_close((uv_handle_t *) &alarms->poll, NULL);
        uv_close((uv_handle_t *) &alarms->prepare, NULL);
    }
}

void alarms_fini(struct alarms *alarms)
{
    if (alarms->timer >= 0) {
        (void) close(alarms->timer);
    }
    alarms->timer = -1;
    free(alarms->heap);
    alarms->heap = NULL;
    alarms->count = alarms->room = 0;
}
