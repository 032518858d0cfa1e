/* joining.h -- ways to join a run: a socket, TLS, and a file of hosts that changes.
 * SPDX-License-Identifier: MIT */
#ifndef CV_JOINING_H
#define CV_JOINING_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <cleave/execute.h>
#include "base/fail.h"
#include "run/common/poller.h"
#include "run/common/process.h"

/* A socket in the file system that only its owner can open: workers from elsewhere come by ssh.
 * Nothing listens on a network. */
struct cv_join_port {
    /* Set before it is opened. */
    struct cv_poller *poller;                /* borrowed */
    const char *path;                        /* borrowed */
    void (*joined)(void *context, int fd);   /* the descriptor is taken */
    void (*full)(void *context, int reason); /* errno; accepting is tried again soon */
    void *context;

    int fd; /* owned */
    dev_t device;
    ino_t inode; /* inode of the socket */
    struct cv_watch watch;
    struct cv_timer rest; /* until accepting is tried again */
};

/* A socket that no process listens to is replaced; any other file is an error. */
enum cleave_status cv_join_port_open(struct cv_join_port *port, struct cleave_error *err);
/* Removes the socket. Nothing if the poller is NULL. */
void cv_join_port_close(struct cv_join_port *port);
/* Connect to the socket, from another process. */
enum cleave_status cv_join_port_reach(const char *path, int *out,
                                      struct cleave_error *err);

/* Connections over TLS from workers that have the key. The program cleave-tls takes them. */
struct cv_tls_port {
    /* Set before it is opened. */
    struct cv_poller *poller;                /* borrowed */
    const char *address, *key;               /* borrowed: HOST:PORT or PORT; a file */
    void (*joined)(void *context, int fd);   /* the descriptor is taken */
    void (*full)(void *context, int reason); /* errno: a connection was dropped */
    void (*note)(void *context, const char *format, /* with one text */
                 const char *text);
    void *context;

    int fd; /* owned: messages of the program */
    struct cv_process process;
    struct cv_watch watch;
};

/* Notes the address, as port 0 is any port. */
enum cleave_status cv_tls_port_open(struct cv_tls_port *port, struct cleave_error *err);
/* Nothing if the poller is NULL. Connections stay. */
void cv_tls_port_close(struct cv_tls_port *port);
/* The path of cleave-tls. */
enum cleave_status cv_tls_program(char *path, size_t size, struct cleave_error *err);
/* Run cleave-tls with these words (ended by NULL), which connect: *out is a socket for the bytes.
 * The process ends with it. EINPUT: wrong address or key; ELOST: not reached. */
enum cleave_status cv_tls_connect_by(const char *const *words, struct cv_process *process,
                                     int *out, struct cleave_error *err);

static inline bool cv_has_join_port(const struct cleave_execution *request)
{
    return request->hosts.join_path != NULL || request->hosts.listen != NULL;
}

/* All 0: there is no file. */
struct cv_file_state {
    uint64_t device, inode;
    int64_t size, mtime_ns;
};

/* A file that is looked at twice a second, which works on every file system. `changed` is called
 * for a change that has stayed from one look to the next: the file may be being written. */
struct cv_file_watch {
    /* Set before it is opened. */
    struct cv_poller *poller; /* borrowed */
    const char *path;         /* borrowed */
    void (*changed)(void *context);
    void *context;

    struct cv_timer timer;
    struct cv_file_state told, last; /* reported last, seen last */
};

void cv_file_watch_open(struct cv_file_watch *watch);
/* Nothing if the poller is NULL. */
void cv_file_watch_close(struct cv_file_watch *watch);

#endif
