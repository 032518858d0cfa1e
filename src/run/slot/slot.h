/* slot.h -- a command on a piece of the input.
 * SPDX-License-Identifier: MIT
 *
 * A slot starts the command, feeds the piece to it, keeps what it writes and tells when it
 * has ended. Either a command is started for each piece, or one is started once and stays
 * for many (persistent_slot.h), or another machine does it (remote_slot.h). What a failure means is decided by whoever uses it. */
#ifndef CV_SLOT_H
#define CV_SLOT_H
#include "run/output/ordered_output.h"
#include "run/common/pipe_feeder.h"
#include "run/common/poller.h"
#include "run/common/process.h"
#include "run/input/source.h"
#include "run/slot/piece_command.h"

enum cv_slot_end {
    CV_SLOT_DONE,      /* it has succeeded, all output is in `store`                    */
    CV_SLOT_FAILED,    /* it exited with another status or by a signal, or see `fault`  */
    CV_SLOT_TIMED_OUT, /* it was stopped because it took too long                       */
    CV_SLOT_STOPPED,   /* it was stopped by cv_slot_stop                                */
    CV_SLOT_LOST,      /* the machine it was on has gone                                */
};

/* How the fault of a command begins that could not be started; the reason is behind it. */
#define CV_UNSTARTED "did not start: "

enum { CV_FRAME = 8 }; /* bytes of a length, see persistent_slot.h */

/* What is known of a command that stays. */
struct cv_persistent {
    bool given;       /* the process has been given the piece                          */
    bool leaving;     /* its input has been closed, so that it ends                    */
    bool spoke;       /* a process of this slot has answered                           */
    bool refused;     /* the answer is that it failed                                  */
    bool in_parts;    /* answers may come in parts, the last of which is the rest      */
    bool part;        /* this length is that of a part                                 */
    bool begun;       /* a part of the answer has come                                 */
    uint64_t answers; /* of this process                                               */
    unsigned char head[CV_FRAME]; /* of the answer: its length                         */
    size_t nhead;                 /* bytes of it that have come                        */
    uint64_t left;                /* bytes of the answer that have not                 */
    unsigned char frames[2][CV_FRAME]; /* lengths on their way to the command          */
    uint64_t sent;                     /* bytes of the piece that no feed knows of     */
    struct cv_timer patience;          /* until the first answer                       */
};

struct cv_remote;

/* What is known of a piece that may grow; see open_slot.h. */
struct cv_open_slot {
    bool on;        /* it was opened                                                    */
    bool more;      /* ... and not closed: when all is fed, it is not the end           */
    bool bound;     /* it has bytes: until then, the command waits for its first        */
    double spawn_s; /* when the command was started, once it has begun to read          */
    double read_s;  /* when the command had read all, and was given the end; 0: not yet */
    double dry_s;   /* since when it waits for more; 0: it does not                     */
    double idle_s;  /* how long it has waited for more in all                           */
};

/* What has come of a line that is not whole; see line_output.h. */
struct cv_line_output {
    char *bytes; /* owned */
    size_t length, room;
    uint64_t written; /* bytes of its output                                   */
    char *tag;        /* owned: what is put before each line; NULL: nothing */
};

struct cleave_items;
struct cv_slot_kind;
struct cv_slot_seen;

struct cv_slot {
    const struct cv_slot_kind *kind;
    struct cv_poller *poller; /* borrowed, as all here but what is named owned         */
    struct cv_ordered_output *outputs;
    const struct cv_command *command;
    /* What the command of each piece is made of: program, environment and prefix; NULL: all
     * have the same (piece_command.h). */
    const struct cv_command *base;
    const struct cleave_items
        *items;              /* its words, where each piece is an item; or NULL */
    const char *const *told; /* variables of ours, NAME=VALUE; NULL: those of the piece */
    int direct; /* borrowed: commands of items write to it themselves; 0: they do not   */
    bool
        by_lines; /* whole lines are written as they come, whatever others write          */
    int lines_to; /* borrowed: ... to this; 0: by the gather, which keeps no order then    */
    struct cv_line_output
        lines;                 /* owned                                                */
    size_t nprefix;            /* words of the prefix                            */
    struct cv_source *numbers; /* says which record is its first; NULL: nobody asks     */
    uint64_t number;           /* of the piece                                          */
    struct cv_piece_command
        tailored; /* owned: the command of this piece                    */
    double timeout_s;
    size_t
        small_write; /* of an open piece: fed at a time to a command that is slow; 0: a page  */
    bool sends; /* outputs go on over a link                                            */
    void (*ended)(void *context, struct cv_slot *slot, enum cv_slot_end end);
    void (*broke)(void *context, const struct cleave_error *err); /* storing failed     */
    /* A command that stayed has ended while it had no piece; see `process`, `fault`. */
    void (*left)(void *context, struct cv_slot *slot);
    /* The first answer is long in coming: perhaps it does not know that it should. */
    void (*silent)(void *context, struct cv_slot *slot);
    /* The command has ended well, but somebody has held its output or input for a while
     * since. May be NULL. */
    void (*held)(void *context, struct cv_slot *slot);
    /* Of another machine: the piece is there; it was cut or could not be. */
    void (*arrived)(void *context, struct cv_slot *slot);
    void (*cut_answered)(void *context, struct cv_slot *slot, bool done);
    /* Of a piece that may grow: its command has begun to read; it has read all there
     * is. */
    void (*began)(void *context, struct cv_slot *slot);
    void (*drained)(void *context, struct cv_slot *slot);
    /* Some more of it has been fed. May be NULL. */
    void (*moved)(void *context, struct cv_slot *slot);
    /* Its command has written something. May be NULL. */
    void (*wrote)(void *context, struct cv_slot *slot);
    /* Of an open piece of another machine: so many bytes have got there in so many seconds. May
     * be NULL. */
    void (*carried)(void *context, struct cv_slot *slot, uint64_t bytes, double time_s);
    /* Of another machine: how far it is, which was asked for. */
    void (*seen)(void *context, struct cv_slot *slot, const struct cv_slot_seen *seen);
    void *context;
    uint32_t worker;

    bool busy;
    struct cv_piece piece;
    struct cv_process process; /* owned                                                */
    struct cv_pipe_feeder in,
        mate; /* standard input, and descriptor 3                     */
    struct cv_chunk_output
        *store; /* owned until it is taken away                         */
    int out;    /* owned end of a pipe; -1: closed                      */
    struct cv_watch out_watch, end_watch;
    struct cv_timer timer,
        patience;         /* patience: with those who hold on; before: see `late` */
    struct cv_timer rest; /* until the output is read on                                */
    double start_s; /* of the clock of the poller                                      */
    bool
        late; /* its process has not been listened to yet: it may be over with its output */
    bool exited, stopping, timed_out;
    unsigned kills;    /* signals sent to stop it                                      */
    size_t body;       /* which part of the feed is the body                           */
    const char *fault; /* what else was wrong with it: "the command ..."; NULL: nothing */
    struct cv_open_slot open;
    bool unbegun;        /* there was no room for its process, and so no end of it      */
    char unstarted[256]; /* the fault of one that could not be started                  */
    struct cv_persistent persistent;
    struct cv_remote
        *remote; /* owned: of a slot of another machine (run/hosts); else NULL */
};

void cv_slot_init(struct cv_slot *slot);
/* Start the command on a piece. Only when it is not busy. */
enum cleave_status cv_slot_start(struct cv_slot *slot, const struct cv_piece *piece,
                                 struct cleave_error *err);
/* The same on other bytes, at most CV_FEED_PARTS parts; none: there is nothing to read. It
 * cannot be cut. Only for slots that start a command for each piece. */
enum cleave_status cv_slot_start_parts(struct cv_slot *slot, const struct cv_part *parts,
                                       size_t count, struct cleave_error *err);
/* Bytes of a piece that a command is to be given, header and mates included. */
uint64_t cv_slot_whole(const struct cv_piece *piece);
/* Bytes that the command has been given, mates included. */
uint64_t cv_slot_sent(const struct cv_slot *slot);
/* Up to which byte of the body, an offset in the file, the command has been fed. */
uint64_t cv_slot_fed(const struct cv_slot *slot);
/* Let a thread that may feed it (pipe_writer.h) put in nothing in between. May be called again inside. */
void cv_slot_hold(const struct cv_slot *slot);
void cv_slot_go_on(const struct cv_slot *slot);
/* Bytes of its output that have come, and those of them that were written although it has not
 * ended: these cannot be taken back. */
uint64_t cv_slot_came(const struct cv_slot *slot);
uint64_t cv_slot_passed(const struct cv_slot *slot);
/* Whether pieces take their time to get there: then `arrived` says when they did. */
bool cv_slot_is_remote(const struct cv_slot *slot);
/* Whether its next piece takes a process of this machine that is not there yet. */
bool cv_slot_starts(const struct cv_slot *slot);
/* Let the piece end at `head`, which begins as it does. False if more has been fed. */
bool cv_slot_cut(struct cv_slot *slot, const struct cv_piece *head);
/* Stop commands that take longer from now on, also the one that runs; not on other machines. */
enum cleave_status cv_slot_limit_to(struct cv_slot *slot, double seconds,
                                    struct cleave_error *err);
/* Ask the command to end, and kill it when it does not. */
void cv_slot_stop(struct cv_slot *slot);
/* Let a command that stays end by itself; only when it is not busy. True when there is
 * none, or none any more: until then, go on with the poller and ask again. */
bool cv_slot_release_command(struct cv_slot *slot);
/* Whether it is not busy, and a command that stays, if there is one, can be given a piece. */
bool cv_slot_is_idle(const struct cv_slot *slot);
/* Kill what runs and forget it; nothing is told. */
void cv_slot_done(struct cv_slot *slot);
/* The same of a slot that will not be used again. */
void cv_slot_free(struct cv_slot *slot);

/* How its command ended when that was not well, behind "the command": "exited with status
 * 3". */
void cv_slot_describe_end(const struct cv_slot *slot, char *out, size_t size);

#endif
