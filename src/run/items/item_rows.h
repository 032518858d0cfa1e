/* item_rows.h -- which rows of the lists each command has. SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_ROWS_H
#define CV_ITEM_ROWS_H
#include "run/items/item_commands.h"

/* Let rows come in an order that follows from the seed. */
enum cleave_status cv_item_rows_shuffle(struct cv_item_commands *commands, uint64_t seed,
                                        struct cleave_error *err);
/* As many rows as fit into each command; what is left for the last ones is spread. */
enum cleave_status cv_item_rows_cut(struct cv_item_commands *commands,
                                    const struct cv_item_options *options,
                                    struct cleave_error *err);
/* Count the commands. Of a last one that may get more rows nothing is known yet. */
void cv_item_rows_count(struct cv_item_commands *commands, bool ended);

#endif
