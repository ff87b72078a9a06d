/* endless.c - what libFuzzer calls: `fuzz TARGET [OPTION...]` with options and folders of
 * libFuzzer.
 *
 * Thread: main. */
#include "fuzz/fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct fuzz_target *target;

/* Takes the target out of the arguments; libFuzzer reads the others. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    target = fuzz_target_find(*argc > 1 ? (*argv)[1] : "");
    if (target == NULL) {
        exit(64);
    }
    (*argv)[1] = (*argv)[0];
    *argv += 1;
    *argc -= 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    target->run(data, size);
    return 0;
}
