package dwarfline

// cProgram has inlining in two levels, a function with a cold part, a file
// included from another directory and a macro over several lines.
var cProgram = map[string]string{
	"main.c": `#include <stdio.h>
#include <stdlib.h>
#include "part.h"

static int square(int x)
{
	return x * x + part(x);
}

static inline __attribute__((always_inline)) int twice(int x)
{
	int a = square(x);
	if (__builtin_expect(a == 12345, 0)) {
		fprintf(stderr, "unlikely %d\n", a);
		abort();
	}
	return a + square(x + 1);
}

__attribute__((noinline)) int sum(const int *v, int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s += twice(v[i]) - part(s);
	return s;
}

int main(int argc, char **argv)
{
	int v[16];
	for (int i = 0; i < 16; i++)
		v[i] = i * argc;
	printf("%d %d\n", sum(v, 16), other(argc, argv[0]));
	return 0;
}
`,
	"other.c": `#include <string.h>
#include "part.h"

static int length(const char *s)
{
	return (int)strlen(s) + part(*s);
}

int other(int n, const char *s)
{
	int r = 0;
	while (n-- > 0)
		r += length(s) * part(r);
	return r;
}
`,
	"part.h": `#define STEP(x) do { \
	(x) ^= (x) << 5; \
	(x) += 7; \
} while (0)

static inline int part(int x)
{
	STEP(x);
	if (x & 1)
		STEP(x);
	return x;
}

int other(int n, const char *s);
`,
}

// cppProgram inlines much of the standard library and has members,
// constructors, lambdas, templates and a local class.
var cppProgram = map[string]string{
	"main.cc": `#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

namespace shapes {
struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
	std::string name;
	explicit Shape(std::string n) : name(std::move(n)) {}
};
struct Square : Shape {
	double side;
	explicit Square(double s) : Shape("square"), side(s) {}
	double area() const override { return side * side; }
};
struct Circle : Shape {
	double radius;
	explicit Circle(double r) : Shape("circle"), radius(r) {}
	double area() const override { return 3.14159 * radius * radius; }
};
}

template <class T> T total(const std::vector<T> &v)
{
	return std::accumulate(v.begin(), v.end(), T{}, [](T a, T b) { return a + b * 2; });
}

static int words(const std::string &text)
{
	struct Counter {
		std::map<std::string, int> seen;
		void add(const std::string &w) { seen[w]++; }
	} counter;
	std::regex word("[a-z]+");
	for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it)
		counter.add(it->str());
	return static_cast<int>(counter.seen.size());
}

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<shapes::Shape>> all;
	for (int i = 0; i < argc + 3; i++) {
		if (i % 2)
			all.push_back(std::make_unique<shapes::Square>(i));
		else
			all.push_back(std::make_unique<shapes::Circle>(i));
	}
	std::sort(all.begin(), all.end(), [](const auto &a, const auto &b) { return a->area() > b->area(); });
	std::vector<double> areas;
	std::unordered_map<std::string, double> by;
	for (const auto &s : all) {
		areas.push_back(s->area());
		by[s->name] += s->area();
	}
	std::cout << total(areas) << ' ' << by.size() << ' ' << words(argv[0]) << std::endl;
}
`,
}

var rustProgram = map[string]string{
	"main.rs": `use std::collections::HashMap;

#[derive(Debug, Clone)]
struct Item {
    name: String,
    weight: u64,
}

trait Weigh {
    fn weigh(&self) -> u64;
}

impl Weigh for Item {
    #[inline(always)]
    fn weigh(&self) -> u64 {
        self.weight * self.name.len() as u64
    }
}

fn total<T: Weigh>(items: &[T]) -> u64 {
    items.iter().map(|i| i.weigh()).filter(|w| w % 3 != 0).sum()
}

fn main() {
    let mut items = Vec::new();
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (i, arg) in std::env::args().enumerate() {
        *seen.entry(arg.clone()).or_insert(0) += i;
        items.push(Item { name: arg, weight: i as u64 + 1 });
    }
    items.sort_by(|a, b| b.weight.cmp(&a.weight));
    println!("{} {:?} {:?}", total(&items), items, seen);
}
`,
}

var goProgram = map[string]string{
	"go.mod": "module out\n\ngo 1.25\n",
	"main.go": `package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type item struct {
	name   string
	weight int
}

func (i item) weigh() int { return half(i.weight*len(i.name)) + 1 }

func half(n int) int { return n / 2 }

func main() {
	var items []item
	for i, a := range os.Args {
		items = append(items, item{strings.ToUpper(a), i})
	}
	sort.Slice(items, func(a, b int) bool { return items[a].weigh() < items[b].weigh() })
	sum := 0
	for _, i := range items {
		sum += i.weigh()
	}
	fmt.Println(sum, items)
}
`,
}
