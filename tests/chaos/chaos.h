/* chaos.h -- random faults over random jobs of a cleave that is only seen from outside.
 * SPDX-License-Identifier: MIT
 *
 * A trial is a job, a fault, and the conditions that must hold afterwards. All of it
 * follows from the seed and the number of the trial. The same program is also the command
 * that the jobs run (`chaos @work ...`) and the link to their hosts (`chaos @relay
 * ...`). */
#ifndef CHAOS_H
#define CHAOS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- chance and memory -------------------------------------------------------------------- */

struct chance {
    uint64_t state;
};

uint64_t chance_next(struct chance *chance);
/* 0 to most - 1. */
uint64_t chance_below(struct chance *chance, uint64_t max);
/* True once in `many`. */
bool chance_one_in(struct chance *chance, uint64_t many);

struct bytes {
    char *at;
    size_t length, room;
};

void bytes_add(struct bytes *bytes, const void *more, size_t length);
void bytes_print(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void bytes_free(struct bytes *bytes);
/* False: the file cannot be read. */
bool bytes_read(struct bytes *bytes, const char *path);
void bytes_write(const struct bytes *bytes, const char *path);

double now_s(void);
void sleep_s(double seconds);
__attribute__((noreturn, format(printf, 1, 2))) void give_up(const char *format, ...);

/* --- records ------------------------------------------------------------------------------ */

enum kind { LINES, NUL, CSV, JSONL, FASTA, FASTQ, PARAGRAPH, FIXED, REGEX, KINDS };
enum {
    FIXED_BYTES = 32,
    MOST_FILES = 4,
    MOST_HOSTS = 3,
    MOST_WORDS = 100,
    WORD = 640,
    FOLDER = 400
};

extern const char *const kind_names[KINDS];
extern const char HEADER[]; /* the first record of inputs that have one   */
extern const char POISON[]; /* a record with this word cannot be done     */

/* One record; records of one number and kind differ by the chance. */
void record_add(struct bytes *bytes, enum kind kind, uint64_t number, bool poison,
                struct chance *chance);
/* Whether the bytes are complete records, one after the other. */
bool records_are_whole(enum kind kind, const char *at, size_t length);

/* The effect of commands on their input. */
void work_map(const char *at, size_t length, struct bytes *out);
void work_sum(const char *at, size_t length, struct bytes *out);
void work_pairs(const struct bytes *one, const struct bytes *two, struct bytes *out);

/* Whether a is b, or some of it with nothing else, in whatever order. */
bool are_among(const struct bytes *a, const struct bytes *b, enum kind kind, bool all);
/* Whether a is lines of b, some left out, the last one maybe cut short. */
bool is_part_of(const struct bytes *a, const struct bytes *b, enum kind kind);

int work_main(char **words);
int relay_main(char **words);

/* --- a trial ------------------------------------------------------------------------------ */

enum from { FROM_FILES, FROM_FILE_STDIN, FROM_PIPE };
enum reduce { NO_REDUCE, REDUCE_CAT, REDUCE_CAT_FILES, REDUCE_SUM };

struct job {
    enum kind kind;
    enum from from;
    enum reduce reduce;
    uint32_t nfiles;
    size_t size;
    bool header, unordered, pairs, persistent, commutative;
    bool silent; /* commands that write nothing */
    bool to_file, journal, json, joblog, keep_failed, poison, small_memory;
    int retries;
    const char *halt;
    double timeout_s, host_timeout_s;
    uint32_t block, workers, nhosts, slots[MOST_HOSTS];
    bool place_here; /* a place on this machine next to the hosts */
    const char *port;
    const char *flavour;         /* flavour of MPI, or NULL */
    uint32_t sleep_us;           /* time of a command */
    const char *backups;         /* NULL: by default                             */
    uint32_t feed_stall_us;      /* the pause in the middle of a pipe           */
    char work[WORD];             /* more words for the command                   */
    char link[MOST_HOSTS][WORD]; /* for the relays                         */
    /* expected result */
    struct bytes input[MOST_FILES], mates, expected;
    size_t input_bytes;
    uint64_t records;
};

enum expect {
    MUST_WORK, /* status 0                                              */
    MUST_FAIL, /* not 0                                                 */
    MAY_FAIL,  /* either, but see the checks                            */
};

enum role { THE_MASTER, A_COMMAND, A_WORKER, A_RELAY, A_RANK };

struct trial {
    uint64_t seed, number;
    struct chance chance;
    struct job job;
    const struct fault *fault;
    enum expect expect;
    char folder[FOLDER];
    char once[FOLDER + 8]; /* a file that is made when the fault has happened */
    /* a signal to a process: after this many commands have begun, and some later */
    bool strikes;
    enum role victim;
    int sign;            /* the signal                          */
    bool commands_first; /* the victim is a worker whose commands are killed before it */
    double wake_s;       /* SIGCONT after this time; 0: never */
    uint32_t after;
    double later_s;
    /* changes to files during the run */
    bool grow_input, cut_input;
    /* limits */
    bool full_output, reader_leaves;
    uint64_t file_size;          /* the most that files may have; 0 for no limit */
    uint64_t disk_room;          /* room on the disk beyond the inputs; 0: no limit */
    uint32_t round, more_rounds; /* resumed and stopped again */
    bool resume, damage_journal, cut_journal;
    /* result */
    int status; /* as of waitpid                                       */
    bool timed_out, struck, killed, may_leave_part;
    char left[WORD]; /* processes that were left                       */
    char reason[WORD];
};

struct fault {
    const char *name;
    uint32_t weight;
    /* Draw the details of the fault, and adapt the job to it. */
    void (*prepare)(struct trial *trial);
};

void fault_add_another(struct trial *trial);
extern const struct fault faults[];
extern const size_t nfaults;

struct setting {
    const char *cleave, *self;
    char relay[FOLDER];    /* tests/relay.c */
    char top[FOLDER - 24]; /* the folder of folders */
    double limit_s, grace_s;
    bool openmpi, mpich, mounts, verbose;
};
extern struct setting setting;

/* A small disk in the place of the folder, as long as the trial lasts. */
void disk_begin(const struct trial *trial);
void disk_end(const struct trial *trial);
/* Whether this process may have such disks. */
bool disk_allowed(void);

void job_choose(struct trial *trial);
/* Write the inputs, and compute the expected output. */
void job_make(struct trial *trial);
/* Append the words of the command line to `store`, one after the other. */
void job_words(const struct trial *trial, bool resume, struct bytes *store,
               char *words[MOST_WORDS]);

/* Where its standard error is: outside of the folder, which may be full. */
void err_name(const struct trial *trial, bool first, char *out, size_t room);

/* Run it, with the fault if `first`, and wait for everything to end. */
void run_job(struct trial *trial, bool first);

/* False: `reason` has the mistake. */
bool check_run(struct trial *trial, bool first);
bool check_rest(struct trial *trial);

enum verdict { PASSED, FAILED, SKIPPED };
enum verdict trial_run(struct trial *trial);
__attribute__((format(printf, 2, 3))) bool wrong(struct trial *trial, const char *format,
                                                 ...);

#endif
