package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// bench is one run of this program, with the values of its flags.
type bench struct {
	ringtap       string // the binary
	flameGraph    string // checkout with stackcollapse-perf.pl, or ""
	perfTools     string // checkout with user/uprobe and kernel/funccount, or ""
	dir           string // a temporary directory
	runs          int
	seconds       int
	hits          int // calls of each round under a probe
	scriptTimeout time.Duration
}

// clockArgument makes this program print the time at which its main function started, and exit.
const clockArgument = "print-the-clock"

const clock = `(?m)^clock=(\d+)$`

func main() {
	if len(os.Args) == 2 && os.Args[1] == clockArgument {
		fmt.Printf("clock=%d\n", monotonic())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	b := bench{flameGraph: os.Getenv("FLAMEGRAPH_DIR"), perfTools: os.Getenv("PERF_TOOLS_DIR")}
	only := pflag.StringSlice("only", nil, "measurements to run: "+strings.Join(measurementNames(), ", "))
	pflag.StringVar(&b.ringtap, "ringtap", "./ringtap", "the binary to measure")
	pflag.IntVar(&b.runs, "runs", 5, "times that each tool runs")
	pflag.IntVar(&b.seconds, "seconds", 10, "length of each recording")
	pflag.IntVar(&b.hits, "hits", 500_000, "calls of each round under a probe; 10 times as many where losses are counted")
	pflag.DurationVar(&b.scriptTimeout, "script-timeout", 90*time.Second, "when to stop a perf script that takes too long")
	inGuest := pflag.Int(guestFlag, -1, "")
	_ = pflag.CommandLine.MarkHidden(guestFlag) // cannot fail: the flag exists
	pflag.Parse()
	for _, name := range *only {
		if !slices.Contains(measurementNames(), name) {
			fmt.Fprintf(os.Stderr, "bench: no measurement is named %q\n", name)
			os.Exit(2)
		}
	}
	fail(b.withScratch(func() error {
		if *inGuest >= 0 {
			return b.measureInGuest(ctx, *inGuest)
		}
		return b.runAll(ctx, *only)
	}))
}

// fail prints an error and exits. It does nothing if err is nil.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measurementNames returns the names of the measurements, each once.
func measurementNames() (names []string) {
	for _, m := range measurements {
		names = append(names, m.name)
	}
	return slices.Compact(names)
}

// withScratch calls f with a temporary directory in b.dir, which it removes afterwards.
func (b *bench) withScratch(f func() error) (err error) {
	if b.runs < 1 || b.seconds < 1 || b.hits < 1 {
		return errors.New("--runs, --seconds and --hits must be at least 1")
	}
	if err := adoptOrphans(); err != nil {
		return err
	}
	if b.dir, err = os.MkdirTemp("", "ringtap-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	return f()
}

// runAll runs the measurements named in only, or all if only is empty, and prints the
// table. If one fails, it still runs the others.
func (b *bench) runAll(ctx context.Context, only []string) error {
	var rows []row
	var failed []error
	for i, m := range measurements {
		if len(only) > 0 && !slices.Contains(only, m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", m.name)
		measure := func() (outcome, error) { return b.measure(ctx, m) }
		if m.kernel != "" {
			measure = func() (outcome, error) { return b.inGuest(ctx, i) }
		}
		o, err := measure()
		if none := missingError(""); errors.As(err, &none) {
			o.Missing = map[string]string{"ringtap": none.Error()}
		} else if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m.name, err))
		}
		rows = append(rows, b.rows(m, o)...)
		if ctx.Err() != nil {
			break
		}
	}
	if err := printTable(os.Stdout, rows); err != nil {
		return err
	}
	if b.flameGraph == "" {
		fmt.Println("FLAMEGRAPH_DIR is not set: perf's figures are without stackcollapse-perf.pl")
	}
	return errors.Join(failed...)
}
