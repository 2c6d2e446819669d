/* Traces of devices for simulated time: what is taken is in order and apart. */
#include <math.h>
#include <string.h>
#include "cli/simulate/sim_trace.h"
#include "common/base/limits.h"
#include "tests/fuzz/fuzz.h"

static void prove_device(const struct sim_trace_device *d)
{
    const double speeds[] = {d->steps_per_s, d->up_bytes_per_s, d->down_bytes_per_s};
    for (size_t i = 0; i < 3; i++)
        PROVE(isnan(speeds[i]) || (speeds[i] > 0 && isfinite(speeds[i])));
    for (size_t i = 0; i < d->num_online; i++) {
        PROVE(d->online[i].from_ns >= 0 && d->online[i].from_ns < d->online[i].to_ns);
        PROVE(i == 0 || d->online[i - 1].to_ns < d->online[i].from_ns);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = ARENA_INIT(256 * MIB);
    struct sim_trace trace;
    struct fault fault = FAULT_NONE;
    enum err e = sim_trace_load(fuzz_file(0, data, size), &arena, &trace, &fault);
    fuzz_prove_told(e, &fault);
    PROVE(!e || e == ERR_BAD_FILE);
    for (size_t i = 0; i < trace.num_devices && !e; i++) {
        PROVE(i == 0 || trace.devices[i - 1].ordinal < trace.devices[i].ordinal);
        prove_device(&trace.devices[i]);
    }
    arena_release(&arena);
    return 0;
}
