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
		params, err := uprobe.Params(p.Args[0], uprobe.Options{}, function)
		known = foundParams{u.record(p, params), err}
		u.params[place] = known
	}
	if known.err != nil {
		unknown.Msg = "the arguments of " + function + " are not known: " + known.err.Error()
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

// record returns parameters as the members of a struct.
func (u *ProgramTypes) record(p *syntax.AttachPoint, params []symbols.Param) *types.Type {
	args := &types.Type{Kind: types.Struct, Name: "struct " + p.Text + "_args"}
	for _, param := range params {
		if t := u.paramType(&param); t != nil && param.Name != "" {
			args.Fields = append(args.Fields, types.Field{Name: param.Name, Type: t, Offset: 8 * argument(param.Location, runtime.GOARCH)})
			args.Size += 8
		}
	}
	return args
}

// argument is the number, from 0, of the C argument whose register a parameter is in, -1 if it
// is in none.
func argument(l dwarfparam.Location, arch string) int {
	registers := []int{5, 4, 1, 2, 8, 9} // di, si, dx, cx, r8, r9
	if arch == "arm64" {
		registers = []int{0, 1, 2, 3, 4, 5, 6, 7}
	}
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
