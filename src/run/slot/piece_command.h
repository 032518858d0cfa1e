/* piece_command.h -- the command of one piece: what it is told, and for an item its words.
 * SPDX-License-Identifier: MIT
 *
 * Every command that is started for a piece finds in its environment CLEAVE_CHUNK, the number
 * of the piece as in the job log, and CLEAVE_SLOT, its worker's place, both from 1; of a part of an
 * input CLEAVE_BEGIN and CLEAVE_END, its bytes, CLEAVE_INPUT, the name of the file, and, where
 * somebody asks for it, CLEAVE_RECORD, the number of its first record. Of a piece that may grow
 * some of this is not known yet. */
#ifndef CV_PIECE_COMMAND_H
#define CV_PIECE_COMMAND_H
#include <stdint.h>
#include "run/common/process.h"

enum { CV_TOLD = 6 }; /* variables at most */

/* What it adds to the command that it is made from, of which the rest is borrowed. Nothing
 * of it changes while a process of it runs. */
struct cv_piece_command {
    struct cv_command command;
    char **words; /* owned: one block; NULL: no item */
    size_t argv_room, script_room;
    size_t nkept;        /* variables of the environment that are not ours */
    char *told[CV_TOLD]; /* owned; they follow those */
    size_t ntold;
};

struct cleave_items;
struct cv_piece;

/* The words of the command for the items of a piece, by the worker in `place`, from 1. */
enum cleave_status cv_item_piece_words(const struct cleave_items *items,
                                       const struct cv_piece *piece, uint32_t place,
                                       char ***out, struct cleave_error *err);
void cv_tailored_done(struct cv_piece_command *tailored);
/* Another descriptor of the same. */
enum cleave_status cv_copy_open(int fd, int *out, struct cleave_error *err);

#endif
