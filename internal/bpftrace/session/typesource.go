package session

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/live"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// typeSource provides types of the kernel and of the files that a program probes. If the program
// probes only files, their types come first.
type typeSource struct {
	*kernelTypes
	programs *live.ProgramTypes
	points   []*syntax.AttachPoint // in files
	first    bool                  // the types of files come before the kernel's
}

// typesOf returns the types that a program may use without defining them.
func typesOf(p *syntax.Program, kernel *kernelTypes, programs *live.ProgramTypes) *typeSource {
	s := &typeSource{kernelTypes: kernel, programs: programs, first: true}
	for _, probe := range p.Probes {
		for _, point := range probe.Points {
			switch point.Provider {
			case "uprobe", "uretprobe", "usdt":
				s.points = append(s.points, point)
			default:
				s.first = s.first && firesHere(point)
			}
		}
	}
	return s
}

// Type returns the type called name.
func (s *typeSource) Type(name string) (*types.Type, int, bool) {
	if s.first {
		if t := s.ofPrograms(name); t != nil {
			return t, 1, true
		}
	}
	if t, align, ok := s.kernelTypes.Type(name); ok {
		return t, align, ok
	}
	t := s.ofPrograms(name)
	return t, 1, t != nil
}

// ofPrograms returns the first type called name in a probed file, or nil.
func (s *typeSource) ofPrograms(name string) *types.Type {
	for i, point := range s.points {
		seen := slices.ContainsFunc(s.points[:i], func(p *syntax.AttachPoint) bool { return slices.Equal(p.Args, point.Args) })
		if seen {
			continue
		}
		if t := s.programs.Named(point, name); t != nil {
			return t
		}
	}
	return nil
}
