/* What every C and C++ program here shares: the announcement of its chain and
 * the end of its spinning. The end comes by a timer, not by asking the clock,
 * so that the busy function calls nothing while it is busy. */
#ifndef TRUTH_H
#define TRUTH_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Functions keep something on the stack, because gcc leaves those that do not
 * without a frame pointer whatever the flags say. */

/* Neither inlined, nor cloned, nor given another calling convention. */
#define KEEP __attribute__((noipa))

static volatile int spin_done;
static volatile long sink;

static void spin_end(int signal)
{
	(void)signal;
	spin_done = 1;
}

/* Ends the spinning after that many CPU seconds of the whole process. They are not those of
 * ITIMER_PROF, which charges a whole tick to what runs at the tick, however briefly it ran. */
static void spin_timer(double seconds)
{
	struct sigaction action;
	struct sigevent event;
	struct itimerspec time;
	timer_t timer;

	memset(&action, 0, sizeof action);
	action.sa_handler = spin_end;
	action.sa_flags = SA_RESTART;
	sigaction(SIGPROF, &action, NULL);
	memset(&event, 0, sizeof event);
	event.sigev_notify = SIGEV_SIGNAL;
	event.sigev_signo = SIGPROF;
	memset(&time, 0, sizeof time);
	time.it_value.tv_sec = (time_t)seconds;
	time.it_value.tv_nsec = (long)((seconds - (double)time.it_value.tv_sec) * 1e9);
	if (timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &timer) || timer_settime(timer, 0, &time, NULL))
		abort();
}

/* Prints the chain, root first, and returns the CPU seconds asked for; asked
 * for none, the announcement is all. */
static double announce(int argc, char **argv, const char *chain)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;

	fputs(chain, stdout);
	fflush(stdout);
	if (seconds <= 0)
		exit(0);
	return seconds;
}

#endif
