// Asks for more memory than there is, and catches what new throws. C++.
#include <new>

static void *volatile sink;

int main() {
	volatile unsigned long much = 1UL << 61;
	int caught = 0;
	for (int i = 0; i < 3; i++)
		try {
			sink = new char[much];
		} catch (std::bad_alloc &) {
			caught++;
		}
	return caught == 3 ? 0 : 1;
}
