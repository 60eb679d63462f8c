package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// source is a line of an apt configuration.
type source struct {
	uri, suite, signedBy string
}

// mirrors returns the sources that the apt configuration below root names, in
// both of its forms (sources.list(5)).
func mirrors(root string) ([]source, error) {
	files, err := filepath.Glob(filepath.Join(root, "etc/apt/sources.list.d/*"))
	if err != nil {
		return nil, err
	}
	var found []source
	for _, file := range append([]string{filepath.Join(root, "etc/apt/sources.list")}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		switch filepath.Ext(file) {
		case ".list":
			found = append(found, listSources(string(text))...)
		case ".sources":
			found = append(found, stanzaSources(string(text))...)
		}
	}
	return found, nil
}

var signedBy = regexp.MustCompile(`signed-by=([^\s\]]+)`)

// listSources reads one-line sources: deb [options] URI SUITE COMPONENT….
func listSources(text string) []source {
	var found []source
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		options := ""
		if before, rest, ok := strings.Cut(line, "["); ok {
			var after string
			if options, after, ok = strings.Cut(rest, "]"); !ok {
				continue
			}
			line = before + after
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[0] != "deb" {
			continue
		}
		s := source{uri: fields[1], suite: fields[2]}
		if m := signedBy.FindStringSubmatch(options); m != nil {
			s.signedBy = m[1]
		}
		found = append(found, s)
	}
	return found
}

// stanzaSources reads sources in stanzas of fields.
func stanzaSources(text string) []source {
	var found []source
	for _, stanza := range regexp.MustCompile(`\n\s*\n`).Split(text, -1) {
		fields := map[string][]string{}
		for line := range strings.Lines(stanza) {
			if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
				fields[strings.ToLower(strings.TrimSpace(name))] = strings.Fields(value)
			}
		}
		if !slices.Contains(fields["types"], "deb") {
			continue
		}
		for _, uri := range fields["uris"] {
			for _, suite := range fields["suites"] {
				s := source{uri: uri, suite: suite}
				if keys := fields["signed-by"]; len(keys) == 1 && filepath.IsAbs(keys[0]) {
					s.signedBy = keys[0]
				}
				found = append(found, s)
			}
		}
	}
	return found
}

// debianSuite matches the names of Debian's suites, with or without the suffix of an archive.
var debianSuite = regexp.MustCompile(`^(bullseye|bookworm|trixie|forky|sid|stable|oldstable|testing)(-security|-updates|-backports)?$`)

// mirrorFor returns the source that has the suite's archive. Security updates have an
// archive of their own.
func mirrorFor(sources []source, suite string) (source, error) {
	security := strings.HasSuffix(suite, "-security")
	for _, s := range sources {
		if debianSuite.MatchString(s.suite) && strings.HasSuffix(s.suite, "-security") == security {
			s.suite = suite
			return s, nil
		}
	}
	return source{}, errors.New("the apt configuration of this machine names no mirror of Debian for " + suite)
}

// apt is a private state of apt for one suite and architecture. It does not touch the
// machine's own state. apt itself checks signatures.
type apt struct {
	dir     string
	options []string
}

// newApt makes the state in an existing directory and downloads the archive's index.
func newApt(ctx context.Context, dir string, from source, arch string) (*apt, error) {
	for _, sub := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	options := ""
	if from.signedBy != "" {
		options = "[signed-by=" + from.signedBy + "] "
	}
	list := filepath.Join(dir, "sources.list")
	if err := os.WriteFile(list, []byte("deb "+options+from.uri+" "+from.suite+" main\n"), 0o644); err != nil {
		return nil, err
	}
	status := filepath.Join(dir, "status")
	if err := os.WriteFile(status, nil, 0o644); err != nil {
		return nil, err
	}
	a := &apt{dir: dir, options: []string{
		"-o", "Dir::Etc::sourcelist=" + list,
		"-o", "Dir::Etc::sourceparts=/nonexistent",
		"-o", "Dir::State::lists=" + filepath.Join(dir, "lists"),
		"-o", "Dir::State::status=" + status,
		"-o", "Dir::Cache=" + filepath.Join(dir, "cache"),
		"-o", "APT::Architecture=" + arch,
		"-o", "APT::Architectures=" + arch,
		"-o", "APT::Sandbox::User=root", // other users may be unable to read the directory
	}}
	if _, err := a.run(ctx, "apt-get", "update", "-qq"); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *apt) run(ctx context.Context, command string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, command, append(slices.Clone(a.options), args...)...)
	cmd.Dir = a.dir
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", command, strings.Join(args, " "), err, errors.String())
	}
	return string(out), nil
}

// newest returns the newest package whose name matches, and its version.
func (a *apt) newest(ctx context.Context, matches func(string) bool) (name, version string, err error) {
	out, err := a.run(ctx, "apt-cache", "dumpavail")
	if err != nil {
		return "", "", err
	}
	var pkg string
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "Package: "); ok {
			pkg = value
		}
		if value, ok := strings.CutPrefix(lines.Text(), "Version: "); ok && matches(pkg) && newer(value, version) {
			name, version = pkg, value
		}
	}
	if err := lines.Err(); err != nil {
		return "", "", err
	}
	if name == "" {
		return "", "", errors.New("the archive has no such package")
	}
	return name, version, nil
}

// newer reports whether version a is newer than b, as Debian orders them.
func newer(a, b string) bool {
	return b == "" || exec.Command("dpkg", "--compare-versions", a, "gt", b).Run() == nil
}

// download fetches a package and returns the path of its file.
func (a *apt) download(ctx context.Context, name string) (string, error) {
	if _, err := a.run(ctx, "apt-get", "download", "-qq", name); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(a.dir, name+"_*.deb"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("apt-get download %s left %d files", name, len(files))
	}
	return files[0], nil
}
