package output

import (
	"io"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// WriteTable writes rows of text under a heading, drawn or as tab-separated lines, like
// WriteTables. Every row must have as many cells as the heading.
func WriteTable(w io.Writer, heading []string, rows [][]string, opts TableOptions) error {
	t := table{heading: heading, align: strings.Repeat("l", len(heading)), narrow: true, wrap: " "}
	for _, row := range rows {
		escaped := make([]string, len(row))
		for i, cell := range row {
			escaped[i] = escape.Text(cell)
		}
		t.rows = append(t.rows, escaped)
	}
	return t.write(w, opts)
}
