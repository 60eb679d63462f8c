// Package value represents the values of a running program of the one-liner language: single
// values, map keys, and maps with their aggregations. It knows neither the program's text nor how
// values are printed.
package value

// A Value is the value of an expression. Which of its fields matters depends on the type that the
// checker gave the expression (see package types):
//
//	Int, Bool, Pointer              N, sign-extended to 64 bits
//	String, Buffer, ProbeName       S, the bytes without a terminating zero
//	Array, Struct                   S, the bytes as they lie in memory
//	Tuple, Record                   T, the elements in order
//	KStack, UStack                  N, a number of the stack that the host gave out
//	KSym                            N, the address
//	USym                            N, a number of the address and process that the host gave out
//	Username                        N, the user id
//	Inet                            S, 4 or 16 bytes in network order
//	MAC                             S, 6 bytes
//	CgroupPath                      N, the cgroup id
//	Timestamp                       N, nanoseconds; S, strftime's format
//	Count, Sum, Min, Max, Avg       N, the number that the aggregation stands for
//
// A value that was read from memory later than its hit has an empty but non-nil T (see Late).
//
// Passing and storing an integer does not allocate.
type Value struct {
	N uint64
	S string
	T []Value
}

// Int returns the value of an integer.
func Int(n uint64) Value { return Value{N: n} }

// Signed returns the value of a signed integer.
func Signed(n int64) Value { return Value{N: uint64(n)} }

// Bool returns the value of a boolean.
func Bool(b bool) Value {
	if b {
		return Value{N: 1}
	}
	return Value{}
}

// String returns the value of a string, or of any other type that consists of bytes.
func String(s string) Value { return Value{S: s} }

// Tuple returns the value of a tuple or record. It keeps a reference to elems.
func Tuple(elems ...Value) Value { return Value{T: elems} }

// Late returns v marked as read later than its hit, so it may have changed since. v must not be a
// tuple.
func (v Value) Late() Value {
	v.T = []Value{}
	return v
}

// IsLate reports whether Late has marked the value.
func (v Value) IsLate() bool { return v.T != nil && len(v.T) == 0 }

// Signed returns the integer as a signed number.
func (v Value) Signed() int64 { return int64(v.N) }
