package functrace

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/kprobe"
)

// filterWords returns names and patterns as set_ftrace_filter takes them. It refuses other things
// that the file accepts: numbers are positions in a list, and FUNCTION:COMMAND makes the kernel do
// something at each call, for everyone.
func filterWords(functions []string) ([]string, error) {
	var words []string
	for _, function := range functions {
		for _, word := range strings.Fields(function) {
			w, err := filterWord(word)
			if err != nil {
				return nil, err
			}
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return nil, &NameError{"", "no function given, such as vfs_read"}
	}
	return words, nil
}

func filterWord(word string) (string, error) {
	name, module := word, ""
	if before, after, ok := strings.Cut(word, ":mod:"); ok {
		name, module = before, after
	} else if before, after, ok := strings.Cut(word, ":"); ok {
		name, module = after, before
	}
	switch {
	case name == "" || strings.Contains(word, ":") && module == "":
		return "", &NameError{word, "no name"}
	case strings.Trim(name, "0123456789") == "":
		return "", &NameError{word, "a number is not a name"}
	case len(word) > 250:
		return "", &NameError{word, "too long for a name"}
	}
	for i, r := range name + module {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '$'
		glob := i < len(name) && strings.ContainsRune("*?[]^-", r)
		inModule := i >= len(name) && (r == '-' || r == '*')
		if !letter && !glob && !inModule {
			return "", &NameError{word, fmt.Sprintf("%q can't be in a name or pattern", r)}
		}
	}
	if module != "" {
		name += ":mod:" + module
	}
	return name, nil
}

// named returns a word in the form that package kprobe takes.
func named(word string) string {
	if name, module, ok := strings.Cut(word, ":mod:"); ok {
		return module + ":" + name
	}
	return word
}

// NameError is returned for a word that can't be the name of functions.
type NameError struct{ Word, Why string }

func (e *NameError) Error() string {
	if e.Word == "" {
		return e.Why
	}
	return fmt.Sprintf("%q names no function: %s", escape.Text(e.Word), e.Why)
}

// setFunctions sets the filter to exactly these words.
func (r *tracing) setFunctions(words []string) error {
	if r.instance == nil {
		if err := r.settings.Set("set_ftrace_filter", strings.Join(words, "\n")); err != nil {
			return unknownFunction(words, err)
		}
		return checkModules(words)
	}
	for _, word := range words {
		if err := r.instance.Append("set_ftrace_filter", word); err != nil {
			return unknownFunction([]string{word}, err)
		}
	}
	return checkModules(words)
}

// setStart makes graphs start at these words. The kernel ignores modules there. Functions of the
// same name in other modules are left out when they are printed (graph.starts).
func (r *tracing) setStart(words []string) error {
	var names []string
	for _, word := range words {
		name, _, _ := strings.Cut(word, ":mod:")
		names = append(names, name)
	}
	if err := r.setGlobal("set_graph_function", strings.Join(names, "\n")); err != nil {
		if isBusy(err) {
			return err
		}
		return unknownFunction(words, err)
	}
	return checkModules(words)
}

// checkModules returns an error for functions that their modules do not have. The kernel accepts
// them, for modules that may be loaded later.
func checkModules(words []string) error {
	for _, word := range words {
		if !strings.Contains(word, ":mod:") {
			continue
		}
		if err := checkWord(word); err != nil {
			return err
		}
	}
	return nil
}

// unknownFunction returns an error that says which word the kernel refused, and why.
func unknownFunction(words []string, refused error) error {
	switch {
	case errors.Is(refused, unix.EPERM):
		return &NoTracerError{Tracer: "function", Err: unix.EPERM}
	case !errors.Is(refused, unix.EINVAL):
		return fmt.Errorf("choose functions: %w", refused)
	}
	for _, word := range words {
		if err := checkWord(word); err != nil {
			return err
		}
	}
	return fmt.Errorf("choose functions: %w", refused)
}

// checkWord returns an error if none of a word's functions can be traced.
func checkWord(word string) error {
	word = named(word)
	functions, err := kprobe.Functions(word, kprobe.Options{})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(functions, func(f kprobe.Function) bool { return f.Traceable }) {
		return fmt.Errorf("%s can't be traced: the kernel has it, but not in available_filter_functions (it is marked notrace or inlined everywhere)", escape.Text(word))
	}
	return nil
}
