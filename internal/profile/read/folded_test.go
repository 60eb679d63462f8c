package read

import (
	"strings"
	"testing"
)

func TestFoldedLines(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"equal stacks are added", "a;b 1\na;b 2\n", "a;b 3\n"},
		{"a process without a stack", "idle 4\n", "idle 4\n"},
		{"blanks in names", "my app;operator new(unsigned long) 5\n", "my app;operator new(unsigned long) 5\n"},
		{"the ends of lines", "a;b\t1  \r\n\na;c 2", "a;b 1\na;c 2\n"},
		{"comments", "# a\n#\na;b 1\n# c 5\n", "a;b 1\n"},
		{"a process that starts like a comment", "#a;b 1\n", "#a;b 1\n"},
		{"marks", "a;u;j_[j];m_[i];k_[k];l_[i] 2\n", "a;u;j;m_[i];k_[k];l_[i] 2\n"},
		{"user code that a kernel frame called", "a;k_[k];u;l_[k] 2\n", "a;k_[k];u;l_[k] 2\n"},
		{"an inlined function without another", "a;b_[i];c 1\n", "a;b;c 1\n"},
		{"a mark alone", "a;_[k] 1\n", "a;[unknown] ([kernel])_[k] 1\n"},
		{"a kernel frame without a name", "a;[unknown] ([kernel])_[k];[unknown] ([nf])_[k] 1\n", "a;[unknown] ([kernel])_[k];[unknown] ([nf])_[k] 1\n"},
		{"the kernel without a mark", "a;[unknown] ([kernel]) 1\n", "a;[unknown] ([kernel]) 1\n"},
		{"a missing root", "a;[truncated];b;[truncated];k_[k] 1\n", "a;[truncated];b;[truncated];k_[k] 1\n"},
		{"what is missing in the middle", "a;b;[truncated];c 1\n", "a;b;[truncated];c 1\n"},
		{"the largest value", "a;b 18446744073709551615\n", "a;b 18446744073709551615\n"},
		{"a byte order mark", "\ufeffa;b 1\n", "a;b 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := foldedText(t, read(t, []byte(tt.in)), ""); got != tt.want {
				t.Errorf("%q is read as %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestFoldedStacksAreSplitWhereTheKernelStarts(t *testing.T) {
	p := read(t, []byte("a;[truncated];b;k_[k];l_[k] 1\n"))
	r := p.Rows[0]
	if u, k := p.Stacks[r.User], p.Stacks[r.Kernel]; !u.Truncated || len(u.Frames) != 1 || k.Truncated || len(k.Frames) != 2 {
		t.Errorf("user %+v, kernel %+v", u, k)
	}
}

func TestADifferenceOfFoldedStacksIsRefused(t *testing.T) {
	if _, err := Profile("p", strings.NewReader("a;b 1 2\na;c 3 4\n")); err == nil || !strings.Contains(err.Error(), "difference of two profiles") {
		t.Errorf("%v", err)
	}
	if p := read(t, []byte("a;worker 3 7\na;c 2\n")); len(p.Rows) != 2 { // a name that ends in a number
		t.Errorf("%d rows", len(p.Rows))
	}
}
