package syntax

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDefinitionsOfC(t *testing.T) {
	tests := []struct{ text, want string }{
		{"struct a { int x; char *y; };", "(define struct a (x int) (y char*))"},
		{"struct a { int x }", "(define struct a (x int))"},
		{"struct a { unsigned long int x, *y, z[2][3]; };", "(define struct a (x unsigned long int) (y unsigned long int*) (z unsigned long int[3][2]))"},
		{"struct a { int *x[4]; int (*y)[4]; int **z; };", "(define struct a (x int*[4]) (y int[4]*) (z int**))"},
		{"struct a { void (*f)(int, char *); int (*g[3])(void); int *(*h)(void); };", "(define struct a (f void*) (g void*[3]) (h void*))"},
		{"struct a { int (*(*f)(void))[3]; };", "(define struct a (f void*))"},
		{"struct a { int x:3, y:4; unsigned :2; int :0; };", "(define struct a (x int bits=3) (y int bits=4) (unsigned bits=2) (int))"},
		{"struct a { const volatile char *const x; char __user *y; };", "(define struct a (x char*) (y char*))"},
		{"struct a { struct b *n; enum e k; union u v; };", "(define struct a (n struct b*) (k enum e) (v union u))"},
		{"struct a { struct b { int c; } d; };", "(define struct b (c int))\n(define struct a (d struct b))"},
		{"struct a { union { int b; char c; }; struct { int d; } e; };",
			"(define union (anonymous 1) (b int) (c char))\n(define struct (anonymous 2) (d int))\n(define struct a (union (anonymous 1)) (e struct (anonymous 2)))"},
		{"struct a { struct b { int c; }; enum e { X }; int d; };", "(define struct b (c int))\n(define enum e X=0)\n(define struct a (d int))"},
		{"struct a { enum { X, Y } k; };", "(define enum (anonymous 1) X=0 Y=1)\n(define struct a (k enum (anonymous 1)))"},
		{"union u { int a; char b[4]; };", "(define union u (a int) (b char[4]))"},
		{"struct a { char data[]; };", "(define struct a (data char[]))"},
		{"struct a { int x; } __attribute__((packed));", "(define struct a packed (x int))"},
		{"struct __attribute__((packed, aligned(4))) a { int x; };", "(define struct a packed aligned=4 (x int))"},
		{"struct a __attribute__((packed)) { int x; }", "(define struct a packed (x int))"},
		{"struct a { int x __attribute__((aligned(8))), y __attribute__((packed)); __attribute__((deprecated(\"no\"))) int z; };",
			"(define struct a (x int aligned=8) (y int packed) (z int))"},
		{"enum e { A, B = 5, C, D = A + 2 * 3, E = -1, F = 'x', G = 1 << 4 | 1, };", "(define enum e A=0 B=5 C=6 D=6 E=-1 F=120 G=17)"},
		{"enum { A = sizeof_none ? 1 : 2 };", ""},
		{"#include <linux/sched.h>\nstruct s { char comm[TASK_COMM_LEN]; };", "(define struct s (comm char[16]))"},
		{"enum e { A = 3 }; struct s { int x[A + 1]; int y : A; };", "(define enum e A=3)\n(define struct s (x int[4]) (y int bits=3))"},
		{"#define N 16\nstruct s { char x[N * 2]; };", "(define struct s (x char[32]))"},
		{"typedef unsigned int u;", "(typedef u unsigned int)"},
		{"typedef struct { int x; } a, *b;", "(define struct (anonymous 1) (x int))\n(typedef a struct (anonymous 1))\n(typedef b struct (anonymous 1)*)"},
		{"typedef int (*callback)(int), array[3];", "(typedef callback void*)\n(typedef array int[3])"},
		{"struct a;", ""},
		{"struct a { };", "(define struct a)"},
	}
	for _, test := range tests {
		p, err := Parse("", test.text, Options{})
		if test.want == "" && strings.Contains(test.text, "sizeof_none") {
			if err == nil {
				t.Errorf("%s is taken", test.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s\n%v", test.text, err)
			continue
		}
		if got := strings.TrimSpace(p.String()); got != test.want {
			t.Errorf("%s is\n%s\nnot\n%s", test.text, got, test.want)
		}
	}
}

// files is a file system for imports.
type files map[string]string

func (f files) read(_, path string) (string, string, error) {
	text, ok := f[path]
	if !ok {
		return "", "", errors.New("no such file")
	}
	return path, text, nil
}

func TestPreprocessor(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a name", "#define A 1 + 2\nbegin { @ = A * 3; }", "(= @ (+ 1 (* 2 3)))"},
		{"a name without a meaning", "#define A\nbegin { A f(); }", "(f)"},
		{"a string", "#define RED \"\\033[31m\"\nbegin { @ = RED; }", `(= @ "\x1b[31m")`},
		{"names within names", "#define A B\n#define B (C)\n#define C 5\nbegin { @ = A; }", "(= @ 5)"},
		{"a name of itself", "#define A A + 1\nbegin { @ = A; }", "(= @ (+ A 1))"},
		{"names of each other", "#define A B\n#define B A\nbegin { @ = A; }", "(= @ A)"},
		{"arguments", "#define ADD(x, y) ((x) + (y))\nbegin { @ = ADD(1, f(2, 3)) * 2; }", "(= @ (* (+ 1 (f 2 3)) 2))"},
		{"no arguments", "#define ONE() 1\nbegin { @ = ONE(); }", "(= @ 1)"},
		{"a macro with arguments and no parenthesis", "#define F(x) x\nbegin { @ = F; }", "(= @ F)"},
		{"a line that goes on", "#define A 1 + \\\n 2\nbegin { @ = A; }", "(= @ (+ 1 2))"},
		{"a comment after it", "#define A 1 // one\n#define B 2 /* two */\nbegin { @ = A + B; }", "(= @ (+ 1 2))"},
		{"blanks before and after #", " # define A 1\nbegin { @ = A; }", "(= @ 1)"},
		{"undef", "#define A 1\n#undef A\nbegin { @ = A; }", "(= @ A)"},
		{"ifdef", "#ifdef HAVE\nbegin { f(); }\n#else\nbegin { g(); }\n#endif", "(f)"},
		{"ifndef", "#ifndef HAVE\n this is \" not read\n#else\nbegin { g(); }\n#endif", "(g)"},
		{"if", "#if HAVE > 4 && defined(HAVE) && !defined NONE\nbegin { f(); }\n#endif", "(f)"},
		{"elif", "#if HAVE == 1\nx\n#elif HAVE == 5\nbegin { f(); }\n#elif 1\ny\n#else\nz\n#endif", "(f)"},
		{"what is not defined is 0", "#if NONE || NONE(1, 2)\nx\n#else\nbegin { f(); }\n#endif", "(f)"},
		{"conditions in conditions", "#if 0\n#if 1\nx\n#else\ny\n#endif\nz\n#elif 1\n#if 0\nu\n#endif\nbegin { f(); }\n#endif", "(f)"},
		{"a condition in a block", "begin {\n#if 0\n f();\n#else\n g();\n#endif\n}", "(g)"},
		{"a positional parameter's count is no line", "begin { @ =\n$#; }", "(= @ $#)"},
		{"what headers of the system define", "#include <sys/socket.h>\nbegin { @ = AF_INET6 + SIGKILL + ENOENT; }", "(= @ (+ (+ 10 9) 2))"},
		{"what headers of the kernel define", "#include <linux/fs.h>\nbegin { @ = DT_REG + O_TMPFILE + EOPNOTSUPP + ICMP_ECHO; }", fmt.Sprintf("(= @ (+ (+ (+ 8 %d) 95) 8))", unix.O_TMPFILE)},
		{"what the program defines before", "#define AF_INET 3\n#include <sys/socket.h>\nbegin { @ = AF_INET; }", "(= @ 3)"},
		{"what the program defines after", "#include <sys/socket.h>\n#define AF_INET 3\nbegin { @ = AF_INET; }", "(= @ 3)"},
		{"what no header defines", "begin { @ = AF_INET; }", "(= @ AF_INET)"},
		{"an included file", "#include \"a.h\"\nbegin { @ = A; }", "(= @ 7)"},
	}
	for _, test := range tests {
		options := Options{Defines: map[string]string{"HAVE": "5"}, Import: files{"a.h": "#pragma once\n#define A 7\n#include \"a.h\"\n"}.read}
		p, err := Parse("", test.text, options)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		want := "(probe \"begin\" " + test.want + ")"
		if got := strings.TrimSpace(p.String()); got != want {
			t.Errorf("%s: %s, not %s", test.name, got, want)
		}
	}
}

func TestHeadersAreRecorded(t *testing.T) {
	p, err := Parse("", "#include <linux/sched.h>\n #include <net/sock.h> // why\nbegin { }", Options{Includes: []string{"linux/fs.h"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []include{{path: "linux/fs.h"}, {Pos{"", 1, 1}, "linux/sched.h"}, {Pos{"", 2, 2}, "net/sock.h"}}
	if len(p.includes) != len(want) {
		t.Fatalf("%v, not %v", p.includes, want)
	}
	for i := range want {
		if p.includes[i] != want[i] {
			t.Errorf("%v, not %v", p.includes[i], want[i])
		}
	}
}

func TestHeadersFromTheCommandLine(t *testing.T) {
	options := Options{
		Includes: []string{"first.h", "second.h"},
		Header: func(path string) (string, string, bool) {
			text, ok := files{
				"first.h":  "#pragma once\n#define FIRST 3\nstruct first { int x[FIRST]; };",
				"second.h": "struct second { char y[FIRST]; };",
				"third.h":  "#include <first.h>\n#include <linux/fs.h>\nenum { THIRD = 5 };",
			}[path]
			return "/include/" + path, text, ok
		},
		Import: files{"a.bt": "#include <third.h>\nbegin { @ = FIRST; }"}.read,
	}
	p, err := Parse("", "#include <third.h>\nimport \"a.bt\"; begin { @ = FIRST; }", options)
	if err != nil {
		t.Fatal(err)
	}
	want := "(define struct first (x int[3]))\n(define struct second (y char[3]))\n(define enum (anonymous 1) THIRD=5)\n" +
		"(define enum (anonymous 2) THIRD=5)\n(probe \"begin\" (= @ 3))\n(probe \"begin\" (= @ 3))\n"
	if got := p.String(); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	if len(p.includes) != 1 || p.includes[0] != (include{Pos{"/include/third.h", 2, 1}, "linux/fs.h"}) {
		t.Errorf("%v", p.includes)
	}
}

func TestImports(t *testing.T) {
	fs := files{
		"a.bt": "import \"b.bt\"; import \"c.h\"; macro a() { 1 } begin { a(); }",
		"b.bt": "import \"a.bt\"; import \"main.bt\" struct b { int x; }; begin { b(); }",
		"c.h": "#ifndef C\n#define C\nextern int global;\nstatic inline int f(int x) { if (x) { return 1; } return 2; }\nint g(void);\n" +
			"struct c { int x; } variable;\nunsigned long h[3];\n#endif\n",
		"main.bt": "import \"a.bt\"; import \"a.bt\" begin { main(); }",
	}
	p, err := Parse("main.bt", fs["main.bt"], Options{Import: fs.read})
	if err != nil {
		t.Fatal(err)
	}
	want := "(define struct b (x int))\n(define struct c (x int))\n(macro a () ({} (=> 1)))\n" +
		"(probe \"begin\" (b))\n(probe \"begin\" (a))\n(probe \"begin\" (main))\n"
	if got := p.String(); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
	var read []string
	for _, s := range p.Sources {
		read = append(read, s.name)
	}
	if got := strings.Join(read, " "); got != "main.bt a.bt b.bt c.h" {
		t.Errorf("read were %s", got)
	}
}
