/* confirm.c - asking before something is deleted. */
#include "cli/verb/confirm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/text/say.h"

static bool confirm_ask(const char *question)
{
    char answer[16] = "";

    fprintf(stderr, "%s [y/N] ", question);
    if (!fgets(answer, sizeof(answer), stdin)) {
        return false;
    }
    return strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0;
}

enum exit_code confirm(const struct command *command, bool yes, const char *format, ...)
{
    char question[512];
    va_list args;

    if (yes) {
        return EXIT_DONE;
    }
    if (!isatty(STDIN_FILENO)) {
        return say_error(EXIT_USAGE,
                         "%s must be confirmed, and there is no terminal to ask at; give --yes",
                         command->verb->name);
    }
    va_start(args, format);
    vsnprintf(question, sizeof(question), format, args);
    va_end(args);
    if (!confirm_ask(question)) {
        return say_error(EXIT_NOT_DONE, "nothing was changed");
    }
    return EXIT_DONE;
}
