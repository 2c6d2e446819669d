/* How long before its deadline a device stops working, so that its update arrives in time. */
#ifndef FEDLANE_WORKER_UPLOAD_TIME_H
#define FEDLANE_WORKER_UPLOAD_TIME_H

#define UPLOAD_MS_START 200.0 /* before the first upload was measured */

/* The moving average of an update's way to the server, after one that took so long. */
double upload_ms_next(double average_ms, double took_ms);
/* How long the work may take where left_ms are left to the deadline: twice the usual upload and a little more
 * is kept free, but never more than half of what is left. */
double upload_work_ms(double left_ms, double upload_ms);

#endif
