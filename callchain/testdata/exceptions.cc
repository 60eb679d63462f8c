// An exception thrown through frames with destructors, as one of C++'s own
// unwinder, which runs while it is unwound itself.
#include <stdexcept>
#include <string>

static volatile int sink;

struct Guard {
	~Guard() { sink = sink + 1; }
};

__attribute__((noinline)) static void thrower(int n)
{
	Guard guard;
	if (n == 0)
		throw std::runtime_error(std::to_string(sink));
	thrower(n - 1);
	sink = sink + 1;
}

int main()
{
	__asm__ volatile("int3"); // from here on it is stepped
	try {
		thrower(3);
	} catch (const std::exception &e) {
		sink = sink + e.what()[0];
	}
	return 0;
}
