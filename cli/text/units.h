/* units.h - durations, ages and sizes as people read them.  Pure. */
#ifndef CLI_UNITS_H
#define CLI_UNITS_H

#include <stddef.h>
#include <stdint.h>

/* Room for any of these texts. */
enum { UNITS_MAX = 32 };

/* A duration that a flag takes back as it is: "250ms", "90s", "1h", "0". */
void units_duration(char text[UNITS_MAX], int64_t ms);

/* An age in its two largest units: "40ms", "12s", "7m21s", "3h5m", "2d4h".  What is smaller is cut
 * off. */
void units_age(char text[UNITS_MAX], int64_t ms);

/* A size that a flag takes back as it is: "1MiB", "64KiB", "1000". */
void units_size(char text[UNITS_MAX], int64_t bytes);

/* `text` with the numbers in it as durations: "exp:1000:600000" as "exp:1s:10m". */
void units_in_text(char *out, size_t size, const char *text);

#endif
