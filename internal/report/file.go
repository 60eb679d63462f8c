package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// FileOptions says what a file of a profile holds.
type FileOptions struct {
	// Metric names the metric of forms that show one (folded, svg) and the one
	// that html shows first: Metric.Name or Metric.Type, any case. Empty
	// stands for the first. html and pprof carry every metric that adds up, JSON
	// every one.
	Metric string
	// Inlines shows inlined functions as frames of their own in folded, html
	// and svg. pprof and JSON always carry the lines that the profile has.
	Inlines bool
}

// metric checks p and finds the chosen metric in it.
func (o *FileOptions) metric(p *profile.Profile) (int, error) { return checkMetric(p, o.Metric) }

func checkMetric(p *profile.Profile, name string) (int, error) {
	if err := check(p); err != nil {
		return 0, err
	}
	i, err := find(name, p.Metrics)
	if err != nil {
		return 0, fmt.Errorf("profile of %s: %w", p.Collector, err)
	}
	return i, nil
}

// CheckMetric returns an error that names the metrics there are if name, a
// FileOptions.Metric, is none of them. A command calls it before it does any
// work.
func CheckMetric(name string, metrics []profile.Metric) error {
	_, err := find(name, metrics)
	return err
}

func find(name string, metrics []profile.Metric) (int, error) {
	if name == "" {
		return 0, nil
	}
	var names []string
	for i, m := range metrics {
		if m.Share != nil {
			continue // it does not add up over stacks
		}
		if strings.EqualFold(name, m.Name) || strings.EqualFold(name, m.Type) {
			return i, nil
		}
		names = append(names, m.Name)
	}
	return 0, fmt.Errorf("no metric %q: there are %s", name, strings.Join(names, ", "))
}

// form is one kind of file.
type form struct {
	ending string
	write  func(io.Writer, *profile.Profile, FileOptions) error
}

func forms() []form {
	return []form{
		{".html", WriteHTML},
		{".svg", WriteSVG},
		{".folded", WriteFolded},
		{".pb.gz", WritePprof},
		{".json", WriteJSON},
	}
}

// Forms returns the file endings that WriteFile knows, each with its dot.
func Forms() []string {
	var endings []string
	for _, f := range forms() {
		endings = append(endings, f.ending)
	}
	return endings
}

// IsFile reports whether a path has one of the endings that WriteFile knows.
func IsFile(path string) bool {
	return slices.ContainsFunc(Forms(), func(ending string) bool { return strings.HasSuffix(path, ending) })
}

// A FormError tells that a path's ending names no form.
type FormError struct {
	Path string
}

func (e *FormError) Error() string {
	return fmt.Sprintf("%s: the ending names no form of output: want one of %s", e.Path, strings.Join(Forms(), " "))
}

// CheckPath returns a *FormError if WriteFile would not know what form a file
// of this name has, and another error if it could not write there. It leaves nothing.
// A command calls it before it does any work.
func CheckPath(path string) error {
	if _, err := formOf(path); err != nil {
		return err
	}
	return checkPlace(path)
}

func formOf(path string) (form, error) {
	for _, f := range forms() {
		if strings.HasSuffix(path, f.ending) {
			return f, nil
		}
	}
	return form{}, &FormError{path}
}

// WriteFile writes p to a file in the form that the ending of path names. The
// file appears, or replaces the one there, when it is complete: an error, such
// as a full disk, leaves what was there. What is not a regular file (a pipe, a
// device) is written to as it is.
func WriteFile(path string, p *profile.Profile, opts FileOptions) error {
	f, err := formOf(path)
	if err != nil {
		return err
	}
	err = replace(path, func(w io.Writer) error { return f.write(w, p, opts) })
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
