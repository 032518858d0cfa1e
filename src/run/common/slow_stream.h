/* slow_stream.h -- who is given what has come of a stream. SPDX-License-Identifier: MIT
 *
 * What has come of a stream could be given to the next command at once; if more comes all the time, commands get
 * little each, and to start them takes processors from who decodes the stream or sends it. So a
 * command is not started for little while more comes: it waits for a few milliseconds at most, all workers
 * together, or for a tenth of a second if what has come is less work than the start. Else nobody waits if nothing
 * else is at work, or for what a command that runs can have.
 *
 * Nor has one command all that has come, if others could have some: records may take long. And who has read
 * all that it was given may still work on it, which nobody sees; but what it is given then it reads late. From
 * that, and from how long commands take to end, comes what they do in a second, and so for how long one
 * is likely to be busy. */
#ifndef CV_SLOW_STREAM_H
#define CV_SLOW_STREAM_H
#include <stdint.h>
#include "run/common/poller.h"

/* All zero: nothing waits. */
struct cv_slow_stream {
    double since_s; /* something waits for more since then; 0: nothing does */
    struct cv_timer timer;
    double
        look_s; /* when open chunks are to be looked at again; 0: not                  */
    struct cv_timer looks;
    double bytes,
        work_s; /* what commands had in hand, and how long they took for it      */
};

/* What the command of an open chunk has read, and may still work on. All zero: nothing yet. */
struct cv_unread_input {
    double bytes;
    double since_s; /* it has read all it was given since then; 0: not yet    */
    double given;   /* what it was given since                                */
    double given_s;
};

/* What there is for a command that could begin while more is supply. */
struct cv_incoming {
    uint64_t ready;   /* bytes that are there                                 */
    uint64_t wanted;  /* ... and that the policy wants for it                 */
    double start_s;   /* what a start takes; 0: not known                     */
    double speed_ups; /* bytes that a command does in a second; 0: not known  */
    uint32_t workers;
    bool idle; /* nobody is at work                                           */
};

/* Whether it may begin. If not, the poller will wake up when it may. */
enum cleave_status cv_slow_stream_look(struct cv_slow_stream *slow,
                                       struct cv_poller *poller,
                                       const struct cv_incoming *input, bool *out,
                                       struct cleave_error *err);
/* How much of what is ready it may have: no more than its part, but as much as makes up for its start, and what is
 * done at once is not divided. */
uint64_t cv_slow_stream_part(const struct cv_incoming *input);
/* Let the poller wake up at that time, or before. */
enum cleave_status cv_slow_stream_wake(struct cv_slow_stream *slow,
                                       struct cv_poller *poller, double time_s,
                                       struct cleave_error *err);

/* It is given so many bytes; it has read them all; it has ended, after it had read its end at read_s. */
void cv_unread_input_give(struct cv_unread_input *unread, uint64_t bytes, double now_s);
void cv_unread_input_read(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                          double now_s);
void cv_unread_input_end(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                         double read_s, double now_s);
/* For how long it is likely to work on what it has read; 0: it is idle, or nothing is known. */
double cv_unread_input_rest(const struct cv_unread_input *unread,
                            const struct cv_slow_stream *slow, double now_s);

#endif
