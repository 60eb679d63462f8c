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

// errChanging is returned if the group's lines could not be matched with the profile.
var errChanging = errors.New("probes come and go all the time")

// Hits returns how often each place of the group was hit, in the order of the calls of Define
// and Add. It counts all hits, even if no perf event received them or a filter dropped them.
// For user probes the count is exact since Linux 6.11; before, CPUs that hit the same place at
// the same time may count only one of the hits.
func (g *Group) Hits() ([]uint64, error) {
	places, err := g.profile()
	hits := make([]uint64, len(places))
	for i, p := range places {
		hits[i] = p.hits
	}
	return hits, err
}

// Missed returns how often each place of the group was passed without a hit, in the order of
// Hits. A kernel probe is missed while another one is being handled on the CPU. A return probe
// misses calls while Dynamic.MaxActive others have not returned yet. User probes miss nothing.
func (g *Group) Missed() ([]uint64, error) {
	places, err := g.profile()
	missed := make([]uint64, len(places))
	for i, p := range places {
		missed[i] = p.missed
	}
	return missed, err
}

type placeProfile struct{ hits, missed uint64 }

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

// readProfile reads the file uprobe_profile or kprobe_profile. Its lines have the hits but not
// the group. They are in the same order as the lines of uprobe_events or kprobe_events, which
// have the group. The form is "PATH EVENT HITS" for user probes and "EVENT HITS MISSED" for
// kernel probes.
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
		// "p:group/event …": the first colon comes before the group.
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

func (g *Group) lines(file string) ([][]byte, error) {
	text, err := os.ReadFile(filepath.Join(g.fs.dir, file))
	if err != nil {
		return nil, fmt.Errorf("read the hits of %s: %w", g.Name(), err)
	}
	lines := bytes.Split(text, []byte("\n"))
	return lines[:len(lines)-1], nil
}
