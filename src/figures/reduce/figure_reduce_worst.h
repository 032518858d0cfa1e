/* figure_reduce_worst.h -- bad platforms for reductions that do not know the costs.
 * SPDX-License-Identifier: MIT
 *
 * A platform has transfers of cost 1 to Delta and combinations that cost c on every node.
 * What is looked for is a large ratio of a method's length to the optimum. */
#ifndef CV_FIGURE_REDUCE_WORST_H
#define CV_FIGURE_REDUCE_WORST_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/error.h>

enum {
    CV_WORST_NODES = 6
}; /* most for which the optimum is found by trying everything */
enum { CV_WORST_METHODS = 3, CV_WORST_CASES = 3 };

extern const char *const cv_worst_methods[CV_WORST_METHODS]; /* binomial, tree-dyn, .. */
extern const char *const cv_worst_cases[CV_WORST_CASES];     /* c = 0, any c, c = d    */

/* The ratio in print for a method and a case, n > 1 nodes. */
double cv_worst_bound(int method, int which, uint32_t n, double delta);

/* What one platform shows. */
struct cv_worst {
    double ratio[CV_WORST_METHODS]; /* length over the optimum                 */
    double part[CV_WORST_METHODS];  /* the same over the bound                 */
    uint32_t n;
    double delta;
};

/* Whether `a` is the worse one for a method; between equals something else decides, so
 * that the order in which they are met does not matter. */
bool cv_worst_worse(const struct cv_worst *a, const struct cv_worst *b, int method);

/* Start from the random platform of a number and change one cost after the other for
 * `steps` steps, keeping what brings `method` nearer to its bound. *out has for each
 * method the worst that was met; *tried is added to. */
enum cleave_status cv_worst_climb(uint64_t number, int method, int which,
                                  uint32_t most_nodes, unsigned steps,
                                  struct cv_worst out[CV_WORST_METHODS], uint64_t *tried,
                                  struct cleave_error *err);

/* The platform of Theorem 1: transfers cost Delta to a node of lower number and 1 to one
 * of higher, so that some tree takes the optimum of equal costs, and none does better. */
enum cleave_status cv_worst_built(uint32_t n, double delta, double c, int which,
                                  struct cv_worst *out, struct cleave_error *err);

#endif
