package session

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe"
)

// List writes the attach points that match a pattern, as bpftrace -l does, one a line: all
// tracepoints and events if the pattern is empty. fields adds the fields of tracepoints.
func List(w io.Writer, pattern string, fields bool) error {
	out := bufio.NewWriter(w)
	provider, rest, named := strings.Cut(pattern, ":")
	if kind := fullName(provider); named && (kind == "uprobe" || kind == "uretprobe" || kind == "usdt") {
		if err := listFile(out, kind, rest); err != nil {
			return err
		}
		return out.Flush()
	}
	if named {
		pattern = fullName(provider) + ":" + rest
	}
	glob, err := names.ParseGlob(pattern)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	for _, name := range events() {
		if pattern == "" || glob.Match(name) {
			fmt.Fprintln(out, name)
		}
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return errors.Join(out.Flush(), err)
	}
	all, err := tracefs.Events()
	if err != nil {
		return errors.Join(out.Flush(), err)
	}
	slices.SortFunc(all, func(a, b ftrace.EventName) int {
		return cmp.Compare(a.String(), b.String())
	})
	for _, event := range all {
		name := "tracepoint:" + event.String()
		if pattern != "" && !glob.Match(name) {
			continue
		}
		fmt.Fprintln(out, name)
		if fields {
			listFields(out, tracefs, event)
		}
	}
	return out.Flush()
}

// fullName returns the full name of a provider of attach points that can be listed.
func fullName(provider string) string {
	switch provider {
	case "t":
		return "tracepoint"
	case "s":
		return "software"
	case "h":
		return "hardware"
	case "u":
		return "uprobe"
	case "ur":
		return "uretprobe"
	case "U":
		return "usdt"
	}
	return provider
}

// events returns the attach points of events that perf counts.
func events() []string {
	var list []string
	for _, e := range perfevent.HardwareEvents() {
		list = append(list, "hardware:"+e.String()+":")
	}
	for _, e := range perfevent.SoftwareEvents() {
		list = append(list, "software:"+e.String()+":")
	}
	return list
}

// listFields writes the fields of a tracepoint as the kernel declares them.
func listFields(w io.Writer, tracefs *ftrace.FS, event ftrace.EventName) {
	text, err := tracefs.FormatText(event.System, event.Name)
	if err != nil {
		return // it went away since it was listed
	}
	for line := range strings.Lines(string(text)) {
		_, declaration, ok := strings.Cut(line, "field:")
		declaration, _, ends := strings.Cut(declaration, ";")
		if ok && ends && !strings.Contains(declaration, " common_") {
			fmt.Fprintf(w, "    %s\n", declaration)
		}
	}
}

// listFile lists the functions or the marks of a file. what is the file and a pattern.
func listFile(w io.Writer, kind, what string) error {
	file, pattern, _ := strings.Cut(what, ":")
	glob, err := names.ParseGlob(pattern)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	var found []string
	if kind == "usdt" {
		marks, err := uprobe.Marks(file, uprobe.Options{})
		if err != nil {
			return err
		}
		for _, m := range marks {
			found = append(found, m.Provider+":"+m.Name)
		}
	} else {
		functions, _, err := uprobe.Functions(file, uprobe.Options{})
		if err != nil {
			return err
		}
		for _, f := range functions {
			if f.Kind == symbols.Defined || f.Kind == symbols.Indirect {
				found = append(found, f.Name)
			}
		}
	}
	slices.Sort(found)
	for _, name := range slices.Compact(found) {
		if pattern == "" || glob.Match(name) {
			fmt.Fprintf(w, "%s:%s:%s\n", kind, escape.Text(file), escape.Text(name))
		}
	}
	return nil
}
