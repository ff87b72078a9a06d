/* page.h - the files that slotmq serve answers as they are: the page, and openapi.json.
 *
 * Pure. */
#ifndef PAGE_PAGE_H
#define PAGE_PAGE_H

#include <stddef.h>

struct page_file {
    const char *address; /* "/" is the page itself */
    const char *type;    /* of the media */
    const char *text;    /* ends with a zero byte, which size does not count */
    size_t size;
};

/* All of them, in the order of strcmp() of their addresses.  tools/embed_files.py makes the table.
 */
extern const struct page_file page_files[];
extern const size_t page_count;

/* The file at an address; NULL: there is none.  What it returns is static. */
const struct page_file *page_find(const char *address);

#endif
