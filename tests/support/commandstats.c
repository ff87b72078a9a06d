#include "support/commandstats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line is "cmdstat_evalsha:calls=7,usec=250,usec_per_call=35.71,rejected_calls=0,failed_calls=0",
 * so the first "calls=" in it is the field of that name. */
int64_t commandstats_read(const char *info, const char *command, const char *field)
{
    char start[64], wanted[64];
    const char *line, *value;

    (void) snprintf(start, sizeof(start), "cmdstat_%s:", command);
    (void) snprintf(wanted, sizeof(wanted), "%s=", field);
    line = strstr(info, start);
    value = line != NULL ? strstr(line, wanted) : NULL;
    if (value == NULL || value > line + strcspn(line, "\r\n")) {
        return 0;
    }
    return strtoll(value + strlen(wanted), NULL, 10);
}
