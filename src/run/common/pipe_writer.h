/* pipe_writer.h -- put bytes of files and of memory into a pipe. SPDX-License-Identifier: MIT
 *
 * Bytes go from the page cache, or from memory that lasts, into the pipe by splice, without
 * a copy; files that cannot be spliced are read and written. A feed never waits: it puts in what fits and says so.
 * While the reader keeps up, the pipe is widened to what it reads in 10 ms or so: then
 * waking up costs little, and yet what has been fed, which cannot be taken back, is
 * little work. The pipe may be filled before its reader is started, so that a small
 * chunk needs no waiting at all. Where even a page would be much work, it is fed in sips, but
 * for what a thread puts in: nothing more before all that was there has been read.
 *
 * What a well decodes is put into the pipe by the thread that decodes it, whether cv_pipe_writer_pump is called or not, and
 * no further than a part goes; what is told here of how far it has come is true until cv_pipe_writer_go_on only for who has
 * called cv_pipe_writer_hold.
 *
 * A pipe keeps references to pages: bytes of a file that are overwritten or zeroed while
 * they are in the pipe reach the reader changed. */
#ifndef CV_PIPE_WRITER_H
#define CV_PIPE_WRITER_H
#include <cleave/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "run/common/piece_part.h"
#include "run/common/poller.h"
#include "run/common/writer_thread.h"

enum { CV_FEED_PARTS = 16 };

enum cv_pipe_writer_state {
    CV_FEED_FULL, /* call again when the pipe is writable                       */
    CV_FEED_DRY,  /* call again when cv_pipe_writer_source is readable                 */
    CV_FEED_BUSY, /* `most` was reached: call again                             */
    CV_FEED_DONE, /* all is in the pipe: close it                               */
    CV_FEED_REFUSED, /* nobody reads any more: not an error, but close it          */
};

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_pipe_writer {
    int pipe; /* borrowed: the end to write to */
    struct cv_part parts[CV_FEED_PARTS];
    size_t nparts, part;
    uint64_t fed;  /* of all parts                                    */
    uint64_t step; /* of what a well's thread puts in: cv_pipe_writer_pump is to be called
                             for so much; 0: when that is all                */
    struct cv_pipe_width width;
    size_t small_write; /* no more at a time, into an empty pipe; 0: what fits */
    double sipped_s;    /* when the last one was put in; 0: its reader may not run yet */
    bool copies;        /* splice does not work for the part               */
    bool dry;           /* the flow had nothing at hand                    */
    double here_s;      /* since when there was no room for a thread that makes bytes */
    struct cv_writer_thread *threaded; /* owned: of the part of a well; NULL: none    */
    size_t flow_part;
    uint64_t flow_at;    /* what comes out of it next                       */
    uint64_t flow_until; /* what was wanted of it                        */
};

/* Feed `nparts` parts (at most CV_FEED_PARTS), one after the other, into `pipe`, whose
 * file description is not shared with the reader. To be released if a part is of a well. */
void cv_pipe_writer_init(struct cv_pipe_writer *writer, int pipe,
                         const struct cv_part *parts, size_t nparts);
void cv_pipe_writer_done(struct cv_pipe_writer *writer);
/* Where it has to wait for a well; -1: nowhere. */
int cv_pipe_writer_source(const struct cv_pipe_writer *writer);
/* Put in as much as fits, but no more than about `most` bytes. SIGPIPE must be blocked or
 * ignored. Fails when a file cannot be read or is shorter than its range. */
enum cleave_status cv_pipe_writer_pump(struct cv_pipe_writer *writer, uint64_t max,
                                       enum cv_pipe_writer_state *out,
                                       struct cleave_error *err);

/* Let nothing be put in by a thread in between. Each may be called again inside. */
void cv_pipe_writer_hold(const struct cv_pipe_writer *writer);
void cv_pipe_writer_go_on(const struct cv_pipe_writer *writer);
/* Bytes put into the pipe so far; bytes of them that the reader has not taken. */
uint64_t cv_pipe_writer_fed(const struct cv_pipe_writer *writer);
uint64_t cv_pipe_writer_unread(const struct cv_pipe_writer *writer);
/* Where feeding stands in part `part`: `begin` .. `end` of it. */
uint64_t cv_pipe_writer_at(const struct cv_pipe_writer *writer, size_t part);
/* Let part `part` end at `end` instead of later. False, and nothing has changed, if bytes
 * from `end` on have been fed already or the part ends before. */
bool cv_pipe_writer_cut(struct cv_pipe_writer *writer, size_t part, uint64_t end);

/* A feed that grows. Before anything is fed: let there be room for a page in the pipe, or for
 * `small_write` bytes if that is less and not 0, and more only as the reader proves to be fast. */
void cv_pipe_writer_narrow(struct cv_pipe_writer *writer, size_t small_write);
/* There is said to be room though what was fed last has not been read: this pipe cannot tell when it
 * is empty, so that no sips can be fed into it. */
void cv_pipe_writer_gulp(struct cv_pipe_writer *writer);
/* The same parts, some of which end later, and maybe others behind them: what is new is fed
 * from now on. */
void cv_pipe_writer_grow(struct cv_pipe_writer *writer, const struct cv_part *parts,
                         size_t nparts);

struct cv_read_monitor {
    struct cv_poller *poller; /* borrowed, as the feed; NULL: nobody wants to hear     */
    struct cv_pipe_writer *writer;
    /* The first byte has been read: called once. */
    void (*began)(void *context);
    /* There is nothing in the pipe any more or, if not `read`, nobody who would read it. */
    void (*empty)(void *context, bool read);
    void (*broke)(void *context, const struct cleave_error *err);
    void *context;
    double since_s; /* the reader was started                                          */
    bool has_begun, waits, shrunk;
    struct cv_watch watch;
    struct cv_timer timer;
};

/* From the start of the reader on; the other fields are set. */
enum cleave_status cv_read_monitor_begin(struct cv_read_monitor *drain, double since_s,
                                         struct cleave_error *err);
/* Nothing more is put in for now: call `empty` once, perhaps before this returns. */
enum cleave_status cv_read_monitor_wait(struct cv_read_monitor *drain,
                                        struct cleave_error *err);

struct cv_pipe_feeder {
    struct cv_poller *poller; /* borrowed                                             */
    /* All has been fed, or the command does not want it. Not called by cv_pipe_feeder_begin. */
    void (*over)(void *context, struct cv_pipe_feeder *feeder);
    /* Some was fed, and the pipe had no room before. May be NULL. */
    void (*moved)(void *context, struct cv_pipe_feeder *feeder);
    void (*broke)(void *context, const struct cleave_error *err); /* reading failed    */
    void *context;                                                /* borrowed          */

    int fd; /* owned: the end to write to; -1: closed                                 */
    struct cv_pipe_writer writer;
    struct cv_watch watch;
    struct cv_watch source; /* of a well that has nothing at hand                     */
    bool dry;               /* ... it is waited for                                   */
    struct cv_timer nap;
    double
        scarce_s; /* since when there is no room for who makes the next part; 0: there is */
    double fed_s; /* when something was last put in; 0: not yet                        */
    double best_Bps; /* of the reader, of late                                         */
    bool feeding; /* there is more to feed                                             */
    bool refused; /* nobody reads any more                                             */
    /* Of a pipe that stays open when all is fed, so that more can follow: */
    bool narrow; /* no more is put in than is read in a moment                        */
    size_t
        small_write; /* ... nor than so much at a time; 0: than a page (pipe_writer.h)            */
    struct cv_read_monitor drain;
};

void cv_pipe_feeder_init(struct cv_pipe_feeder *feeder);
/* Begin to feed these parts: as much as fits goes in at once. Unless that was all
 * (`feeding`), cv_pipe_feeder_watch lets it go on; the process may be started in between. */
enum cleave_status cv_pipe_feeder_begin(struct cv_pipe_feeder *feeder,
                                        const struct cv_part *parts, size_t count,
                                        struct cleave_error *err);
/* If a thread makes what is fed, stop it: another one, or none, goes on later. False: there is none. */
bool cv_pipe_feeder_pause(struct cv_pipe_feeder *feeder);
enum cleave_status cv_pipe_feeder_watch(struct cv_pipe_feeder *feeder,
                                        struct cleave_error *err);
/* The parts are longer, or there are more (cv_pipe_writer_grow): go on. If all is fed at once,
 * `over` is called. */
enum cleave_status cv_pipe_feeder_grow(struct cv_pipe_feeder *feeder,
                                       const struct cv_part *parts, size_t count,
                                       struct cleave_error *err);
void cv_pipe_feeder_close(struct cv_pipe_feeder *feeder);

#endif
