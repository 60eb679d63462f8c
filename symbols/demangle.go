package symbols

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Bounds of demangling. A few mangled bytes can stand for very long names,
// since they may refer back to what was there before.
const (
	maxMangled        = 8 << 10 // bytes; a longer name stays as it is
	maxDemangledPower = 14      // a power of two: a longer result is cut
)

// Demangle returns the source form of a C++ or Rust name, of either Rust
// mangling, without parameters and without Rust's hash: ns::T::f<int>. Any
// other name is returned as it is, at no cost.
//
// Of what compilers and linkers add, .cold, .part.N, .constprop.N, .isra.N and
// @plt are kept, since they name other code than the plain function does;
// .llvm.N and a symbol version go, since they do not. It takes a few
// microseconds a name, so callers do it once per name, when they print.
func Demangle(name string) string {
	return demangleName(name, demangle.NoParams)
}

// DemangleParams is Demangle with the types of a C++ function's parameters:
// ns::T::f<int>(char const*). Rust names have none.
func DemangleParams(name string) string {
	return demangleName(name, demangle.NoClones)
}

// DemangleWhole is DemangleParams with all that was added to a C++ name, as the runtime of C++
// writes it (abi::__cxa_demangle): f(int) [clone .cold]. bpftrace prints names so.
func DemangleWhole(name string) string {
	if strings.HasPrefix(name, "_R") || hashEnd(name) > 0 {
		return DemangleParams(name)
	}
	base, version, _ := strings.Cut(name, "@")
	if version == "plt" || !isMangled(name) || len(name) > maxMangled {
		return DemangleParams(name)
	}
	text, err := demangle.ToString(base, demangle.MaxLength(maxDemangledPower))
	if err != nil {
		return name
	}
	return text
}

func demangleName(name string, option demangle.Option) string {
	if !isMangled(name) || len(name) > maxMangled {
		return name
	}
	mangled, suffix := cutSuffix(name)
	text, err := demangle.ToString(mangled, option, demangle.MaxLength(maxDemangledPower))
	if err != nil {
		return name
	}
	// The constructor of a Rust type has a name of its own, which is empty.
	return strings.TrimSuffix(text, "::") + suffix
}

// cutSuffix divides a mangled name from what was added to it, and drops of that
// what does not tell one piece of code from another.
func cutSuffix(name string) (mangled, suffix string) {
	plt := ""
	if at := strings.IndexByte(name, '@'); at >= 0 {
		if name[at:] == "@plt" {
			plt = "@plt"
		}
		name = name[:at]
	}
	dot := suffixAt(name)
	if dot < 0 {
		return name, plt
	}
	mangled, suffix = name[:dot], name[dot:]
	if i := strings.Index(suffix, ".llvm."); i >= 0 {
		rest := strings.TrimLeft(suffix[i+len(".llvm."):], "0123456789")
		suffix = suffix[:i] + rest
	}
	return mangled, suffix + plt
}

// suffixAt returns where what optimizers have added to a name begins, at a dot; -1
// if nothing was. Names in Rust's older mangling have dots of their own, in place
// of colons, and end with a hash of 16 digits.
func suffixAt(name string) int {
	end := hashEnd(name)
	if dot := strings.IndexByte(name[end:], '.'); dot >= 0 {
		return end + dot
	}
	return -1
}

// hashEnd returns where the hash of a name in Rust's older mangling ends, 0 of other names.
func hashEnd(name string) int {
	const hash = len("17h") + 16
	if at := strings.LastIndex(name, "17h"); at >= 0 && at+hash < len(name) && name[at+hash] == 'E' {
		return at + hash
	}
	return 0
}
