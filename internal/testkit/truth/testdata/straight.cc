// Names that need demangling: namespaces, a template, a virtual call.
#include "truth.h"

namespace shapes {

namespace {
KEEP long leaf()
{
	volatile long count = 0;
	while (!spin_done)
		count = count + 1;
	return count;
}
} // namespace

struct Shape {
	virtual long area(long n) = 0;
};

template <typename T> struct Square : Shape {
	KEEP long area(long n) override
	{
		volatile T local = static_cast<T>(n);
		return leaf() + local;
	}
};

template <typename T> KEEP T measure(Shape &shape, T n)
{
	volatile T local = n;
	return static_cast<T>(shape.area(n)) + local;
}

} // namespace shapes

KEEP long outer(shapes::Shape &shape, long n)
{
	volatile long local = n;
	return shapes::measure<int>(shape, static_cast<int>(n)) + local;
}

int main(int argc, char **argv)
{
	shapes::Square<int> square;

	spin_timer(announce(argc, argv,
		"main\nouter\nshapes::measure<int>\nshapes::Square<int>::area\n"
		"shapes::(anonymous namespace)::leaf\n"));
	return outer(square, argc) == 0;
}
