/* run_parts.h -- cleave run: its options, and the functions that its files share.
 * SPDX-License-Identifier: MIT
 *
 * Functions that return int return an exit status; an error has been printed. */
#ifndef CV_RUN_PARTS_H
#define CV_RUN_PARTS_H
#include <cleave/execute.h>
#include "cli/common/verb.h"
#include "cli/live/live.h"
#include "cli/log/job_log.h"
#include "engine/mpi_bridge.h"
#include "io/platform_file.h"
#include "report/terminal/terminal_progress.h"
#include "run/hosts/copies.h"
#include "run/items/item_commands.h"

/* --- options (run_options.c) -------------------------------------------------------------- */

enum {
    CV_SHOW_STDERR = 1,
    CV_SHOW_STDOUT
}; /* where --verbose and -v show command lines */

#define CV_ARGS_ONE UINT64_MAX /* max_args was not given: one item for each command */

struct cv_run_options {
    struct cv_strings inputs, params;
    const char *output, *split, *workers, *policy, *directory, *halt, *joblog, *journal;
    const char *failed, *trace, *progress, *hosts, *reduce, *serve;
    const char *ssh, *program, *work_directory, *hosts_file, *join_socket;
    const char *listen, *key;
    struct cv_strings push_from, environment, logins, transfers, returns, basefiles, via;
    struct cv_strings limits;
    double connect_timeout_s, host_timeout_s, grace_s;
    int cleanup, push, shared_input, shared_output, mpi, slurm;
    const char *mpi_library, *leaders, *timeout, *as, *backups;
    double block, memory;
    uint64_t retries, window;
    const char *ok, *later;
    int isolate, commutative, persistent, literal, cat, framed;
    struct cv_strings item_files, rules;
    const char *record_end, *record_start;
    const char *delimiter, *eof, *replace, *colsep, *weight, *costs;
    int each, null, plus, link, quote, fill, fill_words, shuffle, many, skip_blank;
    uint64_t max_args, max_replace_args, max_lines;
    const char *tagstring, *results, *load, *pin;
    double delay_s, memfree, max_chars;
    uint64_t nice;
    int tag, files, ungroup, line_buffer, group;
    const char *pairs, *decode, *fetch, *fetch_size, *header, *header_out, *together;
    double max_record;
    double weight_default;
    double sample; /* of check */
    uint64_t records;
    int no_header, recursive, unordered, resume, overwrite, json, quiet, summary, dry_run,
        verbose, pipepart;
};

extern const struct cv_run_options cv_run_presets, cv_check_presets;
extern const struct cv_option_group cv_run_groups[], cv_check_groups[];
extern const struct cv_other_tool_option cv_run_foreign[]; /* run_foreign.c */

/* Situations in which rules about options apply. */
enum cv_run_situation {
    CV_RUN_ITEMS = 1,
    CV_RUN_CHUNKS = 2,   /* no items */
    CV_RUN_LOCAL = 4,    /* no other machines */
    CV_RUN_PLATFORM = 8, /* --hosts names a platform file */
    /* set by the check itself: */
    CV_RUN_RETRIES = 16, /* --retries is 2 or more */
    CV_RUN_NO_ARGS = 32, /* -n 0 */
    CV_RUN_ROWS = 64,    /* --results names a file, not a folder */
    CV_RUN_PARTS = 128,  /* --output names a file for each chunk */
    CV_RUN_ONE = 256,    /* it does not */
};
/* Refuse options that exclude each other or lack one that they need. */
int cv_run_rules_check(const struct cv_call *call, unsigned situation);

/* Read --recend and --recstart: *split becomes the splitter that they mean. */
int cv_record_ends_read(const struct cv_call *call, const char **split);

/* Splitters for --help and for completions; decoders for completions. */
void cv_split_list(struct cv_text *out);
void cv_split_words(struct cv_text *out);
void cv_decode_words(struct cv_text *out);

bool cv_hosts_asked(const struct cv_run_options *values);
/* Whether --output names a file: without it, and with "-", outputs go to standard output. */
bool cv_run_output_is_file(const struct cv_run_options *values);
/* --output with {chunk}: a file for each chunk (part_files.c). Close it once; NULL is allowed.
 * `whole`: all outputs were written. Returns `status`, or that of a failure. */
struct cv_part_files;
bool cv_part_files_asked(const struct cv_run_options *values);
int cv_part_files_open(const struct cv_run_options *values, struct cv_arena *arena,
                       struct cv_part_files **out, struct cleave_output *request);
int cv_part_files_close(struct cv_part_files *files, bool whole, bool resumed,
                        int status);
/* Whether chunks have a header: the default of csv. */
bool cv_run_has_header(const struct cv_run_options *values);
/* The argument of --header; ':' is one record, as for GNU parallel. */
const char *cv_header_how(const char *text);
/* The bytes of --max-record; 0: it was not given. */
uint64_t cv_record_limit(double bytes);
/* `text` NULL: not given. */
int cv_pin_read(const char *text, enum cleave_pin *out);
int cv_backups_read(const char *text, enum cleave_backups *out);

/* --- workers (run_workers.c) -------------------------------------------------------------- */

/* Workers with names and words to put before the command. */
struct cv_worker_list {
    struct cleave_platform *platform; /* owned; NULL: as many as there are cores */
    const char *const *prefixes;      /* of the arena; NULL: none */
    const struct cleave_rate *rates;  /* of the arena */
    size_t nrates;
    struct cleave_host *hosts;     /* of the arena */
    struct cv_host_fields *fields; /* of the arena: per group of a platform file */
    size_t nhosts;
    const char *const *
        *behind; /* per host: the names it leads, up to NULL; of the arena */
};

/* The statuses of --ok, such as "0,1" or "0-3"; NULL: 0 and 1 for grep, diff and their kin, else 0. */
int cv_ok_read(const struct cv_call *call, struct cleave_statuses *out);
/* The statuses of --later; NULL: 75, as EX_TEMPFAIL of sysexits.h. */
int cv_later_read(const char *text, struct cleave_statuses *out);
/* --halt; NULL: as if it was not given. */
int cv_halt_read(const char *text, struct cleave_failure_options *out);

uint32_t cv_crew_count(const struct cv_worker_list *workers);
/* The workers of --workers: "4", "+1", "50%", or "fast,slow:nice -n 19". */
int cv_crew_read(const char *text, struct cv_arena *arena, struct cv_worker_list *out);
/* A value of each item: a column, or if that is 0 a field of the JSON object in its first column. */
struct cv_item_key {
    const char *option; /* for messages */
    size_t column;
    const char *field;
    bool optional; /* the value may be missing or empty */
};
/* Append the value of an item. Returns an exit status. */
int cv_item_value(const struct cv_item_commands *commands, uint64_t item,
                  const struct cv_item_key *key, struct cv_text *out);
/* The limits of --limit for items, and for the records of an input (run_limits.c). */
int cv_run_limits_fill(const struct cv_call *call,
                       const struct cv_item_commands *commands, struct cleave_items *out);
int cv_run_limits_read(const struct cv_call *call, struct cleave_input *out);
/* Whether a rate counts weights. */
bool cv_crew_has_weights(const struct cleave_worker_list *workers);
/* Put `nice -n N` before the commands of workers of this machine. */
int cv_crew_be_nice(struct cv_worker_list *workers, uint64_t nice,
                    struct cv_arena *arena);
/* The first words of a platform file that was measured. */
#define CV_MEASURED_MARK "Measured by cleave calibrate"
/* --dry-run: the command, the plan of the policy and its first chunks. `hosts`: the platform
 * file of the workers, or NULL. */
int cv_run_plan(const struct cleave_execution *execution, const char *hosts,
                struct cv_arena *arena);
/* When that plan ends, in seconds; NAN: there is none. */
double cv_run_predict(const struct cleave_execution *execution, struct cv_arena *arena);

/* --- hosts (run_hosts.c) ------------------------------------------------------------------ */

/* How hosts are reached. */
struct cv_reach {
    const char *ssh;     /* words of the command; NULL: ssh */
    const char *program; /* cleave over there; NULL: cleave, or this very program */
    const char *pin;     /* "cores", "nodes"; NULL: commands are not pinned there */
    bool push;           /* take a copy of this program there ... */
    struct cv_strings push_from;  /* ... or one of these files and folders */
    struct cv_copies copies;      /* of the program, with push */
    struct cv_platform_view view; /* the worker that this run is, and who leads whom */
    struct cv_strings via;        /* the arguments of --via */
    const char *const *lead;      /* words for runs of leaders; NULL: no host can lead */
    double connect_timeout_s;
    struct cv_arena *arena; /* of all that is made of it */
};

/* Find the copies to push, if any. */
int cv_reach_open(struct cv_reach *reach);
/* Set the words for runs of hosts that lead others. */
int cv_reach_lead(struct cv_reach *reach, const struct cv_call *call);
/* Whether --hosts names a platform file: it has a slash, ends as such files do, or exists. */
bool cv_hosts_are_file(const char *text);
/* The file that names the hosts, if it can be read again; NULL: none. */
const char *cv_hosts_file(const struct cv_run_options *values);
/* The workers and hosts of a platform file. */
int cv_crew_load(const char *path, const struct cv_reach *reach,
                 struct cv_worker_list *out);
/* The workers of the hosts that the options ask for, files read now. */
enum cleave_status cv_crew_find(const struct cv_run_options *values,
                                const struct cv_reach *reach, struct cv_worker_list *out,
                                struct cleave_error *err);

/* --- Slurm (run_slurm.c) ------------------------------------------------------------------ */

enum { CV_SLURM_CONNECT_S = 60 }; /* a prolog may take long */

/* The program that nodes start: the one that was given, or this one. */
const char *cv_run_program(const char *given, struct cv_arena *arena);

/* Check that --slurm is used in a Slurm job, and that srun has not started several processes
 * that would each do all of the work. */
int cv_run_slurm_check(const struct cv_run_options *values);
/* The nodes of this job as hosts, each with its tasks as slots, or its processors if no tasks
 * were asked for; `again`: the nodes it has now. */
int cv_run_slurm_crew(const struct cv_reach *reach, bool again,
                      struct cv_worker_list *out);
/* The number of this process among those that srun has started together. */
unsigned long cv_run_slurm_task(void);

/* --- MPI (run_mpi.c) ---------------------------------------------------------------------- */

/* mpirun starts every rank with the same words. Rank 0 is the master; the others serve it. */
struct cv_run_mpi {
    void *module;                            /* owned; NULL: there is no MPI */
    const struct cv_mpi_bridge_calls *calls; /* of the module */
    struct cv_mpi_bridge *bridge;            /* owned */
    struct cv_guard *guard; /* owned: ends the commands of a rank that is killed; NULL */
};

/* Load the library for the MPI that has started this process, or for `library` ("openmpi",
 * "mpich"), and join the other ranks. To be closed even if it fails. */
int cv_run_mpi_open(const struct cv_call *call, const char *library,
                    struct cv_run_mpi *out);
/* The words of this process were refused: if it is a rank, end the others. */
void cv_run_mpi_refused(int count, char *const *words, int status);
/* Ranks above 0: work for rank 0 until it ends. A rank that leads others (--leaders) does so by
 * its own run on their processors, and they wait. */
int cv_run_mpi_serve(const struct cv_run_mpi *mpi, const struct cv_call *call);
/* Rank 0: the other ranks are the workers; with --leaders, those that lead. */
int cv_run_mpi_crew(const struct cv_run_mpi *mpi, const char *leaders,
                    struct cv_arena *arena, struct cv_worker_list *out);
/* End together with the other ranks. */
int cv_run_mpi_close(struct cv_run_mpi *mpi, int status);

/* --- items (run_items.c, run_results.c) --------------------------------------------------- */

/* A hash table of items by hashes of names or files. */
struct cv_hashed_items {
    struct cv_hashed_item {
        uint64_t hash; /* 0: the slot is free */
        uint64_t item;
    } * slots; /* owned */
    size_t count, room;
};

/* Result files of items: each belongs to one item and is not an item itself. */
struct cv_result_names {
    struct cv_hashed_items names; /* names of results */
    struct cv_hashed_items files; /* that items name, by device and inode */
    bool files_complete;          /* all of them */
    bool locked; /* the folder of --results DIR, until the process ends */
};

/* Items of a run, and what becomes of their outputs. */
struct cv_run_items {
    struct cv_item_commands commands;
    struct cv_item_template tag;   /* --tag, --tagstring */
    struct cv_item_template place; /* --results with places in it */
    const char *results;           /* folder; NULL: none */
    const char *folder;            /* of files that --files makes; NULL: none */
    bool tags, names_files, in_place;
    struct cv_run_report
        *shown; /* --verbose: what draws there; NULL: no lines are shown */
    struct cv_result_names result_names; /* names of files of --results */
    struct cv_run_rows rows;             /* --results FILE.csv */
    const char *rows_file;               /* where they go; NULL: there are none */
    /* Names of files that go to other machines, and that come back; owned. */
    struct cv_item_template *sends, *returns;
    size_t nsends, nreturns;
};

/* The number of operands that are the command. */
size_t cv_item_command_words(const struct cv_call *call);
/* Whether the call has items: ":::" and the like after the command, -a or --each. */
bool cv_run_items_asked(const struct cv_call *call);
/* cv_files_check with the files of '::::' and of '--results FILE.csv' among them. */
int cv_item_lists_check_files(const struct cv_call *call);
/* Read the items and make their commands. */
int cv_run_items_open(const struct cv_call *call, uint32_t workers,
                      struct cv_run_items *out);
void cv_run_items_done(struct cv_run_items *items);
/* Ask for them instead of an input, with their sizes if these are known. */
int cv_run_items_fill(const struct cv_call *call, struct cv_run_items *items,
                      uint32_t workers, struct cleave_execution *out);
/* --dry-run: the command lines. */
int cv_run_items_show(struct cv_run_items *items);

/* Files of outputs, tags, and files for other machines: read the options; ask the run. */
int cv_run_results_open(const struct cv_call *call, struct cv_run_items *items);
/* For temporary files. */
const char *cv_run_directory(const struct cv_run_options *values);
int cv_run_results_fill(const struct cv_call *call, const struct cv_run_items *items,
                        struct cleave_execution *out);

/* --- what words mean (run_words.c) -------------------------------------------------------- */

/* Append the words of a command, which NULL ends, as a line for a shell: signs between them
 * unchanged, unless `quote`, and the others quoted. */
int cv_command_line_add(const char *const *words, bool quote, struct cv_text *out,
                        bool *has_signs);
/* Give the call the words that run its command: those of a shell, if it is a line, has signs or
 * begins with a function of the shell. `quote`: it has words, no line and no signs. `remote`:
 * other machines run it. */
int cv_command_shape(struct cv_call *call, bool quote, bool remote);
/* The word as a shell takes it, and the call with more options: to be pasted. */
const char *cv_quoted(struct cv_arena *arena, const char *word);
const char *cv_call_again(const struct cv_call *call, const char *options);
/* The first place for an item in the command, or with `counters` for its number; NULL: none, or the
 * command fills it. */
const char *cv_find_item_place(const struct cv_call *call, bool counters);
/* Whether standard input is a list of items, though neither -a nor --each says it. */
bool cv_run_lists_stdin(const struct cv_call *call);

/* --- the command, and mistakes in it (run_mistakes.c) ------------------------------------- */

/* Check words that a forgotten quote has torn apart, a sign that is nearly ':::', a --reduce
 * that merges nothing. */
int cv_run_mistakes_check(const struct cv_call *call, bool items);
/* Check that there is a command, that it is not an input whose -i was forgotten and, unless
 * `literal` or there are items, that it has no places for them ("{}"). */
int cv_run_command_check(const struct cv_call *call, bool literal, bool items);
/* The named reduction that combines the outputs of chunks, by the name of the program, in the arena;
 * "": there is none; NULL: concatenation is right, or the program is not known. */
const char *cv_run_reduce_guess(const struct cv_call *call);
/* " -i FILE", the other options of the input, these words (NULL: none) and the command. */
const char *cv_run_line(const struct cv_call *call, const char *const *words);
/* The end of a run, as far as its result does not tell. */
struct cv_run_outcome {
    bool all;    /* all chunks failed */
    bool halted; /* failures stopped the run, which was printed */
    bool hosts;  /* on other machines */
    bool items;  /* commands of items, not chunks */
};

/* Hints at what was meant, after a run that failed, had nothing to do or made an output of each
 * chunk. */
void cv_run_command_hint(const struct cv_call *call,
                         const struct cleave_execution_result *result,
                         const struct cv_run_outcome *how);
/* The input was empty: an error if an argument of the command may be the input, else a hint. */
int cv_run_check_empty(const struct cv_call *call);
/* Nothing succeeded: hint at options after the command, and at files that hosts lack. False: no
 * hint was printed. */
bool cv_run_mistakes_failed(const struct cv_call *call, bool items, bool hosts);
/* Chunks are cut as csv: hint at first lines that tell otherwise. */
void cv_run_mistakes_form(const struct cv_call *call);

/* --- known programs (run_programs.c) ------------------------------------------------------ */

/* Whether output of a program in the command may depend on records of other chunks. */
bool cv_keeps_records(const struct cv_call *call);
/* Whether a program in the command writes files of the same names for every chunk. */
bool cv_overwrites_files(const struct cv_call *call);

/* --- progress and summary (run_report.c) -------------------------------------------------- */

/* --progress */
enum cv_progress_how {
    CV_PROGRESS_BAR,
    CV_PROGRESS_LIVE,
    CV_PROGRESS_PLAIN,
    CV_PROGRESS_JSON,
    CV_PROGRESS_NONE
};

struct cv_run_report {
    struct cv_job_log log;
    struct cv_failure_list failures; /* of the trace */
    int how;                         /* of enum cv_progress_how */
    bool unasked; /* --progress was not given: a bar must not be in the way */
    bool drawn;
    unsigned below;        /* rows drawn below the bar */
    bool result_on_stdout; /* the summary must not be between outputs */
    double shown_s;        /* when the progress was shown last */
    double done;           /* as it is shown: it never falls */
    size_t facts_wide;     /* columns that facts next to the bar have needed */
    struct cv_eta pace;
    struct cv_live_page page; /* --serve */
    bool declared;            /* costs are declared: the end can be predicted */
    bool ended_0, ended_ok; /* a command ended with status 0; with another one of --ok */
    double predicted_s;     /* connecting, and the plan; NAN: none */
    /* borrowed: */
    const struct cv_run_options *options;
    const struct cv_worker_list *workers; /* as they were asked for */
    const struct cv_reach *reach;
    const char *const *command; /* up to NULL */
    const struct cleave_statuses *ok;
    const struct cv_item_commands *items; /* NULL: an input is shared out */
    struct cv_run_rows *rows;             /* of --results FILE.csv; NULL: none */
    struct cv_worker_list again; /* hosts that were read again; its platform is owned */
};

/* The borrowed members are set. Returns an exit status. */
int cv_run_report_open(struct cv_run_report *report);

/* Callbacks of struct cleave_execution, with the report as context. */
void cv_run_attempted(void *context, const struct cleave_attempt *attempt);
void cv_run_progress(void *context, const struct cleave_progress *progress);
void cv_run_note(void *context, const char *text);
enum cleave_status cv_run_more_hosts(void *context, struct cleave_more_hosts *out,
                                     struct cleave_error *err);
/* Lines of standard error of commands. */
void cv_run_errors(void *context, const char *bytes, size_t length);
/* Remove the bar from the screen. `context` may be NULL. */
void cv_run_progress_end(void *context);
/* The same before outputs are written there; a bar that was not asked for is not drawn again. */
void cv_run_progress_give_way(void *context);
/* Show the end on the page of --serve; `result` may be NULL. */
void cv_run_page_end(struct cv_run_report *report,
                     const struct cleave_execution_result *result, int status);
/* Whether another run can continue: there is a journal, and it was not removed. */
bool cv_run_can_resume(const char *journal);
/* A signal stopped the run: print what is done of it, and how to continue. */
void cv_run_stopped(const struct cleave_execution_result *result,
                    const struct cv_run_report *report);
void cv_run_summary(const struct cleave_execution_result *result,
                    const struct cv_run_report *report, int exit_status);

#endif
