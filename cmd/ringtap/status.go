package main

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/profiler"
)

// status is the line on a terminal that shows how far a run is. It is drawn
// over and over in the same place, and only where standard error is a terminal.
//
// A goroutine of its own draws it, so that a terminal which takes nothing
// (Ctrl-S) does not hold up who reads the rings.
type status struct {
	latest atomic.Pointer[profiler.Progress]
	end    chan struct{}
	ended  sync.WaitGroup

	mu    sync.Mutex // is held by who writes to the terminal
	w     io.Writer
	shown bool
}

// statusEvery is how often the line is drawn.
const statusEvery = 500 * time.Millisecond

// newStatus starts to draw the line on out's standard error. Its close must be
// called.
func newStatus(out *console) *status {
	s := &status{w: out.stderr, end: make(chan struct{})}
	if out.live {
		s.ended.Go(s.run)
	}
	return s
}

// run draws what is new, until close.
func (s *status) run() {
	ticker := time.NewTicker(statusEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.end:
			return
		case <-ticker.C:
			if p := s.latest.Swap(nil); p != nil {
				s.draw(p)
			}
		}
	}
}

// show has the line show p, when it is time. It never waits.
func (s *status) show(p profiler.Progress) { s.latest.Store(&p) }

func (s *status) draw(p *profiler.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = true
	if p.Frames > 0 {
		fmt.Fprintf(s.w, "\r\x1b[Ksymbolizing %d of %d frames", p.Named, p.Frames)
		return
	}
	fmt.Fprintf(s.w, "\r\x1b[Ksampling %s: %d samples in this interval (Ctrl-C to end)", p.Elapsed.Round(time.Second), p.Samples)
}

// without takes the line away while write writes to the same terminal.
func (s *status) without(write func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	return write()
}

// close takes the line away for good. It is called once.
func (s *status) close() {
	close(s.end)
	s.ended.Wait()
	s.clear()
}

// clear takes the line away; who calls it holds mu, or has ended run.
func (s *status) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
