/* test_member.c - how a member enters the fleet when replies come late, and what its heartbeat
 * shows. The session and the root are fakes of the test, which gives each reply when it wants. */
#include "base/event.h"
#include "base/loop.h"
#include "coord/member/member.h"
#include "support/group.h"

/* --- fakes --- */

enum { MINE = 7 }; /* the session of the member */

static uv_loop_t uv;

/* A call whose reply the test gives. */
struct asked {
    session_reply_fn *fn;
    void *user;
};

static struct {
    int entered, mended; /* how often the root was read for an entry, and made again */
    int leased, renewed; /* renewals of the lease; new sessions */
    int logged;
    struct asked created, looked;
} fake;

uv_loop_t *loop_uv(struct loop *loop)
{
    (void) loop;
    return &uv;
}

void events_log(struct events *events, smq_level level, const char *format, ...)
{
    (void) events;
    (void) level;
    (void) format;
    fake.logged++;
}

void root_enter(struct root *root)
{
    (void) root;
    fake.entered++;
}

void root_mend(struct root *root)
{
    (void) root;
    fake.mended++;
}

bool session_is_connected(const struct session *session)
{
    (void) session;
    return true;
}

int64_t session_id(const struct session *session)
{
    (void) session;
    return MINE;
}

int64_t session_timeout(const struct session *session)
{
    (void) session;
    return 10000;
}

int64_t session_clock_ms(const struct session *session)
{
    (void) session;
    return 1;
}

void session_renew(struct session *session)
{
    (void) session;
    fake.renewed++;
}

void session_get(struct session *session, const char *path, bool watch, session_reply_fn *fn,
                 void *user)
{
    (void) session;
    (void) path;
    (void) watch;
    fake.looked = (struct asked){fn, user};
}

void session_write(struct session *session, const struct session_op *ops, size_t count,
                   session_reply_fn *fn, void *user)
{
    (void) session;
    (void) ops;
    (void) count;
    fake.created = (struct asked){fn, user};
}

/* --- the member --- */

static void on_encode(void *user, struct buf *out)
{
    (void) user;
    (void) out;
}

static void on_event(void *user)
{
    (void) user;
}

static void on_leased(void *user, int64_t until_ms, int64_t lease_ms)
{
    (void) user;
    (void) until_ms;
    (void) lease_ms;
    fake.leased++;
}

static void on_refused(void *user, smq_status status, const char *text)
{
    (void) user;
    (void) status;
    (void) text;
}

static const struct member_listener listener = {.encode = on_encode,
                                                .written = on_event,
                                                .entered = on_event,
                                                .resumed = on_event,
                                                .leased = on_leased,
                                                .refused = on_refused};
static const struct zookeeper_env env = {.name = "m", .root = "/slotmq", .timings.retry = 1};

static struct member member;

static int set_up(void **state)
{
    fake.entered = fake.mended = fake.leased = fake.renewed = fake.logged = 0;
    member = (struct member){.state = MEMBER_OUT};
    assert_int_equal(uv_loop_init(&uv), 0);
    member_init(&member, &env, NULL, NULL, &listener);
    return 0;
}

static int tear_down(void **state)
{
    member_stop(&member);
    assert_int_equal(uv_run(&uv, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&uv), 0);
    member_fini(&member);
    return 0;
}

static void reply_to(const struct asked *asked, enum session_status status)
{
    const struct session_reply reply = {.status = status};

    asked->fn(asked->user, &reply);
}

/* The node of the session with this id was read. */
static void show(int64_t owner)
{
    const struct session_reply reply = {
        .status = SESSION_OK, .data = "", .stat = {.czxid = 3, .version = 1, .owner = owner}};

    fake.looked.fn(fake.looked.user, &reply);
}

/* The member has entered, and its heartbeat has asked for the node. */
static void enter(void)
{
    assert_false(member_connected(&member));
    member_ready(&member, true);
    reply_to(&fake.created, SESSION_OK);
    show(MINE);
    assert_true(member_is_in(&member));
    assert_true(member_connected(&member));
}

/* --- tests --- */

/* The folder of members is missing, so both calls of the entry fail.  The replies come one long
 * after the other, as on a machine with more processes than it can run: time for another try. */
static void a_late_reply_ends_no_later_entry(void **state)
{
    assert_false(member_connected(&member));
    member_ready(&member, true);
    reply_to(&fake.created, SESSION_NO_NODE);
    assert_int_equal(fake.mended, 1);
    (void) uv_run(&uv, UV_RUN_ONCE); /* waits for the timer of a try, if there is one */
    reply_to(&fake.looked, SESSION_NO_NODE);
    (void) uv_run(&uv, UV_RUN_ONCE);
    assert_int_equal(fake.entered, 2); /* the root is read for one further try, not for two */
    member_ready(&member, true);
    assert_int_equal(member.state, MEMBER_ENTERING);
}

/* How a heartbeat ends that ZooKeeper answers with `status`, or with a node of session `owner`. */
struct beat {
    int status;
    int64_t owner;
    bool leased, renewed;
};

/* The lease is renewed only by a reply that shows that the session lives and the node is there. */
static void what_a_heartbeat_shows(void **state)
{
    static const struct beat beats[] = {
        {.status = SESSION_OK, .owner = MINE, .leased = true},
        {.status = SESSION_OK, .owner = MINE + 1, .renewed = true},
        {.status = SESSION_NO_NODE, .renewed = true},
        {.status = SESSION_DENIED, .leased = true},
        {.status = SESSION_AWAY},
    };

    for (size_t i = 0; i < sizeof(beats) / sizeof(beats[0]); i++) {
        if (i > 0) {
            member_expired(&member);
        }
        enter();
        member_end_lease(&member);
        fake.leased = fake.renewed = 0;
        if (beats[i].status == SESSION_OK) {
            show(beats[i].owner);
        } else {
            reply_to(&fake.looked, beats[i].status);
        }
        assert_int_equal(fake.leased, beats[i].leased);
        assert_int_equal(member_lease_valid(&member), beats[i].leased);
        assert_int_equal(fake.renewed, beats[i].renewed);
    }
}

/* Once, and once more when it may be read again. */
static void a_node_that_may_not_be_read_is_logged_once(void **state)
{
    enter();
    for (int round = 1; round <= 2; round++) {
        for (int i = 0; i < 3; i++) {
            reply_to(&fake.looked, SESSION_DENIED);
            assert_true(member_connected(&member)); /* the next heartbeat */
        }
        assert_int_equal(fake.logged, 2 * round - 1);
        show(MINE);
        assert_int_equal(fake.logged, 2 * round);
        assert_true(member_connected(&member));
    }
}

/* It is of another process, so the name is waited for. */
static void a_name_whose_node_may_not_be_read_is_waited_for(void **state)
{
    assert_false(member_connected(&member));
    member_ready(&member, true);
    reply_to(&fake.created, SESSION_EXISTS);
    reply_to(&fake.looked, SESSION_DENIED);
    assert_int_equal(member.state, MEMBER_WAITING);
    assert_int_equal(fake.logged, 1);
    (void) uv_run(&uv, UV_RUN_ONCE);
    assert_int_equal(fake.entered, 2);
    member_ready(&member, true);
    reply_to(&fake.created, SESSION_OK);
    show(MINE);
    assert_true(member_is_in(&member));
}

TEST_GROUP(member)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_heartbeat_shows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_node_that_may_not_be_read_is_logged_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_name_whose_node_may_not_be_read_is_waited_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_late_reply_ends_no_later_entry, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("member", tests, NULL, NULL);
}
