/* led_world.h -- leaders in a simulated world, and the workers that they lead.
 * SPDX-License-Identifier: MIT
 *
 * Leaders cut pieces as in the native simulator; SimGrid determines all durations. Each
 * worker of a tree has a host and a link, and each leader a port, or one for each link. */
#ifndef CV_LED_WORLD_H
#define CV_LED_WORLD_H
#include "simgrid/world.h"

/* Add the hosts of the tree after the hosts of the platform's workers. */
void cv_led_hosts(struct world *world);
/* At the beginning of a run. */
void cv_led_begin(struct world *world);
/* Whether a worker of the platform leads others. */
bool cv_led_is_leader(const struct world *world, uint32_t worker);
/* A piece has arrived at a leader. All durations are `factor` times as long as declared.
 * `computed` is called when all parts are; *sequence orders simultaneous ends. */
struct led_piece {
    uint32_t worker;
    double units, factor;
    uint64_t *sequence;
    void *about;
    void (*computed)(struct world *world, void *about, struct cleave_event *out);
};
void cv_led_share(struct world *world, const struct led_piece *piece);

#endif
