/* main.c - the process: locale, SIGPIPE, exit code. */
#include <locale.h>
#include <signal.h>

#include "command.h"
#include "signals.h"

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), told as such */
    const enum exit_code code = command_main(argc, argv);
    if (code == EXIT_INTERRUPTED) {
        signals_end_process();
    }
    return code;
}
