#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/file.h"
#include "common/base/limits.h"
#include "lanes/trace/trace_reading.h"

char *trace_next_line(struct trace_reading *r)
{
    char *line = r->at;
    if (!*line)
        return NULL;
    size_t len = strcspn(line, "\n");
    r->at += len + (line[len] == '\n');
    line[len] = '\0';
    if (len > 0 && line[len - 1] == '\r')
        line[len - 1] = '\0';
    r->line++;
    return line;
}

enum err trace_fault(const struct trace_reading *r, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return fault_set(r->fault, ERR_BAD_FILE, NULL, "%s: line %zu: %s", r->path, r->line, text);
}

enum err trace_keep(struct trace_reading *r, const struct virtual_job *job)
{
    if (job->steps == 0)
        return ERR_OK;
    r->all_steps += (double)job->steps;
    r->all_s += (double)job->steps * (double)job->step_ns / 1e9;
    if (r->all_steps > (double)LIMIT_LANES_TRACE_STEPS)
        return trace_fault(r, "more than %lld steps in all: too many to run one by one",
                           (long long)LIMIT_LANES_TRACE_STEPS);
    if (r->all_s > TRACE_MOST_S)
        return trace_fault(r, "the steps so far take more than %g s together", TRACE_MOST_S);
    if (r->out->num_jobs == LIMIT_LANES_TRACE_JOBS)
        return trace_fault(r, "more than %d jobs", LIMIT_LANES_TRACE_JOBS);
    if (r->out->num_jobs == r->max_jobs)
        bug("more jobs than lines");
    r->out->jobs[r->out->num_jobs++] = *job;
    return ERR_OK;
}

static enum err read_lines(struct trace_reading *r)
{
    char *line = trace_next_line(r);
    struct fault inner = FAULT_NONE;
    enum err e = lanes_trace_parse_head(line, strlen(line), r->arena, r->out, &inner);
    while (!e && (line = trace_next_line(r))) {
        struct lanes_trace_job job;
        if (!*line)
            continue;
        e = lanes_trace_parse_job(line, strlen(line), r->arena, &job, &inner);
        if (!e)
            e = trace_keep(r, &job.job);
    }
    if (!inner.err || e == ERR_NO_MEMORY)
        return e;
    return trace_fault(r, "%s%s%s", inner.field, *inner.field ? ": " : "", inner.detail);
}

static enum err read_text(struct trace_reading *r, struct buf *text)
{
    struct fault inner = FAULT_NONE;
    enum err e = file_read(r->path, text, &inner);
    if (e == ERR_NO_MEMORY)
        return e;
    if (e)
        return fault_set(r->fault, ERR_BAD_FILE, NULL, "%s", inner.detail);
    if (text->len == 0 || memchr(text->data, '\0', text->len))
        return fault_set(r->fault, ERR_BAD_FILE, NULL, "%s: %s", r->path,
                         text->len ? "is no text: it has zero bytes" : "is empty");
    return ERR_OK;
}

/* What stands in the file stays as it is among jobs of the same time. */
struct placed {
    struct virtual_job job;
    size_t place;
};

static int by_arrival(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->job.arrival_ns != y->job.arrival_ns)
        return x->job.arrival_ns < y->job.arrival_ns ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static enum err sort_jobs(struct trace_reading *r)
{
    size_t n = r->out->num_jobs;
    struct placed *placed = arena_calloc(r->arena, n, sizeof *placed);
    if (!placed)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        placed[i] = (struct placed){r->out->jobs[i], i};
    qsort(placed, n, sizeof *placed, by_arrival);
    for (size_t i = 0; i < n; i++)
        r->out->jobs[i] = placed[i].job;
    return ERR_OK;
}

static size_t count_lines(const char *text)
{
    size_t n = 1;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

enum err lanes_trace_read(const char *path, struct arena *arena, struct lanes_trace *out, struct fault *fault)
{
    struct trace_reading r = {.path = path, .arena = arena, .fault = fault, .out = out};
    struct buf text = BUF_INIT(LIMIT_JSON_FILE);
    *out = (struct lanes_trace){0};
    enum err e = read_text(&r, &text);
    if (!e) {
        r.at = text.data;
        r.max_jobs = count_lines(text.data);
        out->jobs = arena_calloc(arena, r.max_jobs, sizeof *out->jobs);
        e = out->jobs ? ERR_OK : ERR_NO_MEMORY;
    }
    if (!e)
        e = *r.at == '{' ? read_lines(&r) : trace_read_csv(&r);
    if (!e && out->num_jobs == 0)
        e = fault_set(fault, ERR_BAD_FILE, NULL, "%s: there is no job in it that did a step", path);
    if (!e)
        e = sort_jobs(&r);
    buf_release(&text);
    if (e == ERR_NO_MEMORY)
        (void)fault_set(fault, e, NULL, "%s: not enough memory to read it", path);
    return e;
}
