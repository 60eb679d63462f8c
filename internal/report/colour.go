package report

import (
	"fmt"
	"math"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/profile"
)

// colour is the colour of a level in a picture, as colour.js has it on the page:
// the hue tells whose code it is, the lightness tells neighbours apart.
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

// hashText spreads texts over [0, 1): FNV-1a, and a mix of its low bits into
// the high ones, which the last characters of short names don't reach.
func hashText(s string) float64 {
	h := uint32(0x811c9dc5)
	for _, r := range s {
		h = (h ^ uint32(r)) * 0x01000193
	}
	h = (h ^ h>>15) * 0x2c1b3c6d
	return float64(h^h>>13) / (1 << 32)
}
