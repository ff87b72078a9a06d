/* top_view.h - what the user of slotmq top has chosen to see, by keys. */
#ifndef CLI_TOP_VIEW_H
#define CLI_TOP_VIEW_H

#include "cli/stat/top_table.h"

enum { TOP_FILTER_MAX = 64 };

struct top_view {
    enum top_order order;
    bool work;                                      /* what is in work, in place of topics */
    size_t first;                                   /* the row at the top */
    char filter[TOP_FILTER_MAX];                    /* names have it; "": all topics are shown */
    enum { TOP_TABLE, TOP_TYPING, TOP_HELP } state; /* TYPING: keys change the filter */
};

/* Takes a key of screen_wait(); `page`: how many rows the screen has lines for.  false: it
 * changes nothing. */
bool top_view_take_key(struct top_view *view, size_t page, int key);

/* Moves the samples whose names have the filter to the front, in their order.  How many they are.
 */
size_t top_view_filter(const struct top_view *view, struct sample *samples, size_t count);

/* The first line of the screen, of at most `columns` characters: `shown` of `count` rows are
 * shown. */
void top_view_head(char *out, size_t size, const struct top_view *view, size_t shown, size_t count,
                   int64_t interval_ms, size_t columns);

/* Line number `index` of what ? shows; NULL: there is none. */
const char *top_view_help(size_t index);

#endif
