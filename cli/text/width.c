/* width.c - see width.h. */
#include "cli/text/width.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli/text/say.h"

/* One character of a text. */
struct character {
    size_t size;    /* bytes */
    size_t columns; /* of the terminal */
};

/* The character at the start of a text that is not empty.  A byte that is none counts as one. */
static struct character width_character(const char *text)
{
    mbstate_t state = {0};
    wchar_t wide = 0;
    const size_t size = mbrtowc(&wide, text, MB_CUR_MAX, &state);

    if (size == 0 || size > MB_CUR_MAX) {
        return (struct character){1, 1};
    }
    const int columns = wcwidth(wide);
    return (struct character){size, columns < 0 ? 1 : (size_t) columns};
}

size_t width_of(const char *text)
{
    size_t widest = 0;
    size_t columns = 0;

    while (*text != '\0') {
        const struct character next = width_character(text);
        columns = *text == '\n' ? 0 : columns + next.columns;
        widest = columns > widest ? columns : widest;
        text += next.size;
    }
    return widest;
}

/* How many bytes at the start of a text fit into these columns. */
static size_t width_head(const char *text, size_t columns)
{
    const char *end = text;

    while (*end != '\0') {
        const struct character next = width_character(end);
        if (next.columns > columns) {
            break;
        }
        columns -= next.columns;
        end += next.size;
    }
    return (size_t) (end - text);
}

/* The end of a text that fits into these columns.  It does not begin with an accent. */
static const char *width_tail(const char *text, size_t columns)
{
    size_t left = width_of(text);

    while (*text != '\0') {
        const struct character next = width_character(text);
        if (left <= columns && next.columns > 0) {
            break;
        }
        left -= next.columns;
        text += next.size;
    }
    return text;
}

static const char *width_ellipsis(void)
{
    return MB_CUR_MAX > 1 ? "\xe2\x80\xa6" : "...";
}

/* Keeps `tail` columns of the end, if there is room for them. */
static char *width_without(const char *text, size_t columns, size_t tail)
{
    const char *ellipsis = width_ellipsis();
    const size_t dots = width_of(ellipsis);
    const size_t size = strlen(text) + strlen(ellipsis) + 1;
    char *out = say_alloc(size, 1);

    if (width_of(text) <= columns) {
        memcpy(out, text, strlen(text) + 1);
        return out;
    }
    if (columns < dots + 2) { /* no room for an ellipsis beside anything */
        memcpy(out, text, width_head(text, columns));
        return out;
    }
    const size_t room = columns - dots;
    const size_t head = width_head(text, room - tail);
    memcpy(out, text, head);
    snprintf(out + head, size - head, "%s%s", ellipsis, width_tail(text + head, tail));
    return out;
}

char *width_cut(const char *text, size_t columns)
{
    return width_without(text, columns, 0);
}

char *width_shorten(const char *text, size_t columns)
{
    const size_t dots = width_of(width_ellipsis());

    return width_without(text, columns, columns > dots ? (columns - dots) / 2 : 0);
}

/* Where the last of these characters is, counted from 1; 0: there is none. */
static size_t width_last_of(const char *text, size_t size, const char *characters)
{
    while (size > 0 && !strchr(characters, text[size - 1])) {
        size--;
    }
    return size;
}

/* How many bytes of a text that is wider go to a line.  At least one character does. */
static size_t width_line(const char *text, size_t columns)
{
    const size_t most = width_head(text, columns);

    if (most == 0) {
        return width_character(text).size;
    }
    if (text[most] == ' ') {
        return most;
    }
    const size_t words = width_last_of(text, most, " ,");
    const size_t parts = words > 0 ? words : width_last_of(text, most, "-./:@");
    return parts > 0 ? parts : most;
}

char *width_wrap(const char *text, size_t columns)
{
    char *out = say_alloc(2 * strlen(text) + 1, 1);
    char *to = out;

    while (width_of(text) > columns) {
        size_t size = width_line(text, columns);
        memcpy(to, text, size);
        text += size;
        while (*text == ' ') {
            text++;
        }
        while (size > 1 && to[size - 1] == ' ') {
            size--;
        }
        to += size;
        if (*text != '\0') {
            *to++ = '\n';
        }
    }
    memcpy(to, text, strlen(text) + 1);
    return out;
}
