// Package framerule finds how the canonical frame address, which debug information counts
// variables from, is computed at one instruction: a register and a distance.
//
//	.eh_frame, .debug_frame → callframe.Section → Find → Rule
//
// Package callchain has the rules of whole functions.
package framerule

import (
	"errors"

	"github.com/ringtap/ringtap/internal/callframe"
	"github.com/ringtap/ringtap/internal/elfimage"
)

// Rule is the canonical frame address: the content of a register of DWARF's numbering,
// and so many bytes.
type Rule struct {
	Register uint64
	Offset   int64
}

// What may be wrong with a question.
var (
	ErrNone    = errors.New("no unwind table describes the code")
	ErrComplex = errors.New("its frame is described by more than a register and a distance")
)

// Find returns the rule that holds at vaddr, before that instruction runs, by the tables of
// a file: one that can't be read is as good as none.
func Find(image *elfimage.Image, vaddr uint64) (rule Rule, err error) {
	err = ErrNone
	for _, open := range []func(*elfimage.Image) (*callframe.Section, error){callframe.EHFrame, callframe.DebugFrame} {
		section, broken := open(image)
		if broken != nil || section == nil {
			continue
		}
		if f, ok := section.Find(vaddr); ok {
			if rule, err = ruleOf(&f, vaddr); err == nil {
				return rule, nil
			}
		}
	}
	return Rule{}, err
}

// state is what the instructions of a frame have left so far.
type state struct {
	rule    Rule
	complex bool // the address is an expression's
}

// maxSaved is how many states may be remembered.
const maxSaved = 64

// ruleOf executes the instructions of a function up to an address.
func ruleOf(f *callframe.Function, vaddr uint64) (Rule, error) {
	var now state
	var saved []state
	for _, instructions := range [][]byte{f.CIE.Program, f.Program} {
		program := f.CIE.Instructions(instructions, f.Start)
		var i callframe.Instruction
		for program.Next(&i) {
			if i.Op == callframe.Move && uint64(i.Value) > vaddr {
				break
			}
			switch i.Op {
			case callframe.CFA:
				now = state{rule: Rule{i.Column, i.Value}}
			case callframe.CFARegister:
				now.rule.Register = i.Column
			case callframe.CFAOffset:
				now.rule.Offset = i.Value
			case callframe.CFAExpression:
				now.complex = true
			case callframe.Remember:
				if len(saved) == maxSaved {
					return Rule{}, ErrComplex
				}
				saved = append(saved, now)
			case callframe.Recall:
				if len(saved) == 0 {
					return Rule{}, ErrComplex
				}
				now, saved = saved[len(saved)-1], saved[:len(saved)-1]
			}
		}
		if program.Bad() {
			return Rule{}, ErrComplex
		}
	}
	if now.complex {
		return Rule{}, ErrComplex
	}
	return now.rule, nil
}
