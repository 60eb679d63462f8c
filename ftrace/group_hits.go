package ftrace

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// errChanging is why the hits of a group could not be told from others'.
var errChanging = errors.New("probes come and go all the time")

// Hits returns how often each place of the group was hit, in the order in which
// Define and Add were called, whether or not perf or a filter wanted the hit. Of
// user probes the kernel counts exactly since Linux 6.11; before, CPUs that hit
// one place at the same time may count one of the hits.
func (g *Group) Hits() ([]uint64, error) {
	places, err := g.profile()
	hits := make([]uint64, len(places))
	for i, p := range places {
		hits[i] = p.hits
	}
	return hits, err
}

// Missed returns how often each place of the group was passed without a hit, in
// the order of Hits: kernel probes that were reached while another one was being
// handled on the CPU, and calls that a return probe could not follow since
// Dynamic.MaxActive others had not returned yet. User probes miss nothing.
func (g *Group) Missed() ([]uint64, error) {
	places, err := g.profile()
	missed := make([]uint64, len(places))
	for i, p := range places {
		missed[i] = p.missed
	}
	return missed, err
}

// placeProfile is what the kernel counts at a place.
type placeProfile struct{ hits, missed uint64 }

// profile reads what the kernel counts at the group's places.
func (g *Group) profile() ([]placeProfile, error) {
	const tries = 100
	for range tries {
		places, err := g.readProfile()
		if !errors.Is(err, errChanging) {
			return places, err
		}
	}
	return nil, fmt.Errorf("read the hits of %s: %w", g.Name(), errChanging)
}

// readProfile reads the file uprobe_profile or kprobe_profile, which has the hits
// and not the group. Its lines are in the order of those of uprobe_events or
// kprobe_events, which has the group. They are "PATH EVENT HITS" for user probes
// and "EVENT HITS MISSED" for kernel probes.
func (g *Group) readProfile() ([]placeProfile, error) {
	before, err := g.lines(g.file)
	if err != nil {
		return nil, err
	}
	isKernel := g.file == "kprobe_events"
	profile, err := g.lines(strings.TrimSuffix(g.file, "events") + "profile")
	if err != nil {
		return nil, err
	}
	after, err := g.lines(g.file)
	if err != nil {
		return nil, err
	}
	if len(profile) != len(before) || !bytes.Equal(bytes.Join(before, nil), bytes.Join(after, nil)) {
		return nil, errChanging
	}
	own := []byte(":" + g.Name() + "/")
	var places []placeProfile
	for i, line := range before {
		// "p:group/event …": the first colon is that before the group.
		if colon := bytes.IndexByte(line, ':'); colon < 0 || !bytes.HasPrefix(line[colon:], own) {
			continue
		}
		place, err := parseProfile(profile[i], isKernel)
		if err != nil {
			return nil, fmt.Errorf("read the hits of %s: %w", g.Name(), err)
		}
		places = append(places, place)
	}
	return places, nil
}

// parseProfile reads a line of kprobe_profile or uprobe_profile.
func parseProfile(line []byte, isKernel bool) (placeProfile, error) {
	fields := bytes.Fields(line)
	if len(fields) < 3 {
		return placeProfile{}, fmt.Errorf("a line with %d fields", len(fields))
	}
	numbers := fields[len(fields)-1:]
	if isKernel {
		numbers = fields[len(fields)-2:]
	}
	var place placeProfile
	for i, to := range []*uint64{&place.hits, &place.missed}[:len(numbers)] {
		n, err := strconv.ParseUint(string(numbers[i]), 10, 64)
		if err != nil {
			return placeProfile{}, err
		}
		*to = n
	}
	return place, nil
}

// lines reads a file of tracefs.
func (g *Group) lines(file string) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(g.fs.dir, file))
	if err != nil {
		return nil, fmt.Errorf("read the hits of %s: %w", g.Name(), err)
	}
	lines := bytes.Split(text, []byte("\n"))
	return lines[:len(lines)-1], nil
}
