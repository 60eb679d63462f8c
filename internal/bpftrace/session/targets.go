package session

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// maxTargets is how many files a pattern may match.
const maxTargets = 1000

// expandTargets replaces each attach point whose file is a pattern, or any file of the target
// process, by one for each matching file. Patterns of USDT probes are replaced by the names that
// match.
func (s *session) expandTargets() error {
	for _, probe := range s.parsed.Probes {
		var points []*syntax.AttachPoint
		for _, p := range probe.Points {
			expanded, err := s.expand(p)
			if err != nil {
				wrong := &syntax.Error{Pos: p.Pos, Len: len(p.Text), Msg: err.Error()}
				return &syntax.Errors{List: []*syntax.Error{wrong}, Sources: s.parsed.Sources}
			}
			points = append(points, expanded...)
		}
		probe.Points = points
	}
	return nil
}

// expand returns the attach points that p stands for.
func (s *session) expand(p *syntax.AttachPoint) ([]*syntax.AttachPoint, error) {
	mark := p.Provider == "usdt" && len(p.Args) >= 2
	cpp := len(p.Args) == 3 && p.Args[1] == "cpp"
	if !mark && (p.Provider != "uprobe" && p.Provider != "uretprobe" || len(p.Args) != 2 && !cpp) {
		return []*syntax.AttachPoint{p}, nil
	}
	files := []string{p.Args[0]}
	some := p.Args[0] == "" || isPattern(p.Args[0])
	if some {
		var err error
		if files, err = targetFiles(p.Args[0], s.opts.View.PIDs); err != nil {
			return nil, err
		}
	}
	last := p.Args[len(p.Args)-1]
	if addr, err := strconv.ParseUint(last, 0, 64); err == nil && !mark && !some {
		return s.atAddress(p, addr)
	}
	if !some && !(mark && isPattern(strings.Join(p.Args[1:], ":"))) {
		return []*syntax.AttachPoint{p}, nil
	}
	options := s.files()
	var points []*syntax.AttachPoint
	for _, file := range files {
		var args [][]string
		if mark {
			args = marksOf(file, p.Args[1:], options)
		} else if hasFunction(file, last, options) {
			args = [][]string{p.Args[1:]}
		}
		for _, rest := range args {
			one := *p
			one.Args = append([]string{file}, rest...)
			one.Text = p.Provider + ":" + strings.Join(one.Args, ":")
			points = append(points, &one)
		}
	}
	if len(points) == 0 && some {
		return nil, fmt.Errorf("none of %d files has %s", len(files), strings.Join(p.Args[1:], ":"))
	}
	if len(points) == 0 {
		points = append(points, p) // attaching it reports what the file has
	}
	return points, nil
}

// files returns how to find the files of programs.
func (s *session) files() uprobe.Options {
	if len(s.opts.View.PIDs) > 0 {
		return uprobe.Options{PID: s.opts.View.PIDs[0]}
	}
	return uprobe.Options{}
}

// atAddress returns an attach point at a file offset instead of an address of the program, as nm(1)
// and disassemblers show it.
func (s *session) atAddress(p *syntax.AttachPoint, addr uint64) ([]*syntax.AttachPoint, error) {
	offset, err := uprobe.FileOffset(p.Args[0], s.files(), addr)
	if err != nil {
		return nil, err
	}
	one := *p
	one.Args = []string{p.Args[0], fmt.Sprintf("%#x", offset)}
	return []*syntax.AttachPoint{&one}, nil
}

func isPattern(text string) bool { return strings.ContainsAny(text, "*?[") }

// marksOf returns the provider and the name of each USDT probe in a file that matches words. words
// is a name, or a provider and a name.
func marksOf(file string, words []string, o uprobe.Options) [][]string {
	pattern := strings.Join(words, ":")
	if len(words) == 1 || words[0] == "" {
		pattern = "*:" + words[len(words)-1]
	}
	glob, err := match.ParseGlob(pattern)
	if err != nil {
		return nil
	}
	all, err := namesIn(file, true, o)
	if err != nil {
		return nil
	}
	var found [][]string
	for _, name := range all {
		if glob.Match(name) {
			provider, mark, _ := strings.Cut(name, ":")
			found = append(found, []string{provider, mark})
		}
	}
	return found
}

// hasFunction reports whether a file has a function that matches a pattern.
func hasFunction(file, pattern string, o uprobe.Options) bool {
	wanted, err := symbols.Meant(pattern)
	if err != nil {
		return false
	}
	all, err := namesIn(file, false, o)
	return err == nil && slices.ContainsFunc(all, wanted)
}

// targetFiles returns the files whose paths match a pattern. If pids is not empty, it looks at the
// files that these processes have mapped as code first, and "" matches them all.
func targetFiles(pattern string, pids []int) (files []string, err error) {
	switch {
	case len(pids) > 0:
		glob, err := match.ParseGlob(pattern)
		if err != nil {
			return nil, err
		}
		for _, pid := range pids {
			mapped, err := mappedCode(pid)
			if err != nil {
				return nil, err
			}
			for _, file := range mapped {
				if pattern == "" || glob.Match(file) {
					files = append(files, file)
				}
			}
		}
		slices.Sort(files)
		files = slices.Compact(files)
		if len(files) > 0 || !strings.Contains(pattern, "/") {
			break
		}
		fallthrough
	case strings.Contains(pattern, "/"):
		if files, err = filepath.Glob(pattern); err != nil {
			return nil, err
		}
		for i, file := range files {
			if strings.HasPrefix(pattern, "./") && !strings.HasPrefix(file, "./") {
				files[i] = "./" + file // filepath.Glob removes it
			}
		}
	default:
		return nil, fmt.Errorf("%q names no file: give its path, or a process with -p", pattern)
	}
	if len(files) == 0 || len(files) > maxTargets {
		return nil, fmt.Errorf("%d files match %q; it may be 1 to %d", len(files), pattern, maxTargets)
	}
	return files, nil
}

// mappedCode returns the files that a process has mapped as code, except deleted ones.
func mappedCode(pid int) ([]string, error) {
	files, err := process.Host{}.MappedCode(pid)
	return slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, " (deleted)") }), err
}
