#include "common/json/json_num.h"
#include <math.h>
#include "common/base/str.h"

json_t *json_num(double value)
{
    if (isnan(value))
        return json_string("NaN");
    if (isinf(value))
        return json_string(value > 0 ? "Infinity" : "-Infinity");
    return json_real(value);
}

json_t *json_num_int(int64_t value)
{
    return json_integer(value);
}

enum err json_num_read(const json_t *value, double *out)
{
    const char *text = json_string_value(value);
    if (json_is_number(value))
        *out = json_number_value(value);
    else if (str_eq(text, "NaN"))
        *out = NAN;
    else if (str_eq(text, "Infinity"))
        *out = INFINITY;
    else if (str_eq(text, "-Infinity"))
        *out = -INFINITY;
    else
        return ERR_INVALID_FIELD;
    return ERR_OK;
}
