/* secrets.c - see secrets.h. */
#include "cli/verb/secrets.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text/say.h"

static const char zookeeper_auth[] = "zookeeper_auth=";

/* The user and the password of an address, between "://" and the last '@'; NULL: it has none. */
static char *secrets_find_user(const char *word, size_t *len)
{
    char *begin = strstr(word, "://");
    const char *end = begin ? strrchr(begin, '@') : NULL;

    if (!end) {
        return NULL;
    }
    begin += strlen("://");
    *len = (size_t) (end - begin);
    return begin;
}

void secrets_hide(char *word)
{
    char *auth = strstr(word, zookeeper_auth);
    size_t len = 0;
    char *user = secrets_find_user(word, &len);

    if (user) {
        memset(user, '*', len);
    }
    if (auth) {
        auth += sizeof(zookeeper_auth) - 1;
        memset(auth, '*', strlen(auth));
    }
}

char **secrets_take(int argc, char **argv)
{
    char **words = say_alloc((size_t) argc + 1, sizeof(*words));

    for (int i = 0; i < argc; i++) {
        words[i] = say_copy(argv[i]);
        secrets_hide(argv[i]);
    }
    return words;
}

void secrets_free(char **words)
{
    for (char **word = words; *word; word++) {
        explicit_bzero(*word, strlen(*word));
        free(*word);
    }
    free(words);
}

/* A variable that is set and not empty. */
static const char *secrets_variable(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] != '\0' ? value : NULL;
}

static smq_status secrets_on_credentials(smq_credentials *credentials, void *user)
{
    smq_error err;

    return smq_credentials_set(credentials, NULL, user, 0, &err);
}

static bool secrets_has_password(const char *redis)
{
    size_t len = 0;
    const char *user = redis ? secrets_find_user(redis, &len) : NULL;

    return user && memchr(user, ':', len);
}

bool secrets_are_in(const char *entry)
{
    static const char *const names[] = {"SLOTMQ_REDIS_PASSWORD", "SLOTMQ_ZOOKEEPER_AUTH",
                                        "SLOTMQ_SERVE_TOKEN"};
    static const char redis[] = "SLOTMQ_REDIS=";

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strncmp(entry, names[i], strlen(names[i])) == 0) {
            return true; /* also with _FILE behind it */
        }
    }
    return strncmp(entry, redis, sizeof(redis) - 1) == 0 && secrets_has_password(entry);
}

void secrets_add(smq_client_options *options)
{
    const char *password = secrets_variable("SLOTMQ_REDIS_PASSWORD");

    if (password && !options->redis_password_file && !secrets_has_password(options->redis)) {
        options->credentials = secrets_on_credentials;
        options->credentials_user = (char *) password;
    }
    if (!password && !options->redis_password_file && !secrets_has_password(options->redis)) {
        options->redis_password_file = secrets_variable("SLOTMQ_REDIS_PASSWORD_FILE");
    }
    if (options->zookeeper && !options->zookeeper_auth && !options->zookeeper_auth_file) {
        options->zookeeper_auth = secrets_variable("SLOTMQ_ZOOKEEPER_AUTH");
        options->zookeeper_auth_file = secrets_variable("SLOTMQ_ZOOKEEPER_AUTH_FILE");
    }
}

/* The variable and that of its file. */
static enum exit_code secrets_check_pair(const char *name, const char *of_file)
{
    if (secrets_variable(name) && secrets_variable(of_file)) {
        return say_error(EXIT_USAGE, "%s and %s are both set; unset one of them", name, of_file);
    }
    return EXIT_DONE;
}

enum exit_code secrets_check(void)
{
    const enum exit_code code =
        secrets_check_pair("SLOTMQ_REDIS_PASSWORD", "SLOTMQ_REDIS_PASSWORD_FILE");

    return code != EXIT_DONE
               ? code
               : secrets_check_pair("SLOTMQ_ZOOKEEPER_AUTH", "SLOTMQ_ZOOKEEPER_AUTH_FILE");
}
