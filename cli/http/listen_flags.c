/* listen_flags.c - the flags of a verb that opens a port, and what they mean. */
#include "cli/http/listen_flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/text/say.h"

/* A shorter one could be guessed. */
enum { LISTEN_TOKEN_MIN = 16, LISTEN_TOKEN_MAX = 1024 };

/* Visible characters of ASCII, as a header can have them. */
static bool listen_is_token(const char *token)
{
    const size_t size = strlen(token);

    for (size_t i = 0; i < size; i++) {
        if (token[i] <= ' ' || token[i] > '~') {
            return false;
        }
    }
    return size >= LISTEN_TOKEN_MIN && size <= LISTEN_TOKEN_MAX;
}

static enum exit_code listen_read_file(char **token, const char *path)
{
    char line[LISTEN_TOKEN_MAX + 3] = "";
    FILE *file = fopen(path, "re");

    if (!file) {
        return say_error(EXIT_NO_INPUT, "cannot read %s: %s", path, strerror(errno));
    }
    const char *got = fgets(line, sizeof(line), file);
    const bool failed = ferror(file) != 0;
    fclose(file);
    if (failed) {
        return say_error(EXIT_NO_INPUT, "cannot read %s", path);
    }
    line[strcspn(line, "\r\n")] = '\0';
    if (!got || !listen_is_token(line)) {
        return say_error(EXIT_USAGE,
                         "the first line of %s is no token: it needs %d to %d characters of ASCII "
                         "without blanks",
                         path, LISTEN_TOKEN_MIN, LISTEN_TOKEN_MAX);
    }
    *token = strdup(line);
    explicit_bzero(line, sizeof(line));
    if (!*token) {
        say_no_memory();
    }
    return EXIT_DONE;
}

static enum exit_code listen_read_token(char **token, const struct listen *listen)
{
    const char *variable = getenv("SLOTMQ_SERVE_TOKEN");
    const bool set = variable && variable[0] != '\0';

    *token = NULL;
    if (set && listen->token_file) {
        return say_error(EXIT_USAGE, "SLOTMQ_SERVE_TOKEN is set, and --token-file given; leave one "
                                     "of them out");
    }
    if (listen->token_file) {
        return listen_read_file(token, listen->token_file);
    }
    if (set && !listen_is_token(variable)) {
        return say_error(EXIT_USAGE,
                         "SLOTMQ_SERVE_TOKEN is no token: it needs %d to %d characters of ASCII "
                         "without blanks",
                         LISTEN_TOKEN_MIN, LISTEN_TOKEN_MAX);
    }
    *token = set ? strdup(variable) : NULL;
    if (set && !*token) {
        say_no_memory();
    }
    return EXIT_DONE;
}

enum exit_code listen_read(struct address *out, struct guard *guard, char **token,
                           const struct listen *listen)
{
    const enum exit_code code = listen_read_token(token, listen);

    if (code != EXIT_DONE) {
        return code;
    }
    if (!address_parse(out, listen->address)) {
        return say_error(EXIT_USAGE,
                         "--listen \"%s\" cannot be used; give an IP address and a port, as in "
                         "127.0.0.1:9095 or [::]:9095",
                         listen->address);
    }
    if (!out->loopback && !*token && !listen->insecure) {
        return say_error(EXIT_USAGE,
                         "others can reach %s: give a token with --token-file or "
                         "SLOTMQ_SERVE_TOKEN, or allow all of them with --insecure-listen",
                         listen->address);
    }
    *guard = (struct guard){
        .open = out->loopback || listen->insecure, .token = *token, .names = listen->hosts};
    return EXIT_DONE;
}
