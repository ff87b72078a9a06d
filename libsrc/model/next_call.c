/* next_call.c - see next_call.h. */
#include "model/next_call.h"

/* docs/decisions/0020-departures.md has the measurements. */
enum {
    MEMBER_PAUSE_US = 500000,
    TURN_US = 20000, /* long enough to settle and claim in one call while others wait for room */
    HALVES_APART_US = 30 /* Redis has read the first half by then */
};

/* --- how many --- */

static int64_t next_call_least(int64_t one, int64_t other)
{
    return one < other ? one : other;
}

static bool next_call_is_wanting(const struct next_call_view *view)
{
    return view->unanswered < (size_t) view->per_slot;
}

bool next_call_is_full(const struct next_call_view *view)
{
    size_t room = (size_t) view->room;

    return view->unanswered >= room || (view->unanswered > room / 2 && !next_call_is_wanting(view));
}

static int32_t next_call_refuse(struct next_call *next, enum next_call_why why, int64_t at_us)
{
    next->why = why;
    next->leave_at_us = at_us;
    return 0;
}

/* Why may the slot not claim while messages are in flight and none is answered?  NOW: it may.
 * Other keys need not wait for them, but an answer that comes soon saves the call. */
static enum next_call_why next_call_looks(const struct next_call_view *view)
{
    if (view->store == NEXT_CALL_MORE) {
        return NEXT_CALL_NOW;
    }
    if (view->look_us == NEXT_CALL_NEVER) {
        return NEXT_CALL_NOTHING;
    }
    return view->look_us > view->now_us ? NEXT_CALL_TIME : NEXT_CALL_NOW;
}

/* Each claim in progress keeps room for all that it may bring.  A slot that is not known to have
 * more waiting takes no more of it than its share, so that all slots can claim at once.  It takes
 * two at least: a claim of one that brings one would not show that nothing else waits. */
static int32_t next_call_fair_share(const struct next_call_view *view, int32_t wanted)
{
    if (view->store == NEXT_CALL_MORE || wanted <= view->share || wanted <= 2) {
        return wanted;
    }
    return view->share > 2 ? view->share : 2;
}

/* How many messages a claim would want now.  Normally messages are claimed only together with
 * settling answers.  They are claimed without answers when nothing is in flight, when the last
 * claim was cut short and half of the room is free, or when no answer came for a moment.
 *
 * A slot that is full claims messages of other keys, if its own are of fewer keys than could
 * be handled at once.  Such a claim reads what it passes over, so it is made rarely. */
static int32_t next_call_wanted(const struct next_call_view *view, struct next_call *next)
{
    bool passes = next_call_is_full(view);
    enum next_call_why looks = next_call_looks(view);
    size_t room = (size_t) (passes ? view->pass_room : view->room);

    if (view->store == NEXT_CALL_EMPTY) {
        return next_call_refuse(next, NEXT_CALL_NOTHING, NEXT_CALL_NEVER);
    }
    if (passes && (view->unanswered >= room || !view->lacks_keys)) {
        return next_call_refuse(next, NEXT_CALL_ANSWERS, NEXT_CALL_NEVER);
    }
    if (looks != NEXT_CALL_NOW && (passes || (view->in_flight > 0 && view->answers == 0))) {
        return next_call_refuse(next, looks,
                                looks == NEXT_CALL_TIME ? view->look_us : NEXT_CALL_NEVER);
    }
    if (passes && view->pass_us > view->now_us) {
        return next_call_refuse(next, NEXT_CALL_TIME, view->pass_us);
    }
    if (view->doubted) {
        return next_call_refuse(next, NEXT_CALL_MEMBER, view->now_us + MEMBER_PAUSE_US);
    }
    next->passes = passes;
    return next_call_fair_share(
        view, (int32_t) next_call_least((int64_t) (room - view->unanswered), view->batch));
}

static bool next_call_is_scarce(const struct next_call_view *view, int32_t wanted)
{
    return view->places < wanted && view->places < view->spare;
}

bool next_call_has_room(const struct next_call_view *view, int32_t wanted)
{
    return !next_call_is_scarce(view, wanted) && view->places > 0 && view->quota > 0 &&
           view->credit > 0;
}

/* Is there no room for a claim of this size, or is it the turn of others?  While slots wait for
 * room, another one may claim for at most TURN_US, and then goes to the back of the queue.  A claim
 * that passes over keys takes what little is left, because nothing of these keys is in work. */
static bool next_call_lacks_room(const struct next_call_view *view, const struct next_call *next,
                                 int32_t wanted)
{
    return (view->contended && view->now_us - view->turn_us >= TURN_US) ||
           (next_call_is_scarce(view, wanted) && !next->passes) || view->places <= 0 ||
           view->quota <= 0;
}

static void next_call_claim(const struct next_call_view *view, struct next_call *next)
{
    int32_t wanted = next_call_wanted(view, next);
    int64_t n = next_call_least(next_call_least(wanted, view->places),
                                next_call_least(view->quota, view->credit));

    if (wanted == 0) {
        return;
    }
    if (next_call_lacks_room(view, next, wanted)) {
        next_call_refuse(next, NEXT_CALL_ROOM, NEXT_CALL_NEVER);
    } else if (n <= 0) {
        next_call_refuse(next, NEXT_CALL_RATE, NEXT_CALL_NEVER);
    } else {
        next->n = (int32_t) n;
        return;
    }
    next->queues = true;
    next->passes = false;
}

/* --- when --- */

static void next_call_leave(struct next_call *next, enum next_call_why why, int64_t at_us)
{
    next->why = why;
    next->leave_at_us = at_us;
}

/* May what is ready leave, alone or with others? */
static bool next_call_is_open(const struct next_call_view *view)
{
    return view->awaited || view->left || view->urgent || view->now_us >= view->opens_us;
}

/* May the call be delayed because nothing depends on it?  All messages are answered, none is
 * requeued, none is known to wait, and no slot waits for room. */
static bool next_call_may_idle(const struct next_call_view *view, const struct next_call *next)
{
    return view->unanswered == 0 && view->store != NEXT_CALL_MORE && !view->woken &&
           view->answers > 0 && view->requeued == 0 && !view->contended && !next->queues;
}

/* Until when may the call of an idle slot wait?  Never until a message is due. */
static int64_t next_call_idle_until(const struct next_call_view *view)
{
    int64_t until_us = (view->waits_us > 0 ? view->waits_us : view->now_us) + view->linger_us;

    return view->due_us > 0 ? next_call_least(until_us, view->due_us) : until_us;
}

/* Does it wait for company?  With answers for more than half a batch it fills a call by itself. */
static void next_call_join(const struct next_call_view *view, struct next_call *next)
{
    int64_t until_us = next_call_idle_until(view);

    if (view->gated || view->answers > (size_t) view->batch / 2) {
        return;
    }
    if (next_call_may_idle(view, next) && !view->awaited && !view->left &&
        view->now_us < until_us) {
        next_call_leave(next, NEXT_CALL_IDLE, until_us);
    } else if (!next_call_is_open(view)) {
        next_call_leave(next, NEXT_CALL_TOGETHER, view->opens_us);
    }
}

/* When does the call leave that has something to claim or to settle? */
static void next_call_time(const struct next_call_view *view, struct next_call *next)
{
    next_call_leave(next, NEXT_CALL_NOW, view->now_us);
    if (view->ending) {
        return;
    }
    next_call_join(view, next);
    if (next->why == NEXT_CALL_NOW && view->busy && !view->must) {
        next_call_leave(next, NEXT_CALL_BUSY, NEXT_CALL_NEVER);
    }
}

/* Callers that wait for their sends send again when the replies have come; if all of them left at
 * once, Redis would have nothing to do until then.  So when Redis is idle, and several callers
 * wait, one half leaves a little before the other.  From then on the halves take turns. */
static struct next_call next_call_of_sends(const struct next_call_view *view)
{
    struct next_call next = {.n = view->sends};

    next_call_leave(&next, NEXT_CALL_NOW, view->now_us);
    if (!next_call_is_open(view)) {
        next.n = 0;
        next_call_leave(&next, NEXT_CALL_TOGETHER, view->opens_us);
    } else if (view->rest_us == 0 && view->idle && view->halves && view->callers > 1) {
        next.n = (view->sends + 1) / 2;
        next_call_leave(&next, NEXT_CALL_HALF, view->now_us + HALVES_APART_US);
    } else if (!view->idle && view->now_us < view->rest_us) {
        next.n = 0;
        next_call_leave(&next, NEXT_CALL_TOGETHER, view->rest_us);
    }
    return next;
}

struct next_call next_call_of(const struct next_call_view *view)
{
    struct next_call next = {.why = NEXT_CALL_NOTHING, .leave_at_us = NEXT_CALL_NEVER};

    if (view->sends > 0) {
        return next_call_of_sends(view);
    }
    next_call_claim(view, &next);
    if (next.n > 0 || view->answers > 0 || view->must ||
        (view->woken && view->rate_long && (view->queued || next.queues))) {
        next_call_time(view, &next);
    }
    return next;
}

bool next_call_waits(enum next_call_why why)
{
    return why == NEXT_CALL_TOGETHER || why == NEXT_CALL_IDLE || why == NEXT_CALL_BUSY;
}
