#include "common/compute/compute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/compute/compute_impl.h"

#ifdef FEDLANE_FLOAT64
static const struct compute_backend *const backends[] = {&compute_reference};
static const char default_name[] = "reference";
#else
static const struct compute_backend *const backends[] = {&compute_reference, &compute_openblas,
                                                         &compute_opencl};
static const char default_name[] = "openblas";
#endif
#define NUM_BACKENDS (sizeof backends / sizeof *backends)

struct compute {
    const struct compute_backend *backend;
    void *state;
    size_t bytes_in_use;
    size_t num_buffers;
    unsigned char
        *stage; /* operands of operations that the reference runs for a backend with memory of its own */
    size_t stage_bytes;
};

static char chosen[64]; /* compute_choose's */

enum err compute_open(const char *name, struct compute **out, struct fault *fault)
{
    char known[128] = "";
    size_t used = 0;
    const char *device = NULL;
    if (!name)
        name = chosen[0] ? chosen : getenv("FEDLANE_COMPUTE");
    if (!name || name[0] == '\0')
        name = default_name;
    if (strcmp(name, "cpu") == 0)
        name = default_name;
    size_t length = strcspn(name, ":");
    if (name[length] == ':')
        device = name + length + 1;
    for (size_t i = 0; i < NUM_BACKENDS; i++) {
        if (strlen(backends[i]->name) == length && strncmp(name, backends[i]->name, length) == 0)
            return compute_open_backend(backends[i], device, out, fault);
        int n = snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", backends[i]->name);
        used += (size_t)n;
    }
    return fault_set(fault, ERR_INVALID_FIELD, NULL,
                     "no compute backend \"%.40s\" in this build; there are: %s", name, known);
}

static enum err try_to_open(const char *name, struct fault *fault)
{
    struct compute *c = NULL;
    enum err err = compute_open(name, &c, fault);
    if (!err && c)
        log_info("compute", "training on %s", compute_description(c));
    compute_close(c);
    return err;
}

static enum err choose(const char *name)
{
    (void)snprintf(chosen, sizeof chosen, "%s", name);
    return ERR_OK;
}

enum err compute_choose(const char *name, struct fault *fault)
{
    struct fault why = FAULT_NONE;
    if (strcmp(name, "auto") == 0) {
        name = "opencl:gpu";
        if (!try_to_open(name, &why))
            return choose(name);
        log_warning("compute", "training on the cpu: %s", why.detail);
        name = "cpu";
    }
    if (!try_to_open(name, &why))
        return choose(name);
    return fault_set(fault, why.err == ERR_NO_MEMORY ? ERR_NO_MEMORY : ERR_USAGE, "device", "--device: %s",
                     why.detail);
}

/* The processor's backends have one device. */
enum err compute_refuse_device(const char *name, const char *device, struct fault *fault)
{
    if (!device)
        return ERR_OK;
    return fault_set(fault, ERR_INVALID_FIELD, NULL, "%s:%.40s: %s has no devices to choose from", name,
                     device, name);
}

enum err compute_open_backend(const struct compute_backend *backend, const char *device, struct compute **out,
                              struct fault *fault)
{
    struct compute *c = calloc(1, sizeof *c);
    if (!c)
        return fault_set(fault, ERR_NO_MEMORY, NULL, "out of memory for the %s backend", backend->name);
    c->backend = backend;
    enum err err = backend->open(device, &c->state, fault);
    if (err) {
        free(c);
        return err;
    }
    *out = c;
    return ERR_OK;
}

void compute_close(struct compute *c)
{
    if (!c)
        return;
    if (c->num_buffers > 0)
        bug("the %s backend is closed with %zu buffers in use", c->backend->name, c->num_buffers);
    c->backend->close(c->state);
    free(c->stage);
    free(c);
}

const char *compute_name(const struct compute *c)
{
    return c->backend->name;
}

const char *compute_description(const struct compute *c)
{
    return c->backend->describe ? c->backend->describe(c->state) : c->backend->name;
}

const char *compute_trouble(const struct compute *c)
{
    return c->backend->trouble ? c->backend->trouble(c->state) : "";
}

size_t compute_device_available(const struct compute *c)
{
    return c->backend->available ? c->backend->available(c->state) : SIZE_MAX;
}

enum err compute_alloc(struct compute *c, size_t bytes, struct compute_buffer **out)
{
    if (!compute_memory_take(bytes))
        return ERR_NO_MEMORY;
    struct compute_buffer *b = calloc(1, sizeof *b);
    enum err err = b ? ERR_OK : ERR_NO_MEMORY;
    if (!err) {
        b->bytes = bytes ? bytes : 1; /* so that a slice of nothing has an address */
        err = c->backend->alloc(c->state, b);
    }
    if (err) {
        free(b);
        compute_memory_give(bytes);
        return err;
    }
    b->bytes = bytes;
    c->bytes_in_use += bytes;
    c->num_buffers++;
    *out = b;
    return ERR_OK;
}

void compute_free(struct compute *c, struct compute_buffer *b)
{
    if (!b)
        return;
    c->bytes_in_use -= b->bytes;
    c->num_buffers--;
    compute_memory_give(b->bytes);
    c->backend->release(c->state, b);
    free(b);
}

size_t compute_bytes_in_use(const struct compute *c)
{
    return c->bytes_in_use;
}

static void check_slice(struct compute_slice s, size_t bytes, const char *what)
{
    if (bytes == 0 && !s.buffer)
        return;
    if (!s.buffer || s.offset > s.buffer->bytes || bytes > s.buffer->bytes - s.offset)
        bug("%s: %zu bytes at %zu of a buffer of %zu", what, bytes, s.offset, s.buffer ? s.buffer->bytes : 0);
}

enum err compute_write(struct compute *c, struct compute_slice to, const void *from, size_t bytes)
{
    check_slice(to, bytes, "write");
    if (bytes == 0)
        return ERR_OK;
    if (!to.buffer->host)
        return c->backend->write(c->state, to.buffer, to.offset, from, bytes);
    enum err err = compute_wait(c);
    if (!err)
        memcpy(to.buffer->host + to.offset, from, bytes);
    return err;
}

enum err compute_read(struct compute *c, struct compute_slice from, void *to, size_t bytes)
{
    check_slice(from, bytes, "read");
    if (bytes == 0)
        return ERR_OK;
    if (!from.buffer->host)
        return c->backend->read(c->state, from.buffer, from.offset, to, bytes);
    enum err err = compute_wait(c);
    if (!err)
        memcpy(to, from.buffer->host + from.offset, bytes);
    return err;
}

enum err compute_write_matrix(struct compute *c, struct compute_slice to, const real *from, size_t rows,
                              size_t width)
{
    static const real zeros[16];
    size_t stride = compute_stride(width), bytes = width * sizeof *from;
    if (width == stride)
        return compute_write(c, to, from, rows * bytes);
    enum err err = ERR_OK;
    for (size_t r = 0; !err && r < rows; r++) {
        struct compute_slice row = compute_at(to, r * stride * sizeof *from);
        err = compute_write(c, row, from + r * width, bytes);
        if (!err)
            err = compute_write(c, compute_at(row, bytes), zeros, (stride - width) * sizeof *from);
    }
    return err;
}

enum err compute_read_matrix(struct compute *c, struct compute_slice from, real *to, size_t rows,
                             size_t width)
{
    size_t stride = compute_stride(width);
    if (width == stride)
        return compute_read(c, from, to, rows * width * sizeof *to);
    enum err err = ERR_OK;
    for (size_t r = 0; !err && r < rows; r++)
        err = compute_read(c, compute_at(from, r * stride * sizeof *to), to + r * width, width * sizeof *to);
    return err;
}

void *compute_host(const struct compute *c, struct compute_slice s)
{
    (void)c;
    return s.buffer->host ? s.buffer->host + s.offset : NULL;
}

enum err compute_wait(struct compute *c)
{
    return c->backend->wait ? c->backend->wait(c->state) : ERR_OK;
}

bool compute_supports(const struct compute *c, const struct compute_op *op)
{
    return c->backend->supports(c->state, op);
}

size_t compute_scratch_bytes(const struct compute *c, const struct compute_op *op)
{
    const struct compute_backend *b = c->backend;
    return b->scratch && b->supports(c->state, op) ? b->scratch(c->state, op) : 0;
}

/* Room for all operands that the CPU cannot reach. It grows to the largest operation once and stays. */
static enum err grow_stage(struct compute *c, size_t bytes)
{
    if (bytes <= c->stage_bytes)
        return ERR_OK;
    unsigned char *stage = realloc(c->stage, bytes);
    if (!stage)
        return ERR_NO_MEMORY;
    c->stage = stage;
    c->stage_bytes = bytes;
    return ERR_OK;
}

static size_t stage_size(size_t bytes)
{
    return (bytes + 64) / 64 * 64;
}

/* Whether the CPU can use the operand where it is, or it was left out. */
static bool is_reached(const struct compute_op *op, int arg)
{
    return !op->arg[arg].buffer || op->arg[arg].buffer->host;
}

static enum err run_on_reference(struct compute *c, const struct compute_op *op,
                                 const struct compute_operand *operands, int num_args)
{
    struct compute_buffer stand_ins[COMPUTE_MAX_ARGS];
    struct compute_op staged = *op;
    size_t total = 0, used = 0;
    for (int i = 0; i < num_args; i++)
        total += is_reached(op, i) ? 0 : stage_size(operands[i].bytes);
    enum err err = compute_wait(c);
    if (!err)
        err = grow_stage(c, total);
    for (int i = 0; !err && i < num_args; i++) {
        if (is_reached(op, i))
            continue;
        stand_ins[i] = (struct compute_buffer){.bytes = operands[i].bytes, .host = c->stage + used};
        staged.arg[i] = (struct compute_slice){&stand_ins[i], 0};
        used += stage_size(operands[i].bytes);
        if (operands[i].mode != COMPUTE_OUT)
            err = compute_read(c, op->arg[i], stand_ins[i].host, operands[i].bytes);
    }
    if (err)
        return err;
    compute_reference_run(&staged);
    for (int i = 0; !err && i < num_args; i++) {
        if (!is_reached(op, i) && operands[i].mode != COMPUTE_IN)
            err = compute_write(c, op->arg[i], stand_ins[i].host, operands[i].bytes);
    }
    return err;
}

enum err compute_run(struct compute *c, const struct compute_op *op)
{
    struct compute_operand operands[COMPUTE_MAX_ARGS];
    int num_args = compute_operands(op, operands);
    for (int i = 0; i < num_args; i++)
        check_slice(op->arg[i], operands[i].bytes, compute_kind_name(op->kind));
    if (c->backend->supports(c->state, op)) {
        size_t scratch = c->backend->scratch ? c->backend->scratch(c->state, op) : 0;
        if (scratch > 0)
            check_slice(op->scratch, scratch, "scratch");
        return c->backend->run(c->state, op);
    }
    return run_on_reference(c, op, operands, num_args);
}
