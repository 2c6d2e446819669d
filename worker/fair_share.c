#include "worker/fair_share.h"
#include <math.h>

double fair_share(double need, const double *others, size_t n, double total)
{
    double share = total / (double)(n + 1);
    /* Each turn gives what the modest ones leave to the rest; it ends when nobody joins the modest ones. */
    for (size_t modest = 0, before = n + 1; modest != before;) {
        double taken = need <= share ? need : 0;
        before = modest;
        modest = need <= share;
        for (size_t i = 0; i < n; i++) {
            if (others[i] <= share) {
                taken += others[i];
                modest++;
            }
        }
        if (modest == n + 1)
            return INFINITY;
        if (modest > 0)
            share = (total - taken) / (double)(n + 1 - modest);
    }
    return share;
}
