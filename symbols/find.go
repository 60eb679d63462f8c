package symbols

import (
	"cmp"
	"slices"
	"strings"
)

// Find returns the functions called name, one per offset, sorted by offset. It tries in this
// order:
//
//   - the function that the file exports under this raw name, without reading any other table;
//   - all functions with this raw name, as the linker has it: _ZN2ns1fEi, main.(*T).m;
//   - all functions with this source name. ns::T::f means every overload, template instance and
//     optimized copy (.isra.0, .constprop.1; but not the pieces .cold and .part.0) of a C++ or
//     Rust function. ns::T::f(int) means one overload. The result type that demanglers write
//     before a template function is allowed (int ns::f<int>). main.F means every instance of a
//     generic Go function.
//
// Imported functions are returned only if there are no others. The result is nil if there is no
// such function. The error is that of Functions.
func (f *File) Find(name string) ([]Function, error) {
	found := f.exported(name)
	if len(found) > 0 {
		return found, nil
	}
	all, err := f.Functions()
	for i := range all {
		if all[i].Name == name {
			found = append(found, all[i])
		}
	}
	if len(found) == 0 && name != "" {
		q := newQuery(name, f.IsGo())
		for i := range all {
			if q.matches(all[i].Name) {
				found = append(found, all[i])
			}
		}
	}
	return onePerPlace(found), err
}

// exported returns the functions with this raw name in the file's dynamic symbols.
func (f *File) exported(name string) []Function {
	b := &builder{code: codeOf(f.image), only: map[string]bool{name: true}}
	err := b.addDynsym(f.image)
	if b.unsized() {
		b = &builder{code: codeOf(f.image)}
		err = b.addDynsym(f.image)
	}
	if err != nil {
		return nil // Functions returns the same error
	}
	var found []Function
	for _, fn := range b.functions(f.image) {
		if fn.Name == name && (fn.Kind == Defined || fn.Kind == Indirect) {
			found = append(found, fn)
		}
	}
	return onePerPlace(found)
}

// unsized reports whether any symbol has no size: its end depends on the next symbol.
func (b *builder) unsized() bool {
	return slices.ContainsFunc(b.candidates, func(c candidate) bool { return c.size == 0 })
}

// Named is like Functions, but returns only functions with one of these raw names.
func (f *File) Named(names ...string) ([]Function, error) {
	only := make(map[string]bool, len(names))
	for _, name := range names {
		only[name] = true
	}
	b := &builder{code: codeOf(f.image), imports: true, only: only}
	err := f.collectAll(b)
	if !b.unsized() {
		return b.functions(f.image), err
	}
	all, err := f.Functions()
	var named []Function
	for i := range all {
		if only[all[i].Name] {
			named = append(named, all[i])
		}
	}
	return named, err
}

// onePerPlace returns one function for each offset: first by kind, then by preferName. Imported
// functions are kept only if there is nothing else. Functions must be sorted by offset.
func onePerPlace(functions []Function) []Function {
	here := slices.IndexFunc(functions, func(f Function) bool { return f.Kind != Imported })
	if here < 0 {
		return functions
	}
	functions = functions[here:]
	slices.SortStableFunc(functions, func(x, y Function) int {
		if c := cmp.Compare(x.Offset, y.Offset); c != 0 {
			return c
		}
		if c := cmp.Compare(x.Kind, y.Kind); c != 0 {
			return c
		}
		return preferName([]byte(x.Name), []byte(y.Name), x.rank, y.rank)
	})
	return slices.CompactFunc(functions, func(x, y Function) bool { return x.Offset == y.Offset })
}

// query is a source name to search for.
type query struct {
	name   string   // without insignificant spaces
	words  []string // words that a matching mangled name contains
	params bool     // whether name has a parameter list
	args   bool     // whether name has template arguments
	result bool     // whether name may start with the result type
	inGo   bool     // whether the file may contain Go functions
}

func newQuery(name string, inGo bool) *query {
	q := &query{name: squeeze(name), inGo: inGo}
	path := q.name
	if i := paramsAt(q.name); i >= 0 {
		q.params = true
		q.name = strings.Replace(constBehind(q.name), "(void)", "()", 1)
		path = path[:i]
	}
	q.args = strings.ContainsRune(path, '<')
	q.result = strings.Contains(path, " ")
	q.words = mangledWords(path, "")
	return q
}

// matches reports whether raw is the linker's name of a function that the query means.
// Demangling takes microseconds, so it checks the words first.
func (q *query) matches(raw string) bool {
	if q.inGo && q.matchesGo(raw) {
		return true
	}
	base, piece := cutClone(raw)
	if piece {
		return false
	}
	if !isMangled(base) {
		return base == q.name
	}
	for _, w := range q.words {
		if !strings.Contains(base, w) {
			return false
		}
	}
	name := squeeze(Demangle(base))
	if !q.params {
		return name == q.name || !q.args && withoutArgs(name) == q.name || q.result && squeeze(withResult(base)) == q.name
	}
	full := constBehind(squeeze(DemangleParams(base)))
	if full == q.name {
		return true
	}
	// A demangled template function starts with its result type.
	if i := strings.Index(full, constBehind(name)+"("); i >= 0 {
		full = full[i:]
	}
	return full == q.name || strings.TrimSuffix(full, "const") == q.name
}

// withResult demangles a name without its parameters, but with the result type that demanglers
// write before a template function.
func withResult(mangled string) string {
	name := DemangleParams(mangled)
	if i := paramsAt(name); i >= 0 {
		return name[:i]
	}
	return name
}

// matchesGo compares the query with a Go name. It ignores the .abi0 suffix of assembly
// functions and the type arguments of generic functions. Go writes these as f[go.shape.int] in
// symbol tables and as f[...] in its own table.
func (q *query) matchesGo(name string) bool {
	name = strings.TrimSuffix(name, ".abi0")
	open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if open < 0 || end < open {
		return name == q.name
	}
	return name[:open]+name[end+1:] == q.name || name[:open]+"[...]"+name[end+1:] == q.name
}

// isMangled reports whether Demangle may know the name.
func isMangled(raw string) bool { return strings.HasPrefix(raw, "_Z") || strings.HasPrefix(raw, "_R") }
