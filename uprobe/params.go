package uprobe

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// params translates an argument that names a parameter, or all parameters, into fetch arguments
// for the function's first instruction.
func (r *resolver) params(arg Arg, function, probed uint64) ([]ftrace.FetchArg, error) {
	if r.definition.Kind == Mark {
		return nil, r.argError(arg.Pos, "%s: a USDT probe has arg1, arg2 … or $args", arg.Param)
	}
	if r.compat() {
		return nil, r.compatError(arg, arg.Param)
	}
	name := r.nameOf(function)
	known, err := r.symbols.Params(function)
	if err != nil {
		return nil, r.argError(arg.Pos, "%s: the parameters of %s are not known: %v; $arg1, $arg2 … are the arguments in their order", arg.Param, name, err)
	}
	if arg.Param == "$args" {
		return r.allParams(name, known), nil
	}
	var names []string
	for _, p := range known {
		if p.Name != arg.Param {
			names = append(names, p.Name)
			continue
		}
		fetched, err := fetchParam(p, arg.Fetch)
		if err != nil {
			return nil, r.argError(arg.Pos, "%s of %s can't be fetched: %v", arg.Param, name, err)
		}
		return fetched, nil
	}
	if variable, err := r.path(arg, function, probed); err == nil {
		return variable, nil // a variable of the source file
	}
	if len(names) == 0 {
		return nil, r.argError(arg.Pos, "%s: %s has no parameters", arg.Param, name)
	}
	return nil, r.argError(arg.Pos, "%s has no parameter or variable %s here; its parameters are %s", name, arg.Param, strings.Join(names, ", "))
}

// allParams returns the arguments for $args. Parameters that cannot be fetched are left out,
// with a note.
func (r *resolver) allParams(name string, known []symbols.Param) []ftrace.FetchArg {
	var out []ftrace.FetchArg
	for _, p := range known {
		fetched, err := fetchParam(p, ftrace.FetchArg{})
		if err != nil {
			r.note("left out %s of %s: %v", p.Name, name, err)
			continue
		}
		out = append(out, fetched...)
	}
	return out
}

func (r *resolver) nameOf(function uint64) string {
	if fn, ok := r.holding(function); ok {
		return symbols.Demangle(fn.Name)
	}
	return fmt.Sprintf("the function at %#x", function)
}

// isText reports whether a parameter is a Go string or a Rust &str: a pointer to text and its
// length.
func isText(p symbols.Param) bool { return p.Kind == dwarfparam.Text && len(p.Parts) == 2 }

// fetchParam returns the fetch arguments of one parameter. want has the name and the type that
// the definition asks for, if any.
func fetchParam(p symbols.Param, want ftrace.FetchArg) ([]ftrace.FetchArg, error) {
	name := want.Name
	if name == "" && p.Name != "" {
		name = ftrace.EventIdentifier(p.Name)
	}
	if isText(p) || p.Location.Where == dwarfparam.Nowhere && len(p.Parts) > 0 {
		return fetchParts(p, name, want.Type)
	}
	value, err := fetchLocation(p.Location)
	if err != nil {
		return nil, err
	}
	a := ftrace.FetchArg{Name: name, Fetch: value, Type: want.Type}
	isString := strings.HasPrefix(strings.TrimPrefix(want.Type, "u"), "string")
	switch {
	case isString && p.Kind == dwarfparam.Struct && p.Location.Where != dwarfparam.Register:
		// an array of characters: the text is where the value is
	case isString || want.Type == "" && p.Kind == dwarfparam.CString:
		a.Fetch = "+0(" + value + ")"
		a.Type = cmp.Or(want.Type, "string")
	case want.Type == "":
		a.Type, err = paramType(p)
	}
	return []ftrace.FetchArg{a}, err
}

// fetchParts returns a fetch argument for each word of a value: name_ptr, name_len. The pointer
// of a string is fetched as text, under the parameter's own name.
func fetchParts(p symbols.Param, name, wantType string) ([]ftrace.FetchArg, error) {
	var out []ftrace.FetchArg
	for i, part := range p.Parts {
		want := ftrace.FetchArg{Name: name + "_" + ftrace.EventIdentifier(part.Name)}
		if part.Name == "" {
			want.Name = name + "_" + strconv.Itoa(i)
		}
		if i == 0 && isText(p) {
			want.Name, want.Type = name, "string"
		}
		if i == 0 && wantType != "" {
			want.Name, want.Type = name, wantType
		}
		fetched, err := fetchParam(part, want)
		if err != nil {
			return nil, err
		}
		out = append(out, fetched...)
	}
	if isText(p) && len(out) == 2 && out[0].Type == "string" {
		out[0].Length = out[1].Name
	}
	return out, nil
}

// partOf finds the part of a parameter that a path names: name.len of a Go string.
func partOf(known []symbols.Param, path string) (symbols.Param, bool) {
	root, member, ok := strings.Cut(path, ".")
	for _, p := range known {
		if !ok || p.Name != root || p.Location.Where != dwarfparam.Nowhere && !isText(p) {
			continue
		}
		for i, part := range p.Parts {
			if part.Name == member || i == 0 && (member == "str" || member == "array") && part.Name == "ptr" {
				part.Name = member
				return part, true
			}
		}
	}
	return symbols.Param{}, false
}

// fetchLocation returns the kernel's expression for the value at a location, at a function's
// first instruction.
func fetchLocation(l dwarfparam.Location) (string, error) {
	switch l.Where {
	case dwarfparam.Nowhere:
		return "", errors.New(cmp.Or(l.Why, "its location is unknown"))
	case dwarfparam.Stack:
		// The offset is relative to the CFA, which is above what the call has pushed.
		return fmt.Sprintf("%+d(%%sp)", l.Offset+int64(arch.Here.CallPushes)), nil
	case dwarfparam.Memory:
		return fetchPlace(symbols.Value{Register: l.Register, Offsets: []int64{l.Offset}})
	}
	return fetchPlace(symbols.Value{Register: l.Register})
}

// fetchRegister returns the fetch argument for the register with DWARF number n.
func fetchRegister(n int) (string, error) {
	r := arch.Here.ByDWARF(n)
	if r == nil || r == arch.Here.PC { // in debug information, the PC's number is the return address
		return "", fmt.Errorf("it is in register %d of DWARF's numbering, which the kernel does not fetch", n)
	}
	return "%" + r.Name, nil
}

// paramType returns the kernel's type for a value.
func paramType(p symbols.Param) (string, error) {
	size := p.Size
	if bit := p.Location.Bit; bit > 0 && p.Kind != dwarfparam.Float {
		// The second of two values in one register.
		return fmt.Sprintf("b%d@%d/64", 8*size, bit), nil
	}
	switch p.Kind {
	case dwarfparam.Float:
		return "", fmt.Errorf("it is a floating-point number (%s)", p.Type)
	case dwarfparam.Bool, dwarfparam.Char:
		return "u8", nil
	case dwarfparam.Struct:
		if size > 8 || p.Location.Where != dwarfparam.Register {
			return "", fmt.Errorf("it is %s, of %d bytes; fetch words of it by address", p.Type, size)
		}
		return "x64", nil
	case dwarfparam.Signed, dwarfparam.Enum:
		if size == 1 || size == 2 || size == 4 || size == 8 {
			return "s" + strconv.Itoa(8*size), nil
		}
	case dwarfparam.Unsigned:
		if size == 1 || size == 2 || size == 4 || size == 8 {
			return "u" + strconv.Itoa(8*size), nil
		}
	case dwarfparam.Pointer, dwarfparam.CString, dwarfparam.Unknown:
		return "x64", nil
	}
	return "", fmt.Errorf("it is %s, of %d bytes", p.Type, size)
}
