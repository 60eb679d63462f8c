package symbolize

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/symbols"
)

// nameAll names new frames, file by file, the largest file last. If Options.Late is closed
// meanwhile, the remaining files get no names.
func (s *Symbolizer) nameAll(places map[callchain.ObjectID][]callchain.Frame, images map[callchain.ObjectID]*stack.Image) {
	var ids []callchain.ObjectID
	for id := range places {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b callchain.ObjectID) int {
		return cmp.Or(cmp.Compare(images[a].Size, images[b].Size), cmp.Compare(a, b))
	})
	for _, id := range ids {
		if s.late {
			break
		}
		s.nameFile(id, images[id], places[id])
	}
}

// nameFile names new frames of a file. If Options.Late is closed meanwhile, it returns, and the
// goroutine that reads the file goes on in the background.
func (s *Symbolizer) nameFile(id callchain.ObjectID, image *stack.Image, places []callchain.Frame) {
	from := s.source(id, image)
	file := s.file(from, image)
	if file == nil {
		return
	}
	type named struct {
		frames []profile.Frame
		err    error
	}
	done := make(chan named, 1)
	go func() {
		offsets := make([]uint64, len(places))
		for i, f := range places {
			offsets[i] = f.Offset
		}
		err := file.Prepare(offsets)
		if err != nil {
			s.opts.Logger.Info("symbols are missing", "object", image.Path, "error", err)
		}
		frames := make([]profile.Frame, len(places))
		for i, f := range places {
			frames[i] = s.lookUp(file, image.Path, f)
		}
		done <- named{frames, err}
	}()
	select {
	case got := <-done:
		for i, f := range places {
			s.cache[f] = got.frames[i]
		}
		s.noteSkipped(from, image, got.err)
		s.noteSplit(file, image.Path)
	case <-s.opts.Late:
		s.late = true
		s.notes = append(s.notes, fmt.Sprintf("%s: its symbols could not be read in time after the end of the run, so it and larger files have no names", image.Path))
	}
}

// noteSkipped notes, once per file, that a file's symbols need more memory than allowed.
func (s *Symbolizer) noteSkipped(from *source, image *stack.Image, err error) {
	if errors.Is(err, symbols.ErrSkipped) && s.skipped < maxSkipped && !from.skipped {
		from.skipped = true
		s.skipped++
		s.notes = append(s.notes, fmt.Sprintf("%s: %v", image.Path, err))
	}
}
