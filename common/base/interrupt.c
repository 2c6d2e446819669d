#include "common/base/interrupt.h"
#include <signal.h>
#include <stddef.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t came;

static void on_signal(int number)
{
    came = number;
}

static void change(void (*from)(int), void (*to)(int))
{
    struct sigaction action = {.sa_handler = to, .sa_flags = SA_RESTART}, former;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (sigaction(numbers[i], NULL, &former) == 0 && former.sa_handler == from)
            (void)sigaction(numbers[i], &action, NULL);
}

void interrupt_begin(void)
{
    came = 0;
    change(SIG_DFL, on_signal);
    (void)signal(SIGXFSZ, SIG_IGN);
}

bool interrupt_came(void)
{
    return came != 0;
}

void interrupt_end(void)
{
    int number = came;
    change(on_signal, SIG_DFL);
    came = 0;
    if (number)
        (void)raise(number);
}
