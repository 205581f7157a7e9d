package rows

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// line is a row of a table, with the number of the section that it is in.
type line struct {
	section string
	cells   []string
	number  int
}

var numbered = regexp.MustCompile(`^#{2,3} (\d+(?:\.\d+)?)\b`)

// tables are the rows of all tables of a text, without those that name the columns.
func tables(text string) (out []line) {
	section, within := "", 0
	for i, l := range strings.Split(text, "\n") {
		if found := numbered.FindStringSubmatch(l); found != nil {
			section = found[1]
		}
		if !strings.HasPrefix(l, "|") {
			within = 0
			continue
		}
		if within++; within > 2 {
			out = append(out, line{section, cellsOf(l), i + 1})
		}
	}
	return out
}

// cellsOf are the cells of a row. A bar behind a backslash is part of its cell.
func cellsOf(row string) (out []string) {
	const bar = "\x00"
	row = strings.Trim(strings.ReplaceAll(strings.TrimSpace(row), `\|`, bar), "|")
	for cell := range strings.SplitSeq(row, "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(cell), bar, `\|`))
	}
	return out
}

// page is one that maps notes to tests.
type page struct {
	file, notes string
	// sections are those of the notes that it maps, with all below them.
	sections []string
	// keys are the columns by which rows of a section are known, where that is not the first.
	keys map[string]int
}

func (p page) maps(section string) bool {
	above, _, _ := strings.Cut(section, ".")
	return slices.Contains(p.sections, section) || slices.Contains(p.sections, above)
}

// missing are the rows of the notes that the page does not have.
func (p page) missing(notes, text string) (problems []string) {
	has := map[string]bool{}
	for _, l := range tables(text) {
		has[l.section+" "+l.cells[0]] = true
	}
	for _, l := range tables(notes) {
		if key := l.section + " " + l.cells[p.keys[l.section]]; p.maps(l.section) && !has[key] {
			problems = append(problems, "has no row "+key)
		}
	}
	return problems
}

var (
	inCode = regexp.MustCompile("`([^`]+)`")
	tested = regexp.MustCompile(`^([\w/.-]+): (Test\w+)(?:/(.+))?$`)
	linked = regexp.MustCompile(`\[([^\]]+)\]\(\.\./([a-z]+)\.md#([\w-]+)\)`)
)

// tree is what pages may refer to.
type tree struct {
	// tests are the test functions, as "dir: TestName".
	tests map[string]bool
	// texts are the literals in test files, by folder.
	texts map[string]map[string]bool
	// lines are the first cells of tables of documents, as "document#anchor cell".
	lines []string
}

// unfounded says what is wrong with the last cells of a page: each names tests, lines of other documents, or both.
func (t tree) unfounded(text string) (problems []string) {
	for _, l := range tables(text) {
		held := l.cells[len(l.cells)-1]
		links := linked.FindAllStringSubmatch(held, -1)
		spans := inCode.FindAllStringSubmatch(linked.ReplaceAllString(held, ""), -1)
		if len(l.cells) != 3 || len(links)+len(spans) == 0 {
			problems = append(problems, fmt.Sprintf("line %d names neither a test nor a line of another document", l.number))
		}
		for _, s := range spans {
			if problem := t.test(s[1]); problem != "" {
				problems = append(problems, fmt.Sprintf("line %d: %s", l.number, problem))
			}
		}
		for _, s := range links {
			if !slices.ContainsFunc(t.lines, func(have string) bool { return strings.HasPrefix(have, s[2]+"#"+s[3]+" "+s[1]) }) {
				problems = append(problems, fmt.Sprintf("line %d: docs/%s.md has no line %q below #%s", l.number, s[2], s[1], s[3]))
			}
		}
	}
	return problems
}

// test says what is wrong with the name of a test, "dir: TestName" or "dir: TestName/row".
func (t tree) test(name string) string {
	found := tested.FindStringSubmatch(name)
	switch {
	case found == nil:
		return name + " is no name of a test"
	case !t.tests[found[1]+": "+found[2]]:
		return found[1] + " has no " + found[2]
	case found[3] != "" && !t.texts[found[1]][found[3]]:
		return fmt.Sprintf("no test of %s has a row %q", found[1], found[3])
	}
	return ""
}

// anchored are the first cells of the tables of a document, behind the anchor of the heading that they are below.
func anchored(name, text string) (out []string) {
	anchor := ""
	for l := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(l, "#"):
			anchor = slug(strings.TrimLeft(l, "# "))
		case strings.HasPrefix(l, "|"):
			out = append(out, name+"#"+anchor+" "+cellsOf(l)[0])
		case strings.HasPrefix(l, "- ") || strings.HasPrefix(l, "  - "): // the roadmap has lists
			_, item, _ := strings.Cut(l, "] ")
			out = append(out, name+"#"+anchor+" "+item)
		}
	}
	return out
}

// slug is the anchor of a heading.
func slug(heading string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ' || r == '-':
			out.WriteByte('-')
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_':
			out.WriteRune(r)
		}
	}
	return out.String()
}
