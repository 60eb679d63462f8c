package show

import "time"

// Names says what stands for the numbers in values.
type Names interface {
	// Stack returns the frames of a stack, innermost first, each as a line without indentation.
	Stack(n uint64, user bool, mode string) []string
	// Symbol returns the name of an address: of the kernel's the address itself, of a user's
	// the number that the host gave out.
	Symbol(n uint64, user bool) string
	// User returns the name of a user.
	User(uid uint64) string
	// Cgroup returns the path of a cgroup.
	Cgroup(id uint64) string
	// Enum returns the name of a value of an enum.
	Enum(enum string, n uint64) (string, bool)
	// PageFlags returns the names of the flags of an allocation in the kernel (gfp_t).
	PageFlags(flags uint64) string
	// Wall returns the time of the wall clock for nanoseconds since the machine started.
	Wall(nsecs uint64) time.Time
}
