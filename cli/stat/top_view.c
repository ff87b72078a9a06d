/* top_view.c - see top_view.h.
 *
 * Pure. */
#include "cli/stat/top_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/stat/screen.h"
#include "cli/text/say.h"
#include "cli/text/units.h"

enum { KEY_BACKSPACE = '\b', KEY_ESCAPE = '\033', KEY_DELETE = 127 };

/* === Keys =============================================================== */

static bool top_view_scroll(struct top_view *view, size_t page, int key)
{
    switch (key) {
    case SCREEN_DOWN:
        view->first += 1;
        return true;
    case SCREEN_PAGE_DOWN:
        view->first += page;
        return true;
    case SCREEN_UP:
        view->first -= view->first > 0 ? 1 : 0;
        return true;
    case SCREEN_PAGE_UP:
        view->first -= view->first < page ? view->first : page;
        return true;
    default:
        return false;
    }
}

/* Changes the filter by a key that is typed into it; false: the key means nothing there. */
static bool top_view_type(struct top_view *view, int key)
{
    const size_t length = strlen(view->filter);

    if (key == '\n' || key == '\r') {
        view->state = TOP_TABLE;
    } else if (key == KEY_ESCAPE) {
        view->state = TOP_TABLE;
        view->filter[0] = '\0';
    } else if (key == KEY_BACKSPACE || key == KEY_DELETE) {
        view->filter[length > 0 ? length - 1 : 0] = '\0';
    } else if (key > ' ' && key < KEY_DELETE && length + 1 < sizeof(view->filter)) {
        view->filter[length] = (char) key;
        view->filter[length + 1] = '\0';
    } else {
        return false;
    }
    view->first = 0;
    return true;
}

bool top_view_take_key(struct top_view *view, size_t page, int key)
{
    if (view->state == TOP_TYPING) {
        return top_view_type(view, key);
    }
    if (view->state == TOP_HELP) {
        view->state = TOP_TABLE;
        return true;
    }
    if (key == '?') {
        view->state = TOP_HELP;
        return true;
    }
    if (key == '/' || key == 'i' || top_order_of_key(&view->order, key)) {
        view->state = key == '/' ? TOP_TYPING : TOP_TABLE;
        view->work = key == 'i' ? !view->work : key == '/' && view->work;
        view->first = 0;
        return true;
    }
    return top_view_scroll(view, page, key);
}

/* === What is shown ====================================================== */

size_t top_view_filter(const struct top_view *view, struct sample *samples, size_t count)
{
    struct sample *others = say_alloc(count, sizeof(*others));
    size_t shown = 0;

    for (size_t i = 0; i < count; i++) {
        if (strcasestr(samples[i].name, view->filter)) {
            samples[shown++] = samples[i];
        } else {
            others[i - shown] = samples[i];
        }
    }
    if (count > shown) {
        memcpy(samples + shown, others, (count - shown) * sizeof(*samples));
    }
    free(others);
    return shown;
}

void top_view_head(char *out, size_t size, const struct top_view *view, size_t shown, size_t count,
                   int64_t interval_ms, size_t columns)
{
    static const char *const names[][2] = {{"topic", "topics"}, {"slot in work", "slots in work"}};
    const char *what = names[view->work][count != 1];
    const char *order = view->work ? "age" : top_order_name(view->order);
    char interval[UNITS_MAX];
    char text[256];

    units_duration(interval, interval_ms);
    if (view->state == TOP_TYPING) {
        snprintf(text, sizeof(text), "/%s_  %zu of %zu %s; Enter keeps this, Esc shows all",
                 view->filter, shown, count, what);
    } else if (view->filter[0] != '\0') {
        snprintf(text, sizeof(text), "%zu of %zu %s, those with %s, by %s; ? keys, q ends", shown,
                 count, what, view->filter, order);
    } else {
        snprintf(text, sizeof(text), "%zu %s by %s, %s; %s, / filters, ? keys, q ends", count, what,
                 order, interval, view->work ? "i topics" : "a n w l d sort, i work");
    }
    if (strlen(text) > columns && view->state == TOP_TABLE) {
        snprintf(text, sizeof(text), "by %s, %s; ? keys, q ends", order, interval);
    }
    snprintf(out, size, "%.*s", (int) columns, text);
}

const char *top_view_help(size_t index)
{
    static const char *const lines[] = {
        "a n w l d  sort by activity, name, waiting, lag, dead",
        "i          what is in work, or the topics again",
        "j k        scroll, as arrows and page keys do",
        "/          show only topics whose names have a text",
        "?          these keys; any key leads back",
        "q Ctrl-C   end",
    };

    return index < sizeof(lines) / sizeof(lines[0]) ? lines[index] : NULL;
}
