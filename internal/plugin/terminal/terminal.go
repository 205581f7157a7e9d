// Package terminal describes the terminal of the output, and makes text fit there: a line that wraps breaks
// the output that is drawn over it.
package terminal

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Size is that of a terminal, in characters.
type Size struct{ Width, Height int }

// usual is the size of a terminal that does not report it.
var usual = Size{Width: 80, Height: 24}

// Is reports whether out is a terminal on which the cursor can be moved.
func Is(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// SizeOf is the present size of out: a user may change it at any time.
func SizeOf(out io.Writer) Size {
	file, ok := out.(*os.File)
	if !ok {
		return usual
	}
	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return usual
	}
	return Size{Width: width, Height: height}
}

const (
	ellipsis = "…"
	gap      = "  "
)

// Line is text on one line that is shorter than width: some terminals begin another line after a character
// in their last column.
func Line(text string, width int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, text)
	most := max(width-1, 0)
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	if most == 0 {
		return ""
	}
	return string([]rune(text)[:most-1]) + ellipsis
}

// Column is one column of a table.
type Column struct {
	Title string
	Cells []string
	// Short are the cells where there is little room; nil: the same.
	Short []string
	// Drop is the order in which columns are left out if there is still no room, 1 first; 0 is never.
	Drop int
	// Tail says that the cells differ at their ends, so that they are cut in front as a last resort.
	Tail bool
}

// Table is a table that fits into size, in lines: first with short cells, then with fewer columns, then
// with names that are cut. If rows are left out, the last line says how many.
func Table(columns []Column, size Size) []string {
	columns = slices.Clone(columns)
	for i := range columns {
		if c := &columns[i]; wide(columns) >= size.Width && c.Short != nil {
			c.Cells = c.Short
		}
	}
	for wide(columns) >= size.Width {
		next := nextToDrop(columns)
		if next < 0 {
			break
		}
		columns = slices.Delete(columns, next, next+1)
	}
	for i := range columns {
		if c := &columns[i]; c.Tail {
			c.Cells = tails(c.Cells, c.width()-max(wide(columns)-size.Width+1, 0))
		}
	}
	return rows(columns, size)
}

func (c Column) width() int {
	out := utf8.RuneCountInString(c.Title)
	for _, cell := range c.Cells {
		out = max(out, utf8.RuneCountInString(cell))
	}
	return out
}

// wide is the length of the longest line.
func wide(columns []Column) (out int) {
	for _, c := range columns {
		out += c.width() + len(gap)
	}
	return out - len(gap)
}

func nextToDrop(columns []Column) int {
	out := -1
	for i, c := range columns {
		if c.Drop > 0 && (out < 0 || c.Drop < columns[out].Drop) {
			out = i
		}
	}
	return out
}

func tails(cells []string, most int) []string {
	out := make([]string, len(cells))
	for i, cell := range cells {
		out[i] = cell
		if letters := []rune(cell); len(letters) > most && most > 0 {
			out[i] = ellipsis + string(letters[len(letters)-most+1:])
		}
	}
	return out
}

func rows(columns []Column, size Size) (out []string) {
	if len(columns) == 0 {
		return nil
	}
	row := func(cell func(Column) string) string {
		var b strings.Builder
		for _, c := range columns {
			text := cell(c)
			b.WriteString(text + strings.Repeat(" ", c.width()-utf8.RuneCountInString(text)) + gap)
		}
		return Line(strings.TrimRight(b.String(), " "), size.Width)
	}
	out = append(out, row(func(c Column) string { return c.Title }))
	for i := range columns[0].Cells {
		out = append(out, row(func(c Column) string { return c.Cells[i] }))
	}
	// The cursor is below the last line.
	if most := max(size.Height-1, 2); len(out) > most {
		left := len(out) - most + 1
		out = append(out[:most-1], Line(fmt.Sprintf("and %d more", left), size.Width))
	}
	return out
}
