package ftrace

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

const headerPage61 = `	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:1;
`

func layout61(t testing.TB) pageLayout {
	t.Helper()
	layout, err := parsePageLayout(headerPage61)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// page makes a page of words.
func page(time, commit uint64, words ...uint32) []byte {
	b := binary.LittleEndian.AppendUint64(nil, time)
	b = binary.LittleEndian.AppendUint64(b, commit)
	for _, word := range words {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	return append(b, make([]byte, 4096-len(b))...)
}

func head(kind, delta uint32) uint32 { return delta<<5 | kind }

func TestThePageLayoutIsTheKernels(t *testing.T) {
	if got, want := layout61(t), (pageLayout{commit: 8, data: 16, size: 4096}); got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
	for _, text := range []string{"", "field: char data; offset:16; size:0;", strings.Replace(headerPage61, "offset:16", "offset:8", 1),
		strings.Replace(headerPage61, "4080", "-1", 1), strings.Replace(headerPage61, "4080", "99999999999", 1), strings.Replace(headerPage61, "commit", "x", 1)} {
		if _, err := parsePageLayout(text); err == nil {
			t.Errorf("%q is taken for a layout", text)
		}
	}
}

func TestRecordsOfAPage(t *testing.T) {
	type record struct {
		time, lost uint64
		length     int
	}
	for _, test := range []struct {
		name string
		page []byte
		want []record
	}{
		{"two of the same size", page(1000, 24, head(2, 5), 1, 2, head(2, 7), 3, 4), []record{{1005, 0, 8}, {1012, 0, 8}}},
		{"one whose length has a word of its own", page(1000, 16, head(0, 5), 12, 1, 2), []record{{1005, 0, 8}}},
		{"a long time between", page(1000, 16, head(kindExtend, 3), 2, head(1, 5), 1), []record{{1000 + 3 + 2<<27 + 5, 0, 4}}},
		{"a whole time stamp", page(1000, 16, head(kindStamp, 3), 2, head(1, 5), 1), []record{{3 + 2<<27 + 5, 0, 4}}},
		{"a whole time stamp keeps the bits above it", page(1<<60+5, 16, head(kindStamp, 7), 0, head(1, 0), 1), []record{{1<<60 + 7, 0, 4}}},
		{"one that was thrown away", page(1000, 24, head(kindPadding, 1), 8, 0, head(1, 5), 1, head(kindPadding, 0)), []record{{1005, 0, 4}}},
		{"records before it are missing", page(1000, 8|missedEvents|missedStored, head(1, 5), 1, 77, 0), []record{{1005, 77, 4}}},
		{"records before it are missing, no one knows how many", page(1000, 8|missedEvents, head(1, 5), 1), []record{{1005, LostSome, 4}}},
		{"nothing", page(1000, 0, head(1, 5), 1), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			entries, err := layout61(t).appendPage(nil, test.page, 3)
			if err != nil {
				t.Fatal(err)
			}
			var got []record
			for _, e := range entries {
				if e.CPU != 3 {
					t.Errorf("CPU %d", e.CPU)
				}
				got = append(got, record{e.Time, e.Lost, len(e.Raw)})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%+v; want %+v", got, test.want)
			}
		})
	}
}

func TestAPageThatIsCutIsAnError(t *testing.T) {
	for _, b := range [][]byte{nil, make([]byte, 15), page(0, 5000), page(0, 8, head(9, 1), 1), page(0, 8, head(0, 1), 2)} {
		if _, err := layout61(t).appendPage(nil, b, 0); err == nil {
			t.Errorf("a page of %d bytes is taken: % x", len(b), b[:min(len(b), 24)])
		}
	}
}

func FuzzPage(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(page(1000, 24, head(2, 5), 1, 2, head(2, 7), 3, 4))
	f.Add(page(1000, 24, head(kindExtend, 3), 2, head(kindPadding, 1), 8, 0, head(0, 5)))
	f.Add(page(1000, 13, head(0, 5), 7, 1, 2))
	layout := layout61(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, _ := layout.appendPage(nil, b, 0)
		total := 0
		for _, e := range entries {
			e.Type()
			e.PID()
			total += len(e.Raw) + 4
		}
		if total > len(b) {
			t.Errorf("records of %d bytes in a page of %d", total, len(b))
		}
	})
}

func FuzzPageLayout(f *testing.F) {
	f.Add(headerPage61)
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := parsePageLayout(text); err == nil {
			l.appendPage(nil, make([]byte, min(l.size, 1<<16)), 0)
		}
	})
}
