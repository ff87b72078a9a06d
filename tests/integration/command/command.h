/* command.h - the command under test, run against servers that all tests of a program share.
 *
 * What goes wrong fails the test that runs.
 *
 * Thread: main. */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include <jansson.h>
#include <stdbool.h>

#include "support/run.h"
#include "support/servers.h"
#include "support/testing.h"

/* Generous: only a defect needs it. */
enum { TIMEOUT_MS = 120000 };

/* In its environment: no configuration file of the user is read. */
#define COMMAND_NO_CONFIG "XDG_CONFIG_HOME=/nonexistent"

/* The arguments of one command line. */
#define ARGS(...)                                                                                  \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* Group set-up and tear-down: a cluster of three masters and a ZooKeeper, or others. */
int command_setup(void **state);
int command_setup_with(const struct servers_options *options);
int command_teardown(void **state);
const struct servers *command_servers(void);

/* What redis-cli says of one command to a server; Redis must not refuse it. */
void command_redis(const struct server *server, const char *const *words);

/* Commands that are started from now on, and what they run, do without these system calls of newer
 * kernels, ended by -1; NULL: they have all. */
void command_refuse(const int *calls);

/* Start the command; it finds Redis by its environment, and no ZooKeeper. */
void command_start(struct run *run, const char *in, const char *const *arguments);

/* Run it to its end, whatever the exit code. */
void command_run(struct run *run, const char *in, const char *const *arguments);

/* Run it; it must succeed.  The result is freed by the caller. */
void command_done(const char *in, const char *const *arguments);
char *command_out(const char *in, const char *const *arguments);
char *command_err(const char *in, const char *const *arguments);
json_t *command_json(const char *in, const char *const *arguments);

/* The same of lines: an array of the objects. */
json_t *command_lines(const char *in, const char *const *arguments);

/* Run it; it must fail with this exit code, nothing on standard output and one line on standard
 * error that holds `text`. */
void command_refused(int code, const char *text, const char *in, const char *const *arguments);
void assert_refused(const struct run *run, int code, const char *text);

/* Run it; it ends with this exit code and says `text`, and shows what it can all the same: its
 * standard output, to be freed. */
char *command_partly(int code, const char *text, const char *const *arguments);

/* Wait for the end of one that was started; it must succeed. */
void command_end(struct run *run);

/* Run it with a terminal as its standard input, at which `answer` is typed.  Gives its exit code.
 */
int command_at_terminal(const char *answer, const char *const *arguments);

/* Run it with a terminal as its standard error; it must succeed.  What is seen there, to be freed.
 */
char *command_shown(const char *const *arguments);

/* Run it with a terminal of this many columns as its standard output; it must succeed.  What is
 * seen there, to be freed. */
char *command_drawn(unsigned short columns, const char *const *arguments);

/* Run it with a pipe as its standard output that nobody reads; it must succeed all the same.  Its
 * standard error, to be freed. */
char *command_unread(const char *const *arguments);

/* No line of what is shown is longer. */
void assert_width(const char *shown, size_t columns);

/* A count of `slotmq stat TOPIC --json`. */
json_int_t command_stat(const char *topic, const char *name);

/* Wait until it is so. */
void command_wait_stat(const char *topic, const char *name, json_int_t value);

/* A topic of four slots whose messages are dead after one failure. */
void command_create_topic(const char *name, const char *type, const char *layout);

/* Every message of the topic that is due is dead after this. */
void command_kill_due(const char *topic, const char *count);

/* What --json shows of a message; ended by NULL. */
extern const char *const command_message_members[];
extern const char *const command_delivery_members[];

/* A member of an object, of the type that is wanted. */
const char *json_text(const json_t *object, const char *name);
json_int_t json_number(const json_t *object, const char *name);

/* The object has exactly these members, in any order. */
void assert_members(const json_t *object, const char *const *names);

/* The bodies are the lines of `out`, in this order. */
void assert_lines(const char *out, const char *const *lines);

#endif
