package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/cli/streams"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/recorded"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine/recording"
	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/output/stdio"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/read"
	"github.com/ringtap/ringtap/internal/profile/timeline"
	"github.com/ringtap/ringtap/internal/stack"
)

// loader makes profiles of files: of recordings, and of other tools' profiles.
type loader struct {
	out  *console
	show *reportFlags
	from *recordingFlags
	perf *stdio.Options // to show recordings as perf report --stdio does; nil: as ringtap does

	timeline *timeline.Timeline // of the loaded recording, if a file of show needs it
}

// errNoRecording is returned if a command finds no file where perf record would have put it.
var errNoRecording = fmt.Errorf("no %s here: name a file, or make one with ringtap record -d 5", defaultRecording)

// load makes the profile of a file; "-" is standard input. A damaged recording is loaded as far as
// it is intact: the profile then comes with an error.
func (l *loader) load(ctx context.Context, path string) (*profile.Profile, error) {
	if path == "-" {
		return l.stream(ctx, "standard input", os.Stdin)
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) && path == defaultRecording {
		return nil, errNoRecording
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if !info.Mode().IsRegular() {
			return l.stream(ctx, path, f)
		}
		if p, err := l.profile(path, f); !errors.Is(err, read.ErrPerfData) {
			return p, err
		}
	}
	file, err := perfdata.Open(path)
	if err != nil {
		return nil, err
	}
	return l.recording(ctx, file)
}

// stream loads from a pipe.
func (l *loader) stream(ctx context.Context, name string, r io.Reader) (*profile.Profile, error) {
	in := bufio.NewReader(r)
	if start, err := in.Peek(len(perfdata.Magic)); err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, err)
	} else if string(start) != perfdata.Magic {
		return l.profile(name, in)
	}
	file, err := perfdata.Copy(name, in)
	if err != nil {
		return nil, err
	}
	return l.recording(ctx, file)
}

// profile reads another tool's profile.
func (l *loader) profile(name string, r io.Reader) (*profile.Profile, error) {
	p, err := read.Profile(name, r)
	if err != nil {
		return nil, err
	}
	if l.perf != nil {
		return nil, usagef("--stdio shows recordings, and %s has only sums", name)
	}
	if option := l.from.selecting(); option != "" {
		return nil, usagef("%s selects samples of a recording, and %s has only sums", option, name)
	}
	if path := l.show.timed(); path != "" {
		return nil, usagef("--out %s shows when samples were taken, and %s has only sums; a recording has times (ringtap record)", path, name)
	}
	l.show.inlines = true // they cannot be looked up later
	return p, l.checkMetric(p.Metrics)
}

func (l *loader) checkMetric(metrics []profile.Metric) error {
	if err := output.CheckMetric(l.show.metric, metrics); err != nil {
		return usagef("--metric: %w", err)
	}
	return nil
}

// recording makes the profile of a recording, and closes it.
func (l *loader) recording(ctx context.Context, file *perfdata.File) (p *profile.Profile, err error) {
	defer func() { err = errors.Join(err, file.Close()) }()
	source, err := recording.New(file, recording.Options{Files: l.from.files(), Kallsyms: l.from.kallsyms, Keep: l.from.keep})
	if err != nil {
		return nil, err
	}
	times, err := l.times(file, source)
	if err != nil {
		return nil, err
	}
	stacks := stack.Stacks{User: l.show.user || !l.show.kernel, Kernel: l.show.kernel || !l.show.user, Unwind: stack.Auto}
	var events []*recorded.Collector
	var collectors []table.Collector
	var metrics []profile.Metric
	for i := range source.Events {
		c := &recorded.Collector{Event: &source.Events[i], Stacks: stacks, Times: times, Number: i}
		if l.perf != nil {
			c.Labels, c.Samples = labels(l.perf), true
		}
		events, collectors, metrics = append(events, c), append(collectors, c), append(metrics, c.Plan().Metrics...)
	}
	if err := l.checkMetric(metrics); err != nil {
		return nil, err
	}
	debug.SetMemoryLimit(int64(l.show.memory)<<20 + beside + 4*file.Size())
	status := streams.NewStatus(l.out.stderr, l.out.live)
	defer status.Close()
	result, err := profiler.Run(ctx, profiler.Options{
		Source: source, Collectors: collectors, Lines: l.show.inlines, Memory: l.show.memory << 20, DebugFiles: l.from.debugFiles,
		Logger:   l.out.logger(l.show.verbose),
		Progress: func(p profiler.Progress) { status.Show(reading(p)) },
		Report:   func(only *profile.Profile) error { p = only; return nil },
	})
	if err != nil {
		return nil, err
	}
	p.Host, p.Command, p.Accounts = file.Info.Hostname, strings.Join(file.Info.Command, " "), result.Accounts
	if l.perf != nil {
		completeOptions(l.perf, events, source)
	} else {
		for i, c := range events {
			p.Metrics[i].Squares = c.Squares
		}
	}
	for i := range p.Accounts {
		if source.Events[i].Attr.Sample_type&unix.PERF_SAMPLE_STACK_USER == 0 {
			p.Accounts[i].Broken = 0 // the kernel's walk ends where frame pointers end, as perf's own report shows it
		}
	}
	p.Notes = append(p.Notes, l.emptyNote(p)...)
	p.Notes = append(p.Notes, result.Notes...)
	p.Notes = append(p.Notes, damageNotes(file, source)...)
	if times != nil {
		l.timeline = times.Timeline(p)
		if l.timeline.Begin > 0 {
			l.timeline.Start = source.Wall(l.timeline.Begin)
		}
	}
	return p, source.Damage()
}

// times returns what keeps the times of a recording's samples; nil if no file of show needs them.
func (l *loader) times(file *perfdata.File, source *recording.Source) (*recorded.Times, error) {
	path := l.show.timed()
	if path == "" {
		return nil, nil
	}
	times, err := recorded.NewTimes(source.Events, file.Formats, l.from.keep)
	if err != nil {
		return nil, fmt.Errorf("--out %s: %w", path, err)
	}
	source.LeftOut = times.LeftOut
	return times, nil
}

// emptyNote says why a recording's profile is empty, if it is.
func (l *loader) emptyNote(p *profile.Profile) []string {
	option := l.from.selecting()
	switch {
	case len(p.Rows) > 0:
		return nil
	case option != "":
		return []string{"no sample matches " + option}
	}
	return []string{"the recording has no samples"}
}

// reading is how far the reading of a recording is, as the text of a terminal's status line.
type reading profiler.Progress

func (p reading) String() string {
	if p.Frames > 0 {
		return progress(p).String()
	}
	return fmt.Sprintf("reading: %d samples, %s of the recording", p.Samples, p.Elapsed.Round(time.Millisecond))
}
