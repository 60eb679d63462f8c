package advice

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/ringtap/ringtap/internal/profile"
)

// stripped returns a sentence for each file whose unnamed functions themselves, without their
// callees, have more than 5% of the profile's first metric. The largest share comes first.
func (s *Seen) stripped(p *profile.Profile) (notes []string) {
	var all uint64
	unnamed := make(map[string]uint64) // by the file's path
	for i := range p.Rows {
		row := &p.Rows[i]
		if len(row.Values) == 0 {
			continue
		}
		all += row.Values[0]
		if f := leaf(p, row); f != nil && f.Unnamed {
			unnamed[p.Objects[f.Object].Path] += row.Values[0]
		}
	}
	files := make([]string, 0, len(unnamed))
	for file, n := range unnamed {
		if n*100 > all*least && !s.files[file] {
			files = append(files, file)
		}
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(unnamed[b], unnamed[a]), cmp.Compare(a, b)) })
	for _, file := range files {
		s.files[file] = true
		notes = append(notes, fmt.Sprintf("%.0f%% is in functions of %s that have no names: install its debug symbols "+
			"(Debian: a package NAME-dbgsym or NAME-dbg)", 100*float64(unnamed[file])/float64(all), path.Base(file)))
	}
	return notes
}

// leaf returns a row's innermost function, or nil if it is unknown or in the kernel.
func leaf(p *profile.Profile, row *profile.Row) *profile.Frame {
	if row.Kernel != profile.None || row.User == profile.None {
		return nil
	}
	frames := p.Stacks[row.User].Frames
	if len(frames) == 0 {
		return nil
	}
	return &p.Frames[frames[len(frames)-1]]
}
