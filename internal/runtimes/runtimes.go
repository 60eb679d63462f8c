// Package runtimes says how code that an interpreter runs or a compiler makes at run time
// comes to its names, and which files have lost those of their functions.
//
//	profile.Profile → Seen.Notes → the process, its share, and what to do about it
//
// .NET and Ruby make code in memory, whose frames have names only if the program writes a
// map of it (/tmp/perf-PID.map). So do Node and Java where package stack could not name
// their functions from memory. Python's own functions are not on the
// stack at all: what is there is its interpreter, unless package moment could read its calls,
// or Python 3.12 is asked for a trampoline for each function.
package runtimes

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// runtime is what runs code that has no names by itself.
type runtime uint8

const (
	unknown runtime = iota
	node
	java
	dotnet
	ruby
	python
)

// least is the share of a profile, in percent, from which its reader is told.
const least = 5

// Seen is what has been told in a run: each process once, and each file. The zero value has told
// nothing. It belongs to one goroutine.
type Seen struct {
	processes map[int]bool
	files     map[string]bool // by their paths
}

// Notes returns a sentence for each process, and for each stripped file, of which code without names
// has more than 5 % of the profile's first metric: processes first, the largest share first.
func (s *Seen) Notes(p *profile.Profile) []string {
	if s.processes == nil {
		s.processes, s.files = make(map[int]bool), make(map[string]bool)
	}
	return append(s.generated(p), s.stripped(p)...)
}

// generated returns the sentences for processes.
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

// process is what a profile tells of a process.
type process struct {
	pid         int
	comm        string
	runtime     runtime
	version     string // of Python, "3.11"
	generated   uint64 // in code without a name that was made at run time
	interpreted uint64 // in Python's interpreter, none of its functions named
	read        bool   // some of its functions were: what is not is too short, which the report says
}

func (p *process) kind() runtime {
	if p.runtime != unknown {
		return p.runtime
	}
	return runtimeOf(p.comm)
}

// unnamed is how much of the profile's metric has no names that the program could give.
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

// anonymous is the path of memory that is no file's.
const anonymous = "[anon]"

// runtimeOf is the runtime that a file, or a process of that name, is of.
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

// versionOf is the version in the name of Python's program or library; "" if there is none.
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

// hasTrampolines tells whether a version of Python can name its functions; true where the
// version is not known.
func hasTrampolines(version string) bool {
	major, minor, ok := strings.Cut(version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	n, err := strconv.Atoi(minor)
	return !ok || err != nil || major != "3" || n >= 12
}

// advice is what to do; "" if nothing is known to help.
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
