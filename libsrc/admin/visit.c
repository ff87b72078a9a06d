/* visit.c - visiting messages: slot by slot, state by state, page by page.
 *
 * Thread: the caller's. */
#include <stdlib.h>

#include "admin/admin.h"
#include "admin/filter.h"
#include "admin/slot_walk.h"

struct message_visit {
    const struct filter *filter;
    struct page_reader reader;
    struct buf cursor;
    uint64_t left; /* messages left of the limit */
    smq_message_fn *visit;
    void *user;
};

/* Returns false if the visitor ended the visit, or the limit is reached. */
static bool visit_page(struct message_visit *visit)
{
    struct page_reader *reader = &visit->reader;
    struct page *page = &reader->page;
    smq_message_info info;

    for (size_t i = 0; i < page->paged.count; i++) {
        const struct store_page_row *row = &page->rows[i];
        struct cursor cursor = {.slot = reader->slot,
                                .state = row->state,
                                .scheduled = row->scheduled,
                                .score = row->score,
                                .name = row->name,
                                .name_len = row->name_len};

        page_describe(&info, page, i, reader->topic, reader->slot);
        buf_clear(&visit->cursor);
        cursor_format(&visit->cursor, &cursor);
        info.cursor = visit->cursor.data;
        if (!visit->visit(&info, visit->user) || --visit->left == 0) {
            return false;
        }
    }
    return true;
}

/* *more: the visit continues. */
static smq_status visit_state(struct message_visit *visit, bool *more, smq_error *err)
{
    visit->reader.query.bodies = true;
    do {
        smq_status status = page_read(&visit->reader, err);

        if (status != SMQ_OK) {
            return status;
        }
        *more = visit_page(visit);
    } while (*more && page_next(&visit->reader));
    return SMQ_OK;
}

static smq_status visit_slot(const struct slot_walk *walk, int32_t index, bool *more, void *user,
                             smq_error *err)
{
    struct message_visit *visit = user;
    smq_status status = SMQ_OK;

    for (int part = 0; part < FILTER_PARTS && *more && status == SMQ_OK; part++) {
        if (filter_count(&walk->looks[index], part) > 0 &&
            filter_begin(visit->filter, &visit->reader, walk->first + index, part)) {
            status = visit_state(visit, more, err);
        }
    }
    return status;
}

smq_status admin_message_each(struct core *core, const char *topic, const smq_filter *filter,
                              smq_message_fn *visit, void *user, smq_error *err)
{
    struct slot_walk walk;
    struct filter checked = {0};
    struct message_visit state = {.filter = &checked,
                                  .reader = {.core = core, .topic = &walk.topic},
                                  .visit = visit,
                                  .user = user};
    smq_status status = slot_walk_begin(&walk, core, topic, err);

    if (status != SMQ_OK) {
        goto out;
    }
    status = filter_check_and_copy(&checked, &walk.topic, filter, SMQ_STATE_WAITING, err);
    if (status != SMQ_OK) {
        goto out;
    }
    state.left = checked.limit;
    status = slot_walk_visit(&walk, filter_first_slot(&checked),
                             filter_end_slot(&checked, &walk.topic), visit_slot, &state, err);
    if (status == SMQ_OK) {
        status = slot_walk_faults(&walk, err);
    }
out:
    page_fini(&state.reader.page);
    buf_fini(&state.cursor);
    filter_fini(&checked);
    slot_walk_end(&walk);
    return status;
}
