package uprobe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// maxElements is the maximum number of array elements that the kernel fetches (MAX_ARRAY_LEN in
// kernel/trace/trace_probe.h).
const maxElements = 64

// path translates an argument that is a variable, or a path of members from one, into fetch
// arguments. The variables are those at the file offset. The probe is at file offset probed,
// which may be another instruction of the function's entry.
func (r *resolver) path(arg Arg, offset, probed uint64) ([]ftrace.FetchArg, error) {
	path := cmp.Or(arg.Path, arg.Param)
	if r.compat() {
		return nil, r.compatError(arg, path)
	}
	if r.definition.Kind == Mark {
		return nil, r.argError(arg.Pos, "%s: a USDT probe has arg1, arg2 … or $args", path)
	}
	if known, err := r.symbols.Params(offset); err == nil {
		if part, ok := partOf(known, path); ok {
			fetched, err := fetchParam(part, arg.Fetch)
			if err != nil {
				err = r.argError(arg.Pos, "%s can't be fetched: %v", path, err)
			}
			return fetched, err
		}
	}
	v, err := r.symbols.Value(offset, path)
	var wrong *dwarfparam.PathError
	switch {
	case errors.As(err, &wrong):
		begin := strings.Index(r.definition.Text[arg.Pos:], path)
		return nil, r.argError(arg.Pos+max(begin, 0)+wrong.Pos, "%v", wrong)
	case err != nil:
		return nil, r.argError(arg.Pos, "%s: %v; compile with -g, or name a register", path, err)
	}
	if v.Register == dwarfparam.InstructionPointer && len(v.Offsets) > 0 {
		v.Offsets[0] -= int64(probed - offset)
	}
	if v.Kind == dwarfparam.Text && v.Count == 0 && len(v.Offsets) > 0 && arg.Fetch.Type == "" {
		return fetchText(v, arg.Fetch.Name)
	}
	a, err := fetchValue(v, arg.Fetch)
	if err != nil {
		return nil, r.argError(arg.Pos, "%s can't be fetched: %v", path, err)
	}
	return []ftrace.FetchArg{a}, nil
}

// fetchText returns the fetch arguments for a Go or Rust string in memory: the text that its
// first word points to, and the length in its second word.
func fetchText(v symbols.Value, name string) ([]ftrace.FetchArg, error) {
	place, err := fetchPlace(v)
	if err != nil {
		return nil, err
	}
	v.Offsets = slices.Clone(v.Offsets)
	v.Offsets[len(v.Offsets)-1] += 8
	length, err := fetchPlace(v)
	name = cmp.Or(name, ftrace.EventIdentifier(v.Name))
	return []ftrace.FetchArg{
		{Name: name, Fetch: "+0(" + place + ")", Type: "string", Length: name + "_len"},
		{Name: name + "_len", Fetch: length, Type: "s64"},
	}, err
}

// compatError is returned for names in 32-bit programs, which are not looked up.
func (r *resolver) compatError(arg Arg, name string) error {
	return r.argError(arg.Pos, "%s: ringtap does not look up the variables of 32-bit programs; name an argument by its number ($arg1) or a register", name)
}

// fetchValue returns the fetch argument for a value. want has the name and the type that the
// definition asks for, if any.
func fetchValue(v symbols.Value, want ftrace.FetchArg) (ftrace.FetchArg, error) {
	a := ftrace.FetchArg{Name: cmp.Or(want.Name, ftrace.EventIdentifier(v.Name)), Type: want.Type}
	place, err := fetchPlace(v)
	if err != nil {
		return a, err
	}
	a.Fetch = place
	isString := strings.HasPrefix(strings.TrimPrefix(want.Type, "u"), "string")
	switch {
	case isString && v.Text, want.Type == "" && v.Text:
		a.Type = cmp.Or(want.Type, "string") // the text is at the place itself
	case isString && v.Kind != dwarfparam.CString && v.Kind != dwarfparam.Pointer:
		return a, fmt.Errorf("it is %s, and no text", v.Type)
	case isString, want.Type == "" && v.Kind == dwarfparam.CString && v.Count == 0:
		a.Fetch, a.Type = "+0("+place+")", cmp.Or(want.Type, "string")
	case want.Type == "":
		a.Type, err = valueType(v)
		a.Signed = v.Bits > 0 && v.Kind == dwarfparam.Signed
	case v.Bits > 0:
		return a, fmt.Errorf("it is a bitfield, whose type is its own")
	}
	return a, err
}

// fetchPlace returns the kernel's expression for the value.
func fetchPlace(v symbols.Value) (string, error) {
	if v.Constant {
		return fmt.Sprintf("\\%d", v.Number), nil
	}
	place := instructionPointer()
	if v.Register != dwarfparam.InstructionPointer {
		var err error
		if place, err = fetchRegister(v.Register); err != nil {
			return "", err
		}
	}
	for _, offset := range v.Offsets {
		place = fmt.Sprintf("%+d(%s)", offset, place)
	}
	return place, nil
}

// valueType returns the kernel's type for a value.
func valueType(v symbols.Value) (string, error) {
	if v.Bits > 0 {
		return fmt.Sprintf("b%d@%d/%d", v.Bits, v.Bit, 8*v.Size), nil
	}
	p := symbols.Param{Type: v.Type, Kind: v.Kind, Size: v.Size}
	if len(v.Offsets) == 0 {
		p.Location = dwarfparam.Location{Where: dwarfparam.Register, Bit: v.Bit}
	}
	typ, err := paramType(p)
	switch {
	case err != nil || v.Kind != dwarfparam.Struct && v.Count == 0 && !isArray(v):
		return typ, err
	case v.Count == 0:
		return "", fmt.Errorf("it is %s, whose length is not known: name an element", v.Type)
	case v.Count > maxElements:
		return "", fmt.Errorf("it is %s, and the kernel fetches %d elements at most: name one, or give a type, as %s[%d]", v.Type, maxElements, typ, maxElements)
	}
	return fmt.Sprintf("%s[%d]", typ, v.Count), nil
}

func isArray(v symbols.Value) bool { return strings.HasSuffix(v.Type, "]") }
