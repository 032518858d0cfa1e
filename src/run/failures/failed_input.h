/* failed_input.h -- keep what a command was given that failed for good.
 * SPDX-License-Identifier: MIT */
#ifndef CV_FAILED_INPUT_H
#define CV_FAILED_INPUT_H
#include <cleave/execute.h>
#include "run/input/source.h"

/* Keep it in the folder `directory`, which is made if missing, as NAME.BEGIN-END, its mates
 * beside it as NAME.BEGIN-END.mates. NAME is that of the input without its folders or,
 * where another of `inputs` is called the same, with them, '%' for '/'. A file or a link of
 * that name is never touched: then a number is put behind, .2, .3 and so on. Only the owner
 * may read the files. */
enum cleave_status cv_failed_input_keep(const char *directory,
                                        const struct cleave_input *inputs,
                                        const struct cv_piece *piece,
                                        struct cleave_error *err);

#endif
