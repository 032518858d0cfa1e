/* failure_history.h -- what a piece that failed has been through. SPDX-License-Identifier: MIT
 *
 * Failures are counted by parties: a worker of this machine is one, and so are all
 * workers of a host together, since what is missing there all of them miss. A party has
 * the number of its first worker. */
#ifndef CV_FAILURE_HISTORY_H
#define CV_FAILURE_HISTORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CV_HISTORY_PARTIES = 8 };

struct cv_bisect_group;

/* All zero: it has not failed. */
struct cv_failure_history {
    uint32_t domains[CV_HISTORY_PARTIES]; /* it failed with these, the last one last   */
    uint8_t ways
        [CV_HISTORY_PARTIES]; /* how, by the numbers of cv_worker_health_note_failure    */
    uint32_t count;
    struct cv_bisect_group
        *family; /* it is a part of a piece that failed; NULL: it is not  */
};

static inline bool cv_failure_history_has(const struct cv_failure_history *history,
                                          uint32_t domain)
{
    for (uint32_t i = 0; i < history->count; i++)
        if (history->domains[i] == domain)
            return true;
    return false;
}

/* Whether what comes of it will say something of that party. */
static inline bool cv_failure_history_doubts(const struct cv_failure_history *history,
                                             uint32_t domain)
{
    return history->family == NULL && cv_failure_history_has(history, domain);
}

/* It has failed with this one, too, in that way. Of many the first is forgotten. */
static inline void cv_failure_history_add(struct cv_failure_history *history,
                                          uint32_t domain, uint8_t way)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < history->count; i++)
        if (history->domains[i] != domain) {
            history->domains[kept] = history->domains[i];
            history->ways[kept++] = history->ways[i];
        }
    if (kept == CV_HISTORY_PARTIES) {
        for (kept = 0; kept + 1 < CV_HISTORY_PARTIES; kept++) {
            history->domains[kept] = history->domains[kept + 1];
            history->ways[kept] = history->ways[kept + 1];
        }
    }
    history->ways[kept] = way;
    history->domains[kept++] = domain;
    history->count = kept;
}

#endif
