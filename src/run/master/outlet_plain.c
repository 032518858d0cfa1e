/* outlet_plain.c -- outputs are written as they are. SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/fail.h"
#include "run/master/outlet_kinds.h"

struct plain {
    struct cv_outlet outlet;
    struct cv_gather *gather; /* borrowed */
};

static enum cleave_status plain_add(struct cv_outlet *outlet, struct cv_store *store,
                                    const struct cv_piece *piece,
                                    const struct cv_slot *maker, struct cleave_error *err)
{
    struct plain *plain = (struct plain *)outlet;

    (void)maker;
    return cv_gather_finish(plain->gather, store, piece->begin, piece->end, err);
}

static enum cleave_status plain_skip(struct cv_outlet *outlet, uint64_t begin,
                                     uint64_t end, struct cleave_error *err)
{
    struct plain *plain = (struct plain *)outlet;

    return cv_gather_skip(plain->gather, begin, end, err);
}

static void plain_free(struct cv_outlet *outlet)
{
    free(outlet);
}

/* The gather writes by itself whenever it can: there is nothing else to do. */
static const struct cv_outlet_kind plain_kind = {
    .add = plain_add,
    .skip = plain_skip,
    .free = plain_free,
};

enum cleave_status cv_outlet_plain(const struct cv_outlet_options *options,
                                   struct cv_outlet **out, struct cleave_error *err)
{
    struct plain *plain = calloc(1, sizeof *plain);

    if (plain == NULL)
        return cv_fail_memory(err, "the output");
    plain->outlet.kind = &plain_kind;
    plain->gather = options->gather;
    *out = &plain->outlet;
    return CLEAVE_OK;
}
