package framerule

import (
	"errors"
	"testing"

	"github.com/ringtap/ringtap/internal/object/callframe"
)

// function has instructions of amd64: pushes move the frame address away by 8 bytes.
func function(program ...byte) *callframe.Function {
	return &callframe.Function{
		Start: 0x1000, End: 0x2000, Program: program,
		CIE: &callframe.CIE{CodeAlign: 1, DataAlign: -8, Program: []byte{0x0c, 7, 8, 0x80 | 16, 1}}, // rsp+8
	}
}

func TestARuleHoldsFromItsInstructionOn(t *testing.T) {
	f := function(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x50, 0x0a, 0x0c, 7, 8, 0x41, 0x0b, 0x41, 0x0f, 1, 0x30)
	for _, test := range []struct {
		at   uint64
		want Rule
		err  error
	}{
		{0x1000, Rule{7, 8}, nil},  // at the entry
		{0x1001, Rule{7, 16}, nil}, // behind push rbp
		{0x1003, Rule{7, 16}, nil},
		{0x1004, Rule{6, 16}, nil}, // behind mov rbp, rsp
		{0x1013, Rule{6, 16}, nil},
		{0x1014, Rule{7, 8}, nil},  // behind leave
		{0x1015, Rule{6, 16}, nil}, // the state of before
		{0x1016, Rule{}, ErrComplex},
	} {
		if got, err := ruleOf(f, test.at); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("at %#x: %v, %v; want %v, %v", test.at, got, err, test.want, test.err)
		}
	}
}

func TestAProgramThatMakesNoSenseIsComplex(t *testing.T) {
	for name, program := range map[string][]byte{
		"an unknown instruction":    {0x3f},
		"an operand that is cut":    {0x0e},
		"a state that was not kept": {0x0b},
		"an endless expression":     {0x0f, 0xff, 0x7f},
	} {
		if _, err := ruleOf(function(program...), 0x1000); !errors.Is(err, ErrComplex) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add([]byte{0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6}, uint64(0x1004))
	f.Add([]byte{0x0a, 0x0f, 1, 0x30, 0x0b, 0x01}, uint64(0x1000))
	f.Fuzz(func(t *testing.T, program []byte, vaddr uint64) {
		if rule, err := ruleOf(function(program...), vaddr); err != nil && rule != (Rule{}) {
			t.Errorf("a rule %v with %v", rule, err)
		}
	})
}
