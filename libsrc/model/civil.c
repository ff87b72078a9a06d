/* civil.c - days and dates.  Years begin in March here, so a leap day is the last of its year; 400
 * of them, an era, have always as many days.
 *
 * Pure. */
#include "model/civil.h"

enum { ERA_DAYS = 146097, TO_1970 = 719468 };

int64_t civil_divide(int64_t number, int64_t by, int64_t *rest)
{
    *rest = number % by;
    if (*rest < 0) {
        *rest += by;
    }
    return (number - *rest) / by;
}

int64_t civil_to_days(int64_t year, int month, int day)
{
    int64_t of_era;
    const int64_t era = civil_divide(month > 2 ? year : year - 1, 400, &of_era);
    const int of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - TO_1970;
}

struct civil civil_of_days(int64_t days)
{
    int64_t of_era;
    const int64_t era = civil_divide(days + TO_1970, ERA_DAYS, &of_era);
    const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    const int of_year = (int) (of_era - (365 * year + year / 4 - year / 100));
    const int month = (5 * of_year + 2) / 153; /* 0: March */
    const struct civil out = {.year = era * 400 + year + (month > 9 ? 1 : 0),
                              .month = month > 9 ? month - 9 : month + 3,
                              .day = of_year - (153 * month + 2) / 5 + 1};

    return out;
}

int civil_weekday(int64_t days)
{
    int64_t weekday;

    (void) civil_divide(days + 4, 7, &weekday);
    return (int) weekday;
}
