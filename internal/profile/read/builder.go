package read

import (
	"encoding/binary"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// cut is the index of a frame in place of a stack's missing root.
const cut = -1

// truncatedName is what ringtap's forms show in place of a missing root.
const truncatedName = "[truncated]"

// builder makes a profile from samples in any order. It stores what is equal once.
type builder struct {
	p         *profile.Profile
	names     map[string]string
	objects   map[string]int
	frames    map[frameKey]int
	stacks    map[string]int // by the stack's frames, as bytes
	processes map[profile.Process]int
	rows      map[rowKey]int
	key       []byte
}

type frameKey struct {
	object  int
	name    string
	address uint64 // only of frames without a name
	offset  uint64
	inlined string // names of inlined functions, outermost first, each after a zero byte
}

type rowKey struct{ process, user, kernel int }

func newBuilder(collector string) *builder {
	return &builder{
		p: &profile.Profile{
			Collector: collector,
			Objects:   []profile.Object{{Path: "[kernel]", Kernel: true}},
		},
		names:     make(map[string]string),
		objects:   make(map[string]int),
		frames:    make(map[frameKey]int),
		stacks:    make(map[string]int),
		processes: make(map[profile.Process]int),
		rows:      make(map[rowKey]int),
	}
}

// name returns text as a string, the same one for equal texts.
func (b *builder) name(text []byte) string {
	s, found := b.names[string(text)]
	if !found {
		s = string(text)
		b.names[s] = s
	}
	return s
}

// object returns the object with a path as perf and pprof write it.
func (b *builder) object(file string) int {
	isKernel, isModule := kernelPath(file)
	if isKernel && !isModule {
		return 0
	}
	id, found := b.objects[file]
	if !found {
		id = len(b.p.Objects)
		b.objects[file] = id
		b.p.Objects = append(b.p.Objects, profile.Object{Path: file, Kernel: isModule})
	}
	return id
}

// kernelPath reports whether a path that perf prints is of the kernel or one of its modules, which
// perf prints as "[nf_conntrack]" (tools/perf/util/dso.c, machine.c).
func kernelPath(file string) (isKernel, isModule bool) {
	base := path.Base(file)
	switch {
	case strings.HasPrefix(file, "[kernel"), strings.HasPrefix(file, "[guest.kernel"), base == "vmlinux", strings.HasPrefix(base, "vmlinux-"):
		return true, false
	case strings.HasSuffix(base, ".ko"), strings.Contains(base, ".ko."):
		return true, true
	case len(file) < 3 || file[0] != '[' || file[len(file)-1] != ']':
		return false, false
	}
	inside := file[1 : len(file)-1]
	if strings.HasPrefix(inside, "anon") || strings.HasPrefix(inside, "stack") || strings.HasPrefix(inside, "vdso") ||
		slices.Contains([]string{"unknown", "heap", "vsyscall", "uprobes", "vvar", "jit"}, inside) {
		return false, false
	}
	return true, true
}

// frame returns the frame of a function at an address. inlined has the functions inlined there,
// outermost first. An empty name means that the function is unknown.
func (b *builder) frame(object int, name string, address, offset uint64, inlined []string) int {
	key := frameKey{object: object, name: name, offset: offset}
	if name == "" {
		key.address = address
	}
	if len(inlined) > 0 {
		key.inlined = "\x00" + strings.Join(inlined, "\x00")
	}
	id, found := b.frames[key]
	if !found {
		id = len(b.p.Frames)
		b.frames[key] = id
		f := profile.Frame{Object: object, Address: address, Name: name, RawName: name, Offset: offset}
		if address >= offset {
			f.Start = address - offset
		}
		if len(inlined) > 0 {
			for _, function := range slices.Backward(inlined) {
				f.Lines = append(f.Lines, profile.Line{Function: function})
			}
			f.Lines = append(f.Lines, profile.Line{Function: name})
		}
		b.p.Frames = append(b.p.Frames, f)
	}
	return id
}

func (b *builder) process(q profile.Process) int {
	id, found := b.processes[q]
	if !found {
		id = len(b.p.Processes)
		b.processes[q] = id
		b.p.Processes = append(b.p.Processes, q)
	}
	return id
}

// row returns the row of a process and a stack, root first. The frames of the kernel at the leaf's
// end are the kernel stack. cut marks a missing root at the start of either stack.
func (b *builder) row(process int, frames []int) int {
	split := len(frames)
	for split > 0 && frames[split-1] != cut && b.p.Objects[b.p.Frames[frames[split-1]].Object].Kernel {
		split--
	}
	if split > 0 && split < len(frames) && frames[split-1] == cut {
		split--
	}
	key := rowKey{process, b.stack(frames[:split]), b.stack(frames[split:])}
	id, found := b.rows[key]
	if !found {
		id = len(b.p.Rows)
		b.rows[key] = id
		b.p.Rows = append(b.p.Rows, profile.Row{Process: key.process, User: key.user, Kernel: key.kernel})
	}
	return id
}

// stack returns the stack of frames, or profile.None if there are none. A cut that is not at the
// start becomes a frame.
func (b *builder) stack(frames []int) int {
	if len(frames) == 0 {
		return profile.None
	}
	b.key = b.key[:0]
	for _, f := range frames {
		b.key = binary.AppendVarint(b.key, int64(f))
	}
	id, found := b.stacks[string(b.key)]
	if found {
		return id
	}
	id = len(b.p.Stacks)
	b.stacks[string(b.key)] = id
	var s profile.Stack
	if frames[0] == cut {
		s.Truncated, frames = true, frames[1:]
	}
	s.Frames = slices.Clone(frames)
	for i, f := range s.Frames {
		if f == cut {
			s.Frames[i] = b.frame(b.object(""), truncatedName, 0, 0, nil)
		}
	}
	b.p.Stacks = append(b.p.Stacks, s)
	return id
}

var errOverflow = errors.New("the values add up to more than 64 bits")

// count adds a value to a row.
func (b *builder) count(row, metric int, value uint64) error {
	r := &b.p.Rows[row]
	for len(r.Values) <= metric {
		r.Values = append(r.Values, 0)
	}
	if r.Values[metric]+value < value {
		return errOverflow
	}
	r.Values[metric] += value
	return nil
}

// finish returns the profile, after every row has got a value for each metric. The sum of each
// metric fits in 64 bits, because the forms of internal/output add up rows.
func (b *builder) finish() (*profile.Profile, error) {
	for m := range b.p.Metrics {
		var sum uint64
		for i := range b.p.Rows {
			r := &b.p.Rows[i]
			for len(r.Values) < len(b.p.Metrics) {
				r.Values = append(r.Values, 0)
			}
			if sum += r.Values[m]; sum < r.Values[m] {
				return nil, errOverflow
			}
		}
	}
	return b.p, nil
}
