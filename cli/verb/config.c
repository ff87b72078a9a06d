/* config.c - see config.h.
 *
 * Debian's libinih cannot read these files.  As it is built there it gives no line numbers, does
 * not report a section without lines, takes an indented line for the rest of the value above it,
 * cuts values at " ;" (which a password may contain) and lines after 200 bytes, and accepts ':' as
 * '='. */
#include "cli/verb/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "cli/text/parse.h"
#include "cli/text/say.h"

/* A larger file is a mistake. */
enum { SIZE_MOST = 1 << 20, WHERE_MAX = 512 };

static const char blanks[] = " \t\r";

/* === Reading ============================================================ */

/* Where the file is when none is named, to be freed; NULL: there is no home. */
static char *config_default_path(void)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    char *path = NULL;
    int made = 0;

    if (config && config[0] == '/') {
        made = asprintf(&path, "%s/slotmq/config", config);
    } else if (home && home[0] != '\0') {
        made = asprintf(&path, "%s/.config/slotmq/config", home);
    }
    if (made < 0) {
        say_no_memory();
    }
    return path;
}

/* The whole file with a NUL behind it. */
static enum exit_code config_load(struct config *config, bool required)
{
    FILE *file = fopen(config->path, "re");

    if (!file) {
        return !required && (errno == ENOENT || errno == ENOTDIR)
                   ? EXIT_DONE
                   : say_error(EXIT_NO_INPUT, "cannot read %s: %s", config->path, strerror(errno));
    }
    config->text = say_alloc(SIZE_MOST + 1, 1);
    const size_t size = fread(config->text, 1, SIZE_MOST + 1, file);
    const int error = ferror(file) ? errno : 0;
    (void) fclose(file);
    if (error != 0) {
        return say_error(EXIT_NO_INPUT, "cannot read %s: %s", config->path, strerror(error));
    }
    if (size > SIZE_MOST || memchr(config->text, '\0', size)) {
        return say_error(EXIT_USAGE, "%s is no configuration file: it is too long or holds a NUL",
                         config->path);
    }
    config->text[size] = '\0';
    return EXIT_DONE;
}

/* The text without the blanks around it. */
static char *config_trim(char *text)
{
    char *start = text + strspn(text, blanks);
    char *end = start + strlen(start);

    while (end > start && strchr(blanks, end[-1])) {
        *--end = '\0';
    }
    return start;
}

/* Whose the lines are that follow. */
struct section {
    const struct verb *verb;
    const char *context;
};

/* The name of "context NAME"; NULL: it is no context. */
static char *config_context_name(char *text)
{
    static const char word[] = "context";
    const size_t length = sizeof(word) - 1;

    return strncmp(text, word, length) == 0 &&
                   (text[length] == '\0' || strchr(blanks, text[length]))
               ? config_trim(text + length)
               : NULL;
}

static const char *config_find_context(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->context_count; i++) {
        if (strcmp(config->contexts[i], name) == 0) {
            return config->contexts[i];
        }
    }
    return NULL;
}

/* "[context prod]" */
static enum exit_code config_take_context(struct config *config, struct section *section,
                                          const char *name, const char *where)
{
    if (name[0] == '\0' || name[strcspn(name, blanks)] != '\0') {
        return say_error(EXIT_USAGE, "%s: a context has a name of one word, as in [context prod]",
                         where);
    }
    if (config_find_context(config, name)) {
        return say_error(EXIT_USAGE, "%s: the context \"%s\" is there twice", where, name);
    }
    config->contexts = say_grow(config->contexts, config->context_count, sizeof(*config->contexts));
    config->contexts[config->context_count++] = name;
    *section = (struct section){.context = name};
    return EXIT_DONE;
}

/* "[topic create]" */
static enum exit_code config_take_section(struct config *config, struct section *section,
                                          char *text, const char *where,
                                          const struct verb *const *verbs)
{
    const size_t length = strlen(text);
    struct nearest nearest;

    if (text[length - 1] != ']') {
        return say_error(EXIT_USAGE,
                         "%s: a section is the name of a verb or of a context, as in [topic "
                         "create] or [context prod]",
                         where);
    }
    text[length - 1] = '\0';
    char *name = config_trim(text + 1);
    const char *context = config_context_name(name);
    if (context) {
        return config_take_context(config, section, context, where);
    }
    nearest = nearest_to(name);
    for (size_t i = 0; verbs[i]; i++) {
        if (strcmp(verbs[i]->name, name) == 0) {
            *section = (struct section){.verb = verbs[i]};
            return EXIT_DONE;
        }
        nearest_offer(&nearest, verbs[i]->name);
    }
    return say_error(EXIT_USAGE, "%s: there is no verb \"%s\"%s%s%s", where, name,
                     nearest.best ? "; did you mean [" : "", nearest.best ? nearest.best : "",
                     nearest.best ? "]?" : "; see slotmq --help");
}

static void config_add(struct config *config, const struct config_line *line)
{
    config->lines = say_grow(config->lines, config->count, sizeof(*config->lines));
    config->lines[config->count++] = *line;
}

static enum exit_code config_take_line(struct config *config, struct section *section, char *text,
                                       unsigned number, const struct verb *const *verbs)
{
    char where[WHERE_MAX];
    char *line = config_trim(text);
    char *equals = strchr(line, '=');

    snprintf(where, sizeof(where), "%s:%u", config->path, number);
    if (line[0] == '\0' || line[0] == '#') {
        return EXIT_DONE;
    }
    if (line[0] == '[') {
        return config_take_section(config, section, line, where, verbs);
    }
    if (!equals || equals == line) {
        return say_error(EXIT_USAGE, "%s: a line is NAME = VALUE, with the long name of a flag",
                         where);
    }
    *equals = '\0';
    config_add(config, &(struct config_line){.number = number,
                                             .verb = section->verb,
                                             .context = section->context,
                                             .name = config_trim(line),
                                             .value = config_trim(equals + 1)});
    return EXIT_DONE;
}

enum exit_code config_read(struct config *out, const char *path, const struct verb *const *verbs)
{
    struct section section = {.verb = NULL};
    enum exit_code code = EXIT_DONE;
    unsigned number = 0;
    char *rest = NULL;

    *out = (struct config){.path = path ? strdup(path) : config_default_path()};
    if (!out->path) {
        return EXIT_DONE;
    }
    code = config_load(out, path != NULL);
    rest = code == EXIT_DONE ? out->text : NULL;
    while (rest && code == EXIT_DONE) {
        code = config_take_line(out, &section, strsep(&rest, "\n"), ++number, verbs);
    }
    return code;
}

/* === Contexts =========================================================== */

const char *config_context_value(const struct config *config, const char *context, const char *name)
{
    const char *value = NULL;

    for (size_t i = 0; i < config->count; i++) {
        const struct config_line *line = &config->lines[i];
        const bool here = context ? line->context && strcmp(line->context, context) == 0
                                  : !line->context && !line->verb;
        if (here && strcmp(line->name, name) == 0) {
            value = line->value;
        }
    }
    return value;
}

static enum exit_code config_say_no_context(const struct config *config, const char *name)
{
    const char *path = config->path ? config->path : "a configuration file";
    enum exit_code code = EXIT_USAGE;
    size_t used = 0;
    size_t room = 1;

    if (config->context_count == 0) {
        return say_error(code,
                         "there is no context \"%s\": %s has none; a line [context %s] begins it",
                         name, path, name);
    }
    for (size_t i = 0; i < config->context_count; i++) {
        room += strlen(config->contexts[i]) + 2;
    }
    char *known = say_alloc(room, 1);
    for (size_t i = 0; i < config->context_count; i++) {
        used += (size_t) snprintf(known + used, room - used, "%s%s", i == 0 ? "" : ", ",
                                  config->contexts[i]);
    }
    code = say_error(code, "there is no context \"%s\"; %s has %s", name, path, known);
    free(known);
    return code;
}

enum exit_code config_choose(struct config *config, const struct config_wish *wish)
{
    const char *variable = getenv("SLOTMQ_CONTEXT");
    const char *name = wish->context;

    if (wish->context && wish->servers) {
        return say_error(EXIT_USAGE, "--context and --redis both say where Redis is; give one");
    }
    if (!name && !wish->servers) {
        name = variable && variable[0] != '\0' ? variable : NULL;
    }
    if (!name && !wish->servers && !getenv("SLOTMQ_REDIS")) {
        name = config_context_value(config, NULL, "context");
    }
    if (!name) {
        return EXIT_DONE;
    }
    config->current = config_find_context(config, name);
    return config->current ? EXIT_DONE : config_say_no_context(config, name);
}

/* === Applying =========================================================== */

/* Flags that make no sense in a file. */
static bool config_may_have(const struct flag *flag)
{
    static const char *const not [] = {"config", "help", "version", "yes"};

    for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++) {
        if (strcmp(flag->name, not [i]) == 0) {
            return false;
        }
    }
    return true;
}

static const struct flag *config_find(const struct flag_set *set, const char *name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (strcmp(set->flags[i].name, name) == 0 && config_may_have(&set->flags[i])) {
            return &set->flags[i];
        }
    }
    return NULL;
}

static enum exit_code config_say_unknown(const struct flag_set *set, const char *name)
{
    struct nearest nearest = nearest_to(name);

    for (size_t i = 0; i < set->count; i++) {
        if (config_may_have(&set->flags[i])) {
            nearest_offer(&nearest, set->flags[i].name);
        }
    }
    return say_error(EXIT_USAGE, "there is no \"%s\" here%s%s%s", name,
                     nearest.best ? "; did you mean \"" : "", nearest.best ? nearest.best : "",
                     nearest.best ? "\"?" : "; see slotmq --help");
}

/* A flag without a value is set by true; --verbose also by a number. */
static enum exit_code config_apply_switch(const struct flag *flag, void *values, const char *text)
{
    int64_t times = 0;

    if (strcmp(text, "true") == 0) {
        times = 1;
    } else if (strcmp(text, "false") != 0 &&
               (flag->type != FLAG_COUNT || !parse_number(&times, text) || times < 0 ||
                times > 9)) {
        return say_error(EXIT_USAGE, "%s \"%s\" cannot be used; give true or false%s", flag->name,
                         text, flag->type == FLAG_COUNT ? ", or how many times" : "");
    }
    for (int64_t i = 0; i < times; i++) {
        (void) flag_apply(flag, values, NULL);
    }
    return EXIT_DONE;
}

/* Does it say where the servers are, or how they are spoken to? */
static bool config_is_of_client(const struct flag *flag)
{
    return flag->offset == offsetof(struct global_options, client);
}

/* Does a global flag hold, whose line is in this context or above the sections? */
static bool config_holds(const struct config *config, const struct config_line *line,
                         const struct flag *flag)
{
    return line->context ? line->context == config->current
                         : !config->current || !config_is_of_client(flag);
}

static enum exit_code config_apply_line(const struct config *config, const struct config_line *line,
                                        const struct flag_set *set)
{
    const struct flag *flag = config_find(set, line->name);

    if (!flag || (line->context && strcmp(flag->name, "context") == 0)) {
        return config_say_unknown(set, line->name);
    }
    if (!set->values || (!line->verb && !config_holds(config, line, flag))) {
        return EXIT_DONE;
    }
    return flag->operand ? flag_apply(flag, set->values, line->value)
                         : config_apply_switch(flag, set->values, line->value);
}

enum exit_code config_apply(const struct config *config, struct global_options *global,
                            const struct verb *verb, void *options)
{
    enum exit_code code = EXIT_DONE;

    for (size_t i = 0; i < config->count && code == EXIT_DONE; i++) {
        const struct config_line *line = &config->lines[i];
        const struct flag_set set =
            line->verb ? (struct flag_set){.flags = line->verb->flags,
                                           .count = line->verb->flag_count,
                                           .values = line->verb == verb ? options : NULL}
                       : (struct flag_set){
                             .flags = global_flags, .count = global_flag_count, .values = global};
        char where[WHERE_MAX];

        snprintf(where, sizeof(where), "%s:%u: ", config->path, line->number);
        say_where(where);
        code = config_apply_line(config, line, &set);
        say_where("");
    }
    return code;
}

void config_fini(struct config *config)
{
    if (config->text) {
        explicit_bzero(config->text, SIZE_MOST + 1);
    }
    free(config->text);
    free(config->path);
    free(config->lines);
    free(config->contexts);
    *config = (struct config){.count = 0};
}
