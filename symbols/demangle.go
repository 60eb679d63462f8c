package symbols

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Limits of demangling. A few mangled bytes can expand to very long names, because they may
// refer back to earlier parts.
const (
	maxMangled        = 8 << 10 // bytes; a longer name is returned unchanged
	maxDemangledPower = 14      // an exponent of 2: a longer result is cut
)

// Demangle returns the source form of a C++ or Rust name (of either Rust mangling), without
// parameters and without Rust's hash: ns::T::f<int>. Any other name is returned unchanged
// without an allocation.
//
// The suffixes .cold, .part.N, .constprop.N, .isra.N and @plt are kept, since they name code
// other than the plain function. .llvm.N and symbol versions are dropped. Demangling takes a
// few microseconds, so callers do it once per name, when they print it.
func Demangle(name string) string {
	return demangleName(name, demangle.NoParams)
}

// DemangleParams is like Demangle, but keeps the parameter types of a C++ function:
// ns::T::f<int>(char const*). Rust names have none.
func DemangleParams(name string) string {
	return demangleName(name, demangle.NoClones)
}

// DemangleShort is like Demangle, but also leaves out template arguments: ns::T::f. It serves texts
// that have no room for them.
func DemangleShort(name string) string {
	return strings.TrimRight(withoutArgs(Demangle(name)), " ") // there is one before the arguments of operator<<
}

// DemangleWhole is like DemangleParams, but writes all suffixes of a C++ name as
// abi::__cxa_demangle does: f(int) [clone .cold]. bpftrace prints names in this form.
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
	// The constructor of a Rust type ends with an empty name.
	return strings.TrimSuffix(text, "::") + suffix
}

// cutSuffix splits a mangled name from its suffixes. It drops the suffixes that do not
// distinguish one piece of code from another.
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

// suffixAt returns the index of the dot that starts the suffixes of optimizers, or -1 if there
// are none. Names in Rust's older mangling contain other dots, in place of colons, and end with
// a hash of 16 digits.
func suffixAt(name string) int {
	end := hashEnd(name)
	if dot := strings.IndexByte(name[end:], '.'); dot >= 0 {
		return end + dot
	}
	return -1
}

// hashEnd returns the index after the hash of a name in Rust's older mangling, or 0 for any
// other name.
func hashEnd(name string) int {
	const hash = len("17h") + 16
	if at := strings.LastIndex(name, "17h"); at >= 0 && at+hash < len(name) && name[at+hash] == 'E' {
		return at + hash
	}
	return 0
}
