// A program whose stacks are known: the parent and its child call known_middle, to two depths, and
// each ends in known_first and known_second, for three and one parts of the time. With an argument,
// the parent does nothing but start children, one after another, until its input ends.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

volatile unsigned long sink;

__attribute__((noinline)) void known_first(long n) { for (long i = 0; i < n; i++) sink += i; }
__attribute__((noinline)) void known_second(long n) { for (long i = 0; i < n; i++) sink ^= i; }

__attribute__((noinline)) int known_middle(int depth)
{
	if (depth > 0)
		return known_middle(depth - 1) + 1;
	known_first(300000);
	known_second(100000);
	return 1;
}

int main(int argc, char **argv)
{
	struct pollfd input = {0, POLLIN, 0};
	while (argc > 1) {
		pid_t child = fork();
		if (!child) {
			for (int i = 0; i < 20; i++)
				known_middle(2);
			_exit(0);
		}
		waitpid(child, 0, 0);
		if (poll(&input, 1, 0))
			return 0;
	}
	pid_t child = fork();
	for (int i = 0; i < 250; i++)
		known_middle(child ? 3 : 8);
	if (child)
		wait(0);
	return 0;
}
