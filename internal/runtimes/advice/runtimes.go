// Package advice says how frames of interpreted or JIT-compiled code can get names, and which
// files have lost their functions' names.
//
//	profile.Profile → Seen.Notes → the process, its share, and what to do about it
//
// .NET and Ruby generate code in memory. Its frames have names only if the program writes a map
// of it (/tmp/perf-PID.map). The same is true for Node and Java if package stack could not read
// their functions' names from memory. Python's own functions are not on the native stack: only
// its interpreter is. Their names come from package atsample, or from Python 3.12's
// trampolines, one per function, if they are switched on.
package advice

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// runtime is a runtime whose code has no names without help.
type runtime uint8

const (
	unknown runtime = iota
	node
	java
	dotnet
	ruby
	python
)

// least is the smallest share of a profile, in percent, that gets a note.
const least = 5

// Seen records which notes a run has given: one per process and one per file. The zero value is
// ready to use. It belongs to one goroutine.
type Seen struct {
	processes map[int]bool
	files     map[string]bool // by path
}

// Notes returns a sentence for each process and each stripped file whose unnamed code has more
// than 5% of the profile's first metric. Processes come first, and the largest shares first.
func (s *Seen) Notes(p *profile.Profile) []string {
	if s.processes == nil {
		s.processes, s.files = make(map[int]bool), make(map[string]bool)
	}
	return append(s.generated(p), s.stripped(p)...)
}

func (s *Seen) generated(p *profile.Profile) []string {
	var all uint64
	byPID := make(map[int]*process)
	var order []*process
	for i := range p.Rows {
		row := &p.Rows[i]
		if len(row.Values) == 0 {
			continue
		}
		value := row.Values[0]
		all += value
		if row.User < 0 {
			continue
		}
		tgid := p.Processes[row.Process].TGID
		proc := byPID[tgid]
		if proc == nil {
			proc = &process{pid: tgid, comm: p.Processes[row.Process].Comm}
			byPID[tgid] = proc
			order = append(order, proc)
		}
		proc.add(p, p.Stacks[row.User].Frames, value)
	}
	slices.SortStableFunc(order, func(a, b *process) int { return cmp.Compare(b.unnamed(), a.unnamed()) })
	var notes []string
	for _, proc := range order {
		if all == 0 || proc.unnamed()*100 <= all*least || s.processes[proc.pid] {
			continue
		}
		if advice := proc.advice(); advice != "" {
			s.processes[proc.pid] = true
			notes = append(notes, fmt.Sprintf("%.0f%% is in code of %s (pid %d) that has no names: %s", 100*float64(proc.unnamed())/float64(all), proc.comm, proc.pid, advice))
		}
	}
	return notes
}

// process is what a profile contains about a process.
type process struct {
	pid         int
	comm        string
	runtime     runtime
	version     string // Python's, such as "3.11"
	generated   uint64 // value in unnamed code that was generated at run time
	interpreted uint64 // value in Python's interpreter with no Python function named
	read        bool   // some of its functions were read; the report explains missing ones
}

func (p *process) kind() runtime {
	if p.runtime != unknown {
		return p.runtime
	}
	return runtimeOf(p.comm)
}

// unnamed returns how much of the metric has no names but could have, with the advice.
func (p *process) unnamed() uint64 {
	switch {
	case p.kind() != python:
		return p.generated
	case p.read:
		return 0
	}
	return p.interpreted
}

// add adds a stack of the process.
func (p *process) add(in *profile.Profile, frames []int, value uint64) {
	generated, interpreted, named := false, false, false
	for _, i := range frames {
		f := &in.Frames[i]
		object := &in.Objects[f.Object]
		switch {
		case object.Path == anonymous && f.Name == "":
			generated = true
		case object.Runtime != "":
			named, p.read = true, true
		case strings.HasPrefix(f.Name, "py::"):
			named = true
		case strings.HasPrefix(f.Name, "_PyEval_EvalFrameDefault"):
			interpreted = true
		}
		if r := runtimeOf(path.Base(object.Path)); r != unknown && p.runtime == unknown {
			p.runtime = r
			if r == python {
				p.version = versionOf(path.Base(object.Path))
			}
		}
	}
	if generated {
		p.generated += value
	}
	if interpreted && !named {
		p.interpreted += value
	}
}

// anonymous is the path of memory without a file.
const anonymous = "[anon]"

// runtimeOf returns the runtime that a file or process name belongs to.
func runtimeOf(file string) runtime {
	switch {
	case file == "node", file == "nodejs", strings.HasPrefix(file, "libnode.so"):
		return node
	case file == "java", file == "libjvm.so":
		return java
	case file == "dotnet", file == "libcoreclr.so", file == "libclrjit.so":
		return dotnet
	case file == "ruby", strings.HasPrefix(file, "libruby"):
		return ruby
	case strings.HasPrefix(file, "python"), strings.HasPrefix(file, "libpython"):
		return python
	}
	return unknown
}

// versionOf returns the version in the file name of Python's program or library, or "".
func versionOf(file string) string {
	at := strings.IndexAny(file, "0123456789")
	if at < 0 {
		return ""
	}
	version := file[at:]
	if end := strings.IndexFunc(version, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }); end >= 0 {
		version = version[:end]
	}
	return strings.Trim(version, ".")
}

// hasTrampolines reports whether a version of Python can name its functions. It returns true if
// the version is unknown.
func hasTrampolines(version string) bool {
	major, minor, ok := strings.Cut(version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	return !ok || err != nil || major != "3" || n >= 12
}

// advice returns what the user can do, or "" if nothing is known to help.
func (p *process) advice() string {
	switch p.kind() {
	case node:
		return "start it as node --perf-basic-prof"
	case java:
		return fmt.Sprintf("give --jvm, or run jcmd %d Compiler.perfmap while it is profiled (JDK 17 and later)", p.pid)
	case dotnet:
		return "start it with DOTNET_PerfMapEnabled=1 in its environment"
	case ruby:
		return "start it as ruby --yjit-perf"
	case python:
		if !hasTrampolines(p.version) {
			return "this command does not name functions of python " + p.version + "; on-cpu, off-cpu, memleak and stack do"
		}
		return "start it as python3 -X perf (Python 3.12 and later)"
	}
	return ""
}
