package symbols

// paramsC calls every function once, with arguments that differ.
const paramsC = `
#include <stdio.h>
#include <stdbool.h>
struct small { int a; short b; };
struct two { long x; char *y; };
struct big { long v, w, x, y, z; };
struct floats { float a, b; };
struct mix { double d; int i; };
struct packed { char c; long l; } __attribute__((packed));
struct bits { unsigned a : 3, b : 5; int c; };
union either { int i; char c[4]; };
enum color { RED, GREEN = 5 };
typedef unsigned long my_size;
typedef int (*callback)(int, const char *);
#define CALLED __attribute__((noipa))
CALLED int ints(int a, long b, unsigned char c, short d, bool e, char f, long g, int h) { return printf("%d%ld%d%d%d%d%ld%d", a, b, c, d, e, f, g, h); }
CALLED int pointers(const char *s, char *t, void *p, const struct two *q, callback cb, my_size n, char **argv) { return printf("%s%s%p%p%p%lu%p", s, t, p, q, cb, n, argv); }
CALLED int floating(double a, int b, float c, long d, long double e, int f) { return printf("%f%d%f%ld%Lf%d", a, b, c, d, e, f); }
CALLED int structs(struct small a, struct two b, struct big c, struct floats d, struct mix e, union either f, int g) { return printf("%d%d%ld%s%ld%f%f%f%d%d%d", a.a, a.b, b.x, b.y, c.v, d.a, d.b, e.d, e.i, f.i, g); }
CALLED int odd(struct packed a, struct bits b, int c) { return printf("%d%ld%d%d%d%d", a.c, a.l, b.a, b.b, b.c, c); }
CALLED struct big returned(int a, int b) { struct big x = {a, b}; return x; }
CALLED int others(enum color c, int arr[4], int (*m)[4], __int128 w, const volatile int *cv, char *const *cc) { return printf("%d%d%d%d%d%s", c, arr[0], m[0][0], (int)w, *cv, *cc); }
CALLED int many(int a, int b, int c, int d, struct two e, int f, int g, struct small h, struct two i) { return printf("%d%d%d%d%ld%d%d%d%ld", a, b, c, d, e.x, f, g, h.a, i.x); }
CALLED int full(int a, int b, int c, int d, int e, struct two f, int g) { return printf("%d%d%d%d%d%ld%d", a, b, c, d, e, f.x, g); }
CALLED int variadic(const char *format, int n, ...) { return printf("%s%d", format, n); }
static __attribute__((noinline)) int partly(int used, int unused) { return printf("%d", used); }
int cb(int a, const char *b) { return a; }
int main(int argc, char **argv) {
	struct small s = {argc, 2}; struct two t = {argc + 3, "y"}; struct big b = {4, argc, 6, 7, 8}; struct floats f = {6, 7};
	struct mix m = {8, argc + 9}; struct packed p = {1, argc + 20}; struct bits i = {5, 9, argc + 30}; union either u = {argc + 10}; int a[4] = {11};
	ints(-argc, argc + 1, argc + 2, -argc - 3, argc, 'f', argc + 6, argc + 7);
	pointers(argv[0], argv[0] + argc, argv, &t, cb, argc + 99, argv + 1);
	floating(argc + 1.5, argc + 2, argc + 3.5, argc + 4, 5.5, argc + 6);
	structs(s, t, b, f, m, u, argc + 77);
	odd(p, i, argc + 3);
	returned(argc + 1, argc + 2);
	others(argc == 1 ? GREEN : RED, a, &a, ((__int128)argc << 64) + 12, &argc, argv);
	many(argc + 1, argc + 2, argc + 3, argc + 4, t, argc + 6, argc + 7, s, t);
	full(argc + 1, argc + 2, argc + 3, argc + 4, argc + 5, t, argc + 7);
	variadic(argv[0], argc + 1, 2, 3.0);
	partly(argc + 1, argc + 2);
	return 0;
}
`

const paramsCPP = `
#include <cstdio>
#include <string>
#define CALLED __attribute__((noipa))
namespace ns {
struct Plain { long a; int b; };
struct Owner { long a; Owner(long x) : a(x) {} Owner(Owner const &o) : a(o.a) {} ~Owner() { a = 0; } };
struct Empty {};
struct Base { virtual int f(int x) { return x; } int base = 3; };
struct Derived : Base {
	int own = 4;
	CALLED int f(int x) override { return printf("%d%d%d", x, own, base); }
	CALLED Owner make(int x) { return Owner(x + own); }
	CALLED static int fixed(int x) { return printf("%d", x); }
	CALLED int constant(char const *s) const { return printf("%s%d", s, own); }
};
template <class T> struct Pair { T first, second; };
template <class T> CALLED int shown(Pair<T> p, T const &r) { return printf("%d%d%d", int(p.first), int(p.second), int(r)); }
enum class Level : unsigned char { LOW = 3, HIGH = 200 };
}
CALLED int values(ns::Plain p, ns::Owner o, ns::Empty, int last) { return printf("%ld%d%ld%d", p.a, p.b, o.a, last); }
CALLED int references(int &a, int const &b, std::string const &s, int &&c, bool *d) { return printf("%d%d%s%d%d", a, b, s.c_str(), c, *d); }
CALLED int more(ns::Level l, int ns::Plain::*member, std::nullptr_t n, wchar_t w) { return printf("%d%p%d", int(l), (void *)n, int(w)); }
int main(int argc, char **argv) {
	ns::Derived d; ns::Plain p = {argc + 5, argc + 6}; ns::Owner o(argc + 7); int a = argc + 1; bool flag = true;
	d.f(argc + 8); d.make(argc + 9); ns::Derived::fixed(argc + 10); d.constant(argv[0]);
	ns::Pair<int> i = {argc, argc + 1}; ns::Pair<long> l = {argc + 2, argc + 3};
	ns::shown<int>(i, a); ns::shown<long>(l, p.a);
	values(p, o, ns::Empty(), argc + 11);
	references(a, argc, std::string("text"), argc + 12, &flag);
	more(argc == 1 ? ns::Level::HIGH : ns::Level::LOW, &ns::Plain::b, nullptr, L'x');
	return 0;
}
`

const paramsGo = `package main

import (
	"fmt"
	"os"
)

type point struct{ x, y int32 }
type record struct {
	name string
	p    point
	tags []string
}
type large struct{ a, b, c, d [2]int }

//go:noinline
func ints(a int, b int8, c uint16, d bool, e uintptr, f rune) { fmt.Fprint(os.Stderr, a, b, c, d, e, f) }

//go:noinline
func text(s string, b []byte, e error, p *point) { fmt.Fprint(os.Stderr, s, b, e, p) }

//go:noinline
func mixed(f float64, a int, c complex128, b int, p point, l large, z int) {
	fmt.Fprint(os.Stderr, f, a, c, b, p, l, z)
}

//go:noinline
func many(a, b, c, d, e, f, g, h, i, j, k int, s string) int {
	fmt.Fprint(os.Stderr, a, b, c, d, e, f, g, h, i, j, k, s)
	return a
}

//go:noinline
func (r record) show(n int, m map[string]int, ch chan int, fn func()) (int, error) {
	fmt.Fprint(os.Stderr, r, n, m, ch, fn == nil)
	return n, nil
}

//go:noinline
func (p *point) move(dx, dy int32) { p.x += dx; p.y += dy }

func main() {
	n := len(os.Args)
	ints(n, int8(-n), uint16(n+2), n == 1, uintptr(n+4), rune(n+5))
	text(os.Args[0], []byte(os.Args[0]), os.ErrExist, &point{int32(n), 2})
	mixed(1.5, n+1, 2i, n+2, point{int32(n), 7}, large{}, n+9)
	many(n, 2, 3, 4, 5, 6, 7, 8, 9, n+10, 11, os.Args[0])
	r := record{os.Args[0], point{3, int32(n)}, os.Args}
	r.show(n+1, map[string]int{"a": 1}, make(chan int), func() {})
	p := point{1, 2}
	p.move(int32(n), 4)
	fmt.Fprintln(os.Stderr, p)
}
`

const paramsRust = `
use std::hint::black_box;
#[derive(Clone, Copy)]
pub struct Pair { a: u32, b: u64 }
#[derive(Clone, Copy)]
pub struct Small { a: u8, b: u8, c: u8 }
pub struct Big { a: u64, b: u64, c: u64, s: String }
#[derive(Clone, Copy)]
pub enum Level { Low = 3, High = 9 }
impl Pair {
    #[inline(never)] pub fn method(&self, x: u32) -> u64 { black_box(self.b + x as u64) }
    #[inline(never)] pub fn make(a: u32, s: &str) -> Big { black_box(Big { a: a as u64, b: s.len() as u64, c: 3, s: s.to_string() }) }
}
#[inline(never)] pub fn ints(a: i32, b: u64, c: bool, d: u8, e: char, f: i64, g: usize, h: i16) -> u64 { black_box((a, b, c, d, e, f, g, h)); b }
#[inline(never)] pub fn text(s: &str, v: &[u32], r: &u64, m: &mut u64) -> u64 { black_box((s, v, r)); *m += 1; *m }
#[inline(never)] pub fn structs(p: Pair, s: Small, b: Big, l: Level, last: u32) -> u64 { black_box((p.a, p.b, s.a, s.b, s.c, b.a, b.c, b.s)); black_box(l as u64) + last as u64 }
#[inline(never)] pub fn dynamic(b: Box<u64>, f: f64, n: u32) -> u64 { black_box(f); *b + n as u64 }
#[inline(never)] pub fn many(a: u64, b: &str, c: u64, d: &str, e: u64, f: &str) -> u64 { black_box((a, b, c, d, e, f)); a }
#[inline(never)] pub fn wide(a: u128, b: u32) -> u64 { black_box(a); b as u64 }
fn main() {
    let n = std::env::args().count() as u64;
    let p = Pair { a: n as u32 + 1, b: n + 2 };
    let name = std::env::args().next().unwrap();
    let mut x = n;
    Pair::make(n as u32 + 3, &name);
    p.method(n as u32 + 8);
    ints(-(n as i32), n, n == 1, n as u8 + 4, 'x', -(n as i64), n as usize + 6, n as i16 + 7);
    text(&name, &[n as u32, 2, 3], &n, &mut x);
    structs(p, Small { a: n as u8, b: 2, c: 3 }, Big { a: n, b: 2, c: 3, s: name.clone() }, if n == 1 { Level::High } else { Level::Low }, n as u32 + 10);
    dynamic(Box::new(n), n as f64, n as u32 + 11);
    many(n, &name, n + 1, &name, n + 2, &name);
    wide(n as u128 + (3 << 64), n as u32 + 13);
}
`
