package show

import "time"

// Names translates numbers in values to names.
type Names interface {
	// Stack returns the frames of a stack, innermost first, one line per frame, without
	// indentation.
	Stack(n uint64, user bool, mode string) []string
	// Symbol returns the name of an address. For the kernel, n is the address itself. For a
	// program, it is a number that the host has assigned.
	Symbol(n uint64, user bool) string
	// User returns the name of a user.
	User(uid uint64) string
	// Cgroup returns the path of a cgroup.
	Cgroup(id uint64) string
	// Enum returns the name of an enum value.
	Enum(enum string, n uint64) (string, bool)
	// PageFlags returns the names of a kernel allocation's flags (gfp_t).
	PageFlags(flags uint64) string
	// Wall converts a time of CLOCK_MONOTONIC in nanoseconds to wall-clock time.
	Wall(nsecs uint64) time.Time
}
