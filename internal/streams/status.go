package streams

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Status is the line on a terminal that shows how far a run is. It is drawn
// over and over in the same place, and only on a terminal.
//
// A goroutine of its own draws it, so that a terminal which takes nothing
// (Ctrl-S) does not hold up who reads the rings.
type Status struct {
	latest atomic.Pointer[fmt.Stringer]
	end    chan struct{}
	ended  sync.WaitGroup

	mu    sync.Mutex // is held by who writes to the terminal
	w     io.Writer
	shown bool
}

// statusEvery is how often the line is drawn.
const statusEvery = 500 * time.Millisecond

// NewStatus starts to draw the line on w where that is a terminal. Its Close must be
// called.
func NewStatus(w io.Writer, terminal bool) *Status {
	s := &Status{w: w, end: make(chan struct{})}
	if terminal {
		s.ended.Go(s.run)
	}
	return s
}

// run draws what is new, until Close.
func (s *Status) run() {
	ticker := time.NewTicker(statusEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.end:
			return
		case <-ticker.C:
			if p := s.latest.Swap(nil); p != nil {
				s.draw(*p)
			}
		}
	}
}

// Show has the line show a text, when it is time. It never waits.
func (s *Status) Show(text fmt.Stringer) { s.latest.Store(&text) }

func (s *Status) draw(text fmt.Stringer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = true
	fmt.Fprintf(s.w, "\r\x1b[K%s", text)
}

// Without takes the line away while write writes to the same terminal.
func (s *Status) Without(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return write()
}

// Close takes the line away for good. It is called once.
func (s *Status) Close() {
	close(s.end)
	s.ended.Wait()
	s.clear()
}

// clear takes the line away; who calls it holds mu, or has ended run.
func (s *Status) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
