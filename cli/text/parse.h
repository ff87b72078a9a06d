/* parse.h - numbers, durations, times and near misses in the command line.  Pure. */
#ifndef CLI_PARSE_H
#define CLI_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole decimal number, nothing before or after it.  false: it is none, or does not fit. */
bool parse_number(int64_t *out, const char *text);

/* "500ms", "30s", "5m", "2h", "1d", several of them as in "7m21s", or a bare number of
 * milliseconds, in milliseconds; never negative. */
bool parse_duration(int64_t *out, const char *text);

/* Is it a bare number of milliseconds, and not 0? */
bool parse_lacks_unit(const char *text);

/* A byte as a character, or as \n, \r, \t, \0, \\ or \xHH. */
bool parse_byte(int *out, const char *text);

/* A time as a bare number of milliseconds since 1970 (what looks like seconds is refused), or as
 * RFC 3339 has it, with a 'T' or a space between date and time: "2026-12-01T00:00:00Z", "2026-12-01
 * 01:30:00.250+01:30". */
bool parse_time(int64_t *out, const char *text);

#endif
