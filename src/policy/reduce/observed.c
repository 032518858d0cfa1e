/* observed.c -- what a reduction policy has seen of costs so far. SPDX-License-Identifier: MIT */
#include "policy/reduce/observed.h"

bool cv_observed_init(struct cv_observed *seen, struct cv_arena *arena, uint32_t n)
{
    seen->transfers_s = seen->combinations_s = seen->squares_s2 = 0;
    seen->ntransfers = seen->ncombinations = 0;
    seen->known_s = cv_array(arena, n, sizeof *seen->known_s);
    if (seen->known_s == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        seen->known_s[i] = -1;
    return true;
}
