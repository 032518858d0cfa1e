/* load_open.h -- commands that are fed as they read. SPDX-License-Identifier: MIT */
#ifndef CV_LOAD_OPEN_H
#define CV_LOAD_OPEN_H
#include "simgrid/load_reader.h"

/* A run begins; `next` begins what is first in a worker's line. */
void cv_open_begin(struct world *world, const struct cv_wire_message *run,
                   void (*next)(struct world *world, uint32_t worker));
/* A chunk is to be sent as a whole, and its turn at its worker has come. */
void cv_open_send(struct world *world, struct chunk *chunk);
void cv_open_begin_sent(struct world *world, struct chunk *chunk);
/* An order to open, extend, close, look or recall. */
void cv_open_obey(struct world *world, const struct cv_wire_message *message);

#endif
