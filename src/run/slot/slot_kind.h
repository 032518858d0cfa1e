/* slot_kind.h -- a kind of slots, and shared functions. SPDX-License-Identifier: MIT */
#ifndef CV_SLOT_KIND_H
#define CV_SLOT_KIND_H
#include "run/slot/slot.h"

struct cv_slot_kind {
    enum cleave_status (*start)(struct cv_slot *slot, struct cleave_error *err);
    uint64_t (*fed)(const struct cv_slot *slot);
    bool (*cut)(struct cv_slot *slot, const struct cv_piece *head); /* NULL: never */
    void (*stop)(struct cv_slot *slot);
    bool (*leave)(struct cv_slot *slot);
    void (*done)(struct cv_slot *slot);
    void (*free)(struct cv_slot *slot);           /* after `done`; may be NULL */
    uint64_t (*sent)(const struct cv_slot *slot); /* NULL: count the pipes */
    /* A process that the signals did not reach holds the output: give up. NULL: wait for the
     * end of the command. */
    void (*abandon)(struct cv_slot *slot);
    /* Open pieces; NULL: not supported. */
    bool (*is_open)(const struct cv_slot *slot);
    enum cleave_status (*extend)(struct cv_slot *slot, const struct cv_piece *longer,
                                 struct cleave_error *err);
    void (*shut)(struct cv_slot *slot);
    bool starts_each; /* a command for each piece, started without waiting for it */
};

/* The pipes of a new process. The ends that stay here go to the slot. */
struct cv_slot_pipes {
    struct cv_pipe in, out, mate;
    struct cv_start *ahead; /* owned: a child that has its end of `out`; or NULL */
};
#define CV_SLOT_NO_PIPES                         \
    {                                            \
        { -1, -1 }, { -1, -1 }, { -1, -1 }, NULL \
    }

enum { CV_SLOT_PARTS = 3 };

/* The parts of the piece and of its mates; returns their number. */
size_t cv_slot_parts(const struct cv_slot *slot, struct cv_part parts[CV_SLOT_PARTS]);
size_t cv_slot_mate_parts(const struct cv_slot *slot, struct cv_part parts[1]);
/* Open the pipes; the feeders of the slot are ready to be filled. */
enum cleave_status cv_slot_open_pipes(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                      struct cleave_error *err);
void cv_slot_close_pipes(struct cv_slot_pipes *pipes);
/* Build the command of the piece from slot->base. */
enum cleave_status cv_slot_build_command(struct cv_slot *slot, struct cleave_error *err);
/* Fill tailored.told with the variables of the piece that are known. */
enum cleave_status cv_slot_tell(struct cv_slot *slot, struct cleave_error *err);
/* Start the command with its ends of the pipes; `late`: without a pidfd. */
enum cleave_status cv_slot_spawn(struct cv_slot *slot, struct cv_slot_pipes *pipes,
                                 bool late, struct cleave_error *err);
void cv_slot_close_output(struct cv_slot *slot);
/* Close the pipes and remove watches and timers. */
void cv_slot_release(struct cv_slot *slot);
/* Kill the process, if any, release it, and drop its output. */
void cv_slot_kill_now(struct cv_slot *slot);
/* Start the time limit now. */
void cv_slot_limit(struct cv_slot *slot);
/* Send SIGTERM, SIGKILL, then give up; a second apart. */
void cv_slot_kill(struct cv_slot *slot);
/* cv_slot_stop for a command of this machine. */
void cv_slot_stop_command(struct cv_slot *slot);
/* cv_slot_kill in a second. */
void cv_slot_kill_soon(struct cv_slot *slot);
void cv_slot_broke(struct cv_slot *slot, const struct cleave_error *err);
/* The descriptor for standard error of the next command; -1: that of this process. */
int cv_error_lines_open(struct cv_slot *slot);
/* The next command is a child that was made ahead: take its pipe. */
void cv_error_lines_exchange(struct cv_slot *slot, struct cv_start *child);
/* The command has ended: pass on all of it. */
void cv_error_lines_end(struct cv_slot *slot);
void cv_error_lines_close(struct cv_slot *slot);
/* Set `fault` of a command that could not be started. */
void cv_slot_note_unstarted(struct cv_slot *slot, const struct cleave_error *err);

#endif
