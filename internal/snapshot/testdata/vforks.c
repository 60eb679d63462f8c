// A process whose only thread is in uninterruptible sleep: its child neither runs a
// program nor ends.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(1, "ready\n", 6) < 0) // the parent can be in no other sleep from now on
			_exit(1);
		for (;;)
			pause();
	}
	return 0;
}
