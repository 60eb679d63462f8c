package callchain

import "math"

// exprArena stores the DWARF expressions of a function, each once.
type exprArena struct {
	bytes []byte
	at    map[string]int32
}

func (a *exprArena) reset() {
	a.bytes = a.bytes[:0]
	clear(a.at)
}

// add stores a copy of expr and returns the rule that refers to it. If expr is too long to be
// real, the rule makes the register unrecoverable.
func (a *exprArena) add(kind ruleKind, expr []byte) rule {
	if len(expr) == 0 || len(expr) > math.MaxUint16 || len(a.bytes) > math.MaxInt32-len(expr) {
		return rule{kind: ruleUndefined}
	}
	at, ok := a.at[string(expr)]
	if !ok {
		if a.at == nil {
			a.at = make(map[string]int32)
		}
		at = int32(len(a.bytes))
		a.bytes = append(a.bytes, expr...)
		a.at[string(expr)] = at
	}
	return rule{kind: kind, val: at, size: uint16(len(expr))}
}
