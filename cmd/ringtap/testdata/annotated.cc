// A hot loop with inlined calls, and an overload that is less hot.
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace app {

template <class T> struct Sum {
	T value{};
	void add(T v) { value += v; }
};

inline double weigh(double v, int k)
{
	for (int i = 1; i < k; i++)
		v = v * 0.999 + 1.0 / (v + i);
	return v;
}

__attribute__((noinline)) double work(const std::vector<double> &all, int k)
{
	Sum<double> sum;
	for (double v : all)
		sum.add(weigh(v, k));
	return sum.value;
}

__attribute__((noinline)) double work(const std::vector<long> &all)
{
	Sum<double> sum;
	for (long v : all)
		sum.add(100.0 / (v + 1));
	return sum.value;
}

}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 60;
	std::vector<double> weights(1000, 1.5);
	std::vector<long> counts(50000, 7);
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += app::work(weights, 1000) + app::work(counts);
	fprintf(stderr, "%g\n", sum);
	return 0;
}
