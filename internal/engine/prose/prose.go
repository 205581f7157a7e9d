// Package prose lays out what reports say to people in lines that fit a terminal.
package prose

import "strings"

// Width is how many columns a line has at most, unless one word is longer.
const Width = 80

// Printer writes lines that fit.
type Printer struct{ strings.Builder }

// Line writes text that begins at indent, and goes on at hang.
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
