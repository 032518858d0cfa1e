/* run_options.h -- what cleave run is told. SPDX-License-Identifier: MIT */
#ifndef CV_RUN_OPTIONS_H
#define CV_RUN_OPTIONS_H
#include <cleave/execute.h>
#include "cli/common/options.h"
#include "cli/common/verb.h"
#include "io/platform_file.h"
#include "run/hosts/copies.h"

/* One item for each command, as nothing else was asked for. */
#define CV_ARGS_ONE UINT64_MAX

struct cv_run_options {
    struct cv_strings inputs, params;
    const char *output, *split, *workers, *policy, *directory, *halt, *joblog, *journal;
    const char *serve;
    const char *failed, *trace, *progress, *hosts, *reduce;
    const char *ssh, *program, *work_directory, *hosts_file, *join_socket;
    struct cv_strings push_from, environment, logins, transfers, returns, basefiles;
    int transfer, cleanup;
    double connect_timeout_s, host_timeout_s, grace_s;
    int push, shared_input;
    int mpi, slurm;
    const char *mpi_library, *leaders;
    double block, memory;
    const char *timeout;
    uint64_t retries;
    int isolate;
    int commutative, persistent, literal, cat, framed;
    const char *as;
    struct cv_strings via;
    struct cv_strings item_files, rules;
    const char *delimiter, *replace, *colsep, *weight, *costs;
    int each, null, plus, link, quote, fill, fill_words, shuffle, many;
    uint64_t max_args; /* CV_ARGS_ONE: not said */
    uint64_t max_lines;
    const char *tagstring, *results, *load, *pin;
    double delay_s, memfree;
    uint64_t nice;
    int tag, files, ungroup, line_buffer, group;
    const char *pairs, *decode, *fetch, *fetch_size;
    double max_record;
    const char *header, *header_out, *together;
    uint64_t records;
    int recursive;
    int unordered, resume, overwrite, json, quiet, bar, live, dry_run;
};

extern const struct cv_run_options cv_run_presets;
extern const struct cv_option_group cv_run_groups[];

/* Situations in which rules about options apply. */
enum cv_run_situation {
    CV_RUN_ITEMS = 1,
    CV_RUN_CHUNKS = 2,   /* no items */
    CV_RUN_LOCAL = 4,    /* no other machines */
    CV_RUN_RETRIES = 8,  /* --retries is 2 or more; set by the check itself ... */
    CV_RUN_NO_ARGS = 16, /* ... as is -n 0 */
};

/* Refuse options that exclude each other or lack one that they need. Returns an exit status. */
int cv_run_rules_check(const struct cv_call *call, unsigned situation);

/* Workers with names and words to put before the command. */
struct cv_worker_list {
    struct cleave_platform *platform; /* owned; NULL: as many as there are cores */
    const char *const *prefixes;      /* of the arena; NULL: none               */
    struct cleave_host *hosts;        /* of the arena                           */
    size_t nhosts;
    struct cv_host_fields
        *fields; /* of the arena: per group of the platform, if from a file */
    /* Who is behind each of the hosts, ended by NULL, of the arena; NULL: nobody is. */
    const char *const **behind;
};

/* The splitters there are, as help lists them and as completion offers them. */
void cv_split_list(struct cv_text *out);
void cv_split_words(struct cv_text *out);
void cv_decode_words(struct cv_text *out);
/* Put `nice -n N` before the commands of workers of this machine. */
int cv_crew_be_nice(struct cv_worker_list *workers, uint64_t nice,
                    struct cv_arena *arena);

/* How hosts are reached. */
struct cv_reach {
    const char *ssh; /* words of the command; NULL: ssh                              */
    const char
        *program;    /* cleave over there; NULL: cleave, or this very program        */
    const char *pin; /* how commands are pinned there: "cores", "nodes"; NULL: not   */
    bool push;       /* take a copy of this program there                            */
    /* The worker that this run is, if any, and who leads whom. */
    struct cv_platform_view view;
    struct cv_strings via; /* the same as it was typed                               */
    /* Words for the runs of those who lead others, ended by NULL; NULL: nobody can. */
    const char *const *lead;
    struct cv_strings push_from; /* files and folders of copies                      */
    double connect_timeout_s;
    struct cv_copies copies; /* with push                                             */
};

/* What a run of hosts that lead others is told of this one. Returns an exit status. */
int cv_reach_lead(struct cv_reach *reach, const struct cv_call *call);
/* Find what is to be pushed, if anything. Returns an exit status. */
int cv_reach_open(struct cv_reach *reach, struct cv_arena *arena);

/* How many workers there are. */
uint32_t cv_crew_count(const struct cv_worker_list *workers);
/* "4", "+1", "50%", or "fast,slow:nice -n 19". Returns an exit status; what is wrong has been told. */
int cv_crew_read(const char *text, struct cv_arena *arena, struct cv_worker_list *out);
/* The workers of a platform file, with the commands that it puts before ours, and its
 * hosts. */
int cv_crew_load(const char *path, const struct cv_reach *reach, struct cv_arena *arena,
                 struct cv_worker_list *out);
/* The same, but what is wrong is put into `err`. */
enum cleave_status cv_crew_open(const char *path, const struct cv_reach *reach,
                                struct cv_arena *arena, struct cv_worker_list *out,
                                struct cleave_error *err);
/* What a platform file that was measured begins with. */
#define CV_MEASURED_MARK "Measured by cleave calibrate"

/* Say what would be done: the command, the plan of the policy for the input on these workers
 * and its first chunks. `hosts`: the file that knows them; NULL: nothing does. */
int cv_run_plan(const struct cleave_execution *execution, const char *hosts,
                struct cv_arena *arena);
/* When that plan ends, in seconds; NAN when there is none. */
double cv_run_predict(const struct cleave_execution *execution, struct cv_arena *arena);

/* Whether what is asked for can be had with hosts that lead others, of which the first of the
 * crew is named. Returns an exit status. */
int cv_leads_check(const struct cv_worker_list *workers,
                   const struct cleave_execution *execution,
                   const struct cv_run_options *values);

/* Whether hosts are asked for, in one way or another. */
bool cv_hosts_asked(const struct cv_run_options *values);

/* What --header says, where ':' is one record as with GNU parallel. */
const char *cv_header_how(const char *text);
/* What --header-out says, which alone means what --header does; NULL: it was not given. */
const char *cv_header_out_how(const struct cv_run_options *values);
/* The bytes of --max-record; 0: it was not given. */
uint64_t cv_record_limit(double bytes);

/* Of these, `text` is NULL where the option was not given. They return an exit status; what is
 * wrong has been told. */

/* "2min" or, of items on this machine, "200%". */
int cv_timeout_read(const char *text, bool items_here,
                    struct cleave_failure_options *out);
/* "never", "now,fail=1", "soon,fail=10%". */
int cv_halt_read(const char *text, struct cleave_execution *out);
/* The number of --load; 0: none was given. */
int cv_load_read(const char *text, double *out);
/* "cores" or "nodes", of --pin. */
int cv_pin_read(const char *text, enum cleave_pin *out);

#endif
