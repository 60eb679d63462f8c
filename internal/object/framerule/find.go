// Package framerule finds the rule for the canonical frame address at one instruction: a
// register and a distance. Debug information gives variables' places relative to that address.
//
//	.eh_frame, .debug_frame → callframe.Section → Find → Rule
//
// Package callchain handles the rules of whole functions.
package framerule

import (
	"errors"

	"github.com/ringtap/ringtap/internal/object/callframe"
	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Rule says that the canonical frame address is a register's content, by DWARF number, plus
// Offset bytes.
type Rule struct {
	Register uint64
	Offset   int64
}

// Errors of Find.
var (
	ErrNone    = errors.New("no unwind table describes the code")
	ErrComplex = errors.New("its frame is described by more than a register and a distance")
)

// Find returns the rule that holds at vaddr, before the instruction there runs. It uses the
// tables of a file; a table that can't be read counts as missing.
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

// state is the state after some instructions of a function.
type state struct {
	rule    Rule
	complex bool // the address is given by an expression
}

// maxSaved bounds the stack of remembered states.
const maxSaved = 64

// ruleOf executes a function's instructions up to an address.
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
