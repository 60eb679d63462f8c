package stack

// LineCopy is how much of the user stack comes with each event that is shown with its
// stack, in bytes: enough for most, and a storm of events still fits the rings.
const LineCopy = 16 << 10

// Lines are the stacks of events that are shown one by one.
func Lines(user, kernel bool) Stacks {
	return Stacks{User: user, Kernel: kernel, Unwind: Auto, Copy: LineCopy}
}
