/* sample.c -- data for the examples of the documents. SPDX-License-Identifier: MIT */
#include "cli/sample/sample.h"

#include "cli/sample/sample_data.h"
#include "cli/sample/sample_files.h"

static size_t data_count(void)
{
    size_t count = 0;

    while (cv_sample_data[count].name != NULL)
        count++;
    return count;
}

/* The file of examples/ at `index`; NULL: it is made of random numbers. */
static const struct cv_sample_file *kept_at(size_t index)
{
    const size_t made = data_count();

    return index < made ? NULL : &cv_sample_files[index - made];
}

size_t cv_sample_count(void)
{
    size_t count = 0;

    while (cv_sample_files[count].name != NULL)
        count++;
    return data_count() + count;
}

const char *cv_sample_name(size_t index)
{
    const struct cv_sample_file *kept = kept_at(index);

    return kept != NULL ? kept->name : cv_sample_data[index].name;
}

const char *cv_sample_what(size_t index)
{
    const struct cv_sample_file *kept = kept_at(index);

    return kept != NULL ? kept->what : cv_sample_data[index].what;
}

bool cv_sample_program(size_t index)
{
    const struct cv_sample_file *kept = kept_at(index);

    return kept != NULL && kept->program;
}

bool cv_sample_write(size_t index, const struct cv_sample_terms *terms, FILE *out)
{
    const struct cv_sample_file *kept = kept_at(index);

    if (kept == NULL)
        return cv_sample_data_write(&cv_sample_data[index], terms, out);
    for (const char *const *line = kept->lines; *line != NULL; line++)
        fprintf(out, "%s\n", *line);
    return true;
}
