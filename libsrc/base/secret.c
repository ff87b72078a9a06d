/* secret.c - see secret.h.
 *
 * Thread: any. */
#include "base/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"

void secret_wipe(char *secret)
{
    if (secret != NULL) {
        explicit_bzero(secret, strlen(secret));
    }
}

void secret_free(char *secret)
{
    secret_wipe(secret);
    free(secret);
}

/* Returns how many bytes were read; -1: it failed, and errno says why. */
static ssize_t secret_load(char *out, size_t size, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;
    size_t used = 0;
    ssize_t got = -1;

    if (file < 0) {
        return -1;
    }
    if (fstat(file, &info) == 0 && !S_ISREG(info.st_mode)) {
        errno = EINVAL; /* it will be read again, which a pipe cannot be */
    } else {
        while (used < size && (got = read(file, out + used, size - used)) > 0) {
            used += (size_t) got;
        }
    }
    int error = errno;
    (void) close(file);
    errno = error;
    return got < 0 ? -1 : (ssize_t) used;
}

/* Why these bytes are no secret; NULL: they are, and the first line has `*len` bytes. */
static const char *secret_find_line(size_t *len, const char *bytes, size_t count)
{
    const char *end = memchr(bytes, '\n', count);

    *len = end != NULL ? (size_t) (end - bytes) : count;
    *len -= *len > 0 && bytes[*len - 1] == '\r' ? 1 : 0;
    if (*len == 0) {
        return "its first line is empty";
    }
    if (*len > SECRET_MAX) {
        return "its first line is too long";
    }
    return memchr(bytes, '\0', *len) != NULL ? "it holds a NUL" : NULL;
}

char *secret_read(const char *path, smq_error *err)
{
    const size_t size = SECRET_MAX + 2;
    char *bytes = memory_new(size);
    char *secret = NULL;
    const char *why = NULL;
    size_t len = 0;
    ssize_t count = secret_load(bytes, size, path);

    if (count < 0) {
        (void) status_set(err, SMQ_INVALID, "%s cannot be read: %s", path,
                          errno == EINVAL ? "it is no regular file" : strerror(errno));
        goto out;
    }
    why = secret_find_line(&len, bytes, (size_t) count);
    if (why != NULL) {
        (void) status_set(err, SMQ_INVALID, "%s: %s", path, why);
        goto out;
    }
    secret = memory_copy(bytes, len);
out:
    explicit_bzero(bytes, size);
    free(bytes);
    return secret;
}
