#include "tests/unit/worker/support.h"
#include "tests/support/unit.h"

struct arch *make_arch(int features, int hidden, int classes)
{
    struct arch *a = NULL;
    json_t *model =
        hidden ? json_pack("{s:[i], s:[{s:s, s:i}, {s:s}, {s:s, s:i}]}", "input", features, "layers", "type",
                           "dense", "units", hidden, "type", "relu", "type", "dense", "units", classes)
               : json_pack("{s:[i], s:[{s:s, s:i}]}", "input", features, "layers", "type", "dense", "units",
                           classes);
    ck_assert_int_eq(arch_parse(model, &a, NULL), ERR_OK);
    json_decref(model);
    return a;
}

struct trainer *open_trainer(const struct arch *arch, const struct dataset *data, int64_t batch_size)
{
    struct trainer *t = NULL;
    ck_assert_int_eq(ops->open(arch, data, batch_size, OPTIMIZER_PROX_ADAM, &t, NULL), ERR_OK);
    return t;
}
