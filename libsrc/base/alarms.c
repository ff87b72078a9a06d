/* alarms.c - see alarms.h.
 *
 * Thread: the loop's. */
#include "base/alarms.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"

enum { US_PER_S = 1000000, NS_PER_US = 1000 };

/* Have the descriptor become readable when the first alarm is due, or never. */
static void alarms_wind(struct alarms *alarms)
{
    const struct alarm *first = TAILQ_FIRST(&alarms->set);
    struct itimerspec at = {.it_value = {0}};

    if (first != NULL) {
        at.it_value.tv_sec = first->at_us / US_PER_S;
        at.it_value.tv_nsec = first->at_us % US_PER_S * NS_PER_US;
    }
    (void) timerfd_settime(alarms->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void alarms_on_due(uv_poll_t *poll, int status, int events)
{
    struct alarms *alarms = poll->data;
    int64_t now_us = clock_now_us();
    uint64_t times;
    struct alarm *alarm;

    (void) status;
    (void) events;
    (void) !read(alarms->timer, &times, sizeof(times));
    while ((alarm = TAILQ_FIRST(&alarms->set)) != NULL && alarm->at_us <= now_us) {
        TAILQ_REMOVE(&alarms->set, alarm, link);
        alarm->at_us = 0;
        alarm->ring(alarm);
    }
    alarms_wind(alarms);
}

int alarms_open(struct alarms *alarms, uv_loop_t *uv)
{
    int failed;

    TAILQ_INIT(&alarms->set);
    alarms->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (alarms->timer < 0) {
        return uv_translate_sys_error(errno);
    }
    failed = uv_poll_init(uv, &alarms->poll, alarms->timer);
    if (failed != 0) {
        alarms_fini(alarms);
        return failed;
    }
    alarms->poll.data = alarms;
    (void) uv_poll_start(&alarms->poll, UV_READABLE, alarms_on_due);
    uv_unref((uv_handle_t *) &alarms->poll);
    return 0;
}

void alarms_close(struct alarms *alarms)
{
    if (alarms->timer >= 0) {
        uv_close((uv_handle_t *) &alarms->poll, NULL);
    }
}

void alarms_fini(struct alarms *alarms)
{
    if (alarms->timer >= 0) {
        (void) close(alarms->timer);
    }
    alarms->timer = -1;
}

static void alarms_insert(struct alarms *alarms, struct alarm *alarm)
{
    struct alarm *later;

    TAILQ_FOREACH(later, &alarms->set, link)
    {
        if (later->at_us > alarm->at_us) {
            TAILQ_INSERT_BEFORE(later, alarm, link);
            return;
        }
    }
    TAILQ_INSERT_TAIL(&alarms->set, alarm, link);
}

void alarm_set(struct alarms *alarms, struct alarm *alarm, int64_t at_us)
{
    const struct alarm *first = TAILQ_FIRST(&alarms->set);

    if (alarm->at_us == at_us) {
        return;
    }
    if (alarm->at_us != 0) {
        TAILQ_REMOVE(&alarms->set, alarm, link);
    }
    alarm->at_us = at_us > 0 ? at_us : 1;
    alarms_insert(alarms, alarm);
    if (first == alarm || TAILQ_FIRST(&alarms->set) == alarm) {
        alarms_wind(alarms);
    }
}

void alarm_clear(struct alarms *alarms, struct alarm *alarm)
{
    if (alarm->at_us != 0) {
        TAILQ_REMOVE(&alarms->set, alarm, link);
        alarm->at_us = 0;
    }
}
