/* returns_chain.h -- shares along one order: first returned is first sent, or last
 * sent. SPDX-License-Identifier: MIT
 *
 * `order` is the order of sending; shares are by place in it. */
#ifndef CV_RETURNS_CHAIN_H
#define CV_RETURNS_CHAIN_H
#include "model/returns/returns.h"

enum cv_chain { CV_CHAIN_FIFO, CV_CHAIN_LIFO };

/* Whether a pair of orders is such a chain (one worker alone is FIFO). */
bool cv_orders_chain(const uint32_t *send, const uint32_t *back, uint32_t n,
                     enum cv_chain *out);

/* No worker idle, whatever a single port allows. FIFO shares may be negative with
 * fixed costs, and are not finite on overflow. Returns the work. */
double cv_chain_tight(const struct cv_returns *returns, enum cv_chain kind,
                      const uint32_t *order, uint32_t n, double lifespan_s,
                      double *shares);

/* The same on the port of the instance: if all shares overfill a single port, the last
 * worker of the order waits and gets the rest. Returns the work, or -1 if a share
 * would not be positive. */
double cv_chain_fill(const struct cv_returns *returns, enum cv_chain kind,
                     const uint32_t *order, uint32_t n, double lifespan_s,
                     double *shares);

/* The rest is for instances without fixed costs on a duplex port. */

/* Leave out of `order`, in place, the workers that cost more than they bring: the best
 * set for this order. Returns its size. `keep` has room for n. */
uint32_t cv_chain_prune(const struct cv_returns *returns, enum cv_chain kind,
                        uint32_t *order, uint32_t n, bool *keep);

/* FIFO: the workers that are worth it if a second of lifespan is worth `rate` units,
 * and their value, which is `rate` at the best rate; the rate of a set, in units per
 * second of lifespan. */
double cv_chain_value(const struct cv_returns *returns, const uint32_t *order, uint32_t n,
                      double rate, bool *keep);
double cv_chain_rate(const struct cv_returns *returns, const uint32_t *order, uint32_t n,
                     const bool *keep);

#endif
