package live

import (
	"reflect"
	"testing"
)

func TestNamesOfValuesComeFromThePrintFormat(t *testing.T) {
	const format = `"%s %s", __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, { 0x3, "NO_SOCKET" }, { UNKNOWN, "UNKNOWN" }), ` +
		`__print_symbolic(REC->state, { 1, "ON" })`
	for field, want := range map[string]map[uint64]string{
		"reason": {2: "NOT_SPECIFIED", 3: "NO_SOCKET"},
		"state":  {1: "ON"},
		"other":  {},
	} {
		if got := symbolic(format, field); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", field, got, want)
		}
	}
}

func FuzzSymbolic(f *testing.F) {
	f.Add(`__print_symbolic(REC->f, { 2, "TWO" }, { 3, "THREE" })`)
	f.Add(`__print_symbolic(REC->f, { 2, "TWO" `)
	f.Fuzz(func(t *testing.T, format string) { symbolic(format, "f") })
}
