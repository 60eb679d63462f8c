package diff

import (
	"path"
	"slices"

	"github.com/ringtap/ringtap/internal/profile"
)

// Side is one of the two profiles, and what is compared of it.
type Side struct {
	Name    string // of the file, for people
	Profile *profile.Profile
	Metric  int // index into Profile.Metrics
}

// Diff is two profiles in one.
type Diff struct {
	// Profile has the rows of both sides. Metrics[0] is the metric of the one before, and is 0 in
	// rows of the other one. Metrics[1] is that of the one after. Objects are equal if their file
	// names are, whatever their build ids: a program that was built again is the same program.
	Profile *profile.Profile
	Names   [2]string
	Samples [2]float64 // see Samples
	// ByName says that one of the profiles has no objects, as folded stacks have none, and the other
	// one has. Functions are then matched by name alone, and the result has no objects.
	ByName bool
}

// New merges two profiles. It changes neither, and shares their names.
func New(before, after Side) *Diff {
	d := &Diff{Profile: &profile.Profile{Collector: "diff"}, ByName: withoutObjects(before.Profile) != withoutObjects(after.Profile)}
	for i, s := range [2]Side{before, after} {
		d.Names[i] = s.Name
		d.Samples[i] = Samples(s.Profile, s.Metric)
		d.Profile.Metrics = append(d.Profile.Metrics, s.Profile.Metrics[s.Metric])
		d.add(s, i)
	}
	return d
}

// withoutObjects reports whether no named function is in a file.
func withoutObjects(p *profile.Profile) bool {
	return !slices.ContainsFunc(p.Frames, func(f profile.Frame) bool {
		o := &p.Objects[f.Object]
		isFile := o.Path != "" && o.Path[0] != '[' // "[jit]"
		return f.Name != "" && isFile && !o.Kernel && !o.Labels
	})
}

// add appends a side to the profile, with its values in one column.
func (d *Diff) add(s Side, column int) {
	p := d.Profile
	objects, frames, stacks, processes := len(p.Objects), len(p.Frames), len(p.Stacks), len(p.Processes)
	for _, o := range s.Profile.Objects {
		if d.ByName && !o.Labels {
			o = profile.Object{Runtime: o.Runtime}
		}
		p.Objects = append(p.Objects, o)
	}
	for _, f := range s.Profile.Frames {
		if d.ByName && f.Name == "" && !s.Profile.Objects[f.Object].Labels {
			f.Name = unknown(&s.Profile.Objects[f.Object])
		}
		f.Object += objects
		p.Frames = append(p.Frames, f)
	}
	for _, st := range s.Profile.Stacks {
		st.Frames = slices.Clone(st.Frames)
		for i := range st.Frames {
			st.Frames[i] += frames
		}
		p.Stacks = append(p.Stacks, st)
	}
	p.Processes = append(p.Processes, s.Profile.Processes...)
	for _, r := range s.Profile.Rows {
		value := r.Values[s.Metric]
		if value == 0 {
			continue
		}
		r.Process += processes
		r.User, r.Kernel = shift(r.User, stacks), shift(r.Kernel, stacks)
		r.Values, r.Histograms = make([]uint64, 2), nil
		r.Values[column] = value
		p.Rows = append(p.Rows, r)
	}
}

func shift(stack, by int) int {
	if stack == profile.None {
		return stack
	}
	return stack + by
}

// unknown returns the name that folded stacks have for a frame without one.
func unknown(o *profile.Object) string {
	name := "?"
	if o.Path != "" {
		name = path.Base(o.Path)
	}
	return "[unknown] (" + name + ")"
}
