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

// userParams are the parameters of a function of a program, by its debug information. Those
// that are no number and no pointer are left out.
func userParams(p *syntax.AttachPoint) (*types.Type, error) {
	unknown := &syntax.Error{Hint: "use arg0, arg1 and so on, with casts"}
	if len(p.Args) != 2 || strings.ContainsAny(p.Args[1], "*?[+") || strings.HasPrefix(p.Args[1], "0x") {
		unknown.Msg = "args are known where the probe names one function"
		return nil, unknown
	}
	params, err := uprobe.Params(p.Args[0], uprobe.Options{}, p.Args[1])
	if err != nil {
		unknown.Msg = "the arguments of " + p.Args[1] + " are not known: " + err.Error()
		return nil, unknown
	}
	args := &types.Type{Kind: types.Struct, Name: "struct " + p.Text + "_args"}
	for _, param := range params {
		if t := paramType(&param); t != nil && param.Name != "" {
			args.Fields = append(args.Fields, types.Field{Name: param.Name, Type: t, Offset: 8 * argument(param.Location, runtime.GOARCH)})
			args.Size += 8
		}
	}
	return args, nil
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
func paramType(p *symbols.Param) *types.Type {
	switch p.Kind {
	case dwarfparam.Signed, dwarfparam.Enum:
		return integer(p.Size, true)
	case dwarfparam.Unsigned, dwarfparam.Bool, dwarfparam.Char:
		return integer(p.Size, false)
	case dwarfparam.CString:
		return &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Int8, User: true}
	case dwarfparam.Pointer:
		return &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Void, User: true}
	}
	return nil
}
