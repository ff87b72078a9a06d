/* secret.h - passwords in memory: they are overwritten before their memory is freed.
 *
 * Thread: any. */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include <slotmq/core.h>

enum { SECRET_MAX = 64 * 1024 };

/* Overwrite a string, or nothing if it is NULL; secret_free() frees it, too. */
void secret_wipe(char *secret);
void secret_free(char *secret);

/* The first line of a file, without its end, of at most SECRET_MAX bytes; secret_free() frees it.
 * NULL: it cannot be read, is empty or holds a NUL; `err` (INVALID) names the file and the reason,
 * and shows nothing of it. */
char *secret_read(const char *path, smq_error *err);

#endif
