/* well.h -- bytes that are made as they are asked for. SPDX-License-Identifier: MIT
 *
 * What is decoded from a file, for instance: it can be read like a file, from any offset on,
 * or be given out by somebody else, at the same time as others, into a pipe. */
#ifndef CV_WELL_H
#define CV_WELL_H
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

struct cv_flow;

struct cv_well {
    /* Bytes from `offset` on, at most `most`; 0 of them only at the end. For one thread. */
    enum cleave_status (*read)(struct cv_well *well, uint64_t offset, void *out,
                               size_t most, size_t *got, struct cleave_error *err);
    /* Let bytes from `offset` on come out of a pipe until it is stopped. */
    enum cleave_status (*flow)(struct cv_well *well, uint64_t offset,
                               struct cv_flow **out, struct cleave_error *err);
    /* The end to read from, borrowed. */
    int (*flow_fd)(const struct cv_flow *flow);
    /* That had an end: why. CLEAVE_OK: there are no more bytes. */
    enum cleave_status (*flow_end)(struct cv_flow *flow, struct cleave_error *err);
    void (*stop)(struct cv_flow *flow);
};

#endif
