package live

import (
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/script/eval"
	"github.com/ringtap/ringtap/internal/stack"
)

// Frames returns how many frames a stack of a hit has.
func (a *Attachment) Frames(n uint64) int { return a.stacks.frames(n) }

// Lines returns the frames of a stack, innermost first, until Close.
func (a *Attachment) Lines(n uint64, mode string) []string {
	if a.stacks == nil {
		return nil
	}
	return a.stacks.lines(n, mode)
}

// Address returns the number of a stack that is an address of the process of the hit under way
// alone. It is false for an address that is in no file.
func (a *Attachment) Address(h *eval.Hit, address uint64) (uint64, bool) {
	of, ok := h.Values.(*hit)
	if !ok {
		return 0, false
	}
	mapping, ok := of.process().Find(address)
	if !ok {
		return 0, false
	}
	frame := callchain.Frame{Object: mapping.Object, Offset: mapping.Offset + address - mapping.Start}
	return a.stacks.number(stack.Stack{Frames: []callchain.Frame{frame}}), true
}

// Symbol returns the name of an address that Address has given a number, without the distance
// from its start.
func (a *Attachment) Symbol(n uint64) string {
	lines := a.Lines(n, "")
	if len(lines) == 0 {
		return ""
	}
	name := lines[0]
	if i := strings.LastIndexByte(name, '+'); i > 0 {
		name = name[:i]
	}
	return name
}
