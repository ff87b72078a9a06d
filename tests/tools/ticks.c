/* ticks.c - prints when cron expressions are due, for test_ticks.py.  Each line of its input is
 *
 *   ZONE <tab> SECONDS SINCE 1970 <tab> HOW MANY <tab> EXPRESSION
 *
 * and its answer is a line of as many times behind that one, in seconds, with blanks between them.
 *
 * Thread: main. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/zones.h"
#include "model/ticks.h"

int main(void)
{
    char line[1024], name[128], cron[512];
    int64_t after_s;
    int many;

    while (fgets(line, sizeof(line), stdin) != NULL) {
        struct ticks ticks = {0};
        struct zones zones = {.next = 0};
        const struct zone *zone;
        smq_error err = SMQ_ERROR_INIT;

        if (sscanf(line, "%127[^\t]\t%" SCNd64 "\t%d\t%511[^\n]", name, &after_s, &many, cron) !=
                4 ||
            cron_parse(&ticks.cron, cron, &err) != SMQ_OK ||
            (zone = zones_get(&zones, name, &err)) == NULL) {
            (void) fprintf(stderr, "%s: %s\n", line, err.text);
            return EXIT_FAILURE;
        }
        for (int64_t at_ms = after_s * 1000; many > 0; many--) {
            at_ms = ticks_after(&ticks, zone, at_ms);
            printf("%" PRId64 "%c", at_ms == TICKS_NEVER ? 0 : at_ms / 1000,
                   many == 1 ? '\n' : ' ');
        }
        zones_fini(&zones);
    }
    return EXIT_SUCCESS;
}
