package main

import (
	"bytes"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/millwright-dev/millwright/internal/plugin/terminal"
)

// Sizes of a picture, in pixels. Columns are characters.
const (
	columns    = 110
	charWidth  = 8
	lineHeight = 18
	margin     = 16
	titleBar   = 32
)

// draw returns a terminal with a command and its output, as SVG. It uses no-break spaces, because SVG collapses others.
func draw(command string, output []string) []byte {
	lines := append([]string{"$ " + command}, output...)
	width, height := columns*charWidth+2*margin, len(lines)*lineHeight+titleBar+2*margin
	b := &bytes.Buffer{}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%s">`+"\n", width, height, html.EscapeString("Output of "+command))
	fmt.Fprintf(b, `<rect width="%d" height="%d" rx="8" fill="#0d1117"/>`+"\n", width, height)
	for i, colour := range []string{"#ff5f56", "#ffbd2e", "#27c93f"} {
		fmt.Fprintf(b, `<circle cx="%d" cy="16" r="5" fill="%s"/>`+"\n", margin+8+i*18, colour)
	}
	fmt.Fprintln(b, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13">`)
	for i, line := range lines {
		fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" textLength="%d">%s</text>`+"\n",
			margin, titleBar+margin+i*lineHeight, colourOf(i, line), utf8.RuneCountInString(line)*charWidth, html.EscapeString(strings.ReplaceAll(line, " ", "\u00a0")))
	}
	fmt.Fprintln(b, "</g>\n</svg>")
	return b.Bytes()
}

// colourOf highlights the command, and the next step for the user.
func colourOf(i int, line string) string {
	switch {
	case i == 0:
		return "#7ee787"
	case strings.HasPrefix(line, "Next:"):
		return "#79c0ff"
	case strings.HasPrefix(line, "TIME ") || line == "Because:":
		return "#8b949e"
	}
	return "#e6edf3"
}

// clip shortens lines of a table that are too long.
func clip(text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = terminal.Line(lines[i], columns+1)
	}
	return lines
}

// wrap breaks lines at words, and indents the rest two columns further than the line.
func wrap(text string) (lines []string) {
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+2)
		for utf8.RuneCountInString(line) > columns {
			at := strings.LastIndex(line[:columns], " ")
			if at <= len(indent) {
				break
			}
			lines, line = append(lines, line[:at]), indent+line[at+1:]
		}
		lines = append(lines, line)
	}
	return lines
}
