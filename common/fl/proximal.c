#include "common/fl/proximal.h"

#include <math.h>

struct dynamic_mu dynamic_mu_start(double start, double step, int64_t patience)
{
    return (struct dynamic_mu){.mu = start, .step = step, .patience = patience};
}

void dynamic_mu_observe(struct dynamic_mu *d, double train_loss)
{
    if (isnan(train_loss))
        return;
    if (d->has_last && train_loss > d->last_loss) {
        d->mu += d->step;
        d->falls = 0;
    } else if (d->has_last && train_loss < d->last_loss) {
        d->falls++;
        if (d->falls >= d->patience) {
            d->mu = fmax(0, d->mu - d->step);
            d->falls = 0;
        }
    }
    d->last_loss = train_loss;
    d->has_last = true;
}

bool proximal_is_unstable(double learning_rate, double mu)
{
    return learning_rate * mu >= 2;
}

double gamma_inexactness(double grad_norm_end, double grad_norm_start)
{
    return grad_norm_start > 0 ? grad_norm_end / grad_norm_start : 0;
}
