package ftrace

// AppendHead appends what a line of the kernel's trace begins with, up to and
// including the colon and blank behind the time, for a record that is no user
// probe's. See AppendLine.
func AppendHead(dst []byte, comm []byte, tid int, cpu int, nanoseconds uint64, raw []byte) []byte {
	return appendHead(dst, comm, tid, cpu, nanoseconds, raw, false)
}

func appendHead(dst []byte, comm []byte, tid int, cpu int, nanoseconds uint64, raw []byte, userProbe bool) []byte {
	if tid <= 0 {
		tid = recordPID(raw)
	}
	dst = appendTask(dst, comm, tid)
	dst = append(dst, " ["...)
	dst = appendDecimal(dst, uint64(max(cpu, 0)), 3, '0')
	dst = append(dst, "] "...)
	dst = appendState(dst, raw, userProbe)
	dst = append(dst, ' ')
	dst = appendTime(dst, nanoseconds)
	return append(dst, ": "...)
}
