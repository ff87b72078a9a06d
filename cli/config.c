/* config.c - see config.h.
 *
 * Debian's libinih cannot read these files.  As it is built there it gives no line numbers, does
 * not report a section without lines, takes an indented line for the rest of the value above it,
 * cuts values at " ;" (which a password may contain) and lines after 200 bytes, and accepts ':' as
 * '='. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/nearest.h"
#include "parse.h"
#include "say.h"

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

/* "[topic create]" */
static enum exit_code config_take_section(const struct verb **verb, char *text, const char *where,
                                          const struct verb *const *verbs)
{
    const size_t length = strlen(text);
    struct nearest nearest;

    if (text[length - 1] != ']') {
        return say_error(EXIT_USAGE, "%s: a section is the name of a verb, as in [topic create]",
                         where);
    }
    text[length - 1] = '\0';
    const char *name = config_trim(text + 1);
    nearest = nearest_to(name);
    for (size_t i = 0; verbs[i]; i++) {
        if (strcmp(verbs[i]->name, name) == 0) {
            *verb = verbs[i];
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
    struct config_line *grown =
        realloc(config->lines, (config->count + 1) * sizeof(*config->lines));

    if (!grown) {
        say_no_memory();
    }
    config->lines = grown;
    config->lines[config->count++] = *line;
}

static enum exit_code config_take_line(struct config *config, const struct verb **verb, char *text,
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
        return config_take_section(verb, line, where, verbs);
    }
    if (!equals || equals == line) {
        return say_error(EXIT_USAGE, "%s: a line is NAME = VALUE, with the long name of a flag",
                         where);
    }
    *equals = '\0';
    config_add(config, &(struct config_line){.number = number,
                                             .verb = *verb,
                                             .name = config_trim(line),
                                             .value = config_trim(equals + 1)});
    return EXIT_DONE;
}

enum exit_code config_read(struct config *out, const char *path, const struct verb *const *verbs)
{
    const struct verb *verb = NULL;
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
        code = config_take_line(out, &verb, strsep(&rest, "\n"), ++number, verbs);
    }
    return code;
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

static enum exit_code config_apply_line(const struct config_line *line, const struct flag_set *set)
{
    const struct flag *flag = config_find(set, line->name);

    if (!flag) {
        return config_say_unknown(set, line->name);
    }
    if (!set->values) {
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
        code = config_apply_line(line, &set);
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
    *config = (struct config){.count = 0};
}
