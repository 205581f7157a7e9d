package tidy

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The notes on the originals, in docs/originals.
const (
	gardenerNotes  = "gardener.md"
	openshiftNotes = "openshift.md"
	providerNotes  = "providers.md"
)

var (
	heading = regexp.MustCompile(`(?m)^#{2,3} (\d+(?:\.\d+)?)\b`)
	coded   = regexp.MustCompile(`(?m)^\| ([CPTW]\d{1,2}) \|`)

	aboutNotes = regexp.MustCompile(`(?i)\bsections? \d|\bnotes\b|\b(Gardener|OpenShift) \d+\.\d`)
	section    = regexp.MustCompile(`(?i)\b(?:sections?|Gardener|OpenShift|providers\.md) (\d{1,2}(?:\.\d{1,2})?)((?:(?:,| and| to) \d{1,2}\.\d{1,2})*)\b`)
	number     = regexp.MustCompile(`\d{1,2}\.\d{1,2}`)
	code       = regexp.MustCompile(`\b([CPTW]\d{1,2})\b`)
)

// percentiles look like codes.
var percentiles = []string{"P50", "P90", "P95", "P99"}

// Notes are what can be referred to: section numbers and codes, by file.
type Notes map[string]map[string]bool

// ReadNotes takes in the texts of the notes, by the names of their files.
func ReadNotes(texts map[string]string) Notes {
	notes := Notes{}
	for name, text := range texts {
		notes[name] = map[string]bool{}
		for _, expression := range []*regexp.Regexp{heading, coded} {
			for _, found := range expression.FindAllStringSubmatch(text, -1) {
				notes[name][found[1]] = true
			}
		}
	}
	return notes
}

// has reports whether a reference resolves in one of the files.
func (n Notes) has(reference string, files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool { return n[file][reference] })
}

// References checks that the sections and codes that comments refer to are in the notes.
func (n Notes) References(files []*File) []Violation {
	return each(files, func(file *File) []Violation {
		var violations []Violation
		for _, group := range file.Syntax.Comments {
			text := group.Text()
			in := meant(file, text)
			for _, reference := range references(text) {
				if !n.has(reference, in) {
					violations = append(violations, file.violation(group.Pos(), "refers to %s, which is not in docs/originals (%s)", reference, strings.Join(in, ", ")))
				}
			}
		}
		return violations
	})
}

// Codes checks the codes in brackets of a document, which may be of any of the notes.
func (n Notes) Codes(name, text string) []Violation {
	return eachLine(map[string]string{name: text}, func(_, line string) (problems []string) {
		for _, found := range code.FindAllStringSubmatch(line, -1) {
			if !slices.Contains(percentiles, found[1]) && !n.has(found[1], slices.Sorted(maps.Keys(n))) {
				problems = append(problems, "refers to "+found[1]+", which is not in docs/originals")
			}
		}
		return problems
	})
}

// references are the sections and codes in a comment. Sections without a number after a point count only behind the word.
func references(text string) (out []string) {
	text = strings.ReplaceAll(text, "\n", " ")
	for _, found := range section.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "RFC") {
			out = append(out, found[1])
			out = append(out, number.FindAllString(found[2], -1)...)
		}
	}
	for _, found := range code.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(percentiles, found[1]) {
			out = append(out, found[1])
		}
	}
	return out
}

// meant are the notes that a comment may mean: those that it names, else those of its package's API, else either.
func meant(file *File, text string) []string {
	gardener, openshift := strings.Contains(text, "Gardener"), strings.Contains(text, "OpenShift")
	switch path := strings.ToLower(file.Path); {
	case strings.Contains(text, providerNotes):
		return []string{providerNotes}
	case gardener != openshift && aboutNotes.MatchString(text):
		return pick(gardener)
	case gardener || openshift:
		return []string{gardenerNotes, openshiftNotes}
	case strings.Contains(path, "gardener") != strings.Contains(path, "openshift"):
		return pick(strings.Contains(path, "gardener"))
	}
	return []string{gardenerNotes, openshiftNotes}
}

func pick(gardener bool) []string {
	if gardener {
		return []string{gardenerNotes}
	}
	return []string{openshiftNotes}
}
