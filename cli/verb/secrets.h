/* secrets.h - passwords of the command: given by the environment, and kept out of the list of
 * processes. */
#ifndef CLI_SECRETS_H
#define CLI_SECRETS_H

#include <stdbool.h>

#include <slotmq/slotmq.h>

#include "cli/text/exit.h"

/* Copies the words of a command line, and overwrites the passwords in the words themselves, which
 * other users can see: the user and the password before the '@' of an address with "://", and the
 * value of zookeeper_auth.  The copy ends with NULL; secrets_free() frees it. */
char **secrets_take(int argc, char **argv);
void secrets_free(char **words);

/* Overwrites the passwords in one word, as secrets_take() does. */
void secrets_hide(char *word);

/* Does an entry "NAME=VALUE" of the environment hold a password, or name the file of one? */
bool secrets_are_in(const char *entry);

/* Refuses a variable beside that of its file. */
enum exit_code secrets_check(void);

/* Adds the passwords that the environment has (SLOTMQ_REDIS_PASSWORD, SLOTMQ_ZOOKEEPER_AUTH, or the
 * names of files in these with _FILE behind them) and the command line has not. */
void secrets_add(smq_client_options *options);

#endif
