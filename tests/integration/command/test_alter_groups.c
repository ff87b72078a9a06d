/* test_alter_groups.c - topic alter groups=..., by two people at the same time. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "support/group.h"
#include "support/proxy.h"
#include "support/wait.h"

static int set_up(void **state)
{
    return command_setup_with(&(struct servers_options){.redis = REDIS_SINGLE});
}

static bool has_kept(void *proxy)
{
    return proxy_has_kept(proxy);
}

/* The first command stands still before it stores its list, until the second one has ended. */
static void test_the_later_one_is_told_to_try_again(void **state)
{
    struct proxy *proxy = proxy_start(server_port(servers_node(command_servers(), 0)));
    struct run run;

    command_done(NULL, ARGS("topic", "create", "orders", "--groups", "billing", "--slots", "2"));
    proxy_silence_from(proxy, "\r\nalter\r\n");
    command_start(&run, NULL,
                  ARGS("topic", "alter", "orders", "groups=billing,search", "--redis",
                       proxy_address(proxy), "-X", "request_timeout_ms=2m"));
    assert_true(wait_until(has_kept, proxy, TIMEOUT_MS));
    command_done(NULL, ARGS("topic", "alter", "orders", "groups=billing,audit"));
    proxy_release(proxy);
    assert_true(run_wait(&run, TIMEOUT_MS));
    assert_refused(&run, 73,
                   "another caller changed the groups of topic orders at the same time, to "
                   "audit,billing; this call has changed nothing: try again, with all groups that "
                   "the topic shall have");
    run_fini(&run);
    char *out = command_out(NULL, ARGS("topic", "list"));
    assert_non_null(strstr(out, "orders/audit"));
    assert_null(strstr(out, "orders/search"));
    free(out);
    command_done(NULL, ARGS("topic", "alter", "orders", "groups=audit,billing,search"));
    command_done("one\n", ARGS("send", "orders"));
    assert_int_equal(command_stat("orders/search", "waiting"), 1);
    proxy_stop(proxy);
}

TEST_GROUP(alter_groups)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_later_one_is_told_to_try_again),
    };

    return cmocka_run_group_tests(tests, set_up, command_teardown);
}
