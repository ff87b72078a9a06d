/* consume_exec.c - a program is run for each message: body on its standard input, exit code as the
 * answer.
 *
 * The body is handed over as a memory file, so a program that does not read it is no special case
 * and nothing here can block on a pipe.  Each program leads a process group of its own: Ctrl-C at a
 * terminal drains and does not interrupt the programs that run.  When the command is killed they
 * are killed, too (consume_guard.c).
 *
 * Thread: smq:work-N, unless a function says otherwise. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/consume/consume.h"
#include "cli/consume/descriptors.h"
#include "cli/consume/program_stderr.h"
#include "cli/message/message.h"
#include "cli/text/base64.h"
#include "cli/text/moment.h"
#include "cli/text/say.h"
#include "cli/text/signals.h"
#include "cli/verb/secrets.h"

/* A program that runs.  Invariant: while it is listed its pid is not reaped, so it may be killed.
 */
struct program {
    LIST_ENTRY(program) entry;
    pid_t pid;
    smq_delivery *delivery;
    struct program_stderr stream;
    bool lost; /* it got SIGTERM, because its message may have another owner */
};

/* How often to check whether the message still belongs to this process, and whether the drain time
 * has ended.  After SIGTERM the program of a lost message may continue for this number of checks.
 */
#define LOOK_MS     500
#define OFTEN_MS    20
#define LEASE_GRACE 10

static struct {
    pthread_mutex_t lock;
    LIST_HEAD(program_list, program) list;
    bool killed;        /* no program may run any more */
    int64_t drained_at; /* the end of the drain time; 0: it has not begun */
} running = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What a message sets for its program.  None of these is taken over from our own environment, so
 * that what a message does not have is not that of another one. */
static const char *const variables[] = {"SLOTMQ_TOPIC",      "SLOTMQ_SLOT",     "SLOTMQ_TOKEN",
                                        "SLOTMQ_ATTEMPT",    "SLOTMQ_PRIORITY", "SLOTMQ_KEY",
                                        "SLOTMQ_KEY_BASE64", "SLOTMQ_ID",       "SLOTMQ_ID_BASE64"};
enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };
static const char header_prefix[] = "SLOTMQ_HEADER_";

/* Our environment and the variables of a message, the `count` last ones.  `entry` ends with NULL.
 */
struct environment {
    char *own[VARIABLES + SMQ_HEADERS_MAX];
    size_t count;
    char **entry;
};

/* === Environment ======================================================== */

static void environment_set_text(struct environment *environment, const char *name,
                                 const char *value)
{
    char *text = NULL;

    if (asprintf(&text, "%s=%s", name, value) < 0) {
        say_no_memory();
    }
    environment->own[environment->count++] = text;
}

static void environment_set_number(struct environment *environment, const char *name, int64_t value)
{
    char text[24];

    snprintf(text, sizeof(text), "%" PRId64, value);
    environment_set_text(environment, name, text);
}

/* Bytes without NUL as they are, others as NAME_BASE64: a variable ends with a NUL. */
static void environment_set_bytes(struct environment *environment, const char *name,
                                  const void *bytes, size_t size)
{
    char base64[64];
    const bool plain = memchr(bytes, '\0', size) == NULL;
    char *text = say_alloc(plain ? size + 1 : base64_size(size), 1);

    snprintf(base64, sizeof(base64), "%s_BASE64", name);
    if (plain) {
        memcpy(text, bytes, size);
    } else {
        base64_encode(text, bytes, size);
    }
    environment_set_text(environment, plain ? name : base64, text);
    free(text);
}

/* "traceparent" is SLOTMQ_HEADER_TRACEPARENT, "content-type" SLOTMQ_HEADER_CONTENT_TYPE. */
static void environment_header_name(char *out, size_t size, const char *name)
{
    snprintf(out, size, "%s%s", header_prefix, name);
    for (char *at = out + sizeof(header_prefix) - 1; *at != '\0'; at++) {
        *at = (char) (isalnum((unsigned char) *at) ? toupper((unsigned char) *at) : '_');
    }
}

static bool environment_holds(const smq_header *header)
{
    return memchr(header->value.data, '\0', header->value.len) == NULL;
}

/* Says it of the first message alone: the next ones are probably like it. */
static void environment_say_collision(const char *variable, const char *first, const char *other)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    if (!atomic_flag_test_and_set(&said)) {
        say("the headers %s and %s of a message are both the variable %s: the program gets that of "
            "%s, the first one; this is said once",
            first, other, variable, first);
    }
}

/* Of headers that would be the same variable the first one is it. */
static void environment_set_header(struct environment *environment, const smq_message_info *message,
                                   size_t index)
{
    const smq_header *header = &message->headers[index];
    char name[SMQ_HEADERS_BYTES_MAX + sizeof(header_prefix)];
    char other[sizeof(name)];

    environment_header_name(name, sizeof(name), header->name);
    for (size_t i = 0; i < index; i++) {
        environment_header_name(other, sizeof(other), message->headers[i].name);
        if (strcmp(name, other) == 0 && environment_holds(&message->headers[i])) {
            environment_say_collision(name, message->headers[i].name, header->name);
            return;
        }
    }
    if (environment_holds(header)) {
        char *value = say_alloc(header->value.len + 1, 1);
        memcpy(value, header->value.data, header->value.len);
        environment_set_text(environment, name, value);
        free(value);
    }
}

/* Is it one of the variables that a message sets? */
static bool environment_is_ours(const char *entry)
{
    if (strncmp(entry, header_prefix, sizeof(header_prefix) - 1) == 0) {
        return true;
    }
    for (size_t i = 0; i < VARIABLES; i++) {
        const size_t length = strlen(variables[i]);
        if (strncmp(entry, variables[i], length) == 0 && entry[length] == '=') {
            return true;
        }
    }
    return false;
}

/* The body is not among them: it may be long, and an environment can be seen by others. */
static void environment_set_variables(struct environment *environment,
                                      const smq_message_info *message)
{
    environment_set_text(environment, "SLOTMQ_TOPIC", message->topic);
    environment_set_number(environment, "SLOTMQ_SLOT", message->slot);
    environment_set_text(environment, "SLOTMQ_TOKEN", message->token ? message->token : "");
    environment_set_number(environment, "SLOTMQ_ATTEMPT", message->attempt);
    environment_set_number(environment, "SLOTMQ_PRIORITY", message->priority);
    if (message->key.data && message->key.data != message->body.data) {
        environment_set_bytes(environment, "SLOTMQ_KEY", message->key.data, message->key.len);
    }
    if (message_has_id(message)) {
        environment_set_bytes(environment, "SLOTMQ_ID", message->id.data, message->id.len);
    }
    for (size_t i = 0; i < message->header_count; i++) {
        environment_set_header(environment, message, i);
    }
}

static void environment_init(struct environment *environment, const smq_message_info *message,
                             bool pass_credentials)
{
    size_t count = 0;
    size_t used = 0;

    environment->count = 0;
    environment_set_variables(environment, message);
    while (environ[count]) {
        count++;
    }
    environment->entry = say_alloc(count + environment->count + 1, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        if (!environment_is_ours(environ[i]) && (pass_credentials || !secrets_are_in(environ[i]))) {
            environment->entry[used++] = environ[i];
        }
    }
    memcpy(environment->entry + used, environment->own, environment->count * sizeof(char *));
}

static void environment_fini(struct environment *environment)
{
    for (size_t i = 0; i < environment->count; i++) {
        free(environment->own[i]);
    }
    free(environment->entry);
}

/* === Starting =========================================================== */

/* The body as a file to read from its beginning; -1: errno says why. */
static int program_open_body(const smq_message_info *message)
{
    const int file = memfd_create("slotmq", MFD_CLOEXEC);
    const char *next = message->body.data;
    size_t left = message->body.len;

    while (file >= 0 && left > 0) {
        const ssize_t written = write(file, next, left);
        if (written < 0 && errno != EINTR) {
            const int error = errno;
            close(file);
            errno = error;
            return -1;
        }
        if (written > 0) {
            next += written;
            left -= (size_t) written;
        }
    }
    if (file >= 0) {
        (void) lseek(file, 0, SEEK_SET);
    }
    return file;
}

/* What a program gets. */
struct start {
    char *const *argv;
    char *const *entries; /* its environment */
    int body;             /* its standard input */
    int complaints;       /* its standard error; -1: ours */
};

/* In the process of the program: no signal blocked (the library blocks all in its threads), SIGPIPE
 * as a program expects it, a process group of its own, no other descriptor than 0, 1 and 2: not all
 * sockets of the libraries below us close by themselves.  The guard knows the program before it
 * runs, or it would survive a command that is killed just then.  Only calls that are allowed
 * between fork() and exec. */
static void program_become(const struct start *start, int report)
{
    sigset_t none;

    (void) setpgid(0, 0);
    consume_guard_add(getpid());
    if (dup2(start->body, STDIN_FILENO) == STDIN_FILENO &&
        (start->complaints < 0 || dup2(start->complaints, STDERR_FILENO) == STDERR_FILENO)) {
        descriptors_close_on_exec(STDERR_FILENO + 1);
        (void) signal(SIGPIPE, SIG_DFL);
        sigemptyset(&none);
        (void) sigprocmask(SIG_SETMASK, &none, NULL);
        execvpe(start->argv[0], start->argv, start->entries);
    }
    const int error = errno;
    const ssize_t written = write(report, &error, sizeof(error));
    (void) written; /* the parent takes an empty report for a start; the exit code then tells */
    _exit(127);
}

/* Starts the program; else gives an errno.  That of a failed exec comes through a pipe which a
 * successful one closes. */
static int program_spawn(pid_t *pid, const struct start *start)
{
    int report[2];
    int error = 0;
    ssize_t size = 0;

    if (pipe2(report, O_CLOEXEC) != 0) {
        return errno;
    }
    *pid = fork();
    if (*pid == 0) {
        program_become(start, report[1]);
    }
    error = *pid < 0 ? errno : 0;
    close(report[1]);
    do {
        size = *pid > 0 ? read(report[0], &error, sizeof(error)) : 0;
    } while (size < 0 && errno == EINTR);
    close(report[0]);
    if (error != 0 && *pid > 0) {
        consume_guard_remove(*pid);
        (void) waitpid(*pid, NULL, 0);
    }
    return error;
}

/* Starts the program for its message; else gives an errno. */
static int program_start(struct program *program, const struct consume *consume)
{
    const smq_message_info *message = smq_delivery_info(program->delivery);
    struct environment environment;
    const int body = program_open_body(message);

    if (body < 0) {
        return errno;
    }
    environment_init(&environment, message, consume->pass_credentials);
    program_stderr_open(&program->stream);
    const int error =
        program_spawn(&program->pid, &(struct start){consume->command->tail, environment.entry,
                                                     body, program->stream.out});
    program_stderr_started(&program->stream);
    if (error != 0) {
        program_stderr_close(&program->stream);
    }
    environment_fini(&environment);
    close(body);
    return error;
}

/* === Running ============================================================ */

static void program_list_add(struct program *program)
{
    pthread_mutex_lock(&running.lock);
    LIST_INSERT_HEAD(&running.list, program, entry);
    if (running.killed) {
        (void) kill(-program->pid, SIGKILL);
    }
    pthread_mutex_unlock(&running.lock);
}

static void program_kill(const struct program *program, int signal)
{
    pthread_mutex_lock(&running.lock);
    (void) kill(-program->pid, signal);
    pthread_mutex_unlock(&running.lock);
}

/* Is the time to drain over?  It begins when the first program sees that the consumer stops. */
static bool program_drain_is_over(struct consume *consume)
{
    if (!signals_came() && !consume_has_failed(consume)) {
        return false;
    }
    pthread_mutex_lock(&running.lock);
    if (running.drained_at == 0) {
        running.drained_at = moment_ms() + consume->drain_ms;
    }
    const bool over = moment_ms() >= running.drained_at;
    pthread_mutex_unlock(&running.lock);
    return over;
}

/* A program whose message is lost gets SIGTERM, and is killed if it does not end.  When the time to
 * drain has ended all programs are killed, early enough for their messages to be released. */
static void program_look(struct consume *consume, struct program *program, int *lost)
{
    if (program_drain_is_over(consume)) {
        consume_kill_programs();
    }
    const smq_status status = smq_delivery_check(program->delivery);
    *lost += status == SMQ_LEASE_LOST || status == SMQ_FENCED ? 1 : 0;
    program->lost = *lost > 0;
    if (*lost == 1 || *lost == LEASE_GRACE) {
        program_kill(program, *lost == 1 ? SIGTERM : SIGKILL);
    }
}

/* Without reaping, so that its pid stays its own while others may kill it. */
static bool program_has_ended(const struct program *program)
{
    siginfo_t ended = {.si_pid = 0};

    return waitid(P_PID, (id_t) program->pid, &ended, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           ended.si_pid != 0;
}

/* Waits until a program ends, and passes on what it writes to its standard error.  Without a
 * descriptor of the process (a system that refuses pidfd_open) it looks often. */
static void program_watch(struct consume *consume, struct program *program)
{
    const int end = (int) syscall(SYS_pidfd_open, program->pid, 0);
    int64_t looked_at = moment_ms();
    int lost = 0;

    while (!program_has_ended(program)) {
        struct pollfd wait[] = {{.fd = end, .events = POLLIN},
                                program_stderr_wait(&program->stream)};
        (void) poll(wait, 2, end < 0 ? OFTEN_MS : LOOK_MS);
        (void) program_stderr_pass(&program->stream);
        if (moment_ms() - looked_at >= LOOK_MS) {
            program_look(consume, program, &lost);
            looked_at = moment_ms();
        }
    }
    if (end >= 0) {
        close(end);
    }
}

/* Passes on what the program has left in its pipe, for as long as our standard error takes it. */
static void program_finish_stderr(struct consume *consume, struct program *program)
{
    struct pollfd wait;

    do {
        while (program_stderr_pass(&program->stream)) {
        }
        wait = program_stderr_wait(&program->stream);
    } while (wait.events == POLLOUT &&
             (poll(&wait, 1, LOOK_MS) > 0 || !program_drain_is_over(consume)));
    program_stderr_close(&program->stream);
}

/* Waits for the end of a program that is listed, and takes it off the list.  Gives its status. */
static int program_await_end(struct consume *consume, struct program *program)
{
    int status = 0;

    program_watch(consume, program);
    program_finish_stderr(consume, program);
    pthread_mutex_lock(&running.lock);
    LIST_REMOVE(program, entry);
    consume_guard_remove(program->pid);
    (void) waitpid(program->pid, &status, 0);
    pthread_mutex_unlock(&running.lock);
    return status;
}

bool consume_programs_are_killed(void)
{
    pthread_mutex_lock(&running.lock);
    const bool killed = running.killed;
    pthread_mutex_unlock(&running.lock);
    return killed;
}

/* The reason is how the program ended and the last line of its standard error. */
static void program_answer(smq_delivery *delivery, int status, const struct last_line *line)
{
    char said[PRINTABLE_ROOM(SMQ_REASON_MAX)];
    char reason[sizeof(said) + 32];
    size_t size = 0;

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        (void) smq_done(delivery, NULL);
        return;
    }
    if (WIFSIGNALED(status)) {
        size = (size_t) snprintf(reason, sizeof(reason), "signal %d", WTERMSIG(status));
    } else {
        size = (size_t) snprintf(reason, sizeof(reason), "exit %d", WEXITSTATUS(status));
    }
    last_line_text(said, line);
    if (said[0] != '\0') {
        snprintf(reason + size, sizeof(reason) - size, ": %s", said);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_DATA) {
        (void) smq_reject(delivery, reason, NULL);
    } else {
        (void) smq_retry(delivery, SMQ_BACKOFF, reason, NULL);
    }
}

smq_verdict consume_run(smq_delivery *delivery, void *user)
{
    struct consume *consume = user;
    struct program program = {.delivery = delivery};
    char *const *argv = consume->command->tail;

    if (consume_has_failed(consume)) {
        return SMQ_RELEASE;
    }
    const int error = program_start(&program, consume);
    if (error == EFBIG) { /* of all messages this one alone is too large */
        atomic_fetch_add(&consume->handled, 1);
        (void) smq_retry(delivery, SMQ_BACKOFF, "its body is larger than the limit ulimit -f",
                         NULL);
        return SMQ_ANSWERED;
    }
    if (error) {
        consume_fail(consume, EXIT_IO, "cannot run %s: %s", argv[0], strerror(error));
        return SMQ_RELEASE;
    }
    program_list_add(&program);
    const int status = program_await_end(consume, &program);
    atomic_fetch_add(&consume->handled, 1);
    if (WIFSIGNALED(status) && (program.lost || consume_programs_are_killed())) {
        return SMQ_RELEASE; /* that it was killed is not the message's fault */
    }
    program_answer(delivery, status, &program.stream.line);
    return SMQ_ANSWERED;
}

/* === From the main thread =============================================== */

/* A file that may be run; a folder, too, has that permission. */
static bool program_may_run(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* The file that is run for `program`, to be freed; NULL: there is none. */
static char *program_find(const char *program)
{
    const char *path = getenv("PATH");
    char *copy = strdup(path ? path : "/bin:/usr/bin");
    char *rest = copy;
    char *file = NULL;
    const char *folder = NULL;

    if (!copy) {
        say_no_memory();
    }
    if (strchr(program, '/')) {
        file = program_may_run(program) ? strdup(program) : NULL;
        rest = NULL;
    }
    while (!file && (folder = strsep(&rest, ":")) != NULL) {
        if (asprintf(&file, "%s/%s", folder[0] != '\0' ? folder : ".", program) < 0) {
            say_no_memory();
        }
        if (!program_may_run(file)) {
            free(file);
            file = NULL;
        }
    }
    free(copy);
    return file;
}

/* Only the system knows what it can run.  So the file is run as a child that is traced, which stops
 * before the first instruction, and is killed there.  Gives the errno with which it was refused; 0:
 * it can be run, or may not be traced here, and the first message will show it. */
static int program_try(const char *file)
{
    int status = 0;
    const pid_t pid = fork();

    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0) {
            execl(file, file, (char *) NULL);
            _exit(errno);
        }
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        return 0;
    }
    if (WIFSTOPPED(status)) {
        (void) kill(pid, SIGKILL);
        (void) waitpid(pid, &status, 0);
        return 0;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

enum exit_code consume_check_program(const char *program)
{
    char *file = program_find(program);
    const int error = file ? program_try(file) : 0;

    if (!file) {
        return say_error(EXIT_NO_INPUT,
                         "cannot run %s: there is no such program, or it may not be run", program);
    }
    free(file);
    if (error == ENOEXEC) {
        return say_error(EXIT_NO_INPUT,
                         "cannot run %s: it is neither a program of this system nor a script that "
                         "begins with #!",
                         program);
    }
    if (error == ENOENT) {
        return say_error(EXIT_NO_INPUT, "cannot run %s: the interpreter that it names is not there",
                         program);
    }
    return error ? say_error(EXIT_NO_INPUT, "cannot run %s: %s", program, strerror(error))
                 : EXIT_DONE;
}

void consume_kill_programs(void)
{
    struct program *program = NULL;

    pthread_mutex_lock(&running.lock);
    running.killed = true;
    LIST_FOREACH(program, &running.list, entry)
    {
        (void) kill(-program->pid, SIGKILL);
    }
    pthread_mutex_unlock(&running.lock);
}
