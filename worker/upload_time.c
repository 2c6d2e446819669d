#include "worker/upload_time.h"

double upload_ms_next(double average_ms, double took_ms)
{
    return 0.7 * average_ms + 0.3 * took_ms;
}

double upload_work_ms(double left_ms, double upload_ms)
{
    double reserve_ms = 2 * upload_ms + 50;
    return reserve_ms > left_ms / 2 ? left_ms / 2 : left_ms - reserve_ms;
}
