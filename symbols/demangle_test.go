package symbols

import (
	"bufio"
	"bytes"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

func TestDemangle(t *testing.T) {
	tests := []struct{ name, plain, params string }{
		{"main", "main", "main"},
		{"", "", ""},
		{"_", "_", "_"},
		{"_Zuck", "_Zuck", "_Zuck"},
		{"github.com/x/y.(*T).m", "github.com/x/y.(*T).m", "github.com/x/y.(*T).m"},
		{"_ZN2ns1T1fIiEEvPKc", "ns::T::f<int>", "void ns::T::f<int>(char const*)"},
		{"_ZN2ns1T1fEPKc.cold", "ns::T::f.cold", "ns::T::f(char const*).cold"},
		{"_ZN2ns1T1fEPKc.part.0.constprop.1", "ns::T::f.part.0.constprop.1", "ns::T::f(char const*).part.0.constprop.1"},
		{"_ZN2ns1T1fEPKc.llvm.1234567890", "ns::T::f", "ns::T::f(char const*)"},
		{"_ZN2ns1T1fEPKc.llvm.12.cold", "ns::T::f.cold", "ns::T::f(char const*).cold"},
		{"_ZN2ns1T1fEPKc@plt", "ns::T::f@plt", "ns::T::f(char const*)@plt"},
		{"_ZN2ns1T1fEPKc@@V_1.2", "ns::T::f", "ns::T::f(char const*)"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.99", "core::fmt::Write::write_fmt", "core::fmt::Write::write_fmt"},
		{"_ZN44_$LT$hits..Counter$u20$as$u20$hits..Step$GT$4step17h98b691db321e2b11E", "<hits::Counter as hits::Step>::step", "<hits::Counter as hits::Step>::step"},
		{"_ZN44_$LT$hits..Counter$u20$as$u20$hits..Step$GT$4step17h98b691db321e2b11E.cold", "<hits::Counter as hits::Step>::step.cold", "<hits::Counter as hits::Step>::step.cold"},
		{"_RNvC6_123foo3bar", "123foo::bar", "123foo::bar"},
		{"_RNcNtCs1234_7mycrate4Type0", "mycrate::Type", "mycrate::Type"},
		{"_RNvNtCs1234_7mycrate3foo3bar.llvm.99", "mycrate::foo::bar", "mycrate::foo::bar"},
	}
	for _, tt := range tests {
		if got := Demangle(tt.name); got != tt.plain {
			t.Errorf("Demangle(%q) = %q, want %q", tt.name, got, tt.plain)
		}
		if got := DemangleParams(tt.name); got != tt.params {
			t.Errorf("DemangleParams(%q) = %q, want %q", tt.name, got, tt.params)
		}
	}
}

func TestAShortNameHasNoTemplateArguments(t *testing.T) {
	for raw, want := range map[string]string{
		"malloc":                      "malloc",
		"_ZNKSt6vectorIiSaIiEE3endEv": "std::vector::end",
		"_ZN9__gnu_cxxmiIPiSt6vectorIiSaIiEEEENS_17__normal_iteratorIT_T0_E15difference_typeERKS7_SA_": "__gnu_cxx::operator-",
		"_ZN2ns1TltERKS0_": "ns::T::operator<",
		"_ZN2ns1TptEv":     "ns::T::operator->",
		"_ZN2ns1TmmEi":     "ns::T::operator--",
		"_ZN2ns1TssERKS0_": "ns::T::operator<=>",
		"_ZlsIiEvT_i":      "operator<<",
	} {
		if got := DemangleShort(raw); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

func TestDemangledWholeANameHasItsParametersAndWhatWasAdded(t *testing.T) {
	for name, want := range map[string]string{
		"main":                                 "main",
		"_Zuck":                                "_Zuck",
		"_ZN2ns5twiceEi":                       "ns::twice(int)",
		"_ZN2ns6thriceIiEET_S1_":               "int ns::thrice<int>(int)",
		"_ZNK2ns1C3getERKi":                    "ns::C::get(int const&) const",
		"_ZN2ns1T1fEPKc.cold":                  "ns::T::f(char const*) [clone .cold]",
		"_ZN2ns1T1fEPKc.part.0.isra.1":         "ns::T::f(char const*) [clone .part.0] [clone .isra.1]",
		"_ZN2ns1T1fEPKc@@V_1.2":                "ns::T::f(char const*)",
		"_ZN2ns1T1fEPKc@plt":                   "ns::T::f(char const*)@plt",
		"_RNvNtCs1234_7mycrate3foo3bar.llvm.9": "mycrate::foo::bar",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE":                                "core::fmt::Write::write_fmt",
		"_ZN44_$LT$hits..Counter$u20$as$u20$hits..Step$GT$4step17h98b691db321e2b11E.cold": "<hits::Counter as hits::Step>::step.cold",
		"_ZNSt6vectorIiSaIiEE9push_backEOi":                                               "std::vector<int, std::allocator<int> >::push_back(int&&)",
	} {
		if got := DemangleWhole(name); got != want {
			t.Errorf("DemangleWhole(%q) = %q, want %q", name, got, want)
		}
	}
}

// What the program prints is what the names are to bpftrace, which calls the same function.
const demanglerText = `#include <cxxabi.h>
#include <iostream>
int main() {
	for (std::string name; std::getline(std::cin, name);) {
		char *text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr);
		std::cout << (text ? text : name) << "\n";
	}
}
`

func TestPeerWholeNamesAreThoseOfTheRuntimeOfCxx(t *testing.T) {
	program := compiled.Program(t, map[string]string{"demangler.cc": demanglerText}, "g++", "-o", "demangler", "demangler.cc")
	mangled := []string{"_ZN2ns1fERKi.cold", "_ZN2ns1fERKi.isra.0", "_ZN2ns1fERKi.part.0.constprop.1", "_ZN2ns1fERKi.lto_priv.0"}
	for _, path := range systemFiles(t) {
		if !strings.Contains(path, "libstdc++") {
			continue
		}
		for _, s := range allSymbols(t, openFile(t, path, Options{})) {
			if strings.HasPrefix(s.Name, "_Z") && !strings.Contains(s.Name, "@") {
				mangled = append(mangled, s.Name)
			}
		}
	}
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(strings.Join(mangled, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		if got := DemangleWhole(mangled[i]); got != want {
			t.Errorf("%s: got %q, want %q", mangled[i], got, want)
		}
	}
}

func TestDemangleIsBounded(t *testing.T) {
	long := "_Z" + strings.Repeat("N1a", maxMangled)
	if got := Demangle(long); got != long {
		t.Errorf("a name of %d bytes is demangled", len(long))
	}
	// Every template argument list repeats the type before it twice.
	grows := "_Z1fI1AIiE"
	for i := range 30 {
		grows += "1BIS" + seqID(i) + "_S" + seqID(i) + "_E"
	}
	grows += "EvT_"
	if got := DemangleParams(grows); len(got) > 2<<maxDemangledPower {
		t.Errorf("%d bytes become %d", len(grows), len(got))
	}
}

// seqID is the number of a substitution (Itanium C++ ABI, <seq-id>).
func seqID(i int) string {
	if i == 0 {
		return ""
	}
	return strings.ToUpper(strconv.FormatInt(int64(i-1), 36))
}

func TestPeerNamesAreThoseThatCxxfiltPrints(t *testing.T) {
	var mangled []string
	for _, path := range systemFiles(t) {
		if !strings.Contains(path, "libstdc++") {
			continue
		}
		for _, s := range allSymbols(t, openFile(t, path, Options{})) {
			if strings.HasPrefix(s.Name, "_Z") && !strings.Contains(s.Name, "@") {
				mangled = append(mangled, s.Name)
			}
		}
	}
	if len(mangled) == 0 {
		t.Skip("no libstdc++")
	}
	if _, err := exec.LookPath("c++filt"); err != nil {
		t.Skip("no c++filt")
	}
	cmd := exec.Command("c++filt")
	cmd.Stdin = strings.NewReader(strings.Join(mangled, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	// c++filt writes out what the ABI abbreviates.
	short := strings.NewReplacer(
		"std::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string",
		"std::basic_istream<char, std::char_traits<char> >", "std::istream",
		"std::basic_ostream<char, std::char_traits<char> >", "std::ostream",
		"std::basic_iostream<char, std::char_traits<char> >", "std::iostream",
	)
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for _, name := range mangled {
		lines.Scan()
		want := strings.ReplaceAll(short.Replace(lines.Text()), " >", ">")
		got := strings.ReplaceAll(short.Replace(DemangleParams(name)), " >", ">")
		if !strings.Contains(name, ".") && got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
