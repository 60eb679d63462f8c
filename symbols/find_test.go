package symbols

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bothNames are the names that nm prints, raw and demangled by c++filt's code,
// for the defined functions of a file's dynamic symbols.
func bothNames(t testing.TB, path string) (raw, source []string) {
	t.Helper()
	split := func(args ...string) (names []string) {
		for _, line := range strings.Split(string(run(t, "nm", append(args, path)...)), "\n") {
			if f := strings.SplitN(line, " ", 3); len(f) == 3 && strings.Contains("TtWwi", f[1]) {
				names = append(names, f[2])
			}
		}
		return names
	}
	raw, source = split("-D", "--defined-only"), split("-D", "--defined-only", "-C")
	if len(raw) != len(source) {
		t.Fatalf("nm printed %d and %d names", len(raw), len(source))
	}
	for i := range raw {
		raw[i], _, _ = strings.Cut(raw[i], "@")
		if at := strings.LastIndex(source[i], "@"); at > 0 {
			source[i] = strings.TrimSuffix(source[i][:at], "@")
		}
	}
	return raw, source
}

func TestPeerSourceNamesThatNmPrintsAreFound(t *testing.T) {
	paths, _ := filepath.Glob("/usr/lib/*-linux-gnu/libstdc++.so.6")
	if len(paths) == 0 {
		t.Skip("no libstdc++")
	}
	raw, source := bothNames(t, paths[0])
	f := openFile(t, paths[0], Options{})
	missed, checked := 0, 0
	for i := range raw {
		// Thunks and the like are known to nm under a description.
		if !strings.HasPrefix(raw[i], "_Z") || strings.HasPrefix(raw[i], "_ZT") {
			continue
		}
		if i%31 != 0 {
			continue
		}
		checked++
		want, err := f.Find(raw[i])
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %v, %v", raw[i], want, err)
		}
		for _, name := range []string{source[i], Demangle(raw[i])} {
			found, err := f.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range want {
				if !slices.ContainsFunc(found, func(f Function) bool { return f.Offset == w.Offset }) {
					missed++
					t.Logf("%s: %q is %d others", raw[i], name, len(found))
				}
			}
		}
	}
	// The two demanglers do not agree on everything.
	if checked < 100 || missed > checked/50 {
		t.Errorf("%d of %d names lead elsewhere", missed, checked)
	}
	t.Logf("%d of %d names lead elsewhere", missed, checked)
}

// TestNoNameIsLostToTheWordsThatAreLookedForFirst compares with demangling all.
func TestNoNameIsLostToTheWordsThatAreLookedForFirst(t *testing.T) {
	paths, _ := filepath.Glob("/usr/lib/*-linux-gnu/libstdc++.so.6")
	if len(paths) == 0 {
		t.Skip("no libstdc++")
	}
	all, err := openFile(t, paths[0], Options{}).Functions()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(all); i += 7 {
		raw := all[i].Name
		for _, name := range []string{Demangle(raw), DemangleParams(raw), withoutArgs(Demangle(raw))} {
			fast := newQuery(name, false)
			slow := *fast
			slow.words = nil
			if isMangled(raw) && slow.matches(raw) && !fast.matches(raw) {
				t.Errorf("%s is %q, but does not hold %q", raw, name, fast.words)
			}
			if strings.ContainsAny(name, wildcards) {
				continue
			}
			for _, pattern := range []string{name[:len(name)/2] + "*", "*" + name[len(name)/2:], "*" + name[len(name)/3:len(name)/3*2] + "*"} {
				fast, err := newGlob(pattern, false)
				if err != nil {
					t.Fatal(err)
				}
				slow := *fast
				slow.words = nil
				if slow.matches(raw) && !fast.matches(raw) {
					t.Errorf("%s matches %q, but does not hold %q", raw, pattern, fast.words)
				}
			}
		}
	}
}

const cppProgram = `
#include <string>
#include <vector>
#define noinline __attribute__((noinline))
int sink;
namespace ns {
struct T {
	int a;
	noinline T(int x) : a(x) { sink++; }
	noinline ~T() { sink--; }
	noinline int f() { return sink += a; }
	noinline int f(int x) { return sink += x; }
	noinline int f(char const *s, unsigned long n) { return sink += s[n]; }
	noinline bool operator<(T const &o) const { return sink += a < o.a; }
	noinline int operator()(int x) { return sink += x; }
	noinline operator int() { return sink; }
};
template <class X> struct V { noinline int at(X x) { return sink += int(x); } };
template <class X> noinline X same(X x) { sink++; return x; }
namespace { noinline int local(int x) { return sink += x; } }
}
noinline int ns_f(std::string const &s) { return sink += s.size(); }
int main(int argc, char **argv) {
	ns::T t(argc), u(1);
	ns::V<int> v; ns::V<long> w;
	return t.f() + t.f(1) + t.f(argv[0], 0) + (t < u) + t(4) + v.at(1) + w.at(2) + ns::same(1) + ns::same('a') + ns::local(argc) +
		ns_f(argv[0]) + int(t);
}
`

// buildCPP compiles the C++ fixture.
func buildCPP(t testing.TB, flags ...string) string {
	t.Helper()
	return buildSource(t, "g++", "program.cc", cppProgram, append([]string{"-O1"}, flags...)...)
}

func rawNames(functions []Function) []string {
	var names []string
	for _, f := range functions {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	return names
}

func TestNamesOfCPlusPlusMeanOverloadsAndInstances(t *testing.T) {
	f := openFile(t, buildCPP(t), Options{})
	for name, want := range map[string][]string{
		"_ZN2ns1T1fEv":   {"_ZN2ns1T1fEv"},
		"ns::T::f":       {"_ZN2ns1T1fEPKcm", "_ZN2ns1T1fEi", "_ZN2ns1T1fEv"},
		"ns::T::f()":     {"_ZN2ns1T1fEv"},
		"ns::T::f(void)": {"_ZN2ns1T1fEv"},
		"ns::T::f(int)":  {"_ZN2ns1T1fEi"},
		"ns::T::f( char const * , unsigned long )": {"_ZN2ns1T1fEPKcm"},
		"ns::T::f(const char *, unsigned long)":    {"_ZN2ns1T1fEPKcm"},
		"ns::T::f(long)":                           nil,
		"f":                                        nil,
		"T::f":                                     nil,
		"ns::T::operator<":                         {"_ZNK2ns1TltERKS0_"},
		"ns::T::operator<(const ns::T&) const":     {"_ZNK2ns1TltERKS0_"},
		"ns::T::operator<(ns::T const&)":           {"_ZNK2ns1TltERKS0_"},
		"ns::T::operator()":                        {"_ZN2ns1TclEi"},
		"ns::T::operator()(int)":                   {"_ZN2ns1TclEi"},
		"ns::T::operator int":                      {"_ZN2ns1TcviEv"},
		"ns::V<int>::at":                           {"_ZN2ns1VIiE2atEi"},
		"ns::V<int>::at(int)":                      {"_ZN2ns1VIiE2atEi"},
		"ns::V::at":                                {"_ZN2ns1VIiE2atEi", "_ZN2ns1VIlE2atEl"},
		"ns::same":                                 {"_ZN2ns4sameIcEET_S1_", "_ZN2ns4sameIiEET_S1_"},
		"ns::same<int>":                            {"_ZN2ns4sameIiEET_S1_"},
		"ns::same<int>(int)":                       {"_ZN2ns4sameIiEET_S1_"},
		"int ns::same<int>(int)":                   {"_ZN2ns4sameIiEET_S1_"},
		"ns::(anonymous namespace)::local":         {"_ZN2ns12_GLOBAL__N_15localEi"},
		"ns::(anonymous namespace)::local(int)":    {"_ZN2ns12_GLOBAL__N_15localEi"},
		"main":                                     {"main"},
		"":                                         nil,
	} {
		got, err := f.Find(name)
		if err != nil || !slices.Equal(rawNames(got), want) {
			t.Errorf("%q: %q, %v; want %q", name, rawNames(got), err, want)
		}
	}
	// Both names of a constructor are one place; which of them is named says nothing.
	for _, name := range []string{"ns::T::T", "ns::T::~T", "ns::T::T(int)"} {
		if got, err := f.Find(name); err != nil || len(got) != 1 {
			t.Errorf("%q: %v, %v; want one place", name, got, err)
		}
	}
}

func TestPatternsMatchRawAndSourceNames(t *testing.T) {
	f := openFile(t, buildCPP(t), Options{})
	for pattern, want := range map[string][]string{
		"ns::T::f*":          {"_ZN2ns1T1fEPKcm", "_ZN2ns1T1fEi", "_ZN2ns1T1fEv"},
		"ns::T::f(*":         {"_ZN2ns1T1fEPKcm", "_ZN2ns1T1fEi", "_ZN2ns1T1fEv"},
		"ns::T::f(*int*)":    {"_ZN2ns1T1fEi"},
		"_ZN2ns1T1f*":        {"_ZN2ns1T1fEPKcm", "_ZN2ns1T1fEi", "_ZN2ns1T1fEv"},
		"ns::V<[il]*>::at":   {"_ZN2ns1VIiE2atEi", "_ZN2ns1VIlE2atEl"},
		"*same*":             {"_ZN2ns4sameIcEET_S1_", "_ZN2ns4sameIiEET_S1_"},
		"ns::T::operator*nt": {"_ZN2ns1TcviEv"},
		"mai?":               {"main"},
		"main*":              {"main"},
		"nothing*":           nil,
	} {
		got, err := f.Match(pattern)
		if err != nil || !slices.Equal(rawNames(got), want) {
			t.Errorf("%q: %q, %v; want %q", pattern, rawNames(got), err, want)
		}
	}
	if _, err := f.Match("a[b"); !errors.Is(err, ErrPattern) {
		t.Errorf("an open set: %v", err)
	}
}

func TestNamesOfGoMeanInstancesAndAssembly(t *testing.T) {
	for name, flags := range map[string][]string{"with symbols": {"-gcflags=-l"}, "stripped": {"-gcflags=-l", "-ldflags=-s -w"}} {
		t.Run(name, func(t *testing.T) {
			f := openFile(t, buildGo(t, flags...), Options{})
			if !f.IsGo() {
				t.Error("not a Go program")
			}
			for name, least := range map[string]int{
				"main.(*T).m": 1, "main.main": 1, "main.main.func1": 1, "runtime.memmove": 1, "strings.Fields": 1,
				"main.generic": 1, "main.generic[...]": 1, "strings.fields": 0, "m": 0,
			} {
				got, err := f.Find(name)
				if err != nil || len(got) < least || least == 0 && len(got) > 0 {
					t.Errorf("%s: %v, %v", name, got, err)
				}
			}
			all, err := f.Match("main.*")
			if err != nil || len(all) < 4 {
				t.Errorf("main.*: %v, %v", all, err)
			}
		})
	}
}

func TestNamesOfRustHaveNoHash(t *testing.T) {
	for mangling, names := range map[string][]string{
		"v0":     {"program::plain", "program::main", "<program::S<u32>>::method", "main"},
		"legacy": {"program::plain", "program::main", "main", "std::rt::lang_start::{{closure}}"},
	} {
		flags := []string{"-Copt-level=1"}
		if mangling == "v0" {
			flags = append(flags, "-Csymbol-mangling-version=v0")
		}
		f := openFile(t, buildSource(t, "rustc", "program.rs", rustProgram, flags...), Options{})
		for _, name := range names {
			if got, err := f.Find(name); err != nil || len(got) != 1 {
				t.Errorf("%s %s: %v, %v", mangling, name, got, err)
			}
		}
	}
}

func TestSimilarNamesAreOffered(t *testing.T) {
	for _, tt := range []struct{ path, name, want string }{
		{buildC(t), "exportd", "exported"},
		{buildC(t), "Exported", "exported"},
		{buildC(t), "leaf", "hidden_leaf"},
		{buildCPP(t), "T::f", "ns::T::f"},
		{buildCPP(t), "f", "ns::T::f"},
		{buildCPP(t), "ns::sme", "ns::same<int>"},
		{buildGo(t, "-gcflags=-l"), "main.generik", "main.generic[go.shape.int]"},
		{buildGo(t), "main.t.m", "main.(*T).m"},
	} {
		got := openFile(t, tt.path, Options{}).Nearest(tt.name, 5)
		if !slices.Contains(got, tt.want) || len(got) > 5 {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := openFile(t, buildC(t), Options{}).Nearest("qqqqqqqqqqqqqq", 5); len(got) != 0 {
		t.Errorf("nothing resembles what is %q", got)
	}
}

// TestNamedFunctionsAreThoseOfTheList compares with the list of all functions.
func TestNamedFunctionsAreThoseOfTheList(t *testing.T) {
	paths := append(systemFiles(t), buildC(t), buildC(t, "-s"), buildC(t, "-static"))
	asked := []string{"malloc", "free", "main", "_init", "_start", "puts", "puts@plt", "missing", ""}
	found := 0
	for _, path := range paths {
		all, err := openPath(t, path).Functions()
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range [][]string{asked, asked[:2], {"_init"}, {"puts@plt"}, {"missing"}} {
			var want []Function
			for _, f := range all {
				if slices.Contains(names, f.Name) {
					want = append(want, f)
				}
			}
			got, err := openPath(t, path).Named(names...)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: Named(%q) = %+v, %v; the list has %+v", path, names, got, err, want)
			}
			found += len(got)
		}
	}
	if found < 10 {
		t.Errorf("%d functions were found", found)
	}
}
