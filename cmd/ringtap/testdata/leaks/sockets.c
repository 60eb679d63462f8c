// Has as many sockets open as its argument says, after it has opened and closed ten
// times as many. Begins when it is told to, and tells when it has done so.
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
	char c;
	int n = argc > 1 ? atoi(argv[1]) : 1;
	if (read(0, &c, 1) != 1)
		return 1;
	for (int i = 0; i < 10 * n; i++)
		close(socket(AF_UNIX, SOCK_DGRAM, 0));
	for (int i = 0; i < n; i++)
		if (socket(AF_UNIX, SOCK_DGRAM, 0) < 0)
			return 1;
	if (write(1, "done\n", 5) != 5)
		return 1;
	return read(0, &c, 1) < 0;
}
