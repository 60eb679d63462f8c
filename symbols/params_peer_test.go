package symbols

import (
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// splitTypes divides a list at its commas, not at those within a type.
func splitTypes(list string) (types []string) {
	depth, start := 0, 0
	for i, c := range list {
		switch {
		case strings.ContainsRune("(<{", c):
			depth++
		case strings.ContainsRune(")>}", c):
			depth--
		case c == ',' && depth == 0:
			types = append(types, strings.TrimSpace(list[start:i]))
			start = i + 1
		}
	}
	return append(types, strings.TrimSpace(list[start:]))
}

func TestPeerTypesOfParametersReadAsGdbWritesThem(t *testing.T) {
	const lists = `
struct s; typedef struct s s_t; typedef struct { int a; } unnamed; typedef int (*callback)(const char *, void *);
int types(struct s *a, const s_t *b, unnamed c, callback d, int (*e)(int, char **, ...), const volatile char *f, char *const g,
	int (*h)[3], int *(*i)[2][4], unsigned long long j, short *restrict k, float l, long double m, _Bool n, void (*o)(void), signed char p,
	int (*(*q)(int))(long), const char *const *r, enum e { X } s, union { int x; } *u, int *v[], double _Complex w) { return 0; }
int main(void) { return 0; }
`
	for _, tt := range []struct {
		tool, source, text string
		functions          []string
	}{
		{"gcc", "program.c", lists, []string{"types"}},
		{"gcc", "program.c", paramsC, strings.Fields("ints pointers floating structs odd returned others many full")},
		{"g++", "program.cc", paramsCPP, []string{"values", "references", "more", "ns::Derived::fixed", "ns::Derived::constant", "ns::shown<long>"}},
	} {
		path := buildSource(t, tt.tool, tt.source, tt.text, "-g")
		f := openFile(t, path, Options{})
		for _, name := range tt.functions {
			found, err := f.Find(name)
			if err != nil || len(found) != 1 {
				t.Fatalf("%s: %v, %v", name, found, err)
			}
			params, err := f.Params(found[0].Offset)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			out := string(run(t, "gdb", "-nx", "-batch", "-ex", "whatis '"+name+"'", path))
			_, list, _ := strings.Cut(strings.TrimSpace(out), "(")
			list = strings.TrimSuffix(strings.TrimSuffix(list, " const"), ")")
			var got []string
			for _, p := range params {
				got = append(got, p.Type)
			}
			if want := splitTypes(list); !slices.Equal(got, want) {
				t.Errorf("%s:\n%q, gdb writes\n%q", name, got, want)
			}
		}
	}
}

// TestPeerParametersAreWhatPerfProbeFetches compares with the fetch arguments
// that perf probe writes for the same names.
func TestPeerParametersAreWhatPerfProbeFetches(t *testing.T) {
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("perf is not installed")
	}
	names := strings.Fields("ax dx cx bx si di bp sp r8 r9 r10 r11 r12 r13 r14 r15")
	fetch := regexp.MustCompile(`(\w+)=(\S+?):[a-z]+\d+`)
	for _, flags := range [][]string{{"-O2", "-gdwarf-4"}, {"-O2", "-gdwarf-5"}} {
		path := buildSource(t, "gcc", "program.c", paramsC, flags...)
		f := openFile(t, path, Options{})
		compared := 0
		for _, name := range strings.Fields("ints pointers floating others many full") {
			found, err := f.Find(name)
			if err != nil || len(found) != 1 {
				t.Fatalf("%s: %v, %v", name, found, err)
			}
			params, err := f.Params(found[0].Offset)
			if err != nil {
				t.Fatal(err)
			}
			ours := map[string]string{}
			definition := name
			for _, p := range params {
				switch loc := p.Location; loc.Where {
				case dwarfparam.Register:
					ours[p.Name] = "%" + names[loc.Register]
				case dwarfparam.Stack:
					ours[p.Name] = fmt.Sprintf("+%d(%%sp)", loc.Offset+8)
				default:
					continue
				}
				if p.Kind != dwarfparam.Struct && p.Kind != dwarfparam.Float {
					definition += " " + p.Name
				}
			}
			out, err := exec.Command(perf, "probe", "-x", path, "-D", definition).CombinedOutput()
			if err != nil {
				t.Logf("perf probe -D %q: %v: %s", definition, err, out)
				continue
			}
			if want := fmt.Sprintf("%s:%#x ", path, found[0].Offset); !strings.Contains(string(out), want) {
				t.Errorf("%s is at %#x, perf probe writes %s", name, found[0].Offset, out)
			}
			for _, m := range fetch.FindAllStringSubmatch(string(out), -1) {
				if ours[m[1]] != m[2] {
					t.Errorf("%s: %s is %s, perf probe fetches %s", name, m[1], ours[m[1]], m[2])
				}
				compared++
			}
		}
		if compared == 0 {
			t.Skip("this perf probe reads no debug information")
		}
		if compared < 20 {
			t.Errorf("only %d fetch arguments compared", compared)
		}
	}
}
