/* reverse_connect.h -- a worker that calls back over TCP. SPDX-License-Identifier: MIT
 *
 * srun passes on standard input and output, but slowly: it writes text line by line, 9 MB/s
 * of short ones. So whoever starts a worker by srun waits for a call (reverse_connect.h) and puts
 * the number of the port and a key into its environment. The worker calls the machine that
 * srun runs on, says the key, and from then on the connection is the link. If nobody can be
 * reached there, as behind a firewall, it goes on over standard input and output. */
#ifndef CV_REVERSE_CONNECT_H
#define CV_REVERSE_CONNECT_H
#include <cleave/error.h>

/* "PORT KEY"; the address of the machine is what Slurm says of its srun, or
 * stands behind, after a space. */
#define CV_CALL_VARIABLE "CLEAVE_CALL"
#define CV_CALL_FROM "SLURM_LAUNCH_NODE_IPADDR"

enum {
    CV_CALL_KEY = 32, /* characters                                               */
    CV_CALL_MS = 5000 /* until a call, or the answer to it, is given up           */
};

/* The answer to the right key. */
#define CV_CALL_TAKEN '+'

/* Call back if the environment asks for it, which later processes do not see then. *out is
 * a socket, or -1: nobody asks. */
enum cleave_status cv_call_back(int *out, struct cleave_error *err);

/* Start `words` (ended by NULL), by which a worker starts elsewhere, and wait for its call
 * (reverse_connect.h), or for something on the command's standard output if it cannot call. Then
 * pass on what comes from `in` to it, and what it says to `out`, which is closed then, until
 * it ends, and wait for the command. *out_status is how that ended, as a shell says it. */
enum cleave_status cv_call_relay(const char *const *words, int in, int out,
                                 int *out_status, struct cleave_error *err);

#endif
