/* ordered_build.c -- an ordered tree from where its intervals are cut. SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "model/ready/ordered_internal.h"
#include "model/reduce/reduce_tree.h"

/* Take the interval apart from the top. What is cut off last was received first, and lies
 * on top of the stack. */
bool cv_ordered_build(uint32_t n, cv_ordered_cut_of *cut_of, const void *context,
                      struct cv_ordered_tree *tree)
{
    struct interval {
        uint32_t i, j, to; /* to: who receives it */
    } *stack = malloc(((size_t)n + 1) * sizeof *stack);
    uint32_t *received = calloc(n, sizeof *received), count = 0;
    const bool ok = stack != NULL && received != NULL;

    if (ok)
        stack[count++] = (struct interval){ 0, n - 1, CV_NO_NODE };
    while (count > 0) {
        const struct interval in = stack[--count];
        uint32_t i = in.i, j = in.j, top = count, which = CV_FIRST_CUT;

        while (i < j) {
            const struct cv_ordered_cut at = cut_of(context, i, j, &which);

            stack[count++] = at.left_receives ? (struct interval){ at.cut + 1, j, 0 }
                                              : (struct interval){ i, at.cut, 0 };
            *(at.left_receives ? &j : &i) = at.left_receives ? at.cut : at.cut + 1;
        }
        tree->parent[i] = in.to;
        tree->turn[i] = in.to != CV_NO_NODE ? received[in.to]++ : 0;
        for (uint32_t k = top; k < count; k++)
            stack[k].to = i;
    }
    free(stack);
    free(received);
    return ok;
}
