/* rank_groups.c -- which ranks of an MPI job lead others. SPDX-License-Identifier: MIT */
#include "run/hosts/rank_groups.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_MOST = 65536 };

enum cleave_status cv_rank_groups_read(const char *text, uint32_t *out,
                                       struct cleave_error *err)
{
    char *end;
    unsigned long number;

    if (strcmp(text, "node") == 0) {
        *out = UINT32_MAX;
        return CLEAVE_OK;
    }
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < 2 ||
        number > RANKS_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--leaders: expected node, or how many ranks of a machine one "
                       "leads, 2 to %d, got '%s'",
                       (int)RANKS_MOST, text);
    *out = (uint32_t)number;
    return CLEAVE_OK;
}

enum cleave_status cv_rank_groups_make(const uint32_t *machine, uint32_t size,
                                       uint32_t max, uint32_t *leader,
                                       struct cleave_error *err)
{
    /* Of each machine: who leads those that come next, and how many it has. */
    struct {
        uint32_t leader, count;
    } *open = calloc(size, sizeof *open);

    if (open == NULL)
        return cv_fail_memory(err, "the ranks");
    leader[0] = 0;
    for (uint32_t r = 1; r < size; r++) {
        const uint32_t m = machine[r];

        if (open[m].count == 0 || open[m].count >= max) {
            open[m].leader = r;
            open[m].count = 0;
        }
        open[m].count++;
        leader[r] = open[m].leader;
    }
    free(open);
    return CLEAVE_OK;
}

uint32_t cv_rank_group_size(const uint32_t *leader, uint32_t size, uint32_t rank)
{
    uint32_t count = 0;

    for (uint32_t r = 1; r < size; r++)
        count += leader[r] == rank;
    return count;
}
