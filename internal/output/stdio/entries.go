package stdio

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// key identifies an entry. Fields of sort keys that are not wanted are zero.
type key struct {
	comm, dso string
	function  int // index in functions.all
	tid, cpu  int
}

// entry is a row of the table.
type entry struct {
	key
	self, samples uint64 // of samples in the function itself
	children      uint64 // of samples with the function in their callchain
	chains        []suffix
	depth         int // length of the longest of chains
}

// suffix is a part of a callchain, and what the samples with it add up to.
type suffix struct {
	functions     []int
	period, count uint64
}

// table has the entries of one event.
type table struct {
	opts      *Options
	profile   *profile.Profile
	functions *functions
	period    int // the metric; the number of samples is the next one
	entries   []*entry
	index     map[key]int
	added     []*entry // of the row that is added

	total, samples uint64
}

func newTable(p *profile.Profile, f *functions, period int, opts *Options) *table {
	t := &table{opts: opts, profile: p, functions: f, period: period, index: make(map[key]int)}
	for i := range p.Rows {
		if p.Rows[i].Values[period+1] > 0 {
			t.add(&p.Rows[i])
		}
	}
	slices.SortFunc(t.entries, t.compare)
	return t
}

// add adds a row of the profile to the entries.
func (t *table) add(r *profile.Row) {
	period, count := r.Values[t.period], r.Values[t.period+1]
	t.total, t.samples = t.total+period, t.samples+count
	chain, thread := t.chain(r)
	leaf := t.functions.add(unmapped)
	if len(chain) > 0 {
		leaf = chain[len(chain)-1]
	}
	if t.opts.Chains != nil && !t.opts.Chains.Caller {
		slices.Reverse(chain)
	}
	whole := suffix{chain, period, count}
	e := t.entry(thread, leaf)
	e.self, e.samples = e.self+period, e.samples+count
	t.addChain(e, whole)
	if !t.opts.Children {
		return
	}
	e.children += period
	t.added = append(t.added[:0], e)
	for i, f := range chain {
		e := t.entry(thread, f)
		if slices.Contains(t.added, e) {
			continue // recursion counts once
		}
		t.added = append(t.added, e)
		e.children += period
		t.addChain(e, suffix{chain[i:], period, count})
	}
}

// addChain adds a callchain to an entry, if callchains are shown.
func (t *table) addChain(e *entry, s suffix) {
	if t.opts.Chains != nil && len(s.functions) > 0 {
		e.chains = append(e.chains, s)
		e.depth = max(e.depth, len(s.functions))
	}
}

// ranked returns the sum of periods that an entry is ranked by.
func (t *table) ranked(e *entry) uint64 {
	if t.opts.Children {
		return e.children
	}
	return e.self
}

// chain returns the functions of a row, root first, and the fields of its key that all functions of
// its callchain share.
func (t *table) chain(r *profile.Row) (chain []int, thread key) {
	p := t.profile
	thread.comm, thread.cpu = p.Processes[r.Process].Comm, -1
	var words []string
	for _, s := range [2]int{r.User, r.Kernel} {
		if s == profile.None {
			continue
		}
		for _, f := range p.Stacks[s].Frames {
			object := &p.Objects[p.Frames[f].Object]
			switch {
			case !object.Labels:
				chain = append(chain, t.functions.frames[f])
			case !object.Marks:
				words = append(words, p.Frames[f].Name)
			}
		}
	}
	for i, k := range t.opts.Labels() {
		if i < len(words) {
			t.set(&thread, k, words[i])
		}
	}
	return chain, thread
}

// set sets a field of a key to a label.
func (t *table) set(k *key, of Key, word string) {
	switch of {
	case Comm:
		k.comm = word
	case Thread:
		k.tid, _ = strconv.Atoi(word) // "[others]" is thread 0: the number of labels is bounded
	case CPU:
		k.cpu, _ = strconv.Atoi(word)
	}
}

// entry returns the entry of a function with the given fields of threads.
func (t *table) entry(thread key, function int) *entry {
	var k key
	for _, of := range t.opts.Keys {
		switch of {
		case Comm:
			k.comm = thread.comm
		case Thread:
			k.tid = thread.tid
		case CPU:
			k.cpu = thread.cpu
		case DSO:
			k.dso = t.functions.all[function].dso
		case Symbol:
			k.function = t.functions.entry[function]
		}
	}
	i, ok := t.index[k]
	if !ok {
		i = len(t.entries)
		t.index[k] = i
		t.entries = append(t.entries, &entry{key: k})
	}
	return t.entries[i]
}

// compare compares entries by their order in the table.
func (t *table) compare(a, b *entry) int {
	if t.opts.Children {
		// perf puts callers first only if the first samples of both are one thread's.
		callersFirst := cmp.Compare(a.depth, b.depth)
		if t.opts.Chains != nil && t.opts.Chains.Caller {
			callersFirst = -callersFirst
		}
		if c := cmp.Or(cmp.Compare(b.children, a.children), callersFirst); c != 0 {
			return c
		}
	}
	if c := cmp.Compare(b.self, a.self); c != 0 {
		return c
	}
	for _, k := range t.opts.Keys {
		if c := t.compareBy(k, a, b); c != 0 {
			return c
		}
	}
	return 0
}

func (t *table) compareBy(k Key, a, b *entry) int {
	switch k {
	case Comm:
		return strings.Compare(a.comm, b.comm)
	case DSO:
		return cmp.Or(compareBool(a.dso == unknownDSO, b.dso == unknownDSO), strings.Compare(a.dso, b.dso))
	case Thread:
		return cmp.Compare(a.tid, b.tid)
	case CPU:
		return cmp.Compare(a.cpu, b.cpu)
	}
	f, g := &t.functions.all[a.function], &t.functions.all[b.function]
	return cmp.Or(compareBool(f.name == "", g.name == ""), strings.Compare(f.name, g.name), cmp.Compare(g.start, f.start), strings.Compare(f.dso, g.dso))
}

// compareBool puts false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
