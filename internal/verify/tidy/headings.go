package tidy

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

var (
	anyHeading = regexp.MustCompile(`^#+ +(.*)$`)
	// linked is a link within a heading, of which only the words count.
	linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	// dropped is what an anchor leaves out of its heading.
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	// testName is a test as prose names it.
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`")
)

// Anchors checks that the headings which Markdown files link to are there.
func Anchors(documents map[string]string) []Violation {
	places := map[string]map[string]bool{}
	for name, text := range documents {
		places[name] = anchorsOf(text)
	}
	return eachLine(documents, func(name, line string) (problems []string) {
		for _, found := range link.FindAllStringSubmatch(quoted.ReplaceAllString(line, ""), -1) {
			target, anchor, has := strings.Cut(found[1], "#")
			if !has || strings.Contains(target, ":") {
				continue
			}
			to := name
			if target != "" {
				to = path.Join(path.Dir(name), target)
			}
			if known, is := places[to]; is && !known[anchor] {
				problems = append(problems, fmt.Sprintf("links to %s#%s, and there is no such heading", to, anchor))
			}
		}
		return problems
	})
}

// anchorsOf are what a text's headings are linked by.
func anchorsOf(text string) map[string]bool {
	out := map[string]bool{}
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if m := anyHeading.FindStringSubmatch(strings.TrimSpace(line)); m != nil && !code {
			words := dropped.ReplaceAllString(strings.ToLower(linked.ReplaceAllString(m[1], "$1")), "")
			out[strings.ReplaceAll(words, " ", "-")] = true
		}
	}
	return out
}

// NamedTests checks that the tests which prose names in backticks are there.
func NamedTests(documents map[string]string, files []*File) []Violation {
	declared := map[string]bool{}
	for _, file := range files {
		if !file.Test {
			continue
		}
		for _, decl := range file.Syntax.Decls {
			if f, is := decl.(*ast.FuncDecl); is && f.Recv == nil {
				declared[f.Name.Name] = true
			}
		}
	}
	return eachLine(documents, func(_, line string) (problems []string) {
		for _, found := range testName.FindAllStringSubmatch(line, -1) {
			if !declared[found[1]] {
				problems = append(problems, fmt.Sprintf("names %s, which is no test", found[1]))
			}
		}
		return problems
	})
}
