/* libc_data.c - variables of libc for archives that cannot reach those of libc itself (static.py).
 */
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

extern FILE *node_stderr;
extern char **node_environ;
extern const struct in6_addr node_in6addr_any;

FILE *node_stderr;
char **node_environ;
const struct in6_addr node_in6addr_any = IN6ADDR_ANY_INIT;

__attribute__((constructor)) static void libc_data_init(void)
{
    node_stderr = stderr;
    node_environ = environ;
}
