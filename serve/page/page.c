/* page.c - see page.h. */
#include "serve/page/page.h"

#include <stdlib.h>
#include <string.h>

static int page_compare(const void *address, const void *file)
{
    return strcmp(address, ((const struct page_file *) file)->address);
}

const struct page_file *page_find(const char *address)
{
    return bsearch(address, page_files, page_count, sizeof(page_files[0]), page_compare);
}
