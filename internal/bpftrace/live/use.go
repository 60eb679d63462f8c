package live

import (
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

// use is one clause at the hits of a source.
type use struct {
	clause int
	probe  string // value of the probe builtin
	placed bool   // the name of the function that was hit is added to probe
	values []getter
	every  uint64   // if more than 1, the clause runs at every n-th hit on a CPU
	passed []uint64 // hits on each CPU since the clause ran there
}

// due counts a hit on a CPU, and reports whether it is one that the clause runs at.
func (u *use) due(cpu uint32) bool {
	if u.every <= 1 {
		return true
	}
	for int(cpu) >= len(u.passed) {
		u.passed = append(u.passed, 0)
	}
	u.passed[cpu]++
	if u.passed[cpu] < u.every {
		return false
	}
	u.passed[cpu] = 0
	return true
}

// use prepares the values of a clause at a source.
func (a *Attachment) use(s *source, u plan.Use) (use, error) {
	result := use{clause: u.Clause}
	result.probe, result.placed = probeName(s, u.Point)
	if u.Period > 0 {
		result.every = u.Period / s.event.Sample.Period
	}
	for i, field := range u.Fields {
		of := a.program.Clauses[u.Clause].Sources[i]
		get, err := s.getter(field, of)
		if err != nil {
			return use{}, &syntax.Error{Pos: u.Point.Pos, Len: len(u.Point.Text), Msg: err.Error(), Err: err}
		}
		result.values = append(result.values, get)
	}
	return result, nil
}
