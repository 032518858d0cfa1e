/* reverse_connect.h -- a worker that connects back over TCP. SPDX-License-Identifier: MIT
 *
 * srun forwards standard input and output slowly: text line by line, 9 MB/s of short lines. So
 * the process that starts a worker by srun listens on a port and puts port and key into the
 * environment of the worker. The worker connects, sends the key, and the connection becomes the
 * link. If it cannot connect, for example because of a firewall, standard input and output are
 * used. */
#ifndef CV_REVERSE_CONNECT_H
#define CV_REVERSE_CONNECT_H
#include <cleave/error.h>

/* The worker: connect back if CLEAVE_CALL asks for it, and remove the variable. *out is a socket;
 * -1: the variable is not set. */
enum cleave_status cv_call_back(int *out, struct cleave_error *err);

/* The other end: run the command `words` (ended by NULL), which starts a worker elsewhere, until
 * the worker connects or writes to the standard output of the command. Then copy `in` to the
 * worker and its answers to `out`, which is closed afterwards, and wait for the command.
 * *out_status is its exit status, as in a shell. */
enum cleave_status cv_call_relay(const char *const *words, int in, int out,
                                 int *out_status, struct cleave_error *err);

#endif
