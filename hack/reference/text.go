package main

import (
	"regexp"
	"strings"
)

// code returns a text as code, in a cell of a table.
func code(s string) string { return "`" + cell(s) + "`" }

// cell returns a text in one line, with escaped bars.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", `\|`)
}

// named matches the Go name of a field at the beginning of its description.
var named = regexp.MustCompile(`^([A-Z]\w+) (?:is |are )?`)

// sentence returns the description of a Go field for a row that begins with the field, without its name and "is".
func sentence(description, field string) string {
	text := cell(description)
	if m := named.FindStringSubmatch(text); m != nil && strings.Contains(strings.ToLower(m[1]), strings.ToLower(field)) {
		text = strings.TrimPrefix(text, m[0])
	}
	return text
}

// row writes a row of a table.
func row(b *strings.Builder, cells ...string) {
	b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// head writes the first two lines of a table.
func head(b *strings.Builder, titles ...string) {
	row(b, titles...)
	b.WriteString("|" + strings.Repeat("---|", len(titles)) + "\n")
}
