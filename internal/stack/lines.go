package stack

// LineCopy is how many bytes of the user stack are copied at each event that is printed with its
// stack. It is enough for most stacks, and the rings can still take a storm of events.
const LineCopy = 16 << 10

// Lines returns the Stacks for events that are printed one by one.
func Lines(user, kernel bool) Stacks {
	return Stacks{User: user, Kernel: kernel, Unwind: Auto, Copy: LineCopy}
}
