package uprobe

import (
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// The first register of DWARF's numbering has a name everywhere.
var inRegister = dwarfparam.Location{Where: dwarfparam.Register}

func TestAParameterIsFetchedAsItsTypeSays(t *testing.T) {
	register := "%" + arch.Here.ByDWARF(0).Name
	upper := inRegister
	upper.Bit = 32
	for _, test := range []struct {
		name  string
		param symbols.Param
		want  string
	}{
		{"a signed number", symbols.Param{Name: "n", Kind: dwarfparam.Signed, Size: 4, Location: inRegister}, "n=" + register + ":s32"},
		{"text", symbols.Param{Name: "s", Kind: dwarfparam.CString, Size: 8, Location: inRegister}, "s=+0(" + register + "):string"},
		{"the upper half of a register", symbols.Param{Name: "y", Kind: dwarfparam.Signed, Size: 4, Location: upper}, "y=" + register + ":b32@32/64"},
		{"a word of memory that a register points at", symbols.Param{
			Name: "m", Kind: dwarfparam.Unsigned, Size: 8,
			Location: dwarfparam.Location{Where: dwarfparam.Memory, Offset: 16},
		}, "m=+16(" + register + "):u64"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := fetchParam(test.param, ftrace.FetchArg{})
			if err != nil || len(got) != 1 || got[0].String() != test.want {
				t.Errorf("%v, %v; want %s", got, err, test.want)
			}
		})
	}
}

func TestTextWithALengthIsFetchedAsTextAndLength(t *testing.T) {
	register := "%" + arch.Here.ByDWARF(0).Name
	got, err := fetchParam(symbols.Param{
		Name: "s", Type: "string", Kind: dwarfparam.Text, Size: 16,
		Location: dwarfparam.Location{Where: dwarfparam.Stack},
		Parts: []symbols.Param{
			{Name: "ptr", Kind: dwarfparam.CString, Size: 8, Location: inRegister},
			{Name: "len", Kind: dwarfparam.Signed, Size: 8, Location: inRegister},
		},
	}, ftrace.FetchArg{})
	if err != nil || len(got) != 2 || got[0].String() != "s=+0("+register+"):string" || got[1].String() != "s_len="+register+":s64" {
		t.Errorf("%v, %v", got, err)
	}
}
