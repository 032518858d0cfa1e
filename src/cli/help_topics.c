/* help_topics.c -- 'cleave help TOPIC': options of cleave run by subject. SPDX-License-Identifier: MIT
 *
 * Option texts come from the tables. */
#include <stdio.h>
#include <string.h>
#include "cli/verbs.h"

struct topic {
    const char *name, *summary;
    const char *group;   /* the title of a group of options of cleave run; or NULL */
    const char *options; /* more of them, separated by spaces */
    const struct cv_fact *facts;
    const char *examples;
};

static const struct cv_fact placeholders[] = {
    { "{}", "the item", NULL },
    { "{.}", "the item without its extension", NULL },
    { "{/}  {//}  {/.}", "its file name, its directory, its file name without extension",
      NULL },
    { "{#}  {%}", "the number of the command, the number of the worker", NULL },
    { "{1}  {2.}  {-1}", "a column (--colsep), or the item of one of several lists",
      NULL },
    { "{name}", "the column or list with that name (--header :)", NULL },
    { "{= s/a/b/g =}", "the item after this substitution; {=1 ... =} for a column",
      NULL },
    { "{:%6.2f}  {#:%03d}", "the same values, written by a format of printf", NULL },
    { NULL, NULL, NULL },
};

static const struct cv_fact records[] = {
    { "lines", "a line", NULL },
    { "csv, csv:;, csv:tab", "a line, but a quoted field may contain newlines", NULL },
    { "jsonl", "a line with a JSON value", NULL },
    { "json", "a value of the outermost array, or of a sequence of values", NULL },
    { "xml:ELEMENT", "an element with this name", NULL },
    { "fasta, fastq", "a sequence, a read", NULL },
    { "paragraph", "lines up to an empty line", NULL },
    { "nul", "bytes up to a zero byte", NULL },
    { "regex:RE", "begins where this extended regular expression matches", NULL },
    { "fixed:BYTES", "this number of bytes", NULL },
    { "warc, tar, bam, pcap", "a record, a member, an alignment, a packet", NULL },
    { NULL, NULL, NULL },
};

static const struct topic topics[] = {
    { "items", "one command per item: lists, placeholders, results", "Items",
      "--header --literal --joblog --retries", placeholders,
      "cleave run gzip -k ::: *.log\n"
      "find . -name '*.png' | cleave run convert {} {.}.jpg\n"
      "cleave run --tag echo {1} {2} ::: a b ::: 1 2" },
    { "csv", "tables: records, headers, columns", NULL,
      "--split --header --no-header --header-out --records --together --reduce", NULL,
      "cleave run -i big.csv -o out.csv mlr --csv filter '$n > 5'\n"
      "cleave run -i big.csv --header-out -- csvcut -c name\n"
      "cleave run -i german.csv --split 'csv:;' --together 2 ./per_customer" },
    { "hosts", "other machines: ssh, Slurm, MPI", "Other machines",
      "--hosts --sshlogin --hosts-file --via --slurm --mpi --mpi-library --leaders --as",
      NULL,
      "cleave run --hosts a,b:4 -i big.jsonl -o out ./parse\n"
      "cleave run --slurm -i big.jsonl -o out ./parse" },
    { "reduce", "one result instead of all outputs: sums, sorted lists", NULL,
      "--reduce --commutative --retries --timeout --memory --tmpdir", NULL,
      "cleave run -i access.log --reduce sum -- grep -c ' 500 '\n"
      "cleave run -i big.txt --reduce 'sort -m {}' -- sort\n"
      "cleave check -i access.log -- awk '{ n += $10 } END { print n }'" },
    { "formats", "inputs: where records begin, compressed files, archives", NULL,
      "--split --header --decode --max-record --pairs --fetch --size --recursive "
      "--output",
      records,
      "cleave run -i reads.fastq.gz -o out.fastq.gz ./trim\n"
      "cleave run -i dump.xml --split xml:page -- ./parse" },
    { "failures", "commands that fail, hang or have to be resumed", "Failures",
      "--joblog --group --backups --host-timeout", cv_exit_facts,
      "cleave run --retries 3 --timeout 5m -i big.csv -o out.csv ./score\n"
      "cleave run --journal run.db --resume -i big.csv -o out.csv ./score" },
};

enum { TOPICS = sizeof topics / sizeof *topics };

void cv_help_topics(struct cv_text *out)
{
    cv_text_add(out, "\nTopics, for 'cleave help TOPIC':\n");
    for (size_t i = 0; i < TOPICS; i++)
        cv_text_add(out, "  %-16s %s\n", topics[i].name, topics[i].summary);
    cv_text_add(out, "  %-16s %s\n", "all", "every option of cleave run");
}

const char *cv_help_topic_name(size_t index)
{
    return index < TOPICS ? topics[index].name : index == TOPICS ? "all" : NULL;
}

static void add_topic(const struct topic *topic, const struct cv_verb *verb,
                      struct cv_text *out)
{
    const struct cv_option_group *group = verb->groups;
    const char *name = topic->options;

    cv_text_add(out, "%s: %s\n", topic->name, topic->summary);
    cv_help_examples(topic->examples, out);
    if (topic->facts != NULL) {
        cv_text_add(out, "\n");
        cv_help_facts(topic->facts, verb, out);
    }
    cv_text_add(out, "\nOptions of cleave %s:\n", verb->name);
    for (; group->title != NULL; group++)
        for (size_t i = 0; topic->group != NULL && i < group->count; i++)
            if (strcmp(group->title, topic->group) == 0)
                cv_help_option_row(&group->options[i], CV_HELP_ALL, out);
    for (size_t length; *name != '\0'; name += length + (name[length] == ' ')) {
        const struct cv_option *option =
            cv_option_find(verb->groups, name, length = strcspn(name, " "));

        if (option != NULL)
            cv_help_option_row(option, CV_HELP_ALL, out);
    }
}

bool cv_help_topic(const char *word, const struct cv_verb *run, struct cv_text *out)
{
    for (size_t i = 0; i < TOPICS; i++)
        if (strcmp(word, topics[i].name) == 0) {
            add_topic(&topics[i], run, out);
            return true;
        }
    return false;
}
