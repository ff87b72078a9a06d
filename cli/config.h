/* config.h - the configuration file: flags that need not be typed.
 *
 * A line is "NAME = VALUE" with the long name of a flag; global ones come first, and those of a
 * verb after a line "[VERB]".  Empty lines, and lines that begin with '#', mean nothing. */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "verb.h"

struct config_line {
    unsigned number;          /* from 1 */
    const struct verb *verb;  /* whose flag it is; NULL: a global one */
    const char *name, *value; /* in `text` */
};

/* Zeroed: there is none. */
struct config {
    char *path; /* owned */
    char *text; /* owned; it may hold passwords */
    struct config_line *lines;
    size_t count;
};

/* Reads the file `path`; NULL: $XDG_CONFIG_HOME/slotmq/config or ~/.config/slotmq/config, which
 * need not exist.  On any other result than EXIT_DONE the error has been printed. */
enum exit_code config_read(struct config *out, const char *path, const struct verb *const *verbs);

/* Sets the global flags, and those of `verb`, whose values are `options`.  The values point into
 * `config`. */
enum exit_code config_apply(const struct config *config, struct global_options *global,
                            const struct verb *verb, void *options);

void config_fini(struct config *config);

#endif
