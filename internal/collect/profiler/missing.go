package profiler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/object/buildid"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
)

// Files of a recording that are missing here are noted if they have at least leastMissing percent of
// the first column, and at most maxMissing of them.
const (
	leastMissing = 1
	maxMissing   = 5
)

// missingNote says why a file of a recording has no names.
func missingNote(image *stack.Image) string {
	var none *buildid.NotFoundError
	if !errors.As(image.Err, &none) {
		return fmt.Sprintf("%s has no names: %v", image.Path, image.Err)
	}
	why := "this machine has no such file"
	if len(none.Others) > 0 {
		why = "only other builds of it are here: " + strings.Join(none.Others, "; ")
	}
	return fmt.Sprintf("%s has no names: it was recorded with build id %x, and %s", image.Path, none.ID, why)
}

// names reports whether a recording has the name of a place in a file.
func names(from *process.Recording, path string, offset uint64) bool {
	if from == nil || from.Symbol == nil {
		return false
	}
	_, _, _, ok := from.Symbol(path, offset)
	return ok
}

// missingFiles returns a note for each file that a recording has samples in and this machine does not
// have, unless the recording itself names their code. The ones with the most samples come first.
func missingFiles(w *table.Window, from *process.Recording) (notes []string) {
	sums := make(map[callchain.ObjectID]uint64)
	counted := make(map[callchain.ObjectID]int) // the last row that was added, from 1
	var all uint64
	for i := range w.Rows {
		r := &w.Rows[i]
		all += r.Values[0]
		if r.User < 0 {
			continue
		}
		last := callchain.Kernel // most frames have the object of the one before
		for _, f := range w.Stacks[r.User].Frames {
			if f.Object == last {
				continue
			}
			last = f.Object
			image := w.Images[f.Object]
			isMissing := image != nil && image.Err != nil && (image.Kind == process.File || image.Kind == process.VDSO)
			if isMissing && counted[f.Object] != i+1 && !names(from, image.Path, f.Offset) {
				sums[f.Object] += r.Values[0]
				counted[f.Object] = i + 1
			}
		}
	}
	var missing []callchain.ObjectID
	for id, sum := range sums {
		if 100*sum >= leastMissing*all {
			missing = append(missing, id)
		}
	}
	slices.SortFunc(missing, func(a, b callchain.ObjectID) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(w.Images[a].Path, w.Images[b].Path))
	})
	for _, id := range missing[:min(len(missing), maxMissing)] {
		notes = append(notes, missingNote(w.Images[id]))
	}
	if n := len(missing) - maxMissing; n > 0 {
		notes = append(notes, fmt.Sprintf("%d more files are missing", n))
	}
	return notes
}
