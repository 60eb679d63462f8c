package kprobe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/perfevent"
)

// planOf is a plan of entries of functions, MODULE:NAME those of modules.
func planOf(pattern string, functions ...string) *Plan {
	p := &Plan{Definition: &Definition{Text: "p:" + pattern, Kind: Entry, Symbol: pattern}}
	for i, name := range functions {
		module, symbol, ok := strings.Cut(name, ":")
		if !ok {
			module, symbol = "", name
		}
		p.Sites = append(p.Sites, Site{Symbol: name, Event: symbol, Address: 0xffffffff81000000 + uint64(i)*0x100,
			Function: Function{Name: symbol, Module: module}})
	}
	return p
}

func TestTheBestWayComesFirst(t *testing.T) {
	many := make([]string, 400)
	for i := range many {
		many[i] = fmt.Sprint("f", i)
	}
	args := planOf("f", "f")
	args.Sites[0].Args = []ftrace.FetchArg{{Name: "arg1", Fetch: "%di"}}
	returns := planOf("f", "f")
	returns.Sites[0].Return = true
	for _, test := range []struct {
		name string
		plan *Plan
		o    AttachOptions
		want []Method
	}{
		{"a function on few CPUs", planOf("f", "f"), AttachOptions{PerSampling: 2}, []Method{MethodPMU, MethodKprobeEvents, MethodFunction, MethodBreakpoint}},
		{"on many", planOf("f", "f"), AttachOptions{PerSampling: 64}, []Method{MethodKprobeEvents, MethodPMU, MethodFunction, MethodBreakpoint}},
		{"of a process", planOf("f", "f"), AttachOptions{}, []Method{MethodKprobeEvents, MethodPMU, MethodFunction, MethodBreakpoint}},
		{"with arguments", args, AttachOptions{PerSampling: 2}, []Method{MethodKprobeEvents, MethodPMU, MethodFunction, MethodBreakpoint}},
		{"returns", returns, AttachOptions{PerSampling: 2}, []Method{MethodKprobeEvents, MethodPMU, MethodFunction, MethodBreakpoint}},
		{"with a filter", planOf("f", "f"), AttachOptions{PerSampling: 2, Filter: "x == 1"}, []Method{MethodKprobeEvents, MethodPMU, MethodFunction, MethodBreakpoint}},
		{"some functions", planOf("f*", many[:20]...), AttachOptions{PerSampling: 2, Merge: true}, []Method{MethodKprobeEvents, MethodPMU, MethodFunction, MethodBreakpoint}},
		{"very many", planOf("f*", many...), AttachOptions{PerSampling: 2, Merge: true}, []Method{MethodKprobeEvents, MethodPMU, MethodFunction, MethodBreakpoint}},
		{"the one that is asked for", planOf("f", "f"), AttachOptions{PerSampling: 2, Method: MethodBreakpoint}, []Method{MethodBreakpoint}},
	} {
		test.o.Logger = slog.New(slog.DiscardHandler)
		if got := order(test.plan, &test.o); !slices.Equal(got, test.want) {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestAFunctionFilterLetsNothingElseThrough(t *testing.T) {
	list := "vfs_read\nvfs_write\next4_read [ext4]\nvfs_open\nread\nvfs_open [cifs]\n"
	for _, test := range []struct {
		plan *Plan
		want string
	}{
		{planOf("vfs_read", "vfs_read"), "ip == vfs_read"},
		{planOf("vfs_[rw]*", "vfs_read", "vfs_write"), "ip == 1,2"}, // a class is not always the kernel's
		{planOf("vfs_r*", "vfs_read"), "ip == vfs_r*"},
		{planOf("*read", "vfs_read", "read", "ext4:ext4_read"), "ip == *read"},
		{planOf("*read", "vfs_read", "read"), "ip == 1,5"},
		{planOf("vfs_open", "vfs_open"), "ip == 4"},
		{planOf("vfs_open", "cifs:vfs_open"), "ip == 6"},
	} {
		if got, err := functionFilter(test.plan, []byte(list)); got != test.want || err != nil {
			t.Errorf("%s of %d: %q, %v, want %q", test.plan.Definition.Symbol, len(test.plan.Sites), got, err, test.want)
		}
	}
	if _, err := functionFilter(planOf("vfs_close", "vfs_close"), []byte(list)); err == nil || !strings.Contains(err.Error(), "vfs_close is not") {
		t.Errorf("a function that is not in the list: %v", err)
	}
	if _, err := functionFilter(planOf("*", "vfs_close"), nil); err == nil {
		t.Error("nothing is in an empty list, and there is a filter")
	}
}

func TestAFilterOfManyFunctionsIsCutInPatterns(t *testing.T) {
	var list strings.Builder
	var functions []string
	for i := range 40000 {
		name := fmt.Sprint("f", i)
		list.WriteString(name + "\n")
		if i%80 == 7 {
			functions = append(functions, name)
		}
	}
	filter, err := functionFilter(planOf("f*7", functions...), []byte(list.String()))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for pattern := range strings.SplitSeq(filter, "||") {
		names, ok := strings.CutPrefix(pattern, "ip == ")
		if !ok || len(names) > maxPattern {
			t.Errorf("a pattern is %q", pattern)
		}
		count += strings.Count(names, ",") + 1
	}
	if count != 500 || len(filter) > maxFilter {
		t.Errorf("%d functions in %d bytes", count, len(filter))
	}
	if _, err := functionFilter(planOf("f*7", append(functions, functions[:0]...)...), []byte(list.String()+list.String())); err != nil {
		t.Error(err)
	}
	for i := range 1000 {
		functions = append(functions, fmt.Sprint("f", 30000+i))
	}
	if _, err := functionFilter(planOf("f*", functions...), []byte(list.String())); err == nil || !strings.Contains(err.Error(), "don't fit") {
		t.Errorf("functions that don't fit: %v", err)
	}
}

func TestABreakpointsRegistersBecomeTheRecordOfAProbe(t *testing.T) {
	p := planOf("f", "f")
	p.Sites[0].Args = []ftrace.FetchArg{{Name: "a", Fetch: "%si", Type: "u8"}, {Name: "b", Fetch: "%di"}, {Name: "c", Fetch: "%r8", Type: "s32"}}
	raw, err := newRawBreakpoint(p, arch.AMD64)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]uint64, 0, 8)
	for number := range uint8(64) {
		if raw.mask>>number&1 != 0 {
			value := map[uint8]uint64{4: 0x1ff, 5: math.MaxUint64, 16: 1<<32 - 2, 9: 0x202}[number]
			values = append(values, value)
		}
	}
	sample := &perfevent.Sample{IntrRegs: perfevent.Registers{ABI: 2, Mask: raw.mask, Values: values}}
	sample.TID = 77
	record := raw.append([]byte("before"), 0, sample)
	record, ok := bytes.CutPrefix(record, []byte("before"))
	if !ok {
		t.Fatal("what dst held is gone")
	}
	format, err := ftrace.KprobeFormat("breakpoints", "f", p.Sites[0].Args)
	if err != nil {
		t.Fatal(err)
	}
	printer, err := printfmt.New(format, printfmt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(printer.Append(nil, record)), "a=255 b=0xffffffffffffffff c=-2"; !strings.HasSuffix(got, want) {
		t.Errorf("the record says %s, want %s", got, want)
	}
	if record[flagsAt] != 0 || binary.LittleEndian.Uint32(record[pidAt:]) != 77 {
		t.Errorf("the record begins with %x", record[:8])
	}
	sample.IntrRegs.Values[slices.Index(values, 0x202)] = 2 // cli
	if record := raw.append(nil, 0, sample); record[flagsAt] != flagIRQsOff {
		t.Error("interrupts are off, and the record does not say so")
	}
	sample.IntrRegs = perfevent.Registers{}
	if record := raw.append(nil, 0, sample); len(record) != 16+1+8+4 {
		t.Errorf("without registers the record has %d bytes", len(record))
	}
}

func TestABreakpointHasNoMemory(t *testing.T) {
	for _, arg := range []ftrace.FetchArg{
		{Name: "a", Fetch: "+8(%di)"}, {Name: "a", Fetch: "$stack1"}, {Name: "a", Fetch: "%di", Type: "string"},
		{Name: "a", Fetch: "%x0"}, {Name: "a", Fetch: "@jiffies"}, {Name: "a", Fetch: "%di", Type: "b4@0/8"},
	} {
		p := planOf("f", "f")
		p.Sites[0].Args = []ftrace.FetchArg{arg}
		if _, err := newRawBreakpoint(p, arch.AMD64); err == nil || !strings.Contains(err.Error(), arg.String()) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestFunctionsRecordsAreThoseOfProbes(t *testing.T) {
	p := planOf("*", "f", "g")
	record := make([]byte, 28)
	record[preemptAt] = 2
	for arch, want := range map[string]uint64{"amd64": p.Sites[1].Address + 4, "arm64": p.Sites[1].Address} {
		binary.LittleEndian.PutUint64(record[probeIPAt:], p.Sites[1].Address+4)
		raw := rawFunction(p, arch)
		got := raw(nil, 0, &perfevent.Sample{Raw: record})
		if ip := binary.LittleEndian.Uint64(got[probeIPAt:]); ip != want || got[preemptAt] != 1 || len(got) != 16 {
			t.Errorf("%s: at %#x, preemption %d, %d bytes", arch, ip, got[preemptAt], len(got))
		}
		if got := raw(nil, 0, &perfevent.Sample{Raw: record[:8]}); len(got) != 8 {
			t.Errorf("of 8 bytes %d are made", len(got))
		}
		binary.LittleEndian.PutUint64(record[probeIPAt:], 0x1000)
		if got := raw(nil, 0, &perfevent.Sample{Raw: record}); binary.LittleEndian.Uint64(got[probeIPAt:]) != 0x1000 {
			t.Errorf("%s: an address in no function was changed", arch)
		}
	}
}

func TestAKernelWithoutAnyWaySaysWhatWorks(t *testing.T) {
	why := errors.New("no such thing")
	err := &MethodError{What: "p:evil\x1b[31m", Refusals: []Refusal{{MethodPMU, why}, {MethodKprobeEvents, why}, {MethodBreakpoint, errFilters}}}
	text := err.Error()
	for _, want := range []string{`evil\x1b[31m`, " by pmu and kprobe_events (no such thing), or by breakpoint (it has no filter); ", "ringtap tpoint", "ringtap uprobe"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	if !errors.Is(err, why) || strings.Contains(text, "\n") {
		t.Errorf("%q", text)
	}
}
