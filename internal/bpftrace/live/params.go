package live

import (
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
	"github.com/ringtap/ringtap/uprobe"
)

// ProgramTypes finds types in the debug information of the files that a program probes. One goroutine
// uses it at a time.
type ProgramTypes struct {
	params    map[string]foundParams // by file and function
	named     map[string]*types.Type // by file, function and name; nil for a type that does not exist
	converted map[*symbols.Type]*types.Type
}

type foundParams struct {
	args *types.Type
	err  error
}

// NewProgramTypes returns ProgramTypes that have read nothing yet.
func NewProgramTypes() *ProgramTypes {
	return &ProgramTypes{
		params: map[string]foundParams{}, named: map[string]*types.Type{}, converted: map[*symbols.Type]*types.Type{},
	}
}

// Args returns the parameters of an attach point's function as a struct. It leaves out parameters that are
// neither numbers nor pointers.
func (u *ProgramTypes) Args(p *syntax.AttachPoint) (*types.Type, error) {
	unknown := &syntax.Error{Hint: "use arg0, arg1 and so on, with casts"}
	function, ok := functionOf(p)
	if !ok {
		unknown.Msg = "args are known where the probe names one function"
		return nil, unknown
	}
	place := strings.Join(p.Args, "\x00")
	known, ok := u.params[place]
	if !ok {
		params, goCode, err := uprobe.Params(p.Args[0], uprobe.Options{}, function)
		convention := arch.Here.C
		if goCode {
			convention = arch.Here.Go
		}
		known = foundParams{u.record(p, params, convention.Arguments), err}
		u.params[place] = known
	}
	if known.err != nil {
		unknown.Msg, unknown.Err = "the arguments of "+function+" are not known: "+known.err.Error(), known.err
		return nil, unknown
	}
	return known.args, nil
}

// functionOf returns the function that an attach point names: FILE:FUNCTION or FILE:cpp:FUNCTION. It
// returns false for patterns, addresses and functions with an offset.
func functionOf(p *syntax.AttachPoint) (string, bool) {
	n := len(p.Args)
	if n != 2 && (n != 3 || p.Args[1] != "cpp") {
		return "", false
	}
	function := p.Args[n-1]
	isOperator := strings.Contains(function, "operator") // which may be operator[] or operator*
	return function, !strings.HasPrefix(function, "0x") && (isOperator || !strings.ContainsAny(function, "*?[+") || strings.Contains(function, "("))
}

// record returns parameters as the members of a struct. A parameter in several registers, such as a string or
// slice of Go, becomes the members name.ptr, name.len and so on. registers are the registers of $arg1, $arg2
// and so on.
func (u *ProgramTypes) record(p *syntax.AttachPoint, params []symbols.Param, registers []*arch.Register) *types.Type {
	args := &types.Type{Kind: types.Struct, Name: "struct " + p.Text + "_args"}
	add := func(name string, param *symbols.Param) {
		if t := u.paramType(param); t != nil {
			args.Fields = append(args.Fields, types.Field{Name: name, Type: t, Offset: 8 * argument(param.Location, registers)})
			args.Size += 8
		}
	}
	for _, param := range params {
		switch {
		case param.Name == "":
		case param.Kind == dwarfparam.Text || param.Location.Where == dwarfparam.Nowhere:
			for i, part := range param.Parts {
				if param.Kind == dwarfparam.Text && i == 0 {
					part.Kind = dwarfparam.CString // str() reads it
				}
				if part.Name != "" && part.Location.Where != dwarfparam.Nowhere {
					add(param.Name+"."+part.Name, &part)
				}
			}
		default:
			add(param.Name, &param)
		}
	}
	return args
}

// argument returns the index of the register that a parameter is in, or -1 if it is in none of
// registers.
func argument(l dwarfparam.Location, registers []*arch.Register) int {
	if l.Where != dwarfparam.Register || l.Bit > 0 {
		return -1
	}
	return slices.IndexFunc(registers, func(r *arch.Register) bool { return int(r.DWARF) == l.Register })
}

// paramType returns the type of a parameter of a program, or nil if it is neither a number nor a pointer.
func (u *ProgramTypes) paramType(p *symbols.Param) *types.Type {
	switch p.Kind {
	case dwarfparam.Signed, dwarfparam.Enum:
		return types.Integer(p.Size, true)
	case dwarfparam.Unsigned, dwarfparam.Bool, dwarfparam.Char:
		return types.Integer(p.Size, false)
	case dwarfparam.CString:
		return &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Int8, User: true}
	case dwarfparam.Pointer:
		if p.Of != nil && p.Of.Kind == dwarfparam.Pointer {
			return u.convert(p.Of)
		}
		return &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Void, User: true}
	}
	return nil
}
