// Package show prints the output of programs in the one-liner language byte for byte as bpftrace
// does: printf, values, maps, histograms and messages, as text and as JSON.
package show

// A Dialect describes the output of a bpftrace release, as far as releases differ.
type Dialect struct {
	Name string

	// attached prints "Attached 1 probe" on standard error after the probes are attached, instead
	// of "Attaching 1 probe..." on standard output.
	attached bool
	// Compact omits the space after the name of a map with a histogram, and the empty line after
	// avg and stats. A map without keys and without a value prints its zero.
	Compact bool
	// counted prints 0 for a count() without keys that has no value.
	counted bool
	// records prints stats as the record { .count = 1, .average = 2, .total = 2 }.
	records bool
	// rawPercents prints %% after the last conversion of a format unchanged.
	rawPercents bool
	// nilPointers prints %p of 0 as (nil), as C does.
	nilPointers bool
	// enums prints enums by name.
	enums bool
	// hexPointers prints pointer values in hexadecimal, like pointers in keys.
	hexPointers bool
	// Singles prints an interval of a linear histogram that contains one number as [5].
	Singles bool
	// Units prints the bounds of every linear histogram with K and M, not only if its step is a
	// multiple of 1024.
	Units bool
	// keyIndent is the indentation of stack frames in a key.
	keyIndent int
	// DebugInfo prints source lines in user stacks, and frames for inlined calls, unless the
	// program sets show_debug_info.
	DebugInfo bool
	// Trailer is printed after a string that was cut short.
	Trailer string
	// subseconds makes strftime's %k print nanoseconds and %l print milliseconds of the second.
	subseconds bool
	// counts adds the count of attached probes to JSON messages, as newer releases do.
	counts bool
	// gapInJSON prints the empty lines before the maps even among JSON messages.
	gapInJSON bool
	// quoted prints numbers in JSON as strings if a 64-bit floating-point number cannot hold them.
	quoted bool
	// Separator separates the intervals of a histogram in JSON.
	Separator string
}

// Debian returns the dialect of bpftrace 0.17, which Debian 12 ships.
func Debian() Dialect {
	return Dialect{
		Name:        "0.17",
		rawPercents: true,
		nilPointers: true,
		counted:     true,
		Units:       true,
		gapInJSON:   true,
		keyIndent:   4,
		Separator:   ", ",
	}
}

// Current returns the dialect of bpftrace 0.26.
func Current() Dialect {
	return Dialect{
		Name:        "current",
		attached:    true,
		Compact:     true,
		records:     true,
		enums:       true,
		hexPointers: true,
		Singles:     true,
		keyIndent:   8,
		DebugInfo:   true,
		Trailer:     "..",
		subseconds:  true,
		counts:      true,
		quoted:      true,
		Separator:   ",",
	}
}

// Default returns the dialect of programs that do not choose one. Its lines have the layout of
// 0.17, which nearly all releases share and scripts parse. It follows the current release where
// 0.17 loses information: names of enums, strings that were cut, a percent sign.
func Default() Dialect {
	d := Debian()
	d.Name = "default"
	d.rawPercents = false
	d.gapInJSON = false
	d.counts = true
	d.enums = true
	d.hexPointers = true
	d.Trailer = ".."
	return d
}

// Find returns the dialect with this name.
func Find(name string) (Dialect, bool) {
	for _, d := range []Dialect{Default(), Debian(), Current()} {
		if d.Name == name {
			return d, true
		}
	}
	return Dialect{}, false
}
