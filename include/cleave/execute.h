/* execute.h -- run a command over an input, shared by several workers.
 * SPDX-License-Identifier: MIT
 *
 * The input is cut at record boundaries; a policy decides how much each worker gets and
 * when, as in a plan or a simulation; every chunk is given to a command of its own on
 * standard input, and the outputs are written in the order of the input.
 *
 * Threads: several threads may run cleave_execute at the same time; the runs share nothing. The
 * thread that called it calls all functions of its request (listener, items, output.before,
 * hosts.more, policy.own) before it returns; they must not block for long. While it runs, this
 * thread blocks SIGPIPE and, with handle_signals, the signals named there; other threads and
 * signal handlers are untouched. Commands are children of the process: do not reap them by
 * waitpid(-1), and leave SIGCHLD at its default. */
#ifndef CLEAVE_EXECUTE_H
#define CLEAVE_EXECUTE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/run.h>

CLEAVE_BEGIN_C

struct cleave_platform;
struct cleave_trace;

/* Stops runs. It belongs to the caller and outlives the runs that it is given to. */
struct cleave_cancel;
enum cleave_status cleave_cancel_new(struct cleave_cancel **out,
                                     struct cleave_error *err);
void cleave_cancel_free(struct cleave_cancel *cancel); /* may be NULL */
/* Stop the runs that have `cancel`, now and later: they end their commands and return
 * CLEAVE_ESTOPPED. Any thread may call it, and a signal handler. */
void cleave_cancel(struct cleave_cancel *cancel);
enum { CLEAVE_CANCELLED = -1 }; /* stopped_by of the result of such a run */

/* When to give up. */
enum cleave_halt {
    CLEAVE_HALT_ALL_FAIL, /* do the rest, then fail; but start nothing new when
                             CLEAVE_ALL_FAIL_LIMIT chunks have failed and none has succeeded, or
                             without a header only those that begin a file; fewer if
                             their commands are seen to have read nothing. Items: only
                             if CLEAVE_ALL_FAIL_UNREAD_LIMIT cannot be run on any host  */
    CLEAVE_HALT_NEVER,    /* do the rest in any case, then fail                        */
    CLEAVE_HALT_SOON,     /* start nothing new                                         */
    CLEAVE_HALT_NOW,      /* stop what is running, too                                 */
};

enum { CLEAVE_ALL_FAIL_LIMIT = 100, CLEAVE_ALL_FAIL_UNREAD_LIMIT = 10 };

/* What is counted for it. */
enum cleave_halt_on {
    CLEAVE_HALT_ON_FAILURES,  /* chunks that failed for good */
    CLEAVE_HALT_ON_SUCCESSES, /* chunks that were done       */
    CLEAVE_HALT_ON_ENDS,      /* both                        */
};

/* One end of the command on a chunk. */
struct cleave_attempt {
    const char *worker; /* borrowed for the call                                     */
    uint32_t place;     /* of the worker, from 1                                     */
    uint64_t chunk;     /* number of the chunk                                       */
    uint32_t attempt;   /* from 1                                                    */
    double start_s;     /* since 1970                                                */
    double seconds;
    double compute_s; /* of these, what the command took where it ran                 */
    uint64_t sent, received;  /* bytes given to the command and got from it          */
    int exit_code, signal;    /* exit_code is -1 when a signal ended it              */
    const char *input;        /* borrowed: name of the file                          */
    uint64_t begin, end;      /* its bytes                                           */
    bool timed_out, given_up; /* given_up: it will not be tried again                */
    bool
        dropped; /* another attempt of the chunk counts, or still runs: nothing comes of it */
};

/* What a worker does now, or why it waits. */
enum cleave_worker_state {
    CLEAVE_WORKER_BUSY,
    CLEAVE_WORKER_ABSENT, /* its host is not there                                      */
    CLEAVE_WORKER_RESTS,  /* others did what it failed with                             */
    CLEAVE_WORKER_HELD, /* this machine is to begin no command yet: struct cleave_worker_list */
    CLEAVE_WORKER_STARVES, /* the input is not there yet                                */
    CLEAVE_WORKER_UNASKED, /* the policy has given it nothing                           */
    CLEAVE_WORKER_OVER,    /* nothing is left to be given out                           */
};

struct cleave_worker_progress {
    const char *name; /* borrowed for the call                                         */
    enum cleave_worker_state state;
    uint64_t chunks, failures; /* failures: of commands                                */
    double units, busy_s;      /* of chunks that are done                              */
    double read;               /* bytes of the chunk under way, as below               */
    double since_s; /* when the oldest chunk under way began, as elapsed_s; NAN: none  */
};

struct cleave_progress {
    double elapsed_s;
    double done, total; /* bytes, of what no earlier run did; total is INFINITY while a
                           stream is open                                            */
    double read;        /* bytes of chunks under way that commands have read; of those on
                           hosts about so many                                       */
    uint64_t chunks, failed;
    uint32_t busy, workers;
    /* To ask about one of the workers, for as long as the call lasts. */
    void (*look)(const void *run, uint32_t worker, struct cleave_worker_progress *out);
    const void *run;
};

struct cleave_channel;

/* A copy of cleave for hosts of one kind. */
struct cleave_copy {
    const char *const
        *push;          /* a command that takes its standard input there; NULL: none */
    const char *file;   /* that input                                             */
    const char *absent; /* without: why the host cannot be used, and what to do    */
};

/* Another machine that does some of the work. Workers [first, first + slots) of the
 * platform are commands that run there at a time. With slots 0 the host is asked for its cores
 * when it is reached, and worker `first`, which stands for all of them, tells their costs. */
struct cleave_host {
    const char *name;
    /* Words of a command that connects standard input and output to `cleave worker` over
     * there, ended by NULL; or NULL, and `link` is a socket to it, taken over, unless there
     * is a `channel`: those of the command itself, for MPI. */
    const char *const *connect;
    struct cleave_channel *channel;
    int link;
    uint32_t first, slots;
    bool shared_input; /* it may see the input                                         */
    /* When `connect` exits with CLEAVE_HOST_LACKS + k, copies[k] is taken there, once, and
     * `connect` is run again. */
    const struct cleave_copy *copies;
    size_t ncopies;
    bool leads; /* it shares what it gets over others: chunks do not stay open, and how
                   long a command may take is its affair                               */
    /* With `fold`, the number by which other hosts reach it; 0: its place in the list, from
     * 1. */
    uint32_t peer;
};

enum { CLEAVE_HOST_LACKS = 113 }; /* there is no cleave that could be used              */

/* What is known of hosts now; see `more_hosts` below. Borrowed until the next call. */
struct cleave_more_hosts {
    const struct cleave_host *hosts; /* `first` is not read                            */
    size_t nhosts;
};

enum { CLEAVE_MAX_RECORD = 1 << 30 }; /* bytes of the longest record, unless told */

/* What is shared out. */
struct cleave_input {
    const char *const *files; /* borrowed; none: standard input                        */
    size_t count;
    /* NULL: lines. "auto": by names and first bytes of the inputs; formats with a header have
     * one unless `no_header` is set, and listener.chose gets the choice. */
    const char *split;
    bool no_header;
    bool header; /* give the first record to every command                       */
    /* With `header`, what that is: NULL, "" or "1": the first record; "3": the first three;
     * other text: all lines at the start that begin with it. */
    const char *header_how;
    uint64_t records; /* above 0: chunks are multiples of so many records            */
    const char
        *together;     /* neighbours with the same key are in one chunk: a column, or an
                             expression that matches it; NULL: any may be cut apart   */
    const char *pairs; /* borrowed: file of the mates, as descriptor 3; NULL: none     */
    /* "auto" or NULL: inputs that are compressed by their first bytes are decoded, and
     * others that are no text refused, unless records are of a fixed size; "gzip", "bgzf",
     * "zstd", "xz", "bzip2", "lz4": all are decoded so; "none": they are taken as they are. */
    const char *decode;
    uint64_t max_record; /* a longer record is an error; 0: CLEAVE_MAX_RECORD          */
    /* Inputs are no files: this line for /bin/sh writes bytes {begin} to {end}, the last one, or
     * {length} bytes, of the input {}. NULL: they are files. */
    const char *fetch;
    /* With `fetch`: how many bytes the input has, or a line for /bin/sh that writes it, or the
     * head of an answer of HTTP, for each input {}. */
    const char *size;
};

/* One command for each item instead of an input that is shared out. Every command has an
 * empty standard input. Bytes of the input are then items: in ranges of a result, in
 * attempts and in progress, and an item is one unit for policies. */
struct cleave_items {
    uint64_t count;
    /* The words of the command for `item`, from 0, by the worker in place `slot`, from 1: one
     * block that the run releases by free(), ended by NULL. Its first word is that of
     * `command` in struct cleave_execution. NULL: there are no items. */
    enum cleave_status (*words)(void *context, uint64_t item, uint32_t slot, char ***out,
                                struct cleave_error *err);
    /* Above 1: a command does up to so many items that follow each other, as many as a policy
     * decides, by default "learn". `several` gives the words for [first, first + count); no
     * member below is used then but `fits`, `describe`, and what is for items that come. */
    uint64_t max;
    /* How many of [first, first + count) fit into a command, at least 1. NULL: all do. */
    enum cleave_status (*fits)(void *context, uint64_t first, uint64_t count,
                               uint64_t *out, struct cleave_error *err);
    enum cleave_status (*several)(void *context, uint64_t first, uint64_t count,
                                  uint32_t slot, char ***out, struct cleave_error *err);
    /* What each of them takes, in any unit, 0 or more: borrowed. Those that take long are
     * begun first, by policy "items" unless another one for items is asked for. NULL: not
     * known; they are begun in the order of their numbers. */
    const double *sizes;
    /* All below may be NULL. Where its standard error goes: a descriptor, which the run
     * closes. */
    enum cleave_status (*errors)(void *context, uint64_t item, int *out,
                                 struct cleave_error *err);
    /* Its output is bytes [begin, end) of `fd`: keep it, as it is not written. *out, for
     * free(), of *out_length bytes, is written instead; NULL: nothing. */
    enum cleave_status (*keep)(void *context, uint64_t item, int fd, uint64_t begin,
                               uint64_t end, char **out, size_t *out_length,
                               struct cleave_error *err);
    /* Names of files that its command reads, as words above: with a journal, it is done again
     * if one of them has changed. */
    enum cleave_status (*files)(void *context, uint64_t item, char ***out,
                                struct cleave_error *err);
    /* What is put before each line of its output, for free(); not with `keep`. */
    enum cleave_status (*tag)(void *context, uint64_t item, uint32_t slot, char **out,
                              struct cleave_error *err);
    /* On hosts: names of files that are sent there before its command begins, and of files that
     * come back behind it, as words above. A name is the same there, but what is behind "/./" if
     * it has that; it may not lead out of the folder by "..". */
    enum cleave_status (*sends)(void *context, uint64_t item, uint32_t slot, char ***out,
                                struct cleave_error *err);
    enum cleave_status (*returns)(void *context, uint64_t item, uint32_t slot,
                                  char ***out, struct cleave_error *err);
    /* What items [first, first + count) of one command are called in notes; NULL: by their numbers. */
    void (*describe)(void *context, uint64_t first, uint64_t count, char *out,
                     size_t size);
    /* Items that come while others are done already; not with `sizes` or a journal.
     * `count` are there at first, and `more` reads on: it is called when the descriptor that
     * `comes` returns can be read, or whenever there are too few if that is below 0, and says
     * how many there are then, and whether those are all. NULL: `count` is all. */
    enum cleave_status (*more)(void *context, uint64_t *count, bool *ended,
                               struct cleave_error *err);
    int (*comes)(void *context);
    /* With `more`: nobody will ask for this one again. */
    void (*over)(void *context, uint64_t item);
    void *context;
};

/* The complete output of a chunk: bytes [begin, end) of `descriptor`, which is borrowed for the
 * call. The chunk is bytes [first_byte, end_byte) of the input. */
struct cleave_kept_output {
    uint64_t first_byte, end_byte;
    int descriptor;
    uint64_t begin, end;
    bool resumed; /* an earlier run made it */
};

/* Where results go. */
struct cleave_output {
    int descriptor;   /* to write to; not used with `keep`                        */
    const char *name; /* borrowed, for messages                                   */
    bool unordered;   /* as they come                                             */
    /* Called for the output of each chunk that succeeded, instead of the write to `descriptor`:
     * in the order of the input unless `unordered`. The run waits for the call. A failure ends the
     * run. For items: items.keep. Not with `lines`, `early`, a header of outputs or a reduction. */
    enum cleave_status (*keep)(void *keep_context,
                               const struct cleave_kept_output *output,
                               struct cleave_error *err);
    void *keep_context;
    bool direct; /* items: commands write to the descriptor themselves       */
    /* Whole lines are written as they come; of chunks, if these are ordered, only of the one
     * whose turn it is. Nothing is done twice of which some was written. */
    bool lines;
    /* The same of chunks in order, but not in the first moment of a command. They
     * are kept until the chunk is done: if another worker has to do it, its output has to begin
     * with what was written, or it has failed. What fails for good leaves its whole lines. */
    bool early;
    /* Each begins with a header, which is written once: as header_how, but of lines unless
     * the input is split as csv. NULL: none. */
    const char *header;
    /* If the input has a header: the command gets it alone first. The output of that run begins
     * every output, and is written once. If the command fails for the header alone, outputs
     * are written unchanged. Outputs are not written early. Not with `header`; an input with a
     * header is refused with `lines` or a reduction. */
    bool header_once;
    uint64_t memory;       /* most bytes of output kept in memory; 0: 256 MiB          */
    const char *directory; /* for outputs beyond that; NULL: TMPDIR or /tmp            */
    /* Called before something is written, to make room on a screen; NULL: nobody is. */
    void (*before)(void *context);
    void *context;
};

/* Whether commands stay on some processors of the machine. */
enum cleave_pin {
    CLEAVE_PIN_NONE,  /* the kernel moves them about                                  */
    CLEAVE_PIN_CORES, /* those of each worker on a core of their own                  */
    CLEAVE_PIN_NODES, /* ... on the cores of one NUMA node                            */
};

/* Who works on this machine and, by name, on others. */
struct cleave_worker_list {
    uint32_t count;                         /* 0: one per usable core                  */
    const struct cleave_platform *platform; /* workers with names and costs; NULL: none */
    const char *const *prefixes; /* words before the command, per worker; NULL: none   */
    /* A command begins here only so long after the one before, while the load of the last
     * minute is not higher and so many bytes of memory are left; 0: in any case. */
    double delay_s, max_load;
    uint64_t min_memory;
    enum cleave_pin pin; /* of workers on this machine                                 */
    /* By default a run forks a process that ends the commands if this one is killed. It exists
     * from a moment after the start to the end of the run. true: the commands continue. */
    bool unguarded;
};

enum { CLEAVE_HOST_TIMEOUT_S = 10 }; /* of hosts, unless told */
enum { CLEAVE_HOST_NOTICE_S = 10 };  /* the same, until they have left */

/* Other machines. */
struct cleave_host_list {
    const struct cleave_host *list; /* workers that none of them has are here          */
    size_t count;
    double connect_timeout_s; /* a host that is not ready by then is left out; 0: that  */
    double timeout_s;         /* a host that is silent for so long is gone; 0: that     */
    bool shared_input;        /* hosts that see the input read it themselves           */
    /* Hosts that are sockets can send to each other: with a command that reduces, outputs
     * stay there and are reduced from one to another where that can be. list[i] is peer
     * i + 1. */
    bool fold;
    const char *const *environment; /* NAME=VALUE for commands on hosts; NULL: none    */
    const char *work_directory;     /* where they run; NULL: where they are            */
    /* Of items: files that each host is sent before the first, ended by NULL, or NULL; and
     * whether files that were sent, or have come back, are removed there. */
    const char *const *base_files;
    bool cleanup;
    /* A socket is made there, which only its owner can open: `cleave join` connects workers to
     * it, and they take part. NULL: none. */
    const char *join_path;
    /* Workers with the key in the file `key` join over TLS at `listen`: HOST:PORT, or PORT of this
     * machine. NULL: none. */
    const char *listen, *key;
    const char *watched; /* when this file changes, `more` is asked; NULL: none        */
    double notice_s;     /* so long hosts that leave have to end what they have; 0: that,
                            below 0: no time                                           */
    /* Asked on SIGHUP, with the context of cleave_listener: all hosts that there are; new
     * names join the run, and those that are gone leave. NULL: the signal ends the run. */
    enum cleave_status (*more)(void *context, struct cleave_more_hosts *out,
                               struct cleave_error *err);
};

/* Backups: when nothing is left to be given out, an idle worker runs a chunk that is late as
 * well. The first result counts, and the other attempt is ended. */
enum cleave_backups {
    CLEAVE_BACKUPS_AUTO, /* of chunks whose output is collected before it is written   */
    CLEAVE_BACKUPS_ON,   /* of items as well, whose commands may write files           */
    CLEAVE_BACKUPS_OFF,
};

/* How much each worker gets, and when. */
struct cleave_policy_options {
    const char *name; /* NULL: learn                                                   */
    const struct cleave_policy *own; /* borrowed: instead of a name; NULL: none        */
    const struct cleave_setting *settings;
    size_t nsettings;
    double block; /* above 0: every chunk has about so many bytes; without a policy, or
                     with one whose chunks all have one size                           */
    enum cleave_backups backups;
};

/* How several results become one. */
struct cleave_reduce_options {
    /* A named reduction: sum, count, min, max, sort[:OPTIONS], uniq, counts, first, last,
     * head[:N] or tail[:N]; its result is that of the name on all outputs, also on one or none.
     * Or a line that the shell runs to make one result of several, concatenated on standard
     * input, or of two, in the files {1} and {2}, or of the files {}. It has to be associative
     * and is not run on a single output. NULL: outputs are written unchanged. */
    const char *command;
    bool commutative; /* results may be reduced in any order                           */
};

/* What is done about commands that fail. */
/* Exit statuses: bit N % 64 of word N / 64. */
struct cleave_statuses {
    uint64_t bits[4];
};

struct cleave_failure_options {
    struct cleave_statuses ok; /* are no failures; nor is 0, in any case               */
    double timeout_s; /* a command that takes longer is stopped; 0: none               */
    /* Of items, here: the same for one that takes so many times as long as the median of those
     * that have succeeded; 0: none. */
    double timeout_share;
    uint32_t retries; /* how often a failed chunk is tried again, elsewhere first      */
    /* A command runs once, unless a host is lost or cannot run it. Else, without retries, a chunk
     * (not an item) that failed with a worker that has not succeeded yet, or failed before as
     * well, is tried by up to three others; and a chunk or item whose command was killed on a
     * host (SIGKILL) by one other. */
    bool strict;
    bool
        isolate; /* part what failed in halves until the records that make it fail are left */
    enum cleave_halt halt;
    enum cleave_halt_on halt_on;
    uint64_t halt_fails;   /* after so many of them                                    */
    double halt_share;     /* or this part of all chunks finished; 0: not              */
    const char *directory; /* inputs of failed chunks are kept here; NULL: not         */
};

/* What is remembered of a run. */
struct cleave_journal {
    const char *path; /* borrowed: SQLite file; NULL: none                             */
    bool resume, overwrite;
};

/* Who is told what happens; all are optional. */
struct cleave_listener {
    struct cleave_trace *trace; /* what happens is appended                            */
    void (*attempted)(void *context, const struct cleave_attempt *attempt);
    void (*progress)(void *context, const struct cleave_progress *progress);
    void (*note)(void *context, const char *text); /* what the user should know        */
    void (*chose)(void *context,
                  const char *text); /* the format that "auto" has chosen */
    /* Lines that commands on this machine wrote to standard error, those of an item at once; NULL:
     * they are written to that of this process. */
    void (*errors)(void *context, const char *bytes, size_t length);
    void *context;
};

/* All zero but the command and the output: standard input in lines, on all cores. */
struct cleave_execution {
    const char *const *command; /* borrowed, ends with NULL                            */
    bool persistent;            /* stay, get many chunks: docs/guide/run.md            */
    /* Chunks begin and end when their command starts, so that it can be told of both, and of
     * its first record. */
    bool tell_records;
    struct cleave_input input;
    struct cleave_items items; /* instead of the input                                 */
    struct cleave_output output;
    struct cleave_worker_list workers;
    struct cleave_host_list hosts;
    struct cleave_policy_options policy;
    struct cleave_reduce_options reduce;
    struct cleave_failure_options failures;
    struct cleave_journal journal;
    struct cleave_listener listener;
    struct cleave_cancel *cancel; /* borrowed: stops the run; NULL: nothing does        */
    /* SIGINT, SIGTERM, SIGHUP and SIGUSR1 stop the run, unless they are ignored: the calling
     * thread blocks them and reads them. For one run of a process at a time, and for programs
     * whose other threads block them as well. false: signals are not touched. */
    bool handle_signals;
};

struct cleave_worker_result {
    const char *name; /* owned by the result */
    uint64_t chunks;
    uint64_t failures; /* commands that failed, whatever became of their chunks       */
    uint32_t
        rests; /* how often it, or its host, was rested as others did what it failed */
    double units, busy_s;
    double speed_ups, latency_s; /* measured; 0: not known                            */
    double bandwidth_ups, link_latency_s; /* to a host; 0: not known                  */
    double return_bandwidth_ups, return_latency_s;
    double starts_s; /* of busy_s: until commands read their input; NAN: not known     */
    bool remote;
};

/* A host or worker that did not take part to the end, and why. Both are owned by the result. */
struct cleave_absent {
    const char *name, *reason;
};

/* Bytes [begin, end) of an input, whose name is owned by the result. */
struct cleave_input_range {
    const char *input;
    uint64_t begin, end;
};

/* What --isolate found: so many records from `first` on, counted from 1 in their input, fail.
 * first is 0 where nobody knows. */
struct cleave_bad_records {
    struct cleave_input_range at;
    uint64_t first, count;
};

struct cleave_execution_result {
    double seconds;
    double input_bytes, output_bytes;
    double sent_bytes; /* of the input, to other machines, as they lie in its files     */
    uint64_t chunks, retries, failed, resumed; /* resumed: chunks of an earlier run   */
    double resumed_bytes; /* of these; input_bytes and all else are of this run alone  */
    /* Each byte of the input was done and its output was written, or it failed, or it is left:
     * input_bytes + resumed_bytes + left_bytes is the input. */
    struct cleave_input_range *failed_ranges, *left_ranges; /* owned, in order         */
    size_t nfailed_ranges, nleft_ranges;
    double failed_bytes, left_bytes;
    /* Chunks that are left because their output was not written, although their commands
     * succeeded; a journal has the outputs. They are not in input_bytes, chunks and resumed. */
    uint64_t unwritten;
    double unwritten_bytes; /* of left_bytes                                          */
    /* The last bytes of the output, if they are the beginning of the output of a chunk that is left:
     * with output.early, or if the reader of a pipe did not take the rest. */
    double cut_bytes;
    struct cleave_bad_records *bad_records; /* owned, in order: the first 10,000       */
    size_t nbad_records;
    uint64_t parted;  /* chunks that failed and were done in halves                     */
    bool left_unread; /* a stream may have had more: it was not read to its end        */
    uint64_t folds;   /* commands that reduced                                       */
    double bound_s;   /* all workers at their measured speed from the beginning   */
    /* Where the time went, summed over the workers that were there: what they worked on
     * chunks, what starting commands took (NAN: not known, it is in work_s then), what
     * commands that reduce took, and the rest. Together they are
     * there * (seconds - connect_s). */
    double work_s, starts_s, folds_s, waiting_s;
    double master_s; /* processor time of the master itself, from when hosts were ready */
    double port_s;   /* how long the one port that hosts share was sending; NAN: they do
                        not share one                                                */
    double input_s;  /* when the end of a stream had come; 0: it has not, or it is none */
    double input_first_s; /* when its first bytes had come, in the same way          */
    double
        blocked_s;  /* how long whoever reads the outputs took nothing                  */
    double alone_s; /* about what one worker would have taken: input_first_s, one start
                       and all the work, or input_s or blocked_s if one is longer; NAN:
                       nothing was done                                              */
    uint32_t there; /* workers that did something or were there at the end            */
    uint32_t nworkers;
    struct cleave_worker_result *workers;
    struct cleave_absent *absent;
    size_t nabsent;
    bool header; /* the input had one, and every command got it                    */
    /* What the first input, cut between lines, seems to be instead, what would be right then,
     * and whether that is only about its header: static. NULL: nothing of the kind. */
    const char *seems, *seems_advice;
    bool seems_endless; /* ... so that it was one record, and one worker's             */
    /* The line with which all outputs begin, if two or more have something, or the beginning of
     * it; "": they differ. And the '@' or '#' with which lines begin behind a header that is
     * written once and begins so, too; 0: none does. */
    char same_line[256];
    uint32_t
        same_lines; /* lines of each output, if two or more have the same few; else 0 */
    char header_goes_on;
    double connect_s; /* of `seconds`, until hosts were ready                      */
    uint64_t lost; /* chunks that were lost with a host and done by others            */
    uint64_t backups; /* chunks that two workers ran at the same time                  */
    struct cleave_platform *platform; /* owned: the workers that took part; NULL: the run
                                         was stopped before anything was begun        */
    int stopped_by; /* signal that stopped the run, CLEAVE_CANCELLED, or 0. After a signal the
                       caller finds it and the others of handle_signals still blocked, to
                       put things away undisturbed                                    */
    bool halted;
    uint32_t bad_ends;  /* persistent commands that did not end with status 0       */
    bool output_closed; /* nobody read the output any more                          */
    bool reduce_failed; /* the command that reduces did, for good                   */
};

/* Fails when the work could not be done; *out is set whenever it began or a signal stopped
 * it, to be released with cleave_execution_free. Chunks that failed for good are counted, not an error.
 * CLEAVE_ESTOPPED: a signal or cleave_cancel stopped it; CLEAVE_ECLOSED: nobody read the output any more;
 * CLEAVE_ELOST: the last host is gone. CLEAVE_EACCOUNT: a defect in here, bytes of the
 * input were neither done nor failed, or twice. */
enum cleave_status cleave_execute(const struct cleave_execution *execution,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err);
void cleave_execution_free(struct cleave_execution_result *result);

CLEAVE_END_C
#endif
