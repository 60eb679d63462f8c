// Package show prints what programs of the one-liner language print, byte for byte as bpftrace
// does: printf, values, maps, histograms and messages, as text and as JSON.
package show

// A Dialect is how a bpftrace prints, where its releases differ.
type Dialect struct {
	Name string

	// Attached says "Attached 1 probe" on standard error when the probes are attached, instead
	// of "Attaching 1 probe..." on standard output.
	Attached bool
	// Compact leaves out the space after the name of a map with a histogram, the empty line
	// after avg and stats, and a map without keys that has no value: it prints its zero.
	Compact bool
	// Counted prints the zero of a count without keys that has none.
	Counted bool
	// Records shows stats as the record { .count = 1, .average = 2, .total = 2 }.
	Records bool
	// RawPercents leaves %% behind the last conversion of a format as it is.
	RawPercents bool
	// NilPointers prints %p of 0 as (nil), as C does.
	NilPointers bool
	// Enums prints enums by name.
	Enums bool
	// HexPointers prints pointers that are values as hexadecimal numbers, as those that are keys.
	HexPointers bool
	// Singles writes an interval of a linear histogram that holds one number as [5].
	Singles bool
	// Units writes the bounds of every linear histogram with K and M, not only of those whose
	// step is a multiple of 1024.
	Units bool
	// KeyIndent is how far the frames of a stack in a key are indented.
	KeyIndent int
	// DebugInfo gives frames of user stacks source lines, and inlined calls frames, unless the
	// program sets show_debug_info.
	DebugInfo bool
	// Trailer stands behind a string that was cut.
	Trailer string
	// Subseconds makes strftime's %k the nanoseconds and %l the milliseconds of the second.
	Subseconds bool
	// Counts adds to JSON messages what newer releases add: the count of attached probes.
	Counts bool
	// GapInJSON prints the empty lines before the maps among JSON messages, too.
	GapInJSON bool
	// Quoted writes numbers in JSON that a 64-bit floating point number can't hold as strings.
	Quoted bool
	// Separator stands between the intervals of a histogram in JSON.
	Separator string
}

// Debian returns the dialect of bpftrace 0.17, which Debian 12 installs.
func Debian() Dialect {
	return Dialect{
		Name:        "0.17",
		RawPercents: true,
		NilPointers: true,
		Counted:     true,
		Units:       true,
		GapInJSON:   true,
		KeyIndent:   4,
		Separator:   ", ",
	}
}

// Current returns the dialect of bpftrace 0.26.
func Current() Dialect {
	return Dialect{
		Name:        "current",
		Attached:    true,
		Compact:     true,
		Records:     true,
		Enums:       true,
		HexPointers: true,
		Singles:     true,
		KeyIndent:   8,
		DebugInfo:   true,
		Trailer:     "..",
		Subseconds:  true,
		Counts:      true,
		Quoted:      true,
		Separator:   ",",
	}
}

// Default returns the dialect that programs get when they name none. Lines have the layout of
// 0.17, which scripts that read them know from nearly every release; where 0.17 loses
// something (the names of enums, that a string was cut, the sign of a percent), the default
// does as the current release.
func Default() Dialect {
	d := Debian()
	d.Name = "default"
	d.RawPercents = false
	d.GapInJSON = false
	d.Counts = true
	d.Enums = true
	d.HexPointers = true
	d.Trailer = ".."
	return d
}

// Find returns the dialect of a name.
func Find(name string) (Dialect, bool) {
	for _, d := range []Dialect{Default(), Debian(), Current()} {
		if d.Name == name {
			return d, true
		}
	}
	return Dialect{}, false
}
