package process

import (
	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/gotable"
)

// MapsGo reports whether the process has mapped a program or library that was written in Go.
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
