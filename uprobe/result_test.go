package uprobe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

const results = `struct bits { unsigned a:3; int b:5; long c:33; int d:32; };
struct point { double x, y; };
volatile int sink;
__attribute__((noinline)) long f5(struct bits *p) { sink += p->b; return p->c; }
__attribute__((noinline)) double f2(double x) { return x * 2; }
__attribute__((noinline)) struct point f3(double x) { struct point p = {x, x}; return p; }
__attribute__((noinline)) void f4(int n) { sink += n; }
int main(void) {
	struct bits v = {5, -7, -0x34567890L, -3}, w = {5, 7, 0x34567890L, 3};
	f5(&v); f5(&w); f2(3.5); f3(1); f4(2);
	return 0;
}`

func resultsProgram(t *testing.T) string {
	t.Helper()
	return compiled.Copy(t, compiled.Program(t, map[string]string{"results.c": results}, "gcc", "-g", "-O0", "-o", "results", "results.c"))
}

func TestAResultThatNoRegisterHasIsRefused(t *testing.T) {
	program := resultsProgram(t)
	for definition, want := range map[string]string{
		"r:{}:f2 $retval":      "it returns double in a floating-point register",
		"r:{}:f2 x=$retval:s8": "it returns double in a floating-point register",
		"r:{}:f3 $retval":      "begins in a floating-point register",
		"r:{}:f4 $retval":      "it returns nothing (void)",
		"r:{}:f5 $retval":      "",
		"r:{}:f2":              "",
	} {
		p, err := tryResolve(replaceTarget(definition, program), Options{})
		if err == nil {
			p.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", definition, err, want)
		}
	}
}

func TestLiveSignedBitFieldsHaveTheirSign(t *testing.T) {
	program := resultsProgram(t)
	for _, test := range []struct {
		filter string
		want   []string
	}{
		{"", []string{"a=5 b=-7 c=-878082192 d=-3", "a=5 b=7 c=878082192 d=3"}},
		{"b == 7", []string{"a=5 b=7 c=878082192 d=3"}},
	} {
		p := resolve(t, "p:"+program+":f5 p->a p->b p->c p->d", Options{})
		if diff := cmp.Diff(test.want, texts(trace(t, p, AttachOptions{Filter: test.filter}, program))); diff != "" {
			t.Errorf("filter %q:\n%s", test.filter, diff)
		}
	}
	p := resolve(t, "p:"+program+":f5 p->a p->b", Options{})
	if _, err := Attach(p, AttachOptions{Filter: "b < 0"}); err == nil || !strings.Contains(err.Error(), "without its sign") {
		t.Errorf("a filter that needs the sign: %v", err)
	}
}
