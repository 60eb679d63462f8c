package symbols

import (
	"slices"
	"strings"
)

// cutClone strips the suffixes of an optimized copy that replaces the whole function. piece is
// true if the suffix names only a part of the function; then base is raw.
func cutClone(raw string) (base string, piece bool) {
	dot := suffixAt(raw)
	if dot <= 0 {
		return raw, false
	}
	suffix := raw[dot:]
	if strings.HasSuffix(suffix, ".cold") || strings.Contains(suffix, ".cold.") || strings.Contains(suffix, ".part.") {
		return raw, true
	}
	for _, clone := range []string{".isra.", ".constprop.", ".lto_priv.", ".llvm.", ".localalias", ".clone."} {
		if strings.HasPrefix(suffix, clone) {
			return raw[:dot], false
		}
	}
	return raw, false
}

// squeeze removes the spaces of a C++ or Rust name that do not separate words: f(char const *,
// int) becomes f(char const*,int).
func squeeze(name string) string {
	if !strings.Contains(name, " ") {
		return name
	}
	b := make([]byte, 0, len(name))
	for i := range len(name) {
		if name[i] == ' ' && (len(b) == 0 || i+1 == len(name) || !isWordByte(b[len(b)-1]) || !isWordByte(name[i+1])) {
			continue
		}
		b = append(b, name[i])
	}
	return string(b)
}

// constBehind moves const after the type that it qualifies, as demanglers write it: f(const T&)
// becomes f(T const&). name must be squeezed.
func constBehind(name string) string {
	const word = "const "
	for from := 0; ; {
		i := strings.Index(name[from:], word)
		if i < 0 {
			return name
		}
		i += from
		from = i + len(word)
		if i > 0 && strings.IndexByte("(,<", name[i-1]) < 0 {
			continue
		}
		end, depth := from, 0
		for ; end < len(name) && (depth > 0 || strings.IndexByte("*&,)>", name[end]) < 0); end++ {
			switch name[end] {
			case '<', '(':
				depth++
			case '>', ')':
				depth--
			}
		}
		moved := name[from:end] + " const"
		name = name[:i] + squeeze(moved) + name[end:]
		from = i + 1
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// paramsAt returns the index of the parameter list at the end of a source name, or -1 if it has
// none. The parentheses of operator() and (anonymous namespace) are parts of the name.
func paramsAt(name string) int {
	end := strings.LastIndexByte(name, ')')
	if end < 0 || strings.Trim(name[end+1:], " &constvlaie") != "" {
		return -1
	}
	for depth, i := 0, end; i >= 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth > 0 {
				continue
			}
			if i == 0 || strings.HasSuffix(name[:i], "operator") || strings.HasPrefix(name[i:], "(anonymous") {
				return -1
			}
			return i
		}
	}
	return -1
}

// withoutArgs removes template arguments and ABI tags from a demangled name without parameters:
// std::vector<int>::at becomes std::vector::at. It keeps the < of an operator, and of a Rust
// path that starts with a type.
func withoutArgs(name string) string {
	if !strings.ContainsAny(name, "<[") {
		return name
	}
	b := make([]byte, 0, len(name))
	depth := 0
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case depth == 0 && (c == '<' || c == '>' || c == '-') && strings.HasSuffix(string(b), "operator"):
			op := operatorAt(name[i:])
			b = append(b, op...)
			i += len(op) - 1
		case c == '<' && (depth > 0 || len(b) > 0), c == '[' && (depth > 0 || strings.HasPrefix(name[i:], "[abi:")):
			if depth == 0 {
				b = trimPath(b)
			}
			depth++
		case (c == '>' || c == ']') && depth > 0:
			if c == ']' || i == 0 || name[i-1] != '-' {
				depth--
			}
		case depth == 0:
			b = append(b, c)
		}
	}
	return string(b)
}

// operatorAt returns the operator that text starts with: one of <, > or -, with what may follow it.
// The < after operator- starts template arguments.
func operatorAt(text string) string {
	if text[0] == '-' {
		return text[:min(2, len(text), 1+len(text[1:])-len(strings.TrimLeft(text[1:], "->=")))]
	}
	return text[:len(text)-len(strings.TrimLeft(text, "<>=-"))]
}

// trimPath removes the :: that Rust writes before type arguments.
func trimPath(b []byte) []byte {
	if n := len(b); n >= 2 && b[n-1] == ':' && b[n-2] == ':' {
		return b[:n-2]
	}
	return b
}

// unspelled are words of source names that mangling replaces by a code.
var unspelled = []string{
	"std", "allocator", "basic_string", "string", "basic_istream", "istream", "basic_ostream", "ostream",
	"basic_iostream", "iostream", "char_traits", "operator", "new", "delete", "co_await", "anonymous", "namespace",
	"void", "bool", "char", "wchar_t", "char8_t", "char16_t", "char32_t", "signed", "unsigned", "short", "int", "long", "__int128",
	"float", "double", "__float128", "half", "auto", "decltype", "nullptr_t", "const", "volatile", "restrict", "noexcept",
	"lambda", "unnamed", "type", "default", "arg", "vtable", "VTT", "typeinfo", "name", "for", "guard", "variable", "thunk", "to",
	"virtual", "non", "covariant", "return", "construction", "in", "TLS", "init", "wrapper", "function", "reference", "temporary",
	"transaction", "clone", "enable_if", "requires", "sizeof", "alignof", "this", "true", "false", "typeid", "abi",
	"closure", "shim", "as", "dyn", "mut", "str", "impl", "fn", "extern", "unsafe", "u8", "u16", "u32", "u64", "u128", "usize",
	"i8", "i16", "i32", "i64", "i128", "isize", "f32", "f64",
}

// mangledWords returns the words of name, the longest first, that every matching mangled name
// must contain: mangling keeps identifiers unchanged. name is a source name, or a pattern with
// these wildcards.
func mangledWords(name, wildcards string) []string {
	var words []string
	depth := 0 // of template arguments, whose words may be replaced by a code
	for i := 0; i < len(name); {
		if c := name[i]; !isWordByte(c) {
			if c == '<' {
				depth++
			}
			i++
			continue
		}
		start := i
		for i < len(name) && isWordByte(name[i]) {
			i++
		}
		word := name[start:i]
		whole := (start == 0 || !strings.ContainsRune(wildcards, rune(name[start-1]))) &&
			(i == len(name) || !strings.ContainsRune(wildcards, rune(name[i])))
		if depth == 0 && isSpelled(word, whole) {
			words = append(words, word)
		}
	}
	slices.SortStableFunc(words, func(x, y string) int { return len(y) - len(x) })
	return words
}

// isSpelled reports whether mangled names contain word unchanged. If whole is false, word is
// only a part of the identifier.
func isSpelled(word string, whole bool) bool {
	if strings.Trim(word, "0123456789") == "" {
		return false
	}
	for i := range len(word) {
		if word[i] >= 0x80 {
			return false // Rust encodes non-ASCII characters
		}
	}
	return !slices.ContainsFunc(unspelled, func(w string) bool {
		return w == word || !whole && strings.Contains(w, word)
	})
}
