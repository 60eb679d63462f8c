package live

import (
	"runtime"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
	"github.com/ringtap/ringtap/uprobe"
)

// ProgramTypes knows the types of the files that a program probes, by their debug information. One goroutine
// uses it at a time.
type ProgramTypes struct {
	params    map[string]foundParams // by file and function
	named     map[string]*types.Type // by file, function and name; nil of what is not there
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

// Args are the parameters of the function of an attach point. Those that are no number and no pointer are
// left out.
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
		known = foundParams{u.record(p, params, registersOf(runtime.GOARCH, goCode)), err}
		u.params[place] = known
	}
	if known.err != nil {
		unknown.Msg, unknown.Err = "the arguments of "+function+" are not known: "+known.err.Error(), known.err
		return nil, unknown
	}
	return known.args, nil
}

// functionOf is the function that an attach point names: FILE:FUNCTION or FILE:cpp:FUNCTION.
func functionOf(p *syntax.AttachPoint) (string, bool) {
	n := len(p.Args)
	if n != 2 && (n != 3 || p.Args[1] != "cpp") {
		return "", false
	}
	function := p.Args[n-1]
	isOperator := strings.Contains(function, "operator") // which may be operator[] or operator*
	return function, !strings.HasPrefix(function, "0x") && (isOperator || !strings.ContainsAny(function, "*?[+") || strings.Contains(function, "("))
}

// record returns parameters as the members of a struct: a string or slice of Go, and others that are in
// several registers, as name.ptr, name.len and so on. registers are those of $arg1, $arg2 and so on.
func (u *ProgramTypes) record(p *syntax.AttachPoint, params []symbols.Param, registers []int) *types.Type {
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

// registersOf are the registers of arguments in their order, by DWARF's numbers. See uprobe for Go's.
func registersOf(arch string, goCode bool) []int {
	switch {
	case arch == "arm64" && goCode:
		return []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	case arch == "arm64":
		return []int{0, 1, 2, 3, 4, 5, 6, 7}
	case goCode:
		return []int{0, 3, 2, 5, 4, 8, 9, 10, 11} // ax, bx, cx, di, si, r8 to r11
	}
	return []int{5, 4, 1, 2, 8, 9} // di, si, dx, cx, r8, r9
}

// argument is the number, from 0, of the argument whose register a parameter is in, -1 if it
// is in none.
func argument(l dwarfparam.Location, registers []int) int {
	if l.Where != dwarfparam.Register || l.Bit > 0 {
		return -1
	}
	return slices.Index(registers, l.Register)
}

// paramType is the type of a parameter of a program, nil if it is no number and no pointer.
func (u *ProgramTypes) paramType(p *symbols.Param) *types.Type {
	switch p.Kind {
	case dwarfparam.Signed, dwarfparam.Enum:
		return integer(p.Size, true)
	case dwarfparam.Unsigned, dwarfparam.Bool, dwarfparam.Char:
		return integer(p.Size, false)
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
