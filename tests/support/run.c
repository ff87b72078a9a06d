#include "support/run.h"

#include "support/process.h"
#include "support/wait.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Files in memory instead of pipes: nothing blocks when nobody reads. */
static int memory_file(const char *name, const char *text, size_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC);

    if (fd < 0 || write(fd, text, len) != (ssize_t) len || lseek(fd, 0, SEEK_SET) != 0) {
        perror("memfd_create");
        abort();
    }
    return fd;
}

/* Read all that is in `fd` into *text, anew. */
static void catch_output(int fd, char **text, size_t *len)
{
    struct stat status;
    size_t got = 0;

    free(*text);
    *text = fstat(fd, &status) == 0 ? calloc(1, (size_t) status.st_size + 1) : NULL;
    if (*text == NULL) {
        perror("caught output");
        abort();
    }
    while (got < (size_t) status.st_size) {
        ssize_t part = pread(fd, *text + got, (size_t) status.st_size - got, (off_t) got);
        if (part <= 0) {
            break;
        }
        got += (size_t) part;
    }
    *len = got;
}

static void catch_outputs(struct run *run)
{
    catch_output(run->out_fd, &run->out, &run->out_len);
    catch_output(run->err_fd, &run->err, &run->err_len);
}

bool run_start(struct run *run, const struct run_options *options)
{
    const char *in = options->in != NULL ? options->in : "";
    int in_fd = memory_file("in", in, options->in_len > 0 ? options->in_len : strlen(in));

    memset(run, 0, sizeof(*run));
    run->out_fd = memory_file("out", "", 0);
    run->err_fd = memory_file("err", "", 0);
    run->pid = process_start(&(struct process_options){
        .argv = options->argv,
        .environment = options->environment,
        .refused = options->refused,
        .in = in_fd,
        .out = run->out_fd,
        .err = run->err_fd,
    });
    run->ended = run->pid == 0;
    close(in_fd);
    return run->pid != 0;
}

static void note_end(struct run *run, int status)
{
    run->ended = true;
    run->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool has_ended(void *arg)
{
    struct run *run = arg;
    int status = 0;

    if (!run->ended && process_ended(run->pid, &status)) {
        note_end(run, status);
    }
    return run->ended;
}

bool run_wait(struct run *run, int64_t timeout_ms)
{
    bool in_time = wait_until(has_ended, run, timeout_ms);

    if (!in_time) {
        process_kill(run->pid);
        note_end(run, SIGKILL);
    }
    catch_outputs(run);
    return in_time;
}

struct search {
    struct run *run;
    const char *text;
    bool in_err;
    bool found;
};

static bool found_or_ended(void *arg)
{
    struct search *search = arg;
    bool ended = has_ended(search->run); /* before reading, so nothing is missed */

    catch_outputs(search->run);
    search->found = strstr(search->in_err ? search->run->err : search->run->out, search->text);
    return search->found || ended;
}

bool run_wait_out(struct run *run, const char *text, int64_t timeout_ms)
{
    struct search search = {.run = run, .text = text};

    return wait_until(found_or_ended, &search, timeout_ms) && search.found;
}

bool run_wait_err(struct run *run, const char *text, int64_t timeout_ms)
{
    struct search search = {.run = run, .text = text, .in_err = true};

    return wait_until(found_or_ended, &search, timeout_ms) && search.found;
}

void run_signal(const struct run *run, int number)
{
    if (!run->ended) {
        kill(run->pid, number);
    }
}

bool run_command(struct run *run, const struct run_options *options, int64_t timeout_ms)
{
    return run_start(run, options) && run_wait(run, timeout_ms);
}

void run_fini(struct run *run)
{
    if (!run->ended) {
        process_kill(run->pid);
    }
    free(run->out);
    free(run->err);
    close(run->out_fd);
    close(run->err_fd);
    memset(run, 0, sizeof(*run));
    run->ended = true;
}
