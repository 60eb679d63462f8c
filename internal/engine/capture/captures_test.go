package capture_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/allocator"
	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/io"
	"github.com/ringtap/ringtap/internal/collect/memleak"
	"github.com/ringtap/ringtap/internal/collect/offcpu"
	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// To make the captures again, as root:
//
//	go test ./internal/engine/capture -run TestLive -update
var update = flag.Bool("update", false, "write the captures of testdata")

// recipe is how a capture is made: open says what is recorded of a program that will run.
type recipe struct {
	name string
	open func(a *attaching) table.Plan
}

// attaching is what a recipe has.
type attaching struct {
	*testing.T
	fs      *ftrace.FS
	program string
	target  perfevent.Target
	about   []capture.Sampling
}

var userStacks = stack.Stacks{User: true, Unwind: stack.Auto, Copy: 512}

var recipes = []recipe{
	{"on-cpu", func(*attaching) table.Plan {
		stacks := userStacks
		stacks.Kernel = true
		return (&oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stacks}).Plan()
	}},
	{"off-cpu", func(a *attaching) table.Plan {
		c, err := offcpu.New(offcpu.Options{Switch: a.format("sched", "sched_switch"), Stacks: userStacks})
		if err != nil {
			a.Fatal(err)
		}
		return c.Plan()
	}},
	{"io", func(a *attaching) table.Plan {
		formats := io.Formats{Enter: a.format("raw_syscalls", "sys_enter"), Exit: a.format("raw_syscalls", "sys_exit")}
		c, err := io.New(process.Host{}, formats, io.ByNothing, userStacks)
		if err != nil {
			a.Fatal(err)
		}
		return c.Plan()
	}},
	{"memleak", func(a *attaching) table.Plan {
		found, err := allocator.Find(allocator.Where{Command: []string{a.program}})
		if err != nil {
			a.Fatal(err)
		}
		a.closing(found.Close)
		attached, err := allocator.Attach(found, a.target, nil)
		if err != nil {
			a.Fatal(err)
		}
		a.closing(attached.Close)
		for _, s := range attached.Sources {
			a.source(&s.Source)
		}
		c := memleak.New(attached.Sources, userStacks, memleak.Options{})
		a.closing(c.Close)
		return c.Plan()
	}},
	{"calls", func(a *attaching) table.Plan {
		set := a.probe("p:"+a.program+":work", probe.Options{Calls: probe.TimedCalls})
		stacks := userStacks
		stacks.Entry = set.AtEntry
		return calls.NewCalls("work", set.Sources, stacks).Plan()
	}},
	{"lines", func(a *attaching) table.Plan {
		set := a.probe("p:"+a.program+":work $arg1", probe.Options{})
		var p table.Plan
		for i := range set.Sources {
			s := set.Sources[i].Sampling()
			stacks := userStacks
			stacks.Entry = set.AtEntry
			stacks.Prepare(&s)
			set.Sources[i].PrepareRecord(&s)
			p.Samplings = append(p.Samplings, s)
		}
		return p
	}},
}

// format reads the format of a tracepoint, which the capture keeps.
func (a *attaching) format(system, event string) *ftrace.Format {
	text, err := a.fs.FormatText(system, event)
	if err != nil {
		a.Fatal(err)
	}
	a.about = append(a.about, capture.Sampling{Format: string(text)})
	format, err := ftrace.ParseFormat(text)
	if err != nil {
		a.Fatal(err)
	}
	return format
}

// source keeps what a source is.
func (a *attaching) source(s *probe.Source) {
	about := capture.Sampling{Return: s.Role == probe.Return, Hit: s.Role == probe.Hit}
	if s.Format != nil {
		if text, err := a.fs.FormatText(s.Format.System, s.Format.Name); err == nil { // else it is perf's own event
			about.Format = string(text)
		}
	}
	a.about = append(a.about, about)
}

// probe attaches to the program.
func (a *attaching) probe(text string, o probe.Options) *probe.Set {
	spec, err := probe.Parse(text, probe.View{})
	if err != nil {
		a.Fatal(err)
	}
	o.Target = a.target
	set, err := probe.Open(spec, o)
	if err != nil {
		a.Fatal(err)
	}
	a.closing(set.Close)
	for i := range set.Sources {
		a.source(&set.Sources[i])
	}
	return set
}

func (a *attaching) closing(closer func() error) {
	a.Cleanup(func() {
		if err := closer(); err != nil {
			a.Error(err)
		}
	})
}

// stamp is what is the same of a record and of what is decoded from its bytes.
type stamp struct {
	Type     perfevent.RecordType
	Time     uint64
	TID      uint32
	Sampling int
	Stack    int
	Raw      string
}

// stamps is a sink.
type stamps struct{ all []stamp }

func (s *stamps) Record(record perfevent.Record) error {
	h := record.Common()
	one := stamp{Type: h.Type, Time: h.Time, TID: h.TID}
	if sample, ok := record.(*perfevent.Sample); ok {
		one.Sampling, one.Stack, one.Raw = sample.Sampling, len(sample.Stack), string(sample.Raw)
	}
	s.all = append(s.all, one)
	return nil
}

// through has the records of a source go by an engine.
func through(t *testing.T, source engine.Source, sink engine.Sink) engine.Account {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.End)
	defer cancel()
	e, err := engine.Start(ctx, source, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Enable(); err != nil {
		t.Fatal(err)
	}
	if err := e.Run(sink); err != nil {
		t.Fatal(err)
	}
	account, err := source.Account()
	if err != nil {
		t.Fatal(err)
	}
	return account
}

func TestLiveACaptureHandsOnWhatTheRingsDid(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: user probes and tracefs are its alone")
	}
	fs, _, err := ftrace.Mount()
	if err != nil {
		t.Fatal(err)
	}
	built := compiled.Program(t, compiled.Sources(t, "testdata/known.c"), "gcc", "-O2", "-static", "-nostdlib",
		"-ffreestanding", "-fno-stack-protector", "-fasynchronous-unwind-tables", "-o", "known", "known.c")
	if *update { // so that the path in a capture is no developer's
		content, err := os.ReadFile(built)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(capture.Program), 0o755); err != nil {
			t.Fatal(err)
		}
		built = capture.Program
		if err := os.WriteFile(built, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range recipes {
		t.Run(r.name, func(t *testing.T) {
			command, err := perfevent.StartCommand(exec.Command(built))
			if err != nil {
				t.Fatal(err)
			}
			defer command.Kill()
			a := &attaching{T: t, fs: fs, program: built, target: perfevent.Started(command)}
			plan := r.open(a)
			opts := perfevent.Options{}
			if plan.Switches {
				opts.Switches = &perfevent.Switches{}
			}
			live, err := engine.Open(a.target, plan.Samplings, opts)
			if err != nil {
				t.Fatal(err)
			}
			a.closing(live.Close) // before the probes are removed
			recorder, err := capture.Record(live, built)
			if err != nil {
				t.Fatal(err)
			}
			var handed, again stamps
			account := through(t, recorder, &handed)
			recorder.File.Samplings = a.about
			if _, err := command.Wait(); err != nil {
				t.Fatal(err)
			}
			var file bytes.Buffer
			if err := recorder.File.Write(&file); err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(filepath.Join("testdata", r.name+".capture"), file.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			read, err := capture.Read(&file)
			if err != nil {
				t.Fatal(err)
			}
			source, err := read.Source(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(account, through(t, source, &again)); diff != "" {
				t.Errorf("the account (-live +capture):\n%s", diff)
			}
			if diff := cmp.Diff(handed.all, again.all); diff != "" {
				t.Errorf("records (-live +capture):\n%s", diff)
			}
			if len(handed.all) == 0 || account.All().Received == 0 {
				t.Error("there are no samples")
			}
		})
	}
}
