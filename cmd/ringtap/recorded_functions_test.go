package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/testkit/recordtest"
	"github.com/ringtap/ringtap/perfevent"
)

// Functions, marks and cut stacks of a recording are in a report as they are in one of a live run.
func TestAReportHasRecordedFunctionsMarksAndCutStacks(t *testing.T) {
	const id, pid, base, each = 1, 1234, perfdata.FunctionsBegin, 1 << 24
	records := []perfevent.Record{&perfevent.Comm{PID: pid, TID: pid, Name: []byte("program")}}
	var last perfdata.Sections
	for i, f := range []struct{ runtime, source, name string }{
		{"CPython 3.12", "/app/a.py", "f"},
		{"", "", "[stack switch]"},
		{"V8", "node:internal/b", "g"},
		{"", "", "[truncated]"},
	} {
		path := perfdata.FunctionPath(f.runtime, f.source, f.name)
		records = append(records, &perfevent.Mmap{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER}, PID: pid, TID: pid, Addr: base + uint64(i)*each, Len: each,
			Prot: unix.PROT_READ | unix.PROT_EXEC, Filename: []byte(path)})
		last.Symbols = append(last.Symbols, perfdata.SymbolTable{Path: path, Kind: perfdata.RuntimeSymbols, Runtime: f.runtime, Source: f.source, Symbols: []perfdata.Symbol{{Size: each, Name: f.name}}})
	}
	for i, chain := range [][]uint64{
		{callchain.ContextUser, base + 12, base + each + 1, base + 2*each + 7 + 1},
		{callchain.ContextUser, base + 12, base + 3*each + 1},
	} {
		records = append(records, &perfevent.Sample{Header: perfevent.Header{Misc: unix.PERF_RECORD_MISC_USER, PID: pid, TID: pid, Time: uint64(i + 1), ID: id}, IP: base + 12, Callchain: chain})
	}
	events := []perfdata.Event{recordtest.SoftwareEvent("cpu-clock", unix.PERF_COUNT_SW_CPU_CLOCK, id, unix.PERF_SAMPLE_CALLCHAIN)}
	path := recordtest.Write(t, events, perfdata.Info{}, last, records...)
	out := filepath.Join(t.TempDir(), "out.json")
	if code, _, stderr := called(t, "ringtap", "report", path, "--out", out); code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var p struct {
		Objects []struct {
			Runtime       string
			Labels, Marks bool
		}
		Frames []struct {
			Object int
			Name   string
			Lines  []struct {
				File string
				Line int
			}
		}
		Stacks []struct {
			Frames    []int
			Truncated bool
		}
		Rows []struct{ User int }
	}
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]bool)
	for _, row := range p.Rows {
		var frames []string
		for _, i := range p.Stacks[row.User].Frames {
			f := p.Frames[i]
			o := p.Objects[f.Object]
			frames = append(frames, fmt.Sprint(f.Name, " ", o.Runtime, f.Lines, o.Labels, o.Marks))
		}
		got[fmt.Sprint(strings.Join(frames, "; "), " ", p.Stacks[row.User].Truncated)] = true
	}
	for _, want := range []string{
		"g V8[{node:internal/b 7}] false false; [stack switch] [] true true; f CPython 3.12[{/app/a.py 12}] false false false",
		"f CPython 3.12[{/app/a.py 12}] false false true",
	} {
		if !got[want] {
			t.Errorf("no stack %s in %v", want, got)
		}
	}
}
