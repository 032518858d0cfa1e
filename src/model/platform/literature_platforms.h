/* literature_platforms.h -- the ten kinds of workers and the ten profiles of a paper on streams.
 * SPDX-License-Identifier: MIT
 *
 * Millot and Parrot, "Setting up clusters of computing units to process several data
 * streams efficiently", PPAM 2013, Table 1. Which worker slows down when is not printed;
 * here profile k = 0 .. 9 is slower by `drop` in the first half of every 100 (k + 1) s,
 * from 10 k (k + 1) s on, and every kind meets every profile. */
#ifndef CV_LITERATURE_PLATFORMS_H
#define CV_LITERATURE_PLATFORMS_H
#include <cleave/platform.h>
#include "base/arena.h"
#include "model/platform/platform_internal.h"

enum { CV_PUBLISHED_KINDS = 10, CV_PUBLISHED_PROFILES = 10 };

/* Kind 0 .. 9 of the table. */
struct cleave_worker cv_literature_worker(unsigned kind);

/* Steps of profile k up to `until_s` in groups[k], for all profiles; none without a drop. */
enum cleave_status cv_literature_profiles(double drop, double until_s,
                                          struct cv_arena *arena,
                                          struct cv_group out[CV_PUBLISHED_PROFILES],
                                          struct cleave_error *err);

/* So many workers w0, w1, .. of all kinds in turn, each ten of them with the next profile. On
 * success *out is owned by the caller (cleave_platform_free). */
enum cleave_status cv_literature_platform(uint32_t nworkers, enum cleave_port port,
                                          double drop, double until_s,
                                          struct cleave_platform **out,
                                          struct cleave_error *err);

#endif
