package symbols

import (
	"cmp"
	"slices"
	"strings"
)

// Find returns the functions called name, one for each place, sorted by offset:
//
//   - the one that the file exports under this raw name, which spares the reading
//     of all other tables;
//   - else those whose raw name it is, as the linker has it: _ZN2ns1fEi, main.(*T).m;
//   - else those whose source name it is: ns::T::f for every overload, template
//     instance and optimized copy (.isra.0, .constprop.1; but not .cold or
//     .part.0, which are pieces) of the C++ or Rust function, ns::T::f(int) for
//     one overload, also with the result that demanglers write before a template's
//     function (int ns::f<int>), main.F for every instance of a generic Go function.
//
// Imported functions are returned only when there are no others. No such
// function is nil. The error is that of Functions.
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

// exported returns the function of that raw name in the file's dynamic symbols.
func (f *File) exported(name string) []Function {
	b := &builder{code: codeOf(f.image), only: map[string]bool{name: true}}
	err := b.addDynsym(f.image)
	if b.unsized() {
		b = &builder{code: codeOf(f.image)}
		err = b.addDynsym(f.image)
	}
	if err != nil {
		return nil // Functions will say so
	}
	var found []Function
	for _, fn := range b.functions(f.image) {
		if fn.Name == name && (fn.Kind == Defined || fn.Kind == Indirect) {
			found = append(found, fn)
		}
	}
	return onePerPlace(found)
}

// unsized reports whether a symbol has no size: it ends where another one begins.
func (b *builder) unsized() bool {
	return slices.ContainsFunc(b.candidates, func(c candidate) bool { return c.size == 0 })
}

// Named returns the functions that have one of these raw names, as Functions does,
// without those of other names.
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

// onePerPlace keeps one function for each offset, one that is defined before
// another and the preferred name of those, and the Imported ones only when there
// is nothing else. Functions are sorted by offset.
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

// query is a source name that functions are looked for by.
type query struct {
	name   string   // without spaces that mean nothing
	words  []string // that a mangled name of such a function holds
	params bool     // whether name has a list of parameters
	args   bool     // whether name has template arguments
	result bool     // whether name may begin with the type of the result
	inGo   bool     // whether functions may be Go's
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

// matches reports whether raw is the linker's name of a function that the query
// means. Demangling takes microseconds, so it looks for the words first.
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
	// Mangled names of template functions have the type of the result.
	if i := strings.Index(full, constBehind(name)+"("); i >= 0 {
		full = full[i:]
	}
	return full == q.name || strings.TrimSuffix(full, "const") == q.name
}

// withResult is a mangled name's source form without parameters and with the type of the result,
// which demanglers write where it has template arguments.
func withResult(mangled string) string {
	name := DemangleParams(mangled)
	if i := paramsAt(name); i >= 0 {
		return name[:i]
	}
	return name
}

// matchesGo compares with a name of Go: without the mark of the calling
// convention of assembly, and without the types of a generic function, which Go
// calls f[go.shape.int] in symbol tables and f[...] in its own.
func (q *query) matchesGo(name string) bool {
	name = strings.TrimSuffix(name, ".abi0")
	open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if open < 0 || end < open {
		return name == q.name
	}
	return name[:open]+name[end+1:] == q.name || name[:open]+"[...]"+name[end+1:] == q.name
}

// isMangled reports whether a name is one that Demangle knows.
func isMangled(raw string) bool { return strings.HasPrefix(raw, "_Z") || strings.HasPrefix(raw, "_R") }
