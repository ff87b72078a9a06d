/* forker.c - a process with a client, of which a child of fork() ends by exit(), as a program that
 * knows nothing of the library does.
 *
 *   forker REDIS
 *
 * Ends with 0 when the child did. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <slotmq/slotmq.h>

static bool in_child;

/* The memory of threads that the child does not have is no leak. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return in_child;
}

int main(int argc, char **argv)
{
    smq_client *client = NULL;
    smq_error err;
    int status = -1;
    pid_t child;

    smq_client_options options = SMQ_CLIENT_OPTIONS(.redis = argc > 1 ? argv[1] : NULL);
    if (smq_client_new(&client, &options, &err) != SMQ_OK) {
        fprintf(stderr, "forker: %s\n", err.text);
        return 2;
    }
    child = fork();
    if (child == 0) {
        in_child = true;
        exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("forker");
    }
    smq_client_free(client);
    if (status != 0) {
        fprintf(stderr, "forker: the child ended with status 0x%x\n", (unsigned) status);
    }
    return status == 0 ? 0 : 1;
}
