package symbols

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// paramsOf returns the parameters of the one function of that name.
func paramsOf(t testing.TB, f *File, name string) []Param {
	t.Helper()
	found, err := f.Find(name)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", name, found, err)
	}
	params, err := f.Params(found[0].Offset)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return params
}

func TestParametersAreReadWhereverDebugInformationLies(t *testing.T) {
	build := func(flags ...string) string {
		return buildSource(t, "gcc", "program.c", paramsC, append([]string{"-O1", "-Wl,--build-id"}, flags...)...)
	}
	plain := compiled.Copy(t, build("-g"))
	want := paramsOf(t, openFile(t, plain, Options{}), "structs")
	if len(want) != 7 {
		t.Fatalf("%+v", want)
	}
	for _, flag := range []string{"-gz", "-gz=zlib-gnu", "-gz=zstd", "-gdwarf-3", "-gdwarf-4", "-gsplit-dwarf", "-fdebug-types-section", "-static", "-no-pie", "-flto"} {
		t.Run(flag, func(t *testing.T) {
			if !canCompile(t, flag) {
				t.Skipf("gcc does not take %s here", flag)
			}
			f := openFile(t, build("-g", flag), Options{})
			if flag == "-gsplit-dwarf" { // which is not followed
				found, _ := f.Find("structs")
				if params, err := f.Params(found[0].Offset); !errors.Is(err, ErrNoParams) {
					t.Errorf("%v, %v", params, err)
				}
				return
			}
			if got := paramsOf(t, f, "structs"); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
	t.Run("debug file", func(t *testing.T) {
		run(t, "objcopy", "--only-keep-debug", plain, plain+".debug")
		run(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+plain+".debug", plain, plain+".stripped")
		f := openFile(t, plain+".stripped", Options{Path: plain + ".stripped", Open: hostFiles("/")})
		defer f.Close()
		if got := paramsOf(t, f, "structs"); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
	t.Run("none", func(t *testing.T) {
		f := openFile(t, build(), Options{})
		found, _ := f.Find("structs")
		if params, err := f.Params(found[0].Offset); !errors.Is(err, ErrNoParams) {
			t.Errorf("%v, %v", params, err)
		}
	})
	t.Run("not where a function begins", func(t *testing.T) {
		f := openFile(t, plain, Options{})
		found, _ := f.Find("structs")
		if params, err := f.Params(found[0].Offset + 1); !errors.Is(err, ErrNoParams) || !errors.Is(err, dwarfparam.ErrNoFunction) {
			t.Errorf("%v, %v", params, err)
		}
	})
}

func TestParametersOfOptimizedCopiesAreNotDerived(t *testing.T) {
	f := openFile(t, buildSource(t, "gcc", "program.c", paramsC, "-O2", "-g"), Options{})
	found, err := f.Find("partly")
	if err != nil || len(found) != 1 || !strings.HasPrefix(found[0].Name, "partly.") {
		t.Skipf("this compiler made no copy: %v, %v", found, err)
	}
	params, err := f.Params(found[0].Offset)
	if err != nil || len(params) != 2 {
		t.Fatalf("%v, %v", params, err)
	}
	if loc := params[1].Location; loc.Where != dwarfparam.Nowhere || loc.Why == "" {
		t.Errorf("a parameter that is not passed is at %+v", loc)
	}
}
