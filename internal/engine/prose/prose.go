// Package prose wraps the texts of reports into lines that fit a terminal.
package prose

import "strings"

// Width is the maximum number of columns of a line, unless one word is longer.
const Width = 80

// Printer writes lines that fit a terminal.
type Printer struct{ strings.Builder }

// Line writes text that begins at indent, and continues at hang.
func (p *Printer) Line(indent, hang int, text string) {
	col := indent
	p.WriteString(strings.Repeat(" ", indent))
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case col+1+len([]rune(word)) > Width:
			p.WriteString("\n" + strings.Repeat(" ", hang))
			col = hang
		default:
			p.WriteString(" ")
			col++
		}
		p.WriteString(word)
		col += len([]rune(word))
	}
	p.WriteString("\n")
}
