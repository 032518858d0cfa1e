/* outlet_open.c -- which kind of outlet was asked for, and the plain one: outputs are
 * written as they are. SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <cleave/execute.h>
#include "base/fail.h"
#include "run/fold/fold_command.h"
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

bool cv_outlet_apart(const struct cleave_execution *asked)
{
    return asked->reduce.command != NULL && cv_outlet_kept_possible(asked);
}

uint32_t cv_outlet_folders(const struct cv_staff *staff,
                           const struct cleave_execution *asked)
{
    if (asked->reduce.command == NULL)
        return 0;
    return cv_outlet_apart(asked) ? staff->nworkers : staff->nfolders;
}

bool cv_outlet_separate(const struct cleave_execution *asked)
{
    return asked->reduce.command != NULL && cv_fold_takes_files(asked->reduce.command);
}

enum cleave_status cv_outlet_open(const struct cv_outlet_options *options,
                                  struct cv_outlet **out, struct cleave_error *err)
{
    if (options->asked->reduce.command == NULL)
        return cv_outlet_plain(options, out, err);
    if (cv_outlet_kept_possible(options->asked))
        return cv_outlet_kept(options, out, err);
    return cv_outlet_fold(options, out, err);
}
