/* test_event.c - telling the application what happens. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/event.h"
#include "base/waiter.h"
#include "support/group.h"

enum { WAITING_MAX = 10000 };

/* The application: notes every event as a line.  `hold` stops the first one until `go`. */
struct listener {
    struct loop *call;
    struct events *events;
    struct buf lines;
    struct buf warning; /* the last one */
    size_t count;
    size_t warned; /* its number */
    bool inside;
    bool hold;
    struct waiter begun;
    struct waiter go;
};

static void listener_fini(struct listener *listener)
{
    buf_fini(&listener->lines);
    buf_fini(&listener->warning);
}

static const char *text_or_none(const char *text)
{
    return text == NULL ? "-" : text;
}

static void listener_hear(const smq_event *event, void *user)
{
    struct listener *listener = user;

    listener->inside = loop_inside(listener->call);
    assert_int_equal(event->struct_size, sizeof(*event));
    buf_clear(&listener->lines);
    buf_printf(&listener->lines, "%d %d %s [%s] %s %s %d %s %s %d %s", (int) event->kind,
               (int) event->level, event->id, event->text, smq_status_name(event->status),
               text_or_none(event->topic), event->slot, text_or_none(event->token),
               text_or_none(event->message_id), event->attempt, text_or_none(event->reason));
    listener->count++;
    if (event->level == SMQ_LEVEL_WARN) {
        buf_clear(&listener->warning);
        buf_printf(&listener->warning, "%s", listener->lines.data);
        listener->warned = listener->count;
    }
    if (listener->hold && listener->count == 1) {
        waiter_done(&listener->begun);
        (void) waiter_wait(&listener->go, SMQ_FOREVER);
    }
}

static void listener_init(struct listener *listener, smq_level level)
{
    *listener = (struct listener){0};
    waiter_init(&listener->begun, 1);
    waiter_init(&listener->go, 1);
    assert_int_equal(loop_new(&listener->call, "smq:call", NULL), SMQ_OK);
    listener->events = events_new(listener->call, listener_hear, level, listener);
}

/* Wait for all events and take the loop down. */
static void listener_end(struct listener *listener)
{
    loop_free(listener->call);
    events_free(listener->events);
    waiter_fini(&listener->begun);
    waiter_fini(&listener->go);
}

static void event_arrives_whole(void **state)
{
    struct listener listener;
    char topic[] = "orders";
    char token[] = "000000010000000000000005";
    char id[] = "order-7";
    char reason[] = "declined";
    smq_event event = {.status = SMQ_FENCED,
                       .topic = topic,
                       .slot = 7,
                       .token = token,
                       .message_id = id,
                       .attempt = 3,
                       .reason = reason,
                       .kind = SMQ_EVENT_LOG,
                       .id = "not read",
                       .text = "not read"};

    listener_init(&listener, SMQ_LEVEL_INFO);
    events_emit(listener.events, SMQ_EVENT_FENCED, &event, "slot %d:\nfenced", 7);
    memset(topic, '!', sizeof(topic) - 1); /* everything was copied */
    memset(token, '!', sizeof(token) - 1);
    memset(id, '!', sizeof(id) - 1);
    memset(reason, '!', sizeof(reason) - 1);
    listener_end(&listener);
    assert_int_equal(listener.count, 1);
    assert_string_equal(listener.lines.data, "10 2 fenced [slot 7: fenced] SMQ_FENCED orders 7 "
                                             "000000010000000000000005 order-7 3 declined");
    assert_true(listener.inside);
    listener_fini(&listener);
}

static void absent_fields_say_so(void **state)
{
    struct listener listener;

    listener_init(&listener, SMQ_LEVEL_INFO);
    events_emit(listener.events, SMQ_EVENT_CONNECTED, NULL, "127.0.0.1:7000");
    listener_end(&listener);
    assert_string_equal(listener.lines.data, "15 3 connected [127.0.0.1:7000] SMQ_OK - -1 - - 0 -");
    listener_fini(&listener);
}

static void log_line_has_a_level_of_its_own(void **state)
{
    struct listener listener;

    listener_init(&listener, SMQ_LEVEL_ERROR);
    events_log(listener.events, SMQ_LEVEL_ERROR, "disk %s", "full");
    events_log(listener.events, SMQ_LEVEL_WARN, "not wanted");
    events_log(listener.events, SMQ_LEVEL_DEFAULT, "not wanted");
    listener_end(&listener);
    assert_int_equal(listener.count, 1);
    assert_string_equal(listener.lines.data, "0 1 log [disk full] SMQ_OK - -1 - - 0 -");
    listener_fini(&listener);
}

static void level_decides_what_is_wanted(void **state)
{
    static const struct {
        smq_level level;
        bool stopped, fenced, assigned, retried, sent; /* ERROR, WARN, INFO, DEBUG, TRACE */
    } cases[] = {
        {SMQ_LEVEL_ERROR, true, false, false, false, false},
        {SMQ_LEVEL_WARN, true, true, false, false, false},
        {SMQ_LEVEL_DEFAULT, true, true, true, false, false},
        {SMQ_LEVEL_INFO, true, true, true, false, false},
        {SMQ_LEVEL_DEBUG, true, true, true, true, false},
        {SMQ_LEVEL_TRACE, true, true, true, true, true},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct listener listener;
        size_t wanted = (size_t) cases[i].stopped + cases[i].fenced + cases[i].assigned +
                        cases[i].retried + cases[i].sent;

        listener_init(&listener, cases[i].level);
        assert_int_equal(events_wanted(listener.events, SMQ_EVENT_STOPPED), cases[i].stopped);
        assert_int_equal(events_wanted(listener.events, SMQ_EVENT_FENCED), cases[i].fenced);
        assert_int_equal(events_wanted(listener.events, SMQ_EVENT_ASSIGNED), cases[i].assigned);
        assert_int_equal(events_wanted(listener.events, SMQ_EVENT_RETRIED), cases[i].retried);
        assert_int_equal(events_wanted(listener.events, SMQ_EVENT_SENT), cases[i].sent);
        events_emit(listener.events, SMQ_EVENT_STOPPED, NULL, "x");
        events_emit(listener.events, SMQ_EVENT_FENCED, NULL, "x");
        events_emit(listener.events, SMQ_EVENT_ASSIGNED, NULL, "x");
        events_emit(listener.events, SMQ_EVENT_RETRIED, NULL, "x");
        events_emit(listener.events, SMQ_EVENT_SENT, NULL, "x");
        listener_end(&listener);
        assert_int_equal(listener.count, wanted);
        listener_fini(&listener);
    }
}

static void nobody_listening_costs_nothing(void **state)
{
    struct loop *call = NULL;
    struct events *events = NULL;

    assert_int_equal(loop_new(&call, "smq:call", NULL), SMQ_OK);
    events = events_new(call, NULL, SMQ_LEVEL_TRACE, NULL);
    assert_false(events_wanted(events, SMQ_EVENT_STOPPED));
    events_emit(events, SMQ_EVENT_STOPPED, NULL, "nobody");
    events_log(events, SMQ_LEVEL_ERROR, "nobody");
    loop_free(call);
    events_free(events);
    events_free(NULL);
    assert_false(events_wanted(NULL, SMQ_EVENT_STOPPED));
    events_emit(NULL, SMQ_EVENT_STOPPED, NULL, "nobody");
    events_log(NULL, SMQ_LEVEL_ERROR, "nobody");
}

static void slow_callback_loses_events_and_is_told(void **state)
{
    enum { TOO_MANY = 25 };
    struct listener listener;

    listener_init(&listener, SMQ_LEVEL_INFO);
    listener.hold = true;
    events_log(listener.events, SMQ_LEVEL_INFO, "first");
    assert_true(waiter_wait(&listener.begun, SMQ_FOREVER));
    for (int i = 0; i < WAITING_MAX + TOO_MANY; i++) {
        events_log(listener.events, SMQ_LEVEL_INFO, "line %d", i);
    }
    assert_int_equal(events_dropped(listener.events), TOO_MANY);
    waiter_done(&listener.go);
    listener_end(&listener);
    assert_int_equal(listener.count, 1 + WAITING_MAX + 1);
    assert_int_equal(listener.warned, 2); /* in the place of the oldest */
    assert_string_equal(listener.warning.data,
                        "0 2 log [25 events were dropped: they are not taken "
                        "fast enough] SMQ_OK - -1 - - 0 -");
    assert_string_equal(listener.lines.data, "0 3 log [line 10024] SMQ_OK - -1 - - 0 -");
    listener_fini(&listener);
}

/* --- polls --- */

enum { TAKEN_MAX = 100 };

static bool is_readable(struct events *events)
{
    struct pollfd wait = {.fd = events_fd(events), .events = POLLIN};

    return poll(&wait, 1, 0) == 1;
}

static struct events *polled_events(struct loop **call)
{
    struct events *events;

    assert_int_equal(loop_new(call, "smq:call", NULL), SMQ_OK);
    events = events_new(*call, NULL, SMQ_LEVEL_INFO, NULL);
    assert_int_equal(events_fd(events), -1);
    assert_int_equal(events_keep(events, NULL), SMQ_OK);
    return events;
}

static void polls_take_events_and_the_descriptor_says_when(void **state)
{
    struct loop *call = NULL;
    struct events *events = polled_events(&call);
    const smq_event *taken[TAKEN_MAX];

    assert_false(is_readable(events));
    assert_int_equal(events_poll(events, taken, TAKEN_MAX, 0), 0);
    events_log(events, SMQ_LEVEL_DEBUG, "not wanted");
    assert_false(is_readable(events));
    events_emit(events, SMQ_EVENT_FENCED, &(smq_event){.topic = "t", .slot = 3}, "one");
    events_log(events, SMQ_LEVEL_INFO, "two");
    events_log(events, SMQ_LEVEL_ERROR, "three");
    assert_true(is_readable(events));
    assert_int_equal(events_poll(events, taken, 2, SMQ_FOREVER), 2);
    assert_int_equal(taken[0]->kind, SMQ_EVENT_FENCED);
    assert_int_equal(taken[0]->struct_size, sizeof(smq_event));
    assert_string_equal(taken[0]->topic, "t");
    assert_int_equal(taken[0]->slot, 3);
    assert_string_equal(taken[1]->text, "two");
    assert_true(is_readable(events));
    assert_int_equal(events_poll(events, taken, TAKEN_MAX, 0), 1);
    assert_string_equal(taken[0]->text, "three");
    assert_false(is_readable(events));
    events_log(events, SMQ_LEVEL_INFO, "never taken");
    loop_free(call);
    events_free(events);
}

static void slow_polls_lose_the_oldest_and_are_told(void **state)
{
    enum { TOO_MANY = 25 };
    struct loop *call = NULL;
    struct events *events = polled_events(&call);
    const smq_event *taken[TAKEN_MAX];

    for (int i = 0; i < WAITING_MAX + TOO_MANY; i++) {
        events_log(events, SMQ_LEVEL_INFO, "line %d", i);
    }
    assert_int_equal(events_dropped(events), TOO_MANY);
    assert_int_equal(events_poll(events, taken, TAKEN_MAX, 0), TAKEN_MAX);
    assert_string_equal(taken[0]->text, "25 events were dropped: they are not taken fast enough");
    assert_int_equal(taken[0]->level, SMQ_LEVEL_WARN);
    assert_string_equal(taken[1]->text, "line 25");
    for (int i = 1; i < WAITING_MAX / TAKEN_MAX; i++) {
        assert_int_equal(events_poll(events, taken, TAKEN_MAX, 0), TAKEN_MAX);
    }
    assert_int_equal(events_poll(events, taken, TAKEN_MAX, 0), 1);
    assert_string_equal(taken[0]->text, "line 10024");
    assert_false(is_readable(events));
    loop_free(call);
    events_free(events);
}

static void *log_aside(void *user)
{
    events_log(user, SMQ_LEVEL_INFO, "from another thread");
    return NULL;
}

static void an_event_ends_a_poll_that_waits(void **state)
{
    struct loop *call = NULL;
    struct events *events = polled_events(&call);
    const smq_event *taken[TAKEN_MAX];
    pthread_t thread;

    assert_int_equal(events_poll(events, taken, TAKEN_MAX, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, log_aside, events), 0);
    assert_int_equal(events_poll(events, taken, TAKEN_MAX, SMQ_FOREVER), 1);
    assert_string_equal(taken[0]->text, "from another thread");
    pthread_join(thread, NULL);
    loop_free(call);
    events_free(events);
}

TEST_GROUP(event)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_arrives_whole),
        cmocka_unit_test(absent_fields_say_so),
        cmocka_unit_test(log_line_has_a_level_of_its_own),
        cmocka_unit_test(level_decides_what_is_wanted),
        cmocka_unit_test(nobody_listening_costs_nothing),
        cmocka_unit_test(slow_callback_loses_events_and_is_told),
        cmocka_unit_test(polls_take_events_and_the_descriptor_says_when),
        cmocka_unit_test(slow_polls_lose_the_oldest_and_are_told),
        cmocka_unit_test(an_event_ends_a_poll_that_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
