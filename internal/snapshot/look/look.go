// Package look prints what the threads of processes wait for and the stacks that led there, once or
// repeatedly, as text or as JSON.
//
//	target.Search → processes → snapshot.Taker → Snapshots ─┬→ text: goroutines, threads
//	     ↑ each look                                        ├→ brief text, then the verdict on locks
//	                                                        └→ JSON, an object for each process
//
// The most important part comes last, where the user looks when the prompt returns.
package look

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/snapshot"
)

// Options configure Run.
type Options struct {
	Search  target.Search    // finds the processes, again before each look
	Threads snapshot.Options // for their threads
	Every   time.Duration    // time between looks; if 0, Run looks once
	All     bool             // show every thread and goroutine, and each separately
	JSON    bool             // write one object per line for each process
	Out     io.Writer
	// Width and Height are the size of the terminal that Out is, in columns and lines. They are 0
	// if it is no terminal.
	Width, Height int
	Note          func(text string) // called for each note on what is missing, and why
}

// Run looks at processes once, or every Options.Every until all have ended or ctx is done. It omits
// the stacks of threads that have not moved since the previous look. A process that has ended is a
// *snapshot.GoneError only if it was given by PID or is the only one.
func Run(ctx context.Context, o Options) error {
	for _, note := range o.Search.Owners(process.Host{}) {
		o.Note(note)
	}
	pids, asked, err := o.Search.Find(process.Host{})
	if err != nil {
		return err
	}
	taker := snapshot.New(o.Threads)
	defer taker.Close()
	l := looks{Options: o, take: taker.Take, pids: pids, asked: asked, still: make(map[int]snapshot.Still), told: make(map[string]bool)}
	return l.run(ctx)
}

// looks is a series of looks at the same processes.
type looks struct {
	Options
	take  func(ctx context.Context, pid int) (*snapshot.Snapshot, error)
	pids  []int        // alive at the last look, or started since
	asked map[int]bool // processes that were given by PID
	still map[int]snapshot.Still
	told  map[string]bool // notes that were printed
}

// run looks once, or repeatedly until all processes have ended.
func (l *looks) run(ctx context.Context) error {
	for n := 1; ; n++ {
		snapshots, err := l.look(ctx)
		if ctx.Err() != nil && l.Every > 0 {
			return nil // this is how watching ends
		}
		if len(snapshots) > 0 {
			if err := l.write(n, snapshots); err != nil {
				return err
			}
		}
		if l.Every == 0 || len(l.pids) == 0 {
			return err
		}
		if err != nil {
			l.note(err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(l.Every):
			l.begun()
		}
	}
}

// begun adds the processes that have started since.
func (l *looks) begun() {
	pids, _, err := l.Search.Find(process.Host{})
	if err != nil {
		return // there are none, which the next look reports
	}
	for _, pid := range pids {
		if _, seen := l.still[pid]; !seen && !slices.Contains(l.pids, pid) {
			l.pids = append(l.pids, pid)
		}
	}
}

// look looks at each process. A process that has ended is an error only if it was never seen, and
// was given by PID or is the only one.
func (l *looks) look(ctx context.Context) (snapshots []*snapshot.Snapshot, err error) {
	var alive []int
	for _, pid := range l.pids {
		s, takeErr := l.take(ctx, pid)
		_, seen := l.still[pid]
		var gone *snapshot.GoneError
		switch {
		case takeErr == nil:
			snapshots = append(snapshots, s)
			l.still[pid] = s.Since(l.still[pid])
			if !s.Ended() {
				alive = append(alive, pid)
			}
		case errors.As(takeErr, &gone) && seen:
			l.note(fmt.Sprintf("process %d has ended", pid))
		case errors.As(takeErr, &gone) && !l.asked[pid] && len(l.pids)+len(l.still) > 1:
		default:
			err = errors.Join(err, takeErr)
		}
		if ctx.Err() != nil {
			break
		}
	}
	l.pids = alive
	return snapshots, err
}

// note reports a note, once.
func (l *looks) note(text string) {
	if !l.told[text] {
		l.told[text] = true
		l.Note(text)
	}
}

// write writes the result of look n.
func (l *looks) write(n int, snapshots []*snapshot.Snapshot) error {
	var out bytes.Buffer
	var err error
	if l.JSON {
		err = l.writeJSON(&out, snapshots)
	} else {
		l.writeText(&out, n, snapshots)
	}
	for _, s := range snapshots {
		for _, text := range s.Notes {
			l.note(text)
		}
	}
	if err == nil {
		_, err = l.Out.Write(out.Bytes())
	}
	return err
}

func (l *looks) writeJSON(out *bytes.Buffer, snapshots []*snapshot.Snapshot) error {
	circles := snapshot.NewWaitGraph(snapshots).Deadlocks()
	encoder := json.NewEncoder(out)
	for _, s := range snapshots {
		if err := encoder.Encode(jsonOf(s, l.still[s.PID], circles)); err != nil {
			return err
		}
	}
	return nil
}

// The limits of lines per stack in the brief form. A low screen gets the fewest.
const mostFrames, fewestFrames = 6, 2

func (l *looks) writeText(out *bytes.Buffer, n int, snapshots []*snapshot.Snapshot) {
	if n > 1 {
		fmt.Fprintf(out, "\nlook %d, %s\n\n", n, time.Now().Format(time.RFC3339))
	}
	if !l.Threads.Locks {
		start := out.Len()
		l.writeEach(out, snapshots, func(w text) { w.write() })
		if l.Height > 0 && l.screenLines(out.Bytes()[start:]) >= l.Height {
			l.writeOverview(out, snapshots)
		}
		return
	}
	v := newVerdict(snapshots)
	var end bytes.Buffer
	for _, line := range v.lines() {
		if l.Width > 0 {
			line = strings.Join(manual.Wrap(line, l.Width-2), "\n  ")
		}
		fmt.Fprintln(&end, line)
	}
	if l.All || len(v.threads)+len(v.goroutines) == 0 {
		l.writeEach(out, snapshots, func(w text) { w.write() })
	} else {
		start := out.Len()
		for frames := mostFrames; ; frames-- {
			l.writeEach(out, snapshots, func(w text) { brief{w, v, frames}.write() })
			const emptyLine, prompt = 1, 1
			lines := l.screenLines(out.Bytes()[start:]) + emptyLine + bytes.Count(end.Bytes(), []byte("\n")) + prompt
			if l.Height == 0 || lines <= l.Height || frames == fewestFrames {
				break
			}
			out.Truncate(start)
		}
	}
	fmt.Fprintln(out)
	out.Write(end.Bytes())
}

// writeEach writes snapshots with an empty line between them.
func (l *looks) writeEach(out *bytes.Buffer, snapshots []*snapshot.Snapshot, write func(text)) {
	for i, s := range snapshots {
		if i > 0 {
			fmt.Fprintln(out)
		}
		write(text{out, s, l.still[s.PID], l.All, l.Width})
	}
}

// screenLines returns how many lines of the terminal a text occupies.
func (l *looks) screenLines(text []byte) int {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if l.Width > 0 {
			n += max(utf8.RuneCount(bytes.TrimRight(line, "\n"))-1, 0) / l.Width
		}
	}
	return n
}
