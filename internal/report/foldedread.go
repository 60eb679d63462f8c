package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/visible"
)

const (
	maxFoldedLine = 1 << 20 // bytes of one line
	maxFolded     = 1 << 29 // bytes of a whole file
)

// ReadFolded reads folded stacks as WriteFolded and the stackcollapse programs
// write them: one stack a line, frames joined by semicolons, a space, a whole
// number. Lines come in the order of the file and are not merged; empty lines
// are skipped. Text is escaped as WriteFolded does it.
//
// An error names the line. A line of more than 1 MiB and a file of more than
// 512 MiB are refused.
func ReadFolded(r io.Reader) ([]FoldedLine, error) {
	limited := &io.LimitedReader{R: r, N: maxFolded + 1}
	scanner := bufio.NewScanner(limited)
	scanner.Buffer(nil, maxFoldedLine)
	var lines []FoldedLine
	for n := 1; scanner.Scan(); n++ {
		text := strings.TrimSuffix(scanner.Text(), "\r")
		if strings.TrimSpace(text) == "" {
			continue
		}
		line, err := parseFolded(text)
		if err != nil {
			return nil, fmt.Errorf("read folded stacks: line %d: %w", n, err)
		}
		lines = append(lines, line)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read folded stacks: after %d stacks: %w", len(lines), err)
	}
	if limited.N == 0 {
		return nil, fmt.Errorf("read folded stacks: more than %d MiB", maxFolded>>20)
	}
	return lines, nil
}

func parseFolded(text string) (FoldedLine, error) {
	i := strings.LastIndexByte(text, ' ')
	if i < 0 {
		return FoldedLine{}, errors.New(`no space between stack and value: want "frame;frame VALUE"`)
	}
	value, err := strconv.ParseUint(text[i+1:], 10, 64)
	if err != nil {
		return FoldedLine{}, fmt.Errorf("value %.40q is not a whole number", text[i+1:])
	}
	frames := strings.Split(text[:i], ";")
	for n := range frames {
		frames[n] = visible.Text(frames[n])
	}
	return FoldedLine{frames, value}, nil
}
