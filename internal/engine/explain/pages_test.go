package explain

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// filled matches the values of placeholders, and omissions on a page.
	filled = regexp.MustCompile(`…|\*[^*]+\*|; | \([^)]*\)|: `)
	braces = regexp.MustCompile(`\{[^}]*\}`)
	space  = regexp.MustCompile(`\s+`)
)

// said returns all texts of answers, without the values of placeholders.
func said() string {
	var all []string
	for _, a := range reasons {
		all = append(all, a.text, a.next)
	}
	all = append(all, absent("machine controller"))
	return braces.ReplaceAllString(strings.Join(all, "\n"), "\n")
}

// quotes are the parts of a cell that are quoted word by word.
func quotes(cell string) (out []string) {
	for part := range strings.SplitSeq(filled.ReplaceAllString(cell, "\n"), "\n") {
		if part = strings.TrimSpace(space.ReplaceAllString(part, " ")); len(part) >= 8 {
			out = append(out, part)
		}
	}
	return out
}

// TestTroubleshootingQuotes: the column "`why` says" of the page has the texts of why.
func TestTroubleshootingQuotes(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, quoting, n := said(), false, 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		switch {
		case len(cells) < 3:
			quoting = false
			continue
		case strings.TrimSpace(cells[1]) == "`why` says":
			quoting = true
			continue
		case !quoting || strings.HasPrefix(cells[1], "--"):
			continue
		}
		for _, q := range quotes(cells[1]) {
			if n++; !strings.Contains(all, q) {
				t.Errorf("why never says %q: %s", q, cells[1])
			}
		}
	}
	if n < 30 {
		t.Errorf("found %d quotes, which cannot be all", n)
	}
}

func TestQuotes(t *testing.T) {
	got := quotes("… secret *namespace*/*name* does not exist (`machine.sapcloud.io`); is frozen, and creates no machines")
	if want := []string{"does not exist", "is frozen, and creates no machines"}; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
}
