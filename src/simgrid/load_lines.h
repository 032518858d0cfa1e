/* load_lines.h -- chunks of a load, and the lines that they stand in.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LOAD_LINES_H
#define CV_LOAD_LINES_H
#include "simgrid/world.h"

enum { TRANSFER, COMPUTE, RETURN };

struct chunk {
    double units, factor[3];
    uint64_t number;
    uint32_t worker;
    bool back;                   /* it is a result by now       */
    struct activity *activity;   /* while it is computed        */
    double report;               /* of a recall: units          */
    struct chunk *next;          /* in a line                   */
    double begin;                /* where in the load it begins, if that is known   */
    enum cleave_event_kind kind; /* what is to be reported when it has arrived    */
    /* It has arrived: begin what follows, and fill the event. */
    void (*arrived)(struct world *world, struct chunk *chunk, struct cleave_event *out);
};

struct line {
    struct chunk *first, *last;
};

struct open_load; /* load_open.h */

struct load {
    struct line *ports; /* owned */
    uint32_t way_back;  /* the first line of results */
    bool line_each;
    struct line *processors, *results; /* owned: per worker */
    uint64_t sequence, numbered;
    double result_ratio, stream_rest;
    struct open_load *open; /* owned: where chunks may be opened, or NULL */
};

/* Stand in a line; true for the first. */
bool cv_line_join(struct line *line, struct chunk *chunk);
struct chunk *cv_line_leave(struct line *line);
/* An activity about a chunk, in the order of such. */
struct activity *cv_load_activity(struct world *world, void *about);
/* Wait for the port, and be sent. */
void cv_load_send(struct world *world, struct chunk *chunk);
/* What a unit of the chunk is in flops. */
double cv_load_unit_flops(const struct world *world, const struct chunk *chunk);
void cv_load_fill(const struct chunk *chunk, enum cleave_event_kind kind,
                  struct cleave_event *out);
/* Its result may be asked for, or it is forgotten. */
void cv_load_finish(struct world *world, struct chunk *chunk);

#endif
