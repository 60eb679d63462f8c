package output

import (
	"fmt"
	"math"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// colour returns the color of a level in a picture, the same as colour.js does on the page. The hue
// shows whose code it is, and the lightness distinguishes neighbors.
func colour(p *profile.Profile, l *level) string {
	hue, saturation := 230.0, 0.08
	switch l.kind {
	case kernel:
		hue, saturation = 205+15*hashText(l.name), 0.75
	case inlined:
		hue, saturation = 140+25*hashText(l.name), 0.5
	case user:
		own := math.Mod(8*hashText(l.name), 1)
		hue, saturation = 6+36*hashText(escape.Text(p.Objects[l.object].Path))+16*own, 0.9
	}
	return fmt.Sprintf("hsl(%.0f,%.0f%%,%.1f%%)", hue, 85*saturation, 68+12*hashText(l.name))
}

// hashText maps texts evenly to [0, 1). It is FNV-1a, with the low bits mixed into the high ones,
// which the last characters of short names do not affect.
func hashText(s string) float64 {
	h := uint32(0x811c9dc5)
	for _, r := range s {
		h = (h ^ uint32(r)) * 0x01000193
	}
	h = (h ^ h>>15) * 0x2c1b3c6d
	return float64(h^h>>13) / (1 << 32)
}
