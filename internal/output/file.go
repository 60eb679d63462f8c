package output

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/timeline"
)

// FileOptions configure WriteFile.
type FileOptions struct {
	// Metric is the metric of forms that show one (folded, svg), and the one that html and
	// speedscope show first. It is a Metric.Name or Metric.Type in any case; "" for the first
	// metric. html, speedscope and pprof contain every metric that can be added up, and JSON
	// contains all.
	Metric string
	// Inlines shows inlined functions as separate frames in folded, html, svg and speedscope. pprof
	// and JSON always contain all lines of the profile.
	Inlines bool
	// Timeline has the samples of the profile one by one. Forms with times (HasTimes) return an error
	// without it, and others ignore it.
	Timeline *timeline.Timeline
}

// metric checks p and returns the index of the chosen metric.
func (o *FileOptions) metric(p *profile.Profile) (int, error) { return checkMetric(p, o.Metric) }

func checkMetric(p *profile.Profile, name string) (int, error) {
	if err := Check(p); err != nil {
		return 0, err
	}
	i, err := FindMetric(name, p.Metrics)
	if err != nil {
		return 0, fmt.Errorf("profile of %s: %w", p.Collector, err)
	}
	return i, nil
}

// CheckMetric returns an error that lists the metrics if none of them is name (see
// FileOptions.Metric). A command calls it before it does any work.
func CheckMetric(name string, metrics []profile.Metric) error {
	_, err := FindMetric(name, metrics)
	return err
}

// FindMetric returns the index of a metric; see FileOptions.Metric. The error lists the metrics.
func FindMetric(name string, metrics []profile.Metric) (int, error) {
	if name == "" {
		return 0, nil
	}
	var names []string
	for i, m := range metrics {
		if m.Share != nil {
			continue // shares cannot be added up over stacks
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
	single bool // it has one metric
	timed  bool // it has the times of samples: see FileOptions.Timeline
}

// forms returns the table of extensions. An extension comes before any other one that it ends in.
func forms() []form {
	return []form{
		{ending: ".html", write: writeHTML},
		{ending: ".svg", write: writeSVG, single: true},
		{ending: ".folded", write: WriteFolded, single: true},
		{ending: ".speedscope.json", write: writeSpeedscope},
		{ending: ".firefox.json", write: writeFirefox, timed: true},
		{ending: ".pb.gz", write: WritePprof},
		{ending: ".json", write: writeJSON},
	}
}

// Forms returns the file extensions that WriteFile supports, including the dot.
func Forms() []string {
	var endings []string
	for _, f := range forms() {
		endings = append(endings, f.ending)
	}
	return endings
}

// IsFile reports whether path has an extension that WriteFile supports.
func IsFile(path string) bool {
	return slices.ContainsFunc(Forms(), func(ending string) bool { return strings.HasSuffix(path, ending) })
}

// HasOneMetric reports whether the file of that path shows one metric only: see FileOptions.Metric.
func HasOneMetric(path string) bool {
	f, err := formOf(path)
	return err == nil && f.single
}

// HasTimes reports whether the file of that path shows when samples were taken. Such a form needs
// FileOptions.Timeline.
func HasTimes(path string) bool {
	f, err := formOf(path)
	return err == nil && f.timed
}

// A FormError is returned for a path whose extension is not supported.
type FormError struct {
	Path  string
	Forms []string // extensions that are supported
}

func (e *FormError) Error() string {
	return fmt.Sprintf("%s: the ending names no form of output: want one of %s", e.Path, strings.Join(e.Forms, " "))
}

// CheckPath returns a *FormError if WriteFile does not support the extension of path, and another
// error if it could not write there. It leaves no file behind. A command calls it before it does
// any work.
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
	return form{}, &FormError{path, Forms()}
}

// WriteFile writes p to a file in the form that the extension of path selects. The file is created,
// or replaces an existing one, only when it is complete. An error such as a full disk leaves the
// old file intact. Pipes, devices and the like are written to directly.
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
