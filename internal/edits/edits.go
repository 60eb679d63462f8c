// Package edits tells how much two names differ, for messages that offer what
// may have been meant.
package edits

// Distance is the number of bytes to change, insert or delete to make b of a
// (Levenshtein). It works in row, which is made if it has not len(b)+1 places.
func Distance(a, b string, row []int) int {
	if len(row) <= len(b) {
		row = make([]int, len(b)+1)
	}
	row = row[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
