/* hosts.h -- other machines of a run, as the master sees them. SPDX-License-Identifier: MIT
 *
 * A host is reached by a command that connects standard input and output to a worker there
 * (worker_serve.h), or by a descriptor. Pieces go to it one after the other, no more at a
 * time than it takes in a moment, so that what has not gone can be taken back and the rate
 * of the link is known. */
#ifndef CV_HOSTS_H
#define CV_HOSTS_H
#include <cleave/execute.h>
#include <cleave/policy.h>
#include "base/fail.h"
#include "run/slot/slot.h"
#include "run/wire/connect_stderr.h"
#include "run/wire/link.h"
#include "run/wire/protocol.h"

struct cv_push {
    struct cv_poller *poller; /* borrowed, as all here but what is named owned          */
    const struct cleave_copy *copies; /* that can be asked for                          */
    size_t ncopies;
    const struct cleave_copy *copy; /* the one that is taken there                      */
    double patience_s; /* so long it may take                                    */
    /* The copy is there, or why it is not; called once, perhaps from within
     * push_start. */
    void (*ended)(void *context, const struct cleave_error *err);
    void *context;

    struct cv_process process; /* owned                                                 */
    struct cv_watch watch;
    struct cv_timer timer;
};

enum cv_host_state {
    CV_HOST_NEW,        /* nothing was tried                                            */
    CV_HOST_CONNECTING, /* no hello has come                                            */
    CV_HOST_GREETED,    /* it is told of the job                                        */
    CV_HOST_READY,
    CV_HOST_DOWN, /* it was ready, and is tried again after a while                     */
    CV_HOST_OUT,  /* it is not tried any more                                           */
};

enum {
    CV_HOST_NOWHERE = UINT32_MAX, /* `first` of one that has no place yet               */
    CV_HOST_NAME_ROOM = 300,      /* for the name of a worker, with the number behind   */
};

struct cv_hosts;

/* A slot of the host, as far as commands that stay go. */
struct cv_host_seat {
    uint64_t given; /* pieces, of which each may have to do with a command that         */
    uint64_t silent, left; /* does not answer, and with one that ends                   */
    bool leaving; /* it was asked to let its command go                                 */
    double free_s; /* when its last command had ended                                   */
};

/* So many that are left out, or the like, are named one by one, the others are counted. */
enum { CV_TOLD_MOST = 5 };

/* What is told of a host once, and then counted. */
enum cv_note {
    CV_NOTE_LOST,
    CV_NOTE_ABSENT, /* tried again in vain                                               */
    CV_NOTE_BACK,
    CV_NOTE_SILENT, /* a command that stays does not answer                              */
    CV_NOTE_LEFT, /* one that stayed ended badly                                       */
    CV_NOTES,
};

/* What will be heard of a piece that no slot knows any more (remote_frames.h). */
struct cv_expected_frame {
    uint64_t number;
    uint32_t seat;
    bool end, cut;
};

struct cv_host {
    struct cv_hosts *hosts; /* borrowed: all of them                                    */
    const char *name;       /* of the arena of all, as the texts below                  */
    const char **words;     /* to be run; NULL: a descriptor                            */
    struct cv_push push;
    bool pushed;
    int given; /* owned until used: that descriptor; -1                    */
    struct cleave_channel
        *channel;   /* borrowed, instead of it; NULL: none                 */
    uint32_t slots; /* 0: as many as it has cores, which its hello will say            */
    uint32_t first; /* of its workers in the run; CV_HOST_NOWHERE: it has no place yet  */
    bool asks;      /* it was not said how many slots it has: it is asked               */
    uint32_t peer;  /* by which other hosts reach it                                    */
    bool leads;     /* it shares what it gets over others                               */
    bool may_share; /* it is asked whether it sees the input                            */

    enum cv_host_state state;
    struct cv_link link;
    struct cv_process process;
    struct cv_connect_stderr
        login_stderr;      /* what that says on standard error                          */
    struct cv_timer timer; /* to be ready, or until the next try                        */
    uint32_t tries;        /* one after the other that failed                           */
    bool shares;           /* it sees the input                                         */
    bool sees;             /* ... of which some is compressed, and decodes that         */
    bool blind;            /* it did not see a file of an item                          */
    bool based;            /* it has been sent the files for all items                  */
    bool was_ready;
    bool
        marks; /* it says on standard error where it begins (connect_stderr.h)            */
    bool briefed;      /* it has been sent the job                                      */
    bool leaving;      /* it gets nothing more, and goes when it has ended what it has  */
    bool noticed;      /* ... as it has said itself: it begins nothing new              */
    char machine[128]; /* what it calls itself                                          */
    char reason[800];  /* why it is not there                                           */
    char fault[200];   /* of the last piece that has ended                              */

    uint32_t notes[CV_NOTES]; /* how often there was something to tell                  */
    struct cv_slot *first_slot;   /* borrowed: list of those that stand for its seats   */
    struct cv_slot *queue, **end; /* pieces that are to be sent                         */
    struct cv_host_seat *seats;   /* owned                                              */
    struct cv_expected_frame
        *owed; /* owned                                              */
    size_t nowed, owed_room;
    uint64_t numbered; /* pieces                                             */
    double progress_s; /* when something of a piece was heard                           */
    double moved_s; /* when some of what it is sent had come, or was to be sent first   */
    struct cv_timer
        link_timer;    /* until some of it should have                          */
    bool moved, stuck; /* something has come over this connection; it moves no more     */
    uint64_t in_flight;        /* bytes sent that were not acknowledged              */
    double rate_Bps, rtt_s;    /* of the input's bytes; 0 and below 0: not known     */
    double since_s, delivered; /* what the rate is measured with                     */
    double probe_s;            /* when a frame was sent that is waited for; 0: none  */
    uint64_t probe_chunk, probe_bytes;
    uint64_t plain, wire; /* bytes before and after compression                         */
};

/* What a run asks of all hosts, and how they are dealt with; all is borrowed. */
struct cv_host_terms {
    const char *const *command;     /* words, ended by NULL                             */
    const char *const *environment; /* NAME=VALUE, ended by NULL; NULL: none            */
    const char *work_directory;     /* NULL: where it is                                */
    bool persistent;                /* the command stays                                */
    bool items, cleanup;            /* pieces are items; their files are removed there  */
    const char *const *base_files;  /* that all items need; ended by NULL; NULL: none   */
    bool hashes;                    /* they say the hash of what a piece was            */
    bool lines;                     /* lines of outputs come while commands run         */
    bool early;                     /* ... of the one in front, which is kept           */
    bool shared_input;              /* all are asked whether they see the input         */
    double command_timeout_s;       /* 0: none                                          */
    double connect_timeout_s;       /* until one is ready                               */
    double silence_s;               /* then it is lost                                  */
    double notice_s;                /* so long one that leaves has to end what it has   */
    uint64_t
        memory; /* bytes of output kept in memory by each; 0: CV_GATHER_MEMORY      */
    void (*note)(void *context, const char *text); /* for the user; may be NULL         */
    void *note_context;
};

struct cv_hosts {
    struct cv_poller *poller; /* borrowed, as all here but what is named owned          */
    struct cv_source *source;
    struct cv_host_terms terms;
    const char *const *names; /* of the workers of the run                              */
    const int *stopped_by;    /* signal that ends the run, 0: none yet; or NULL         */
    bool leads;               /* one of them leads others                               */
    bool one_port;            /* one transfer at a time over all links                  */
    bool beside;              /* there are workers on this machine, too                 */
    /* A host is ready, or is not any more; its slots have been told before. */
    void (*changed)(void *context, struct cv_host *host);
    /* Frames from CV_FRAME_OTHERS on; NULL: none are expected. */
    void (*other)(void *context, struct cv_host *host, const struct cv_frame_head *head,
                  const unsigned char *payload);
    void *context, *other_context; /* of `changed`, of `other`                          */
    bool
        keeps; /* outputs stay with the hosts (result_sink_remote.c)                          */
    struct cv_arena arena;
    struct cv_host **items; /* owned                                                    */
    size_t count, room;
    size_t nready, nleaving; /* those that leave are still ready                        */
    size_t window;         /* so many connections may be under way at a time            */
    struct cv_timer step;  /* ... and twice as many then, if processors are idle        */
    double step_s, idle_s; /* when it was set, and how long they had been by then       */
    uint32_t held;         /* times that they were not                                  */
    bool stepping, beginning; /* it is set; some are being begun                        */
    bool doubted; /* it has been said that two may be one machine                      */
    size_t nabsent; /* that were left out before they were ready, and told or counted */
    char last_absent[728]; /* who was counted last, and why                            */
    size_t nchanged;       /* whose keys have changed, told or counted                 */
    size_t nwords;         /* who said something before they were ready, likewise      */
    char words[CV_TOLD_MOST][160]; /* what has been told of that                       */
    double told_s; /* when one has last given notice; 0: none has                 */
    struct cv_timer hush; /* a moment later                                             */
    struct cv_remote_file *files; /* of the input, if it can be shared                  */
    size_t nfiles;
    bool packed; /* one of them is compressed                                          */
    uint64_t sent_bytes; /* of pieces, over all links                                   */
    struct cv_slot *port; /* the one that sends, with one_port                  */
    struct cv_slot *waiting, **waiting_end;
};

/* --- all of them ---------------------------------------------------------------------------- */

void cv_hosts_init(struct cv_hosts *hosts);
/* Ends all connections. */
void cv_hosts_done(struct cv_hosts *hosts);
/* What the input is, for hosts that may see it. */
enum cleave_status cv_hosts_describe(struct cv_hosts *hosts, struct cleave_error *err);
/* Add a host; its workers are those from `first` on. `asked` is copied but for the link. */
enum cleave_status cv_hosts_add(struct cv_hosts *hosts, const struct cleave_host *request,
                                uint32_t first, struct cv_host **out,
                                struct cleave_error *err);

/* How long those who are ready wait for others: at most so long, and since the last one came. */
struct cv_patience {
    double most_s, gap_s; /* INFINITY: any time                                         */
};

/* Connect to all that were not tried; wait until each is ready or out, but no longer than
 * `patience` says once one is ready, or `others` are, who are no hosts: the rest may join
 * later. */
enum cleave_status cv_hosts_connect(struct cv_hosts *hosts,
                                    const struct cv_patience *patience, bool others,
                                    const int *stopped_by, struct cleave_error *err);
/* Whether any is ready or may be. */
bool cv_hosts_any_hope(const struct cv_hosts *hosts);
/* Whether one that is not ready may become so, or all are told to end just now. */
bool cv_hosts_may_come(const struct cv_hosts *hosts);

/* Of a run on this platform, with this policy. `opens`: chunks may stay open, so that those who are
 * about to come can be counted. */
struct cv_patience cv_connect_wait_of(const struct cleave_platform *platform,
                                      const struct cleave_policy *policy, bool opens);
/* Whether it begins with hosts that are expected any moment. */
bool cv_connect_wait_is_short(const struct cv_patience *patience);

/* Tell the user. */
void cv_hosts_note(const struct cv_hosts *hosts, const char *format, ...) CV_PRINTF(2, 3);

/* --- one of them ---------------------------------------------------------------------------- */

/* Begin to connect; what comes of it is told by `changed`. */
void cv_host_connect(struct cv_host *host);
/* It is lost, or could not be reached. */
void cv_host_fail(struct cv_host *host, const struct cleave_error *err);
/* Whether the frame may come now; if not, the host is lost for it. */
bool cv_host_admit(struct cv_host *host, enum cv_stage stage,
                   const struct cv_frame_head *head);
/* It has said what cannot be, and is lost for it. */
void cv_host_accuse(struct cv_host *host, const char *format, ...) CV_PRINTF(2, 3);
/* It is not there when it is decided who takes part: it is not tried any more. */
void cv_host_leave_out(struct cv_host *host);
/* Give it nothing more; what it has not done when its notice is over goes to others. */
void cv_host_dismiss(struct cv_host *host);
/* It is not to go after all, unless it has said so itself. */
void cv_host_keep(struct cv_host *host);
/* It has ended all that it had, and goes. */
void cv_host_release(struct cv_host *host);
/* What its worker number `i` is called if nobody says otherwise: as the host, with a number
 * if there are several. */
const char *cv_host_worker_name(const struct cv_host *host, uint32_t i,
                                char out[CV_HOST_NAME_ROOM]);
/* Whether this is to be told: the first time. The others are counted, and told at the end. */
bool cv_host_tells(struct cv_host *host, enum cv_note note);
/* It is left out, and was never ready: the first few are named, the others counted and told when
 * nobody is waited for, or at the end. */
void cv_host_tell_absent(const struct cv_host *host, const char *reason);

/* --- a slot of one ---------------------------------------------------------------------------
 *
 * To its user it is a slot like any other (slot.h), but pieces take their time to get there
 * (`arrived`), what has arrived is cut only after asking (`cut_answered`), and the machine
 * may be lost (CV_SLOT_LOST). Several may stand for one slot of the other machine, which
 * does their pieces one after the other: then the next piece travels while the last one is
 * worked on. */

/* After cv_slot_init: it stands for slot `seat` of the host, which outlives it. */
enum cleave_status cv_remote_init(struct cv_slot *slot, struct cv_host *host,
                                  uint32_t seat, struct cleave_error *err);
/* Ask for the piece, which has arrived, to end at `head`. False: it cannot be asked now. */
bool cv_remote_ask_cut(struct cv_slot *slot, const struct cv_piece *head);
/* Give up a piece that has not arrived: nothing will be heard of it again. */
void cv_remote_forget(struct cv_slot *slot);
/* Ask how far its command is: `seen` of the slot is called, unless it ends before. */
void cv_remote_look(struct cv_slot *slot);
/* Questions of cv_remote_look that were not answered, and will not be. */
uint32_t cv_remote_forget_looks(struct cv_slot *slot);

/* These answer for local slots as well. */

struct cv_host *cv_remote_host(const struct cv_slot *slot); /* NULL: this machine */
/* The host has been told of the piece. */
bool cv_remote_is_announced(const struct cv_slot *slot);
/* The host has some of the piece, or all of it. */
bool cv_remote_has_bytes(const struct cv_slot *slot);
/* The answer to cv_remote_ask_cut is due; that, or one to cv_remote_look. */
bool cv_remote_is_cutting(const struct cv_slot *slot);
bool cv_remote_owes_answer(const struct cv_slot *slot);
/* How long the piece has been allowed to be sent; 0: it waits for the port. */
double cv_remote_sending_s(const struct cv_slot *slot);
/* From which byte of its body, an offset in the file, a piece can be cut, perhaps after asking. */
uint64_t cv_remote_cut_from(const struct cv_slot *slot);
/* When the host of the slot was lost, commands of its other slots were running, too. */
bool cv_remote_others_ran(const struct cv_slot *slot);

/* A piece on another machine, as far as it is measured here; all zero for a local slot. */
struct cv_remote_facts {
    uint64_t number;   /* of the piece on its link                                      */
    bool arrived;      /* all of it is there                                            */
    bool computed;     /* its command has ended                                         */
    bool was_running;  /* its command was when the host was lost                        */
    bool hashed;       /* the host has computed `hash`                                  */
    double granted_s;  /* when it could be sent                                         */
    double arrived_s;  /* when all of it was there; of this piece or the one before     */
    double computed_s; /* when its command had ended; of this piece or the one before   */
    double compute_s;  /* time of the command by the clock of the host                  */
    uint64_t early;    /* bytes of output that came while the command ran               */
    uint64_t given;    /* bytes that the command had been given when it ended           */
    uint64_t kept;     /* bytes of output that stay there                               */
    struct cv_content_hash hash; /* of the bytes that the command was given             */
};
struct cv_remote_facts cv_remote_facts(const struct cv_slot *slot);

#endif
