/* civil.h - days since 1970, and their dates in the calendar that Gregory made.
 *
 * Pure. */
#ifndef MODEL_CIVIL_H
#define MODEL_CIVIL_H

#include <stdint.h>

struct civil {
    int64_t year;
    int month, day; /* from 1 */
};

/* `month` from 1. */
int64_t civil_to_days(int64_t year, int month, int day);
struct civil civil_of_days(int64_t days);

/* 0: Sunday. */
int civil_weekday(int64_t days);

/* The quotient rounded down, and what is left of it, which is not negative. */
int64_t civil_divide(int64_t number, int64_t by, int64_t *rest);

#endif
