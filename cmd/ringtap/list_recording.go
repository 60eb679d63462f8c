package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/perfevent"
)

// listRecording prints what a recording holds: where and how it was made, and its events. What is
// intact of a damaged one is printed before the error.
func listRecording(out *console, path string) error {
	f, err := perfdata.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	stats, damage := f.Read(func(perfevent.Record) error { return nil })
	if f.Problem != nil {
		out.note(f.Problem.Error())
	}
	opts := output.TableOptions{Drawn: out.drawn, Width: out.width}
	if err := output.WriteTable(out.stdout, []string{"recording", path}, recordingFacts(f, &stats), opts); err != nil {
		return ignoreClosedPipe(err)
	}
	var rows [][]string
	for i := range f.Events {
		e := &f.Events[i]
		rows = append(rows, []string{e.Name, fmt.Sprint(stats.Samples[i]), samplesWhen(e)})
	}
	err = output.WriteTable(out.stdout, []string{"event", "samples", "sampled"}, rows, opts)
	return errors.Join(ignoreClosedPipe(err), damage)
}

// recordingFacts returns what is known of a recording, by name.
func recordingFacts(f *perfdata.File, stats *perfdata.Stats) (rows [][]string) {
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, value})
		}
	}
	number := func(name string, n uint64) {
		if n > 0 {
			add(name, fmt.Sprint(n))
		}
	}
	i := &f.Info
	add("host", i.Hostname)
	add("kernel", strings.TrimSpace(i.Release+" "+i.Arch))
	add("processors", i.CPUDesc)
	number("CPUs", uint64(i.CPUs))
	add("recorded by", recorder(i.PerfVersion))
	add("command", strings.Join(i.Command, " "))
	if i.Wall != 0 && stats.First != 0 {
		add("first sample", time.Unix(0, int64(i.Wall+stats.First-i.ClockTime)).Format(time.RFC3339))
	}
	if stats.First != 0 {
		add("length", time.Duration(stats.Last-stats.First).Round(time.Microsecond).String())
	}
	add("format", recordingFormat(f))
	number("build ids", uint64(len(f.BuildIDs)))
	other := uint64(0)
	for _, n := range stats.Records {
		other += n
	}
	number("other records", other)
	number("lost records", stats.Lost)
	number("lost samples", stats.LostSamples)
	number("out of order", stats.Late)
	if stats.Malformed > 0 {
		add("malformed records", fmt.Sprintf("%d, the first: %v", stats.Malformed, stats.MalformedError))
	}
	if stats.Cut {
		add("end", "missing: the recorder was killed, or the file was cut off")
	}
	return rows
}

// recorder returns the program that made a recording. perf writes its version alone.
func recorder(version string) string {
	if version == "" || strings.HasPrefix(version, "ringtap ") {
		return version
	}
	return "perf " + version
}

// recordingFormat says what kind of recording it is, and how large.
func recordingFormat(f *perfdata.File) string {
	kind := "file"
	switch {
	case f.Info.Pipe:
		kind = "pipe"
	case f.Info.Directory:
		kind = "directory"
	}
	if f.Info.Compressed {
		kind += ", zstd"
	}
	return fmt.Sprintf("%s, %d bytes", kind, f.Size())
}

// samplesWhen says when an event is sampled.
func samplesWhen(e *perfdata.Event) string {
	switch {
	case e.Attr.Type == unix.PERF_TYPE_SOFTWARE && e.Attr.Config == unix.PERF_COUNT_SW_DUMMY:
		return "never: it records mappings, forks and the like"
	case e.Attr.Bits&unix.PerfBitFreq != 0:
		return fmt.Sprintf("%d times a second", e.Attr.Sample)
	case e.Attr.Sample == 1:
		return "at each event"
	case e.Attr.Sample > 1:
		return fmt.Sprintf("every %d events", e.Attr.Sample)
	}
	return "never"
}
