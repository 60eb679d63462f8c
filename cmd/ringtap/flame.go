package main

import (
	"context"
	"errors"
	"path/filepath"
)

const flameUsage = `flame [options] [FILE]

Make a flame graph of a recording (ringtap record, perf record), or of a profile: folded stacks, pprof, the
text of perf script, or ringtap's own JSON. Without FILE, read perf.data in the current
directory; - is standard input. Without --out, write FILE.html into the current directory: a
page that opens in any browser, offline.

  ringtap flame                                    perf.data.html
  ringtap flame --out cpu.svg cpu.pb.gz            a picture of a pprof profile
  perf script | ringtap flame - --out cpu.html     of perf script's text
  ringtap flame --out cpu.speedscope.json          for speedscope.app
  ringtap flame --out cpu.firefox.json             for profiler.firefox.com

FILE.firefox.json shows when samples were taken, with a track for each thread. ringtap makes it of
recordings only. It also shows when and why threads were not on a CPU, if the recording has every
sched:sched_switch (ringtap record -a -e cpu-clock,sched:sched_switch) or the records of perf record
--switch-events. The call tree is of --metric, or else of the first event that samples by time.
Samples of other events are markers.

Files and kernels are found as by ringtap report.
`

// flame is ringtap flame.
func flame(ctx context.Context, out *console, args []string) error {
	l := loader{out: out, show: &reportFlags{recorded: true}, from: &recordingFlags{}}
	flags := newFlags(out, "flame", flameUsage)
	l.addFlags(flags)
	path, err := l.parse(flags, args)
	if err != nil {
		return err
	}
	if len(l.show.outputs) == 0 {
		name := filepath.Base(filepath.Clean(path))
		if path == "-" {
			name = "flame"
		}
		l.show.outputs = []string{name + ".html"}
	}
	p, damage := l.load(ctx, path)
	if p == nil {
		return damage
	}
	printer := newPrinter(out, l.show, true, nil, nil)
	return errors.Join(printer.writeAccounts(out.stderr, p), l.show.write(out, p, l.timeline), damage)
}
