/* main.c - the process: locale, SIGPIPE, exit code. */
#include <locale.h>
#include <signal.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/text/signals.h"

/* The library aborts when it gets no memory, and says nothing. */
static void main_on_abort(int number)
{
    static const char text[] = "slotmq: aborted: out of memory, or a defect\n";
    const ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

    (void) written;
    signal(number, SIG_DFL);
    raise(number);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    signal(SIGABRT, main_on_abort);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is reported as an error of write() */
    const enum exit_code code = command_main(argc, argv);
    if (code == EXIT_INTERRUPTED) {
        signals_end_process();
    }
    return code;
}
