/* config.h - the configuration file: flags that need not be typed.
 *
 * A line is "NAME = VALUE" with the long name of a flag; global ones come first, those of a verb
 * after a line "[VERB]", and those of a context after a line "[context NAME]".  Empty lines, and
 * lines that begin with '#', mean nothing. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli/verb/verb.h"

struct config_line {
    unsigned number;          /* from 1 */
    const struct verb *verb;  /* whose flag it is; NULL: a global one */
    const char *context;      /* in which a global one holds; NULL: it began before any section */
    const char *name, *value; /* in `text` */
};

/* Zeroed: there is none. */
struct config {
    char *path; /* owned */
    char *text; /* owned; it may hold passwords */
    struct config_line *lines;
    size_t count;
    const char **contexts; /* owned; the names, in the order of the file */
    size_t context_count;
    const char *current; /* the context in use, one of `contexts`; NULL: none */
};

/* Reads the file `path`; NULL: $XDG_CONFIG_HOME/slotmq/config or ~/.config/slotmq/config, which
 * need not exist.  On any other result than EXIT_DONE the error has been printed. */
enum exit_code config_read(struct config *out, const char *path, const struct verb *const *verbs);

/* Where a command line says which context it wants. */
struct config_wish {
    const char *context; /* of --context; NULL: not given */
    bool servers;        /* --redis is given */
};

/* Decides which context is in use: that of --context, of the variable SLOTMQ_CONTEXT, or of the
 * file's own line "context = NAME".  Servers that are named more closely go before it: --redis
 * before the latter two, SLOTMQ_REDIS before the last.  On any other result than EXIT_DONE the
 * error has been printed. */
enum exit_code config_choose(struct config *config, const struct config_wish *wish);

/* The value that a context gives to a flag; NULL: it gives none. */
const char *config_context_value(const struct config *config, const char *context,
                                 const char *name);

/* Sets the global flags, and those of `verb`, whose values are `options`.  In a context its own
 * lines say where the servers are and how they are spoken to, and those above the sections do not.
 * The values point into `config`. */
enum exit_code config_apply(const struct config *config, struct global_options *global,
                            const struct verb *verb, void *options);

void config_fini(struct config *config);

#endif
