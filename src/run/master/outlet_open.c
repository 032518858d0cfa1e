/* outlet_open.c -- which kind of outlet was asked for. SPDX-License-Identifier: MIT */
#include <cleave/execute.h>

#include "run/fold/fold_command.h"
#include "run/master/outlet_kinds.h"

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
