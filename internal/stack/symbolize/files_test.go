package symbolize_test

import (
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// endless reads a file until it is armed. From then on it does not come back before the
// test ends.
type endless struct {
	io.ReaderAt
	armed   bool
	entered func()
	end     chan struct{}
}

func (r *endless) ReadAt(b []byte, at int64) (int, error) {
	if r.armed {
		r.entered()
		<-r.end
	}
	return r.ReaderAt.ReadAt(b, at)
}

func TestARunThatWasEndedDoesNotWaitForASlowFile(t *testing.T) {
	late := make(chan struct{})
	image, other := fileImage(t, tinyELF), fileImage(t, tinyELF)
	slow := &endless{ReaderAt: image.Code, entered: sync.OnceFunc(func() { close(late) }), end: make(chan struct{})}
	t.Cleanup(func() { close(slow.end) })
	image.Code, image.Size = slow, image.Size+1 // the larger one comes last
	s := symbolizer(t, symbolize.Options{Late: late})
	known, fresh := callchain.Frame{Object: 1, Offset: tinyF + 3}, callchain.Frame{Object: 1, Offset: tinyStart + 8}
	quick := callchain.Frame{Object: 2, Offset: tinyStart + 8}
	images := []*stack.Image{image, other}
	if got := names(s.Profile(set(images, []callchain.Frame{known}), nil), 0); got[0] != "f" {
		t.Fatalf("names %q", got)
	}
	slow.armed = true
	p := s.Profile(set(images, []callchain.Frame{known, quick, fresh}), nil)
	if got := names(p, 0); got[0] != "" || got[1] != "_start" || got[2] != "f" {
		t.Errorf("names %q; want none for what was read too late, and those of other files and of the window before", got)
	}
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "could not be read in time") {
		t.Errorf("notes %q", notes)
	}
	if got := names(s.Profile(set(images, []callchain.Frame{fresh, known}), nil), 0); got[0] != "f" || got[1] != "" {
		t.Errorf("names %q after that", got)
	}
}
