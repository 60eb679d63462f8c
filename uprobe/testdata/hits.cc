#include <cstdlib>

namespace ns {
struct T {
	int value;
	__attribute__((noinline)) int f(int n) { asm volatile("" ::: "memory"); return value + n; }
	__attribute__((noinline)) int f(long n) { asm volatile("" ::: "memory"); return value - (int)n; }
	__attribute__((noinline)) bool operator<(const T &other) const { asm volatile("" ::: "memory"); return value < other.value; }
};
template <typename A> __attribute__((noinline)) A twice(A a) { asm volatile("" ::: "memory"); return a + a; }
}

int main(int, char **argv)
{
	int n = atoi(argv[1]), sum = 0;
	ns::T t{1}, u{2};
	for (int i = 0; i < n; i++)
		sum += t.f(i) + t.f((long)i) + t.f((long)i) + (t < u) + ns::twice(i) + (int)ns::twice((long)i);
	volatile int keep = sum;
	(void)keep;
	return 0;
}
