/* printable.c - bytes as text that no terminal obeys.  Pure. */
#include "cli/text/printable.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The length and the number of the UTF-8 character at the start of `bytes`; 0: there is none. */
static size_t printable_read_character(uint32_t *number, const unsigned char *bytes, size_t size)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char first = bytes[0];
    const size_t length = first < 0x80             ? 1
                          : (first & 0xe0) == 0xc0 ? 2
                          : (first & 0xf0) == 0xe0 ? 3
                          : (first & 0xf8) == 0xf0 ? 4
                                                   : 0;

    if (length == 0 || length > size) {
        return 0;
    }
    *number = length == 1 ? first : first & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
        *number = *number << 6 | (bytes[i] & 0x3fU);
    }
    const bool surrogate = *number >= 0xd800 && *number <= 0xdfff;
    return *number < least[length] || *number > 0x10ffff || surrogate ? 0 : length;
}

/* Does it control the terminal or the order of the text beside it, or take no room, so that what is
 * seen differs from what is there?  Also the joiners in emoji and in some scripts. */
static bool printable_deceives(uint32_t character)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x0000, 0x001f},   /* control characters */
        {0x007f, 0x009f},   /* DEL, more of them */
        {0x00ad, 0x00ad},   /* soft hyphen */
        {0x061c, 0x061c},   /* Arabic letter mark */
        {0x180e, 0x180e},   /* Mongolian vowel separator */
        {0x200b, 0x200f},   /* zero width space, joiners, marks of direction */
        {0x2028, 0x202e},   /* separators of lines, embeddings and overrides of direction */
        {0x2060, 0x206f},   /* word joiner, invisible operators, isolates of direction */
        {0xfeff, 0xfeff},   /* zero width no-break space */
        {0xfff9, 0xfffb},   /* annotations */
        {0xe0000, 0xe007f}, /* tags */
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (character >= ranges[i].first && character <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

/* "\uHHHH", of the higher planes two of them; JSON has escaped what lies below DEL. */
static int printable_json_escape(char *out, uint32_t character)
{
    if (character < 0x10000) {
        return sprintf(out, "\\u%04X", (unsigned) character);
    }
    return sprintf(out, "\\u%04X\\u%04X", (unsigned) (0xd800 + ((character - 0x10000) >> 10)),
                   (unsigned) (0xdc00 + (character & 0x3ff)));
}

size_t printable_text(char *out, const void *bytes, size_t size, bool ascii)
{
    const unsigned char *next = bytes;
    char *to = out;

    while (size > 0) {
        uint32_t character = 0;
        size_t length = printable_read_character(&character, next, size);
        const bool escape = character == '\\' && size > 1 && next[1] == 'x';
        if (length > 0 && !printable_deceives(character) && !escape && !(ascii && length > 1)) {
            memcpy(to, next, length);
            to += length;
        } else {
            length = length > 0 ? length : 1;
            for (size_t i = 0; i < length; i++) {
                to += sprintf(to, "\\x%02x", next[i]);
            }
        }
        next += length;
        size -= length;
    }
    *to = '\0';
    return (size_t) (to - out);
}

size_t printable_json(char *out, const char *text, size_t size)
{
    const unsigned char *next = (const unsigned char *) text;
    char *to = out;

    while (size > 0) {
        uint32_t character = 0;
        size_t length = printable_read_character(&character, next, size);
        if (length > 0 && character >= 0x7f && printable_deceives(character)) {
            to += printable_json_escape(to, character);
        } else {
            length = length > 0 ? length : 1;
            memcpy(to, next, length);
            to += length;
        }
        next += length;
        size -= length;
    }
    *to = '\0';
    return (size_t) (to - out);
}
