/* execute.h -- run a command over an input, shared by several workers.
 * SPDX-License-Identifier: MIT
 *
 * The input is cut at record boundaries; a policy decides how much each worker gets and
 * when, as in a plan or a simulation. Every chunk is the standard input of a separate
 * command, and the outputs are written in the order of the input.
 *
 * Threads: several threads may run cleave_execute at the same time; the runs share
 * nothing. Callbacks of a request (listener, items, output.before, hosts.more,
 * policy.own) are called in the thread that called cleave_execute, before it returns;
 * they must not block for long. While it runs, this thread blocks SIGPIPE and, with
 * handle_signals, the signals named there; other threads and signal handlers are
 * untouched. Commands are children of the process: do not reap them by waitpid(-1), and
 * leave SIGCHLD at its default. */
#ifndef CLEAVE_EXECUTE_H
#define CLEAVE_EXECUTE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/run.h>

CLEAVE_BEGIN_C

struct cleave_platform;
struct cleave_trace;

/* Stops runs. Owned by the caller; must outlive the runs that use it. */
struct cleave_cancel;
enum cleave_status cleave_cancel_new(struct cleave_cancel **out,
                                     struct cleave_error *err);
void cleave_cancel_free(struct cleave_cancel *cancel); /* may be NULL */
/* Stop all present and future runs that have `cancel`: they end their commands and return
 * CLEAVE_ESTOPPED. May be called from any thread and from a signal handler. */
void cleave_cancel(struct cleave_cancel *cancel);
enum { CLEAVE_CANCELLED = -1 }; /* stopped_by of the result of such a run */

/* When to give up. */
enum cleave_halt {
    /* Run the remaining chunks, then fail. Start nothing new if CLEAVE_ALL_FAIL_LIMIT
     * chunks have failed and none has succeeded (chunks at the beginning of a file do
     * not count as successes if no header is set), or earlier if the commands were
     * seen to have read nothing. Items: only if CLEAVE_ALL_FAIL_UNREAD_LIMIT commands
     * cannot be run on any host. */
    CLEAVE_HALT_ALL_FAIL,
    CLEAVE_HALT_NEVER, /* run the remaining chunks in any case, then fail */
    CLEAVE_HALT_SOON,  /* start nothing new                                         */
    CLEAVE_HALT_NOW,   /* also stop running commands */
};

enum { CLEAVE_ALL_FAIL_LIMIT = 100, CLEAVE_ALL_FAIL_UNREAD_LIMIT = 10 };

/* Chunks that count towards the limits of enum cleave_halt. */
enum cleave_halt_on {
    CLEAVE_HALT_ON_FAILURES,  /* chunks that failed for good */
    CLEAVE_HALT_ON_SUCCESSES, /* chunks that succeeded */
    CLEAVE_HALT_ON_ENDS,      /* both                        */
    CLEAVE_HALT_ON_LATER,     /* commands in a row that asked to be run later */
};

/* One finished attempt: one execution of the command on a chunk. */
struct cleave_attempt {
    const char *worker; /* borrowed for the call                                     */
    uint32_t place;     /* place of the worker, from 1 */
    uint64_t chunk;     /* number of the chunk                                       */
    uint32_t attempt;   /* from 1                                                    */
    double start_s;     /* seconds since 1970 */
    double seconds;
    /* part of `seconds` that the command ran, measured on its own machine */
    double compute_s;
    uint64_t sent, received;  /* bytes written to the command and read from it */
    int exit_code, signal;    /* exit_code is -1 if a signal ended the command */
    const char *input;        /* borrowed: name of the file */
    uint64_t begin, end;      /* bytes of the input */
    bool timed_out, given_up; /* given_up: the chunk will not be tried again */
    /* the result is not used: another attempt of the chunk counts, or is still running */
    bool dropped;
    /* The end, as "exited with status 3", and the last bytes that the command wrote to standard
     * error on this machine, at most 1,023; "" if the command succeeded. Borrowed for the call. */
    const char *how, *errors;
};

/* The activity of a worker, or the reason why it waits. */
enum cleave_worker_state {
    CLEAVE_WORKER_BUSY,
    CLEAVE_WORKER_ABSENT, /* the host is not connected */
    /* pause: other workers succeeded with chunks that failed on this one, or its command asked
     * to be run later */
    CLEAVE_WORKER_RESTS,
    /* no command may start on this machine yet: struct cleave_worker_list */
    CLEAVE_WORKER_HELD,
    CLEAVE_WORKER_STARVES, /* the input has not arrived yet */
    CLEAVE_WORKER_UNASKED, /* the policy has given this worker no chunk */
    CLEAVE_WORKER_OVER,    /* no chunk is left */
};

struct cleave_worker_progress {
    const char *name; /* borrowed for the call                                         */
    enum cleave_worker_state state;
    uint64_t chunks, failures; /* failures: failed commands */
    double units, busy_s;      /* totals over finished chunks; units: bytes or items */
    /* bytes read of the running chunk; see cleave_progress.read */
    double read;
    /* start of the oldest running chunk, on the clock of elapsed_s; NAN: no chunk is
     * running */
    double since_s;
};

struct cleave_progress {
    double elapsed_s;
    /* bytes, without bytes resumed from earlier runs; total is INFINITY while a stream is
     * open */
    double done, total;
    /* bytes of running chunks that commands have read; an estimate for hosts */
    double read;
    uint64_t chunks, failed;
    uint32_t busy, workers;
    /* Get the progress of one worker; valid during the call. */
    void (*look)(const void *run, uint32_t worker, struct cleave_worker_progress *out);
    const void *run;
};

struct cleave_channel;

/* A copy of cleave for hosts of one kind. */
struct cleave_copy {
    /* a command that copies its standard input to the host; NULL: none */
    const char *const *push;
    const char *file; /* the standard input of `push` */
    /* without `push`: why the host cannot be used, and how to fix that */
    const char *absent;
};

/* Another machine that runs chunks. Workers [first, first + slots) of the platform are
 * the commands that run there at the same time. With slots 0 the host reports its number
 * of cores when it is connected, and worker `first` has the costs of all of them. */
struct cleave_host {
    const char *name;
    /* The command, as words ended by NULL, that connects its standard input and output to
     * `cleave worker` on the host. NULL: the host is reached through `channel` if that is
     * set (the cleave command sets it for MPI), otherwise through the socket `link`,
     * which the run takes over. */
    const char *const *connect;
    struct cleave_channel *channel;
    int link;
    uint32_t first, slots;
    bool shared_input; /* the host may have access to the input files */
    /* If `connect` exits with CLEAVE_HOST_LACKS + k, copies[k] is pushed to the host,
     * once, and `connect` is run again. */
    const struct cleave_copy *copies;
    size_t ncopies;
    /* The host is a leader: it distributes its chunks to other hosts. Its chunks do
     * not stay open, and it enforces the time limit of commands itself. */
    bool leads;
    /* With `fold`, the number by which other hosts address this one; 0: its place in the
     * list. The first number is 1. */
    uint32_t peer;
};

enum { CLEAVE_HOST_LACKS = 113 }; /* the host has no usable cleave */

/* The present list of hosts; see `more` of cleave_host_list. Borrowed until the next
 * call. */
struct cleave_more_hosts {
    const struct cleave_host *hosts; /* `first` is ignored */
    size_t nhosts;
};

enum { CLEAVE_WINDOW_MOST = 1024 };   /* chunks that a command may hold */
enum { CLEAVE_MAX_RECORD = 1 << 30 }; /* default limit for the bytes of a record */

/* At most `max` commands run at a time that have got records with the same key. The key is a field
 * of JSON objects (".host"), a column by its number or, for csv with a header, its name. A chunk
 * counts once for each key that its records have. It ends before a record whose key is in use,
 * and later records overtake that one. Every record needs a key. */
struct cleave_key_limit {
    const char *key; /* borrowed */
    uint32_t max;
};

/* The input that is divided among the workers. */
struct cleave_input {
    const char *const *files; /* borrowed; count 0: standard input */
    size_t count;
    /* NULL: lines. "auto": by names and first bytes of the inputs; formats with a header
     * have one unless `no_header` is set, and listener.chose receives the choice. */
    const char *split;
    bool no_header;
    bool header; /* pass the header to every command */
    /* With `header`, its extent. NULL, "" or "1": the first record; "3": the first three
     * records; other text: all leading lines that begin with this text. */
    const char *header_how;
    uint64_t records; /* above 0: chunks are multiples of this many records */
    /* chunks have exactly `records` records, whatever these weigh; needs records and weight */
    bool exact;
    /* Adjacent records with the same key stay in one chunk. The key is a column, or an
     * expression that matches it. NULL: the input may be cut between any two records. */
    const char *together;
    /* borrowed: file of the mates, passed as descriptor 3; NULL: none */
    const char *pairs;
    /* "auto" or NULL: inputs whose first bytes identify a compression format are decoded;
     * other binary inputs are refused, unless records have a fixed size. "gzip", "bgzf",
     * "zstd", "xz", "bzip2", "lz4": all inputs are decoded as this format. "none": inputs
     * are read unchanged. */
    const char *decode;
    /* Cost of each record, in any unit, 0 or more: a field of JSON objects (".tokens",
     * ".usage.tokens"), a column by its number or, for csv with a header, its name, or a
     * /bin/sh command line that reads the records of a file and writes a number for each,
     * a line each. A single word is a column of csv, otherwise a command. Chunks, block
     * and the units of workers are then weights instead of bytes; files are read once
     * before the run, and with output.unordered heavy records start first. Not with
     * items, which have `sizes`. "": 1 for each record. NULL: the same with workers.rates
     * and with limits, otherwise bytes. */
    const char *weight;
    double weight_default; /* above 0: weight of records that have none; 0: an error */
    uint64_t max_record; /* a longer record is an error; 0: CLEAVE_MAX_RECORD          */
    /* Not with items, which have separate limits, nor with `fetch`. Files are read once before
     * the run. */
    const struct cleave_key_limit *limits;
    size_t nlimits;
    /* Each input is an object to be fetched: this /bin/sh command line writes bytes
     * {begin} to {end} (inclusive), or {length} bytes. {} is the name of the input. NULL:
     * inputs are files. */
    const char *fetch;
    /* With `fetch`: the size of the input in bytes, or a /bin/sh command line that
     * prints, for each input {}, the size or the head of an HTTP response. */
    const char *size;
};

/* At most `max` commands run at a time for items with the same key. An item whose key is in use
 * waits, and later items overtake it. */
struct cleave_limit {
    const uint32_t *keys; /* per item: its key, below nkeys; borrowed */
    uint32_t nkeys, max;
};

/* One command for each item, instead of an input that is cut into chunks. Every command
 * has an empty standard input. An item takes the place of a byte in the ranges of a
 * result, in attempts and in progress, and is one unit for policies. */
struct cleave_items {
    uint64_t count;
    /* Sets *out to the words of the command for `item` (the first is 0) on the worker in
     * place `slot` (the first is 1): one block, ended by NULL, that the run releases by
     * free(). The first word is that of `command` in struct cleave_execution. NULL: the
     * run has no items. */
    enum cleave_status (*words)(void *context, uint64_t item, uint32_t slot, char ***out,
                                struct cleave_error *err);
    /* Above 1: a command processes up to `max` consecutive items; the policy (default
     * "learn") decides how many. `several` gives the words for items [first, first +
     * count). From the members below, the run then uses only `fits`, `describe`, `more`,
     * `comes` and `over`. */
    uint64_t max;
    /* Sets *out to the number of items, at least 1, of [first, first + count) that fit
     * into a command. NULL: all fit. */
    enum cleave_status (*fits)(void *context, uint64_t first, uint64_t count,
                               uint64_t *out, struct cleave_error *err);
    enum cleave_status (*several)(void *context, uint64_t first, uint64_t count,
                                  uint32_t slot, char ***out, struct cleave_error *err);
    /* Relative cost of each item, in any unit, 0 or more; borrowed. The most expensive
     * items start first, by policy "items" unless another policy for items is set. NULL:
     * unknown; items start in the order of their numbers. */
    const double *sizes;
    /* Not with `max` above 1 and not with `more`. */
    const struct cleave_limit *limits;
    size_t nlimits;
    /* All members below may be NULL. Sets *out to a descriptor for standard error of the
     * item, which the run closes. */
    enum cleave_status (*errors)(void *context, uint64_t item, int *out,
                                 struct cleave_error *err);
    /* Store the output of the item, bytes [begin, end) of `fd`, instead of writing it.
     * The run writes *out, *out_length bytes, and releases it by free(); NULL: nothing is
     * written. */
    enum cleave_status (*keep)(void *context, uint64_t item, int fd, uint64_t begin,
                               uint64_t end, char **out, size_t *out_length,
                               struct cleave_error *err);
    /* Names of files that the command of the item reads, allocated like `words`. With a
     * journal, the item runs again if one of these files has changed. */
    enum cleave_status (*files)(void *context, uint64_t item, char ***out,
                                struct cleave_error *err);
    /* Prefix for each output line of the item, released by free(); not with `keep`. */
    enum cleave_status (*tag)(void *context, uint64_t item, uint32_t slot, char **out,
                              struct cleave_error *err);
    /* On hosts: names of files that are sent to the host before the command starts, and
     * names of files that are returned after it; allocated like `words`. On the host a
     * file has the same name, or the part after "/./" if the name contains that. A name
     * may not leave the directory through "..". */
    enum cleave_status (*sends)(void *context, uint64_t item, uint32_t slot, char ***out,
                                struct cleave_error *err);
    enum cleave_status (*returns)(void *context, uint64_t item, uint32_t slot,
                                  char ***out, struct cleave_error *err);
    /* Write the name that notes use for items [first, first + count) of one command.
     * NULL: items are named by their numbers. */
    void (*describe)(void *context, uint64_t first, uint64_t count, char *out,
                     size_t size);
    /* Items that arrive during the run; not with `sizes` or a journal. `count` items
     * exist at the start. `more` reads further ones, and sets *count to their new number
     * and *ended to whether that is final. It is called when the descriptor returned by
     * `comes` is readable, or whenever items run short if that is negative. NULL: `count`
     * is final. */
    enum cleave_status (*more)(void *context, uint64_t *count, bool *ended,
                               struct cleave_error *err);
    int (*comes)(void *context);
    /* With `more`: `item` will not be needed again. */
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
    /* The name of the file with the output, instead of the descriptor: a host wrote it, and
     * `keep` renames it (output.shared). "": it is the file that `find` opened. NULL: none. */
    const char *file;
};

/* Where results go. */
struct cleave_output {
    int descriptor;   /* written to; not used with `keep` */
    const char *name; /* borrowed, for messages */
    /* Called for the output of each chunk that succeeded, instead of the write to
     * `descriptor`: in the order of the input unless `unordered`. The run waits for the
     * call. A failure ends the run. For items: items.keep. Not with `lines`, `early`, a
     * header of outputs or a reduction. */
    enum cleave_status (*keep)(void *keep_context,
                               const struct cleave_kept_output *output,
                               struct cleave_error *err);
    void *keep_context;
    /* Hosts write outputs to files, and send only their sizes and hashes: the absolute path of
     * a file that the caller has made and that every host has to see. Names of these files
     * begin with it and a '-'. A journal then has sizes and hashes of all outputs, not their
     * bytes. NULL: hosts send outputs. */
    const char *shared;
    /* Opens the file that `keep` made of the output of the chunk at `first_byte` in the run
     * that is resumed; -1: there is none. Only called for a chunk of the journal. NULL: the
     * journal has the bytes. */
    int (*find)(void *keep_context, uint64_t first_byte);
    /* Every output begins with a header, which is written once. Format as `header_how`,
     * but counted in lines unless the input is split as csv. NULL: none. */
    const char *header;
    bool unordered; /* in the order of completion */
    bool direct;    /* items: commands write directly to the descriptor */
    /* Write complete lines as soon as they arrive; if chunks are ordered, only lines of
     * the chunk that is next in order. A chunk is not run again after some of its output
     * was written. */
    bool lines;
    /* With ordered chunks: write complete lines early, but not in the first moment of a
     * command. Written lines are kept until the chunk is done. If another worker has to
     * run the chunk, its output has to begin with the lines that were written, or the
     * chunk has failed. A chunk that fails for good leaves its complete lines. */
    bool early;
    /* If the input has a header, the command is first run with the header alone. The
     * output of that run is a prefix of every output, and is written once. If that run
     * fails, outputs are written unchanged. Outputs are not written early. Not with
     * `header`; an input with a header is refused with `lines` or a reduction. */
    bool header_once;
    uint64_t memory;       /* limit in bytes for output kept in memory; 0: 256 MiB */
    const char *directory; /* for output that exceeds `memory`; NULL: TMPDIR or /tmp */
    /* Called before each write, so that the caller can clear its screen lines; may be
     * NULL. */
    void (*before)(void *context);
    void *context;
};

/* Binding of commands to processors of this machine. */
enum cleave_pin {
    CLEAVE_PIN_NONE,  /* the kernel moves commands between processors */
    CLEAVE_PIN_CORES, /* commands of each worker on a separate core */
    CLEAVE_PIN_NODES, /* commands of each worker on the cores of one NUMA node */
};

/* Workers on this machine and, by name, on hosts. */
struct cleave_worker_list {
    uint32_t count;                         /* 0: one per usable core                  */
    const struct cleave_platform *platform; /* workers with names and costs; NULL: none */
    const char *const *prefixes; /* words before the command, per worker; NULL: none   */
    /* A command on this machine starts at least delay_s after the previous one, and only
     * if the load average of the last minute is at most max_load and at least min_memory
     * bytes are available; 0: no limit. */
    double delay_s, max_load;
    uint64_t min_memory;
    const struct cleave_rate *rates; /* no worker is in two of them */
    size_t nrates;
    enum cleave_pin pin; /* for workers on this machine */
    /* By default a run forks a process that ends the commands if the calling process is
     * killed; it exists from shortly after the start to the end of the run. true:
     * commands continue without their parent. */
    bool unguarded;
};

enum { CLEAVE_HOST_TIMEOUT_S = 10 }; /* default for timeout_s */
enum { CLEAVE_HOST_NOTICE_S = 10 };  /* default for notice_s */

/* Other machines. */
struct cleave_host_list {
    /* workers that belong to no host run on this machine */
    const struct cleave_host *list;
    size_t count;
    /* A host that is not ready after this time is left out; 0: CLEAVE_HOST_TIMEOUT_S. */
    double connect_timeout_s;
    /* A host that has been silent for this time is lost; 0: CLEAVE_HOST_TIMEOUT_S. */
    double timeout_s;
    bool shared_input; /* hosts that can access the input read it themselves */
    /* Hosts with socket links can send to each other. With a reducing command, outputs
     * stay on the hosts and are reduced from host to host if possible. list[i] is peer i
     * + 1. */
    bool fold;
    const char *const *environment; /* NAME=VALUE for commands on hosts; NULL: none */
    /* working directory of commands on hosts; NULL: the directory of the worker */
    const char *work_directory;
    /* For items: files, ended by NULL, that each host receives before its first item, or
     * NULL. cleanup: files that were sent or returned are removed from the host. */
    const char *const *base_files;
    bool cleanup;
    /* Path of a socket that is created for the run and that only its owner can open.
     * `cleave join` connects workers to it, and they join the run. NULL: none. */
    const char *join_path;
    /* Workers that have the key in the file `key` join over TLS at `listen`: HOST:PORT,
     * or PORT of this machine. NULL: none. */
    const char *listen, *key;
    const char *watched; /* `more` is called when this file changes; NULL: none */
    /* time for a departing host to finish its chunks; 0: CLEAVE_HOST_NOTICE_S; below
     * 0: none */
    double notice_s;
    /* Called on SIGHUP, with the context of cleave_listener; returns the complete list of
     * hosts. New names join the run, and hosts that are no longer listed leave. NULL:
     * SIGHUP ends the run. */
    enum cleave_status (*more)(void *context, struct cleave_more_hosts *out,
                               struct cleave_error *err);
};

/* Backups: when no chunk is left to be started, an idle worker also runs a late chunk of
 * another worker. The first result counts, and the other attempt is ended. */
enum cleave_backups {
    CLEAVE_BACKUPS_AUTO, /* chunks whose output is collected before it is written */
    CLEAVE_BACKUPS_ON,   /* also items, although their commands may write files */
    CLEAVE_BACKUPS_OFF,
};

/* How much each worker gets, and when. */
struct cleave_policy_options {
    const char *name;                /* NULL: learn */
    const struct cleave_policy *own; /* borrowed: used instead of `name`; NULL: none */
    const struct cleave_setting *settings;
    size_t nsettings;
    /* above 0: size of every chunk in bytes (approximate). Only without a policy, or with
     * a policy of equal chunks. */
    double block;
    enum cleave_backups backups;
};

/* How several results are combined into one. */
struct cleave_reduce_options {
    /* A named reduction: sum, count, min, max, sort[:OPTIONS], uniq, counts, first, last,
     * head[:N] or tail[:N]; applied to all outputs, even to one or none. Or a shell
     * command line that combines several results into one: results are concatenated on
     * standard input, or two are in the files {1} and {2}, or all are in the files {}. It
     * has to be associative and is not run on a single output. NULL: outputs are written
     * unchanged. */
    const char *command;
    bool commutative; /* results may be reduced in any order                           */
};

/* Treatment of failed commands. */
/* Exit statuses: bit N % 64 of word N / 64. */
struct cleave_statuses {
    uint64_t bits[4];
};

struct cleave_failure_options {
    struct cleave_statuses ok; /* statuses that are not failures, in addition to 0 */
    /* Statuses by which a command asks to be run later, unless they are in `ok`: this is not a
     * failure and not a retry. The chunk or item is left again, and its worker rests: for T
     * seconds if "Retry-After: T" is the last line on standard error, which must not be
     * redirected; otherwise for 1 s, twice as long each time until it succeeds, up to 64 s. */
    struct cleave_statuses later;
    double timeout_s; /* a command that runs longer is stopped; 0: no limit */
    /* For items on this machine: a command is stopped if it runs this many times as long
     * as the median of those that succeeded; 0: no limit. */
    double timeout_share;
    uint32_t retries; /* retries of a failed chunk, on another worker if possible */
    /* true: a command runs once, unless its host is lost or cannot run it. false, and no
     * retries: up to three other workers try a chunk (not an item) that failed on a
     * worker without any success, or that has failed before. One other worker tries a
     * chunk or item whose command was killed by SIGKILL on a host. */
    bool strict;
    bool isolate; /* bisect failed chunks down to the failing records */
    enum cleave_halt halt;
    enum cleave_halt_on halt_on;
    uint64_t halt_fails;   /* stop after this many */
    double halt_share;     /* or this fraction of all finished chunks; 0: no limit */
    const char *directory; /* inputs of failed chunks are kept here; NULL: not kept */
};

/* The record of a run on disk, for resuming it. */
struct cleave_journal {
    const char *path; /* borrowed: SQLite file; NULL: none                             */
    bool resume, overwrite;
};

/* Optional callbacks and the trace. `progress` is called at most ten times a second. */
struct cleave_listener {
    struct cleave_trace *trace; /* events and orders are appended */
    void (*attempted)(void *context, const struct cleave_attempt *attempt);
    void (*progress)(void *context, const struct cleave_progress *progress);
    void (*note)(void *context, const char *text); /* one line for the user */
    void (*chose)(void *context,
                  const char *text); /* the format that "auto" has chosen */
    /* Lines that commands on this machine wrote to standard error; all lines of an item
     * come in one call. NULL: they are written to standard error of this process. */
    void (*errors)(void *context, const char *bytes, size_t length);
    void *context;
};

/* A request. All members except the command and the output may be zero: the default is
 * standard input in lines, on all cores. */
struct cleave_execution {
    const char *const *command; /* borrowed, ends with NULL                            */
    bool persistent; /* the command reads many chunks: docs/guide/persistent.md */
    /* Chunks that a persistent command may hold at a time; each of them is a worker of the
     * policy. 0: one, without numbers of answers (docs/guide/endpoints.md). */
    uint32_t window;
    /* The extent of a chunk is fixed before its command starts, so that the environment
     * of the command has its begin, its end and the number of its first record. */
    bool tell_records;
    struct cleave_input input;
    struct cleave_items items; /* instead of the input */
    struct cleave_output output;
    struct cleave_worker_list workers;
    struct cleave_host_list hosts;
    struct cleave_policy_options policy;
    struct cleave_reduce_options reduce;
    struct cleave_failure_options failures;
    struct cleave_journal journal;
    struct cleave_listener listener;
    struct cleave_cancel *cancel; /* borrowed: stops the run; NULL: none */
    /* SIGINT, SIGTERM, SIGHUP and SIGUSR1 stop the run, unless they are ignored: the
     * calling thread blocks and reads them. Only for one run of a process at a time, and
     * if all other threads block these signals. false: signals are not touched. */
    bool handle_signals;
};

struct cleave_worker_result {
    const char *name; /* owned by the result */
    uint64_t chunks;
    uint64_t failures; /* failed commands, even if the chunk succeeded later */
    /* pauses of the worker or its host after chunks that succeeded on other workers */
    uint32_t rests;
    uint64_t later;       /* commands that asked to be run later */
    double units, busy_s; /* units: bytes, or weights with input.weight */
    double
        ended_s; /* end of its last command, in seconds of the run; 0: no chunk was done */
    double speed_ups, latency_s;          /* measured; 0: unknown */
    double bandwidth_ups, link_latency_s; /* to a host; 0: unknown */
    double return_bandwidth_ups, return_latency_s;
    double starts_s; /* part of busy_s before commands read their input; NAN: unknown */
    bool remote;
};

/* A host or worker that was missing or left before the end, and the reason. Both are
 * owned by the result. */
struct cleave_absent {
    const char *name, *reason;
};

/* Bytes [begin, end) of an input. The name is owned by the result. */
struct cleave_input_range {
    const char *input;
    uint64_t begin, end;
};

/* Failing records that bisection found: `count` records starting with record `first`; the
 * first record of an input is 1. first is 0 if the number is unknown. */
struct cleave_bad_records {
    struct cleave_input_range at;
    uint64_t first, count;
};

struct cleave_execution_result {
    double seconds;
    double input_bytes, output_bytes;
    double sent_bytes; /* input bytes sent to other machines, as stored in the files */
    uint64_t chunks, retries, failed, resumed; /* resumed: chunks of an earlier run */
    /* bytes of the resumed chunks; all other members describe this run alone */
    double resumed_bytes;
    /* Each input byte was processed and its output written, or it failed, or it is left:
     * the input has input_bytes + resumed_bytes + left_bytes. */
    struct cleave_input_range *failed_ranges, *left_ranges; /* owned, in order         */
    size_t nfailed_ranges, nleft_ranges;
    double failed_bytes, left_bytes;
    /* Chunks whose commands succeeded but whose output was not written; a journal has the
     * outputs. They count as left, and not in input_bytes, chunks and resumed. */
    uint64_t unwritten;
    double unwritten_bytes; /* part of left_bytes */
    /* Bytes at the end of the output that are the beginning of the output of a chunk that
     * is left: with output.early, or if the reader of a pipe did not take the rest. */
    double cut_bytes;
    struct cleave_bad_records *bad_records; /* owned, in order: the first 10,000       */
    size_t nbad_records;
    uint64_t parted;  /* failed chunks that were bisected */
    bool left_unread; /* a stream was not read to its end and may have had more */
    uint64_t folds;   /* executions of the reducing command */
    /* lower bound on the time: all workers at their measured speed from the start, as many starts
     * as workers.rates allow, and with input.weight the fastest one with the heaviest record */
    double bound_s;
    double unlimited_s; /* the same without rates */
    /* With rates or weights, the limit of the time: "rates", "workers" or "record" (the heaviest one)
     * if the run took at most 1.1 times bound_s, else "one worker" (it was busy until the end),
     * "tail" (most of the rest was the time between the first and the last end of a worker), "rates"
     * or "waiting"; otherwise NULL. Static. */
    const char *limited_by;
    /* with costs in workers.platform: of each worker that got a chunk, from the time when hosts were
     * connected to the end of its last chunk; 0: none has a cost */
    double cost;
    /* with input.weight: sum of the weights of processed records, and the weight of the
     * heaviest record of the input */
    double weight, heaviest;
    /* The time of all present workers, by use: work on chunks, starting commands (NAN:
     * unknown, and part of work_s), reducing commands, and the rest. The sum is there *
     * (seconds - connect_s). */
    double work_s, starts_s, folds_s, waiting_s;
    double master_s; /* processor time of the master after hosts were ready */
    double port_s;   /* sending time of the port that hosts share; NAN: not shared */
    /* when the end of a stream arrived; 0: the input is not a stream, or its end has
     * not arrived */
    double input_s;
    double input_first_s; /* when the first bytes of the stream arrived; 0 as above */
    double blocked_s;     /* how long the reader of the outputs accepted nothing */
    /* Estimated time of one worker alone: input_first_s, one start and all the work,
     * or input_s or blocked_s if one of these is longer. NAN: nothing was done. */
    double alone_s;
    uint32_t there; /* workers that processed a chunk or were present at the end */
    uint32_t nworkers;
    struct cleave_worker_result *workers;
    struct cleave_absent *absent;
    size_t nabsent;
    bool header; /* the input had a header, and every command received it */
    /* The format that the first input seems to have although it was split by lines, and
     * the advice for it, which may concern only the header. The texts are static. NULL:
     * no such doubt. */
    const char *seems, *seems_advice;
    bool seems_endless; /* with `seems`: the whole input was one record, for one worker */
    /* The first line of all outputs, or its beginning, if two or more outputs have a
     * line; "": the lines differ. */
    char same_line[256];
    /* lines of each output if two or more outputs have the same small number;
     * otherwise 0 */
    uint32_t same_lines;
    /* two or more outputs number their lines, all from 0 or all from 1 */
    bool numbered_alike;
    /* '@' or '#' if a header that is written once begins with it and lines after the header
     * do, too; otherwise 0 */
    char header_goes_on;
    double connect_s; /* part of `seconds` before hosts were ready */
    uint64_t lost;    /* chunks that were lost with a host and processed elsewhere */
    uint64_t later;   /* commands that asked to be run later (failures.later) */
    uint64_t backups; /* chunks that two workers ran at the same time */
    /* owned: the workers that took part; NULL: the run was stopped before it began */
    struct cleave_platform *platform;
    /* The signal that stopped the run, CLEAVE_CANCELLED, or 0. After a signal all
     * signals of handle_signals stay blocked for the caller, so that its clean-up is
     * not interrupted. */
    int stopped_by;
    bool halted;
    uint32_t bad_ends;  /* persistent commands that did not exit with status 0 */
    bool output_closed; /* the reader closed the output */
    bool reduce_failed; /* the reducing command failed for good */
};

/* Run the request. *out is set whenever the run began or a signal stopped it; release it
 * with cleave_execution_free, even after a failure. Chunks that failed for good are
 * counted and are not an error. CLEAVE_ESTOPPED: a signal or cleave_cancel stopped the
 * run. CLEAVE_ECLOSED: the reader closed the output. CLEAVE_ELOST: the last host is lost.
 * CLEAVE_EACCOUNT: a defect of the library, input bytes were neither processed nor
 * failed, or were counted twice. */
enum cleave_status cleave_execute(const struct cleave_execution *execution,
                                  struct cleave_execution_result **out,
                                  struct cleave_error *err);
void cleave_execution_free(struct cleave_execution_result *result);

CLEAVE_END_C
#endif
