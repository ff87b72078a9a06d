/* verbs.c - the table of verbs. */
#include "cli/verbs.h"

#include <stddef.h>

/* clang-format off */
const struct verb *const verbs[] = {
    &topic_create_verb,
    &topic_list_verb,
    &topic_show_verb,
    &topic_alter_verb,
    &topic_rebind_verb,
    &topic_repair_verb,
    &topic_upgrade_verb,
    &topic_delete_verb,
    &send_verb,
    &copy_verb,
    &consume_verb,
    &pause_verb,
    &resume_verb,
    &stat_verb,
    &top_verb,
    &work_verb,
    &peek_verb,
    &get_verb,
    &rank_verb,
    &remove_verb,
    &reschedule_verb,
    &purge_verb,
    &dead_list_verb,
    &dead_requeue_verb,
    &dead_purge_verb,
    &schedule_put_verb,
    &schedule_get_verb,
    &schedule_list_verb,
    &schedule_remove_verb,
    &schedule_pause_verb,
    &schedule_resume_verb,
    &schedule_run_verb,
    &schedule_next_verb,
    &fleet_show_verb,
    &fleet_evict_verb,
    &fleet_raise_fence_verb,
    &context_list_verb,
    &doctor_verb,
    &check_verb,
#ifdef SLOTMQ_SERVE
    &serve_verb,
#endif
    &completion_verb,
    &help_verb,
    NULL,
};
/* clang-format on */
