package symbols

import (
	"os/exec"
	"reflect"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// TestConventionsAreThoseThatOptimizedCodeDescribes compares what is derived for
// unoptimized code, where compilers do not describe the entry, with what the
// same compiler says of the same functions when it optimizes.
func TestConventionsAreThoseThatOptimizedCodeDescribes(t *testing.T) {
	c := strings.Fields("ints pointers floating structs odd returned others many full")
	cpp := []string{"ns::Derived::f", "ns::Derived::make", "ns::Derived::fixed", "ns::Derived::constant", "values", "references", "more"}
	for _, tt := range []struct {
		tool, source, text string
		functions          []string
	}{
		{"gcc", "program.c", paramsC, c},
		{"g++", "program.cc", paramsCPP, cpp},
		{"clang", "program.c", paramsC, c},
		{"aarch64-linux-gnu-gcc", "program.c", paramsC, c},
		{"aarch64-linux-gnu-g++", "program.cc", paramsCPP, cpp},
	} {
		t.Run(tt.tool, func(t *testing.T) {
			if _, err := exec.LookPath(tt.tool); err != nil {
				t.Skipf("no %s", tt.tool)
			}
			read := func(flags ...string) map[string][]Param {
				// Not linked: libraries of other machines are seldom there.
				out := buildSource(t, tt.tool, tt.source, tt.text, append(flags, "-fPIC", "-shared", "-nostdlib")...)
				f := openFile(t, out, Options{})
				all := map[string][]Param{}
				for _, name := range tt.functions {
					found, err := f.Find(name)
					if err != nil || len(found) != 1 {
						t.Fatalf("%s: %v, %v", name, found, err)
					}
					if all[name], err = f.Params(found[0].Offset); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
				return all
			}
			optimized := read("-O2", "-g", "-Wno-psabi")
			compared := 0
			for _, dwarf := range []string{"-gdwarf-4", "-gdwarf-5"} {
				for name, params := range read("-O0", dwarf, "-Wno-psabi") {
					compared += compareLocations(t, name, params, optimized[name])
				}
			}
			if compared < 40 {
				t.Errorf("only %d places were compared", compared)
			}
		})
	}
}

// TestConventionOfGoIsWhatOptimizedCodeDescribes does the same for Go.
func TestConventionOfGoIsWhatOptimizedCodeDescribes(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			t.Setenv("GOARCH", arch)
			optimized := openFile(t, buildGoSource(t, paramsGo), Options{})
			plain := openFile(t, buildGoSource(t, paramsGo, "-gcflags=-N -l"), Options{})
			compared := 0
			for _, name := range []string{"main.ints", "main.text", "main.mixed", "main.many", "main.record.show", "main.(*point).move"} {
				var both [2][]Param
				for i, f := range []*File{plain, optimized} {
					found, err := f.Find(name)
					if err != nil || len(found) != 1 {
						t.Fatalf("%s: %v, %v", name, found, err)
					}
					if both[i], err = f.Params(found[0].Offset); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
				compared += compareLocations(t, name, both[0], both[1])
			}
			if compared < 40 {
				t.Errorf("only %d places were compared", compared)
			}
		})
	}
}

// compareLocations compares the places of numbers that both lists have.
func compareLocations(t *testing.T, what string, derived, described []Param) (n int) {
	t.Helper()
	if len(derived) != len(described) {
		t.Errorf("%s: %d parameters or parts, and %d", what, len(derived), len(described))
		return 0
	}
	for i, p := range derived {
		q := described[i]
		if p.Name != q.Name || p.Type != q.Type || p.Kind != q.Kind || p.Size != q.Size {
			t.Errorf("%s: %+v, and %+v", what, p, q)
		}
		n += compareLocations(t, what+"."+p.Name, p.Parts, q.Parts)
		if len(p.Parts) > 0 || q.Location.Where == dwarfparam.Nowhere || p.Kind == dwarfparam.Float {
			continue
		}
		if !reflect.DeepEqual(p.Location, q.Location) {
			t.Errorf("%s.%s (%s): derived %+v, described %+v", what, p.Name, p.Type, p.Location, q.Location)
		}
		n++
	}
	return n
}
