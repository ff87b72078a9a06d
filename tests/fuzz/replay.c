/* replay.c - the targets without libFuzzer: gives one of them the files that it names, and those in
 * folders, and prints how many.
 *
 * usage: replay TARGET FILE_OR_FOLDER...
 *
 * Thread: main. */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fuzz/fuzz.h"

enum { CHUNK = 64 * 1024 };

/* The input lies in memory of exactly its size, so that a byte behind it is noticed. */
static void replay_bytes(const struct fuzz_target *target, const struct buf *bytes)
{
    uint8_t *copy = malloc(bytes->len > 0 ? bytes->len : 1);

    FUZZ_CHECK(copy != NULL);
    if (bytes->len > 0) {
        memcpy(copy, bytes->data, bytes->len);
    }
    target->run(copy, bytes->len);
    free(copy);
}

static bool replay_file(const struct fuzz_target *target, const char *path)
{
    FILE *file = fopen(path, "rb");
    struct buf bytes = {0};
    size_t len;
    bool good;

    if (file == NULL) {
        return false;
    }
    while ((len = fread(buf_room(&bytes, CHUNK), 1, CHUNK, file)) > 0) {
        bytes.len += len;
    }
    good = ferror(file) == 0;
    (void) fclose(file);
    if (good) {
        replay_bytes(target, &bytes);
    }
    buf_fini(&bytes);
    return good;
}

/* How many files; -1: one could not be read. */
static int replay_folder(const struct fuzz_target *target, const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    struct buf name = {0};
    int count = 0;

    if (folder == NULL) {
        return -1;
    }
    while (count >= 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            buf_clear(&name);
            buf_printf(&name, "%s/%s", path, entry->d_name);
            count = replay_file(target, name.data) ? count + 1 : -1;
        }
    }
    (void) closedir(folder);
    buf_fini(&name);
    return count;
}

int main(int argc, char **argv)
{
    const struct fuzz_target *target = fuzz_target_find(argc > 1 ? argv[1] : "");
    int count = 0;

    if (target == NULL) {
        return 64;
    }
    target->run((const uint8_t *) "", 0);
    for (int i = 2; i < argc; i++) {
        struct stat found;
        bool folder = stat(argv[i], &found) == 0 && S_ISDIR(found.st_mode);
        int added = folder ? replay_folder(target, argv[i]) : replay_file(target, argv[i]) ? 1 : -1;

        if (added < 0) {
            (void) fprintf(stderr, "%s cannot be read\n", argv[i]);
            return 1;
        }
        count += added;
    }
    (void) printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
