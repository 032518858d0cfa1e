/* hosts.h -- other machines of a run, as the master sees them. SPDX-License-Identifier: MIT
 *
 * A host is reached by a command that connects standard input and output to a worker there
 * (worker_serve.h), by a descriptor or by a channel. Its pieces are sent one after the other, and
 * only as many bytes at a time as the link moves in a moment: the rest can be taken back, and the
 * rate of the link is known. */
#ifndef CV_HOSTS_H
#define CV_HOSTS_H
#include <cleave/execute.h>
#include <cleave/policy.h>
#include "base/fail.h"
#include "run/slot/slot.h"
#include "run/wire/connect_stderr.h"
#include "run/wire/link.h"
#include "run/wire/protocol.h"

enum cv_host_state {
    CV_HOST_NEW,        /* not tried yet */
    CV_HOST_CONNECTING, /* until its hello; also while cleave is copied there */
    CV_HOST_GREETED,    /* until it is ready for the job */
    CV_HOST_READY,
    CV_HOST_DOWN, /* waits for the next try */
    CV_HOST_OUT,  /* is not tried again */
};

enum {
    CV_HOST_NOWHERE = UINT32_MAX, /* `first` of a host that has no workers yet */
    CV_HOST_NAME_ROOM = 300,      /* for the name of a worker, with its number */
    CV_TOLD_MOST = 5,             /* absent hosts that are named; others are counted */
};

struct cv_hosts;

struct cv_slot_queue {
    struct cv_slot *first, **end;
};

/* The persistent command of a slot; CV_SEAT_LEAVING: it was asked to end. */
enum cv_seat_command { CV_SEAT_EMPTY, CV_SEAT_USED, CV_SEAT_LEAVING };

/* A slot of the host. */
struct cv_host_seat {
    uint64_t given;        /* pieces; for each of them, a persistent command may ... */
    uint64_t silent, left; /* ... be silent once, and end once */
    enum cv_seat_command command;
    double free_s; /* when its last command had ended */
};

/* Events of a host that are reported once, and then counted. */
enum cv_note {
    CV_NOTE_LOST,
    CV_NOTE_ABSENT, /* another try failed */
    CV_NOTE_BACK,
    CV_NOTE_SILENT, /* a persistent command does not answer */
    CV_NOTE_LEFT,   /* a persistent command failed */
    CV_NOTES,
};

/* Frames that will arrive for a piece that no slot has any longer. */
struct cv_expected_frame {
    uint64_t number;
    uint32_t seat;
    bool end, cut; /* the end; the answer to a cut */
};

struct cv_host {
    struct cv_hosts *hosts;           /* borrowed */
    const char *name;                 /* texts are in hosts->arena */
    const char **words;               /* the command that connects; NULL: none */
    const struct cleave_copy *copies; /* copies of cleave that the host may ask for */
    size_t ncopies;
    int given;                      /* owned until used: a descriptor; -1: none */
    struct cleave_channel *channel; /* borrowed; NULL: none */
    uint32_t slots; /* 0: as many as it has cores, known after its hello */
    uint32_t first; /* first worker in the run, or CV_HOST_NOWHERE */
    bool asks;      /* `slots` was not given */
    uint32_t peer;  /* number for other hosts */
    bool leads;     /* the host shares its pieces among others */
    bool may_share; /* the host is asked whether it sees the input */

    enum cv_host_state state;
    struct cv_link link;
    struct cv_process process;      /* that connects, or copies cleave */
    struct cv_watch push_watch;     /* end of the process, if it copies cleave */
    struct cv_connect_stderr login; /* standard error of the process */
    struct cv_timer timer;          /* limit of the state, or the next try */
    uint32_t tries;                 /* in a row that failed */
    bool pushed;                    /* cleave was copied there */
    bool was_ready;
    bool briefed;      /* the job was sent */
    bool marks;        /* the worker writes a mark (connect_stderr.h) */
    bool shares;       /* the host reads the input itself */
    bool sees;         /* the host reads and decodes the input itself */
    bool blind;        /* the host does not see the files of items */
    bool based;        /* the host has the files for all items */
    bool leaving;      /* the host gets no new pieces, and leaves when it has none */
    bool noticed;      /* by its own notice: it starts nothing */
    char machine[128]; /* name of the machine, by itself */
    char reason[800];  /* why it is not ready */
    char fault[200];   /* fault of the last piece that has ended */
    uint32_t notes[CV_NOTES]; /* how often each happened */

    struct cv_slot *first_slot;     /* borrowed: list of its slots */
    struct cv_slot_queue queue;     /* slots whose pieces are to be sent */
    struct cv_host_seat *seats;     /* owned */
    struct cv_expected_frame *owed; /* owned */
    size_t nowed, owed_room;
    uint64_t numbered; /* number of the next piece */
    double progress_s; /* when a frame about a piece arrived that is progress */

    double moved_s; /* when sent bytes arrived there, or the first were to be sent */
    struct cv_timer link_timer; /* until some bytes should have arrived */
    bool moved;                 /* bytes have arrived over this connection */
    bool stuck;                 /* lost because none did */
    uint64_t in_flight;         /* bytes sent and not acknowledged */
    double rate_Bps;            /* input bytes per second; 0: not known */
    double rtt_s;               /* below 0: not known */
    double since_s, delivered;  /* the current measurement of the rate */
    double probe_s; /* when the frame was sent whose round trip is measured; 0 */
    uint64_t probe_chunk, probe_bytes;
    uint64_t plain, wire; /* bytes sent before the measurement, plain and compressed */
};

/* Requests of a run to all hosts; all is borrowed. */
struct cv_host_terms {
    struct cv_remote_job job;      /* names, files and defaults are set for each host */
    const char *const *base_files; /* for all items; ended by NULL; or NULL */
    bool shared_input;             /* all hosts are asked whether they see the input */
    double connect_timeout_s;
    double silence_s; /* time without a frame after which a host is lost */
    double notice_s;  /* time for a host that leaves */
    void (*note)(void *context, const char *text); /* for the user; may be NULL */
    void *note_context;
};

struct cv_hosts {
    struct cv_poller *poller; /* borrowed, as all pointers that are not marked as owned */
    struct cv_source *source;
    struct cv_host_terms terms;
    const char *const *names; /* names of the workers of the run */
    const int *stopped_by;    /* signal that ends the run, 0: none yet; or NULL */
    bool leads;               /* a host leads others */
    bool one_port;            /* one transfer at a time over all links */
    bool local_workers;       /* there are workers on this machine */
    bool many_inputs;         /* one after the other */
    const struct cv_packer
        *reduce; /* outputs stay with the hosts (remote_fold.c): payload of
                                       REDUCE; or NULL */
    /* A host has become ready, or is no longer ready; its slots were notified before. */
    void (*changed)(void *context, struct cv_host *host);
    /* A frame from CV_FRAME_OTHERS; NULL: none are expected. */
    void (*other)(void *context, struct cv_host *host, const struct cv_frame_head *head,
                  const unsigned char *payload);
    void *context, *other_context;

    struct cv_arena arena;
    struct cv_host **items; /* owned */
    size_t count, room;
    size_t nready, nleaving; /* hosts that leave are ready */

    size_t window;        /* connections that may be in progress; 0: none are begun */
    struct cv_timer step; /* until the window is doubled */
    double step_s;        /* when it was set ... */
    double idle_s;        /* ... and the idle time of processors then */
    uint32_t held;        /* steps in a row at which processors were busy */
    bool beginning;       /* connections are being begun */
    struct cv_timer hush; /* runs for a moment after the notice of a host */

    bool doubted;          /* it was reported that two hosts may be one machine */
    size_t nabsent;        /* hosts left out before they were ready: named or counted */
    char last_absent[728]; /* the last host that was counted, and the reason */
    size_t nchanged;       /* hosts with a changed key: named or counted */
    size_t nwords;         /* hosts whose login printed other text: named or counted */
    char words[160];       /* the text of the host that was named */
    size_t nblind;         /* hosts that do not see the input: named or counted */

    struct cv_remote_file *files; /* files of the input, if they can be shared */
    size_t nfiles;
    bool packed;                  /* one of them is compressed */
    uint64_t sent_bytes;          /* bytes of pieces, over all links */
    struct cv_slot *port;         /* the slot that sends, with one_port */
    struct cv_slot_queue waiting; /* for the port */
};

/* Slots of a host for each of its commands. */
static inline uint32_t cv_hosts_window(const struct cv_hosts *hosts)
{
    return hosts->terms.job.window > 0 ? (uint32_t)hosts->terms.job.window : 1;
}

/* --- all hosts ---------------------------------------------------------------------------- */

void cv_hosts_init(struct cv_hosts *hosts);
/* Ends all connections. */
void cv_hosts_done(struct cv_hosts *hosts);
/* Describe the input for hosts that may see it. */
enum cleave_status cv_hosts_describe(struct cv_hosts *hosts, struct cleave_error *err);
/* Add a host whose workers begin with `first`. The request is copied, except for the link. */
enum cleave_status cv_hosts_add(struct cv_hosts *hosts, const struct cleave_host *request,
                                uint32_t first, struct cv_host **out,
                                struct cleave_error *err);

/* How long ready hosts wait for others: in all, and since the last one was ready. */
struct cv_patience {
    double most_s, gap_s; /* INFINITY: for ever */
};

/* For a run with this platform and policy. */
struct cv_patience cv_connect_wait_of(const struct cleave_platform *platform,
                                      const struct cleave_policy *policy);
/* The run begins before hosts that are expected any moment. */
bool cv_connect_wait_is_short(const struct cv_patience *patience);
/* Connect to all new hosts, and wait until each is ready or out, or `patience` ends. The
 * time starts with the first ready host, or at once if there are `others`: workers that
 * are not hosts. */
enum cleave_status cv_hosts_connect(struct cv_hosts *hosts,
                                    const struct cv_patience *patience, bool others,
                                    const int *stopped_by, struct cleave_error *err);
/* A host is ready or may become ready. */
bool cv_hosts_any_hope(const struct cv_hosts *hosts);
/* A connection is being made, or will be soon. */
bool cv_hosts_connecting(const struct cv_hosts *hosts);
/* A host that is not ready may become ready, or hosts are being stopped just now. */
bool cv_hosts_may_come(const struct cv_hosts *hosts);
/* Tell the user. */
void cv_hosts_note(const struct cv_hosts *hosts, const char *format, ...) CV_PRINTF(2, 3);

/* --- one host ----------------------------------------------------------------------------- */

/* Begin to connect; `changed` tells the result. */
void cv_host_connect(struct cv_host *host);
/* The host is lost, or could not be reached. */
void cv_host_fail(struct cv_host *host, const struct cleave_error *err);
/* False: the frame is not allowed in this stage, and the host is lost. */
bool cv_host_admit(struct cv_host *host, enum cv_stage stage,
                   const struct cv_frame_head *head);
/* The host broke the protocol, and is lost. */
void cv_host_accuse(struct cv_host *host, const char *format, ...) CV_PRINTF(2, 3);
/* A chunk was to blame for several lost hosts: they are tried as often as at first. */
void cv_hosts_forgive(struct cv_hosts *hosts);
/* The run begins without it: it is not tried again. */
void cv_host_leave_out(struct cv_host *host);
/* Give it nothing more; pieces that it has not done after terms.notice_s go to others. */
void cv_host_dismiss(struct cv_host *host);
/* Let the host keep its outputs: send hosts->reduce. The ids of its outputs begin after the
 * second. */
void cv_host_tell_reduce(struct cv_host *host);
uint64_t cv_host_output_base(const struct cv_host *host);
/* Undo cv_host_dismiss, unless the host gave notice itself. */
void cv_host_keep(struct cv_host *host);
/* The host leaves and has ended all its pieces: close the connection. */
void cv_host_release(struct cv_host *host);
/* The default name of its worker `i`: the name of the host, and a number if there are
 * several workers. */
const char *cv_host_worker_name(const struct cv_host *host, uint32_t i,
                                char out[CV_HOST_NAME_ROOM]);
/* True the first time: report it. Later ones are counted and reported at the end. */
bool cv_host_tells(struct cv_host *host, enum cv_note note);
/* The host is left out and was never ready: the first such hosts are named. Further hosts
 * are counted, and reported when all hosts are ready or out, or at the end. */
void cv_host_tell_absent(const struct cv_host *host, const char *reason);

/* --- slots of a host ----------------------------------------------------------------------
 *
 * A remote slot is used like any other (slot.h), but pieces take time to get there (`arrived`), a
 * piece that has arrived is cut only after asking (`cut_answered`), and the host may be lost
 * (CV_SLOT_LOST). Several slots may have the same seat, a slot of the host, which does their
 * pieces one after the other: the next piece is sent while the command runs. */

/* After cv_slot_init. The host outlives the slot. */
enum cleave_status cv_remote_init(struct cv_slot *slot, struct cv_host *host,
                                  uint32_t seat, struct cleave_error *err);
/* Ask for a piece that has arrived to end at `head`. False: it cannot be asked now. */
bool cv_remote_ask_cut(struct cv_slot *slot, const struct cv_piece *head);
/* Give up a piece that has not arrived; no callback will be called for it. */
void cv_remote_forget(struct cv_slot *slot);
/* Ask how far the command is: `seen` of the slot is called, unless the piece ends before. */
void cv_remote_look(struct cv_slot *slot);
/* The number of unanswered calls of cv_remote_look, which are forgotten. */
uint32_t cv_remote_forget_looks(struct cv_slot *slot);

/* The functions below answer for local slots as well. */

struct cv_host *cv_remote_host(const struct cv_slot *slot); /* NULL: this machine */
/* Time since the piece could be sent; 0: it waits for the port. */
double cv_remote_sending_s(const struct cv_slot *slot);
/* The first place where the body of the piece can be cut, perhaps after asking: an offset
 * in the file. */
uint64_t cv_remote_cut_from(const struct cv_slot *slot);
/* Commands of other slots were running when the host was lost. */
bool cv_remote_others_ran(const struct cv_slot *slot);

enum cv_remote_progress {
    CV_PIECE_UNKNOWN,   /* the host does not know of the piece */
    CV_PIECE_ANNOUNCED, /* some of it may be there */
    CV_PIECE_CUT_SHORT, /* open: the command has ended before all of it had arrived */
    CV_PIECE_ARRIVED,   /* all bytes have arrived */
    CV_PIECE_COMPUTED,  /* the command has ended */
};

/* State and measurements of the piece; all zero for a local slot. */
struct cv_remote_facts {
    uint64_t number; /* number of the piece on its link */
    enum cv_remote_progress progress;
    bool was_running;             /* the command ran when the host was lost */
    bool unfit;                   /* the host could not run the command */
    bool given_back;              /* lost, but by a host that leaves in order */
    bool cutting;                 /* the answer to cv_remote_ask_cut is due */
    uint32_t looks;               /* calls of cv_remote_look without an answer */
    double bound_s;               /* open: when the first byte arrived; 0: not yet */
    bool hashed;                  /* `hash` is known */
    double granted_s;             /* when it could be sent */
    double arrived_s, computed_s; /* when; of this piece or the one before */
    double compute_s;             /* time of the command, by the clock of the host */
    uint64_t early;               /* bytes of output that arrived while the command ran */
    uint64_t given;               /* bytes that the command had been given at its end */
    uint64_t kept;                /* bytes of output that stay there */
    double retry_s;               /* cv_error_lines_retry_after */
    struct cv_content_hash hash;  /* hash of the bytes for the command */
};
struct cv_remote_facts cv_remote_facts(const struct cv_slot *slot);

static inline bool cv_is_announced(const struct cv_remote_facts *facts)
{
    return facts->progress != CV_PIECE_UNKNOWN;
}

static inline bool cv_has_arrived(const struct cv_remote_facts *facts)
{
    return facts->progress >= CV_PIECE_ARRIVED;
}

static inline bool cv_is_computed(const struct cv_remote_facts *facts)
{
    return facts->progress == CV_PIECE_COMPUTED || facts->progress == CV_PIECE_CUT_SHORT;
}

#endif
