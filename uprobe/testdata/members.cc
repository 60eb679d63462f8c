// Calls ns::Worker::run with members that follow from i = 0, 1, 2.
namespace ns {
static long total = 3;

struct Base {
	virtual ~Base() {}
	int kind = 4;
};

struct Node {
	int v;
	Node *next;
};

class Worker : public Base {
public:
	int id;
	const char *label;
	Node head;
	Node &ref;
	bool on;
	char c;

	Worker(int i, Node &n) : id(i), label("worker"), head{i * 2, &n}, ref(n), on(i & 1), c('a' + i) {}

	__attribute__((noinline)) int run(const Node &n, int &out)
	{
		out += id + n.v;
		total += out;
		return out;
	}
};
}

int main()
{
	int out = 5;
	ns::Node n{77, nullptr};
	for (int i = 0; i < 3; i++) {
		ns::Worker w(i, n);
		n.v++;
		w.run(n, out);
	}
	return 0;
}
