/* slot_kind.h -- what the kinds of slots share. SPDX-License-Identifier: MIT */
#ifndef CV_SLOT_KIND_H
#define CV_SLOT_KIND_H
#include "run/slot/slot.h"

struct cv_slot_kind {
    enum cleave_status (*start)(struct cv_slot *slot, struct cleave_error *err);
    uint64_t (*fed)(const struct cv_slot *slot);
    bool (*cut)(struct cv_slot *slot, const struct cv_piece *head);
    void (*stop)(struct cv_slot *slot);
    bool (*leave)(struct cv_slot *slot);
    void (*done)(struct cv_slot *slot);
    void (*free)(struct cv_slot *slot);           /* after `done`; may be NULL     */
    uint64_t (*sent)(const struct cv_slot *slot); /* NULL: as its feeders have counted */
    /* It was killed some time ago, and somebody whom that did not reach holds its output:
     * give up. NULL: nobody is waited for but the process itself. */
    void (*abandon)(struct cv_slot *slot);
    /* Of pieces that may grow: see open_slot.h. NULL: they do not. */
    bool (*is_open)(const struct cv_slot *slot);
    enum cleave_status (*extend)(struct cv_slot *slot, const struct cv_piece *longer,
                                 struct cleave_error *err);
    void (*shut)(struct cv_slot *slot);
    /* It is over if the process has ended and nobody reads or writes any more. NULL: pieces
     * do not grow. */
    void (*check_over)(struct cv_slot *slot);
    bool starts_each; /* a command for each piece: nobody waits until it has begun     */
};

/* A command is started for each piece (single_slot.c). */
extern const struct cv_slot_kind cv_slot_single;

/* Pipes for a process; the ends that stay here go to the slot. */
struct cv_slot_pipes {
    struct cv_pipe in, out, mate;
    struct cv_start
        *ahead; /* owned: a child that has its end of `out` already; or NULL */
};

enum { CV_SLOT_PARTS = 3 };

/* What there is to feed of the piece, and of its mates; how many parts. */
size_t cv_slot_parts(struct cv_slot *slot, struct cv_part parts[CV_SLOT_PARTS]);
size_t cv_slot_mate_parts(const struct cv_slot *slot, struct cv_part parts[1]);
/* Open the pipes; the inlets of the slot are ready to be filled then. */
enum cleave_status cv_slot_open_pipes(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                      struct cleave_error *err);
void cv_slot_close_pipes(struct cv_slot_pipes *pipes);
/* Make the command of the item that the piece is. */
enum cleave_status cv_slot_build_command(struct cv_slot *slot, struct cleave_error *err);
/* Say in tailored.told what the command of the piece is told, as far as it is known. */
enum cleave_status cv_slot_tell(struct cv_slot *slot, struct cleave_error *err);
/* Start the command with its ends of the pipes. */
enum cleave_status cv_slot_spawn(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                 struct cleave_error *err);
/* Hear no more of what the command writes. */
void cv_slot_close_output(struct cv_slot *slot);
/* Close all that the process had, and watch it no more. */
void cv_slot_release(struct cv_slot *slot);
/* Stop the command when it takes longer than it may, from now on. */
enum cleave_status cv_slot_limit(struct cv_slot *slot, struct cleave_error *err);
/* Send the next signal: the polite one, then the other; after that, give up what is
 * left of it. */
void cv_slot_kill(struct cv_slot *slot);
/* Do that when it has not ended by itself soon. */
void cv_slot_kill_soon(struct cv_slot *slot);

/* Of a piece that may grow (open_slot.c): listen to its reader, once that was started; an
 * inlet has been fed all there is; the process has ended. */
enum cleave_status cv_open_watch(struct cv_slot *slot, struct cleave_error *err);
void cv_open_fed(struct cv_slot *slot, struct cv_pipe_feeder *feeder);
void cv_open_ended(struct cv_slot *slot);
bool cv_open_is_open(const struct cv_slot *slot);
enum cleave_status cv_open_extend(struct cv_slot *slot, const struct cv_piece *longer,
                                  struct cleave_error *err);
void cv_open_shut(struct cv_slot *slot);

/* Give the piece to the process that stays, from its beginning (persistent_send.c). */
enum cleave_status cv_persistent_give(struct cv_slot *slot, struct cleave_error *err);

#endif
