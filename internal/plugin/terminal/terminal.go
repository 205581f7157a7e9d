// Package terminal returns the size of a terminal and shortens text to fit. If a line wrapped, a program that redraws
// its output would overwrite the wrong lines.
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

// Size is the size of a terminal in characters.
type Size struct{ Width, Height int }

// usual is the assumed size of a terminal that does not report its size.
var usual = Size{Width: 80, Height: 24}

// Is reports whether out is a terminal in which a program can move the cursor.
func Is(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(file.Fd()))
}

// SizeOf returns the current size of out. The user may change the size at any time. The default is 80 x 24.
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

// Line returns text as one line of at most width-1 characters, because some terminals wrap after a character in the
// last column. Characters below U+0020 become spaces. A shortened line ends with an ellipsis.
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
	// Short has shorter cells for a narrow terminal. If Short is nil, the table uses Cells.
	Short []string
	// Drop is the order in which the table omits columns to fit, 1 first. The table never omits a column with 0.
	Drop int
	// Tail means that the ends of the cells distinguish the rows. The table shortens such cells at the beginning, as
	// the last step.
	Tail bool
}

// Table returns the lines of a table that fits into size. To fit, it first uses short cells, then omits columns, then
// shortens cells. If Table omits rows, the last line has their number.
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

// wide returns the length of the longest line in characters.
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
	// One line of the terminal stays free for the cursor.
	if most := max(size.Height-1, 2); len(out) > most {
		left := len(out) - most + 1
		out = append(out[:most-1], Line(fmt.Sprintf("and %d more", left), size.Width))
	}
	return out
}
