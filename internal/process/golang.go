package process

import (
	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/gotable"
)

// MapsGo reports whether the process has mapped a program or library written in Go.
func (p *Process) MapsGo() bool {
	seen := make(map[*Object]bool)
	for m := range p.Mapped {
		if m.Object.Kind != File || seen[m.Object] {
			continue
		}
		seen[m.Object] = true
		r, size, err := m.Object.Open()
		if err != nil {
			continue
		}
		if image, err := elfimage.New(r, size); err == nil && gotable.IsGo(image) {
			return true
		}
	}
	return false
}
