package runbooks

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/internal/plugin"
)

const folder = "docs/runbooks"

// The part of a page that is made from the alert stands between these lines, below the title.
const begins, ends = "<!-- This part is made by a test of internal/verify/runbooks: do not edit it. -->\n", "<!-- End of this part. -->\n"

// sections are what every page has, in this order.
var sections = []string{"## Meaning\n", "## Impact\n", "## Diagnosis\n", "## Mitigation\n"}

// pages are the texts of the pages of alerts, by alert.
func pages(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(folder), "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no files: %v", err)
	}
	out := map[string]string{}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".md"); name != "README" {
			out[name] = read(t, "docs", "runbooks", name+".md")
		}
	}
	return out
}

// head is the part of a page that is made from its alert.
func head(a alert) string {
	since := "as soon as the expression is true"
	if a.For != "" {
		since = "after the expression has been true for " + a.For
	}
	return fmt.Sprintf("\nThe alert fires %s. Its severity is %s, and its rule is in `config/monitoring/%s.yaml`:\n\n```promql\n%s\n```\n\n",
		since, a.Labels["severity"], a.of, strings.TrimSpace(a.Expr))
}

// between replaces what stands between two lines of a text.
func between(text, begins, ends, with string) (string, bool) {
	before, rest, ok := strings.Cut(text, begins)
	_, after, closed := strings.Cut(rest, ends)
	return before + begins + with + ends + after, ok && closed
}

// TestEachAlertHasItsPage: each alert has a page, each page an alert, and shows its expression as it is now.
func TestEachAlertHasItsPage(t *testing.T) {
	texts := pages(t)
	for _, a := range alerts(t) {
		text, there := texts[a.Alert]
		delete(texts, a.Alert)
		if !there {
			t.Errorf("%s/%s.md is not there", folder, a.Alert)
			continue
		}
		want, ok := between(text, begins, ends, head(a))
		if !ok || !strings.HasPrefix(text, "# "+a.Alert+"\n\n"+begins) {
			t.Errorf("%s/%s.md does not begin with its title and the part that is made", folder, a.Alert)
			continue
		}
		hold(t, folder+"/"+a.Alert+".md", text, want)
		for at, rest := 0, text; at < len(sections); at++ {
			var found bool
			if _, rest, found = strings.Cut(rest, "\n"+sections[at]+"\n"); !found {
				t.Errorf("%s/%s.md: %q is missing, or not in its place", folder, a.Alert, strings.TrimSpace(sections[at]))
				break
			}
		}
	}
	for name := range texts {
		t.Errorf("%s/%s.md is of no alert", folder, name)
	}
}

var sentence = regexp.MustCompile(`(?s)^(.*?[.])(\s|$)`)

// meaning is the first sentence of a page.
func meaning(page string) string {
	_, rest, _ := strings.Cut(page, sections[0]+"\n")
	found := sentence.FindString(rest)
	return strings.Join(strings.Fields(found), " ")
}

// TestIndex: the index lists every page with the first sentence of its meaning.
func TestIndex(t *testing.T) {
	texts := pages(t)
	var out strings.Builder
	for _, of := range rules {
		fmt.Fprintf(&out, "\n`%s`:\n\n| alert | severity | after | meaning |\n|---|---|---|---|\n", of)
		for _, a := range alerts(t) {
			if a.of == of {
				fmt.Fprintf(&out, "| [%s](%s.md) | %s | %s | %s |\n", a.Alert, a.Alert, a.Labels["severity"], cmp.Or(a.For, "0m"), meaning(texts[a.Alert]))
			}
		}
	}
	out.WriteString("\n")
	text := read(t, "docs", "runbooks", "README.md")
	want, ok := between(text, begins, ends, out.String())
	if !ok {
		t.Fatalf("%s/README.md has no place for the table", folder)
	}
	hold(t, folder+"/README.md", text, want)
}

var (
	fenced = regexp.MustCompile("(?s)```sh\n(.*?)```")
	inline = regexp.MustCompile("`((?:kubectl machine|millwright) [^`]+)`")
	blank  = regexp.MustCompile(`<[a-z-]+>`)
)

// commands are the lines of a page that call our plugin or program, without their comments.
func commands(page string) (out []string) {
	for _, block := range fenced.FindAllStringSubmatch(page, -1) {
		for line := range strings.SplitSeq(block[1], "\n") {
			line, _, _ = strings.Cut(line, " #")
			if strings.HasPrefix(line, "kubectl machine ") || strings.HasPrefix(line, "millwright ") {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	for _, one := range inline.FindAllStringSubmatch(page, -1) {
		out = append(out, one[1])
	}
	return out
}

// objection says what is wrong with a command line of our plugin or program; empty: nothing is.
func objection(line string) string {
	words := strings.Fields(blank.ReplaceAllString(strings.ReplaceAll(line, "=<n>", "=1"), "x"))
	if words[0] == "kubectl" {
		words = words[1:]
	}
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard}
	program := &cobra.Command{Use: words[0]}
	program.AddCommand(plugin.Why(words[0], streams), plugin.History(words[0], streams), plugin.Plan(words[0], streams))
	c, args, err := program.Find(words[1:])
	if err != nil {
		return err.Error()
	}
	if c == program {
		return "it calls no command"
	}
	if err := c.ParseFlags(args); err != nil {
		return err.Error()
	}
	if err := c.ValidateArgs(c.Flags().Args()); err != nil {
		return err.Error()
	}
	return ""
}

// TestCommandsExist: the pages call why and plan as they are. Every page asks why, or says how to look at the processes.
func TestCommandsExist(t *testing.T) {
	for name, text := range pages(t) {
		for _, line := range commands(text) {
			if why := objection(line); why != "" {
				t.Errorf("%s/%s.md: %q: %s", folder, name, line, why)
			}
		}
		_, diagnosis, _ := strings.Cut(text, sections[2])
		if !strings.Contains(diagnosis, "kubectl ") {
			t.Errorf("%s/%s.md: the diagnosis has no command", folder, name)
		}
	}
}

func TestCommandsCatches(t *testing.T) {
	for _, c := range []struct {
		reason, line string
		good         bool
	}{
		{"as the plugin has it", "kubectl machine why -n <namespace> machine/<name> --tree", true},
		{"as the program has it", "millwright plan machineset/<name> --replicas=3", true},
		{"a command that is not there", "kubectl machine heal machine/a", false},
		{"a flag that is not there", "kubectl machine why --deep machine/a", false},
		{"too many objects", "kubectl machine why machine/a machine/b machine/c", false},
		{"no command", "kubectl machine --help", false},
	} {
		if why := objection(c.line); (why == "") != c.good {
			t.Errorf("%s: %q", c.reason, why)
		}
	}
	const page = "```sh\nkubectl machine why -A   # all\nkubectl get nodes\n```\nand `millwright plan -f x`"
	if got, want := commands(page), []string{"kubectl machine why -A", "millwright plan -f x"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
}

// TestPagesCatch: a changed expression, and a page without a part that is made, are noticed.
func TestPagesCatch(t *testing.T) {
	a := alert{Alert: "A", Expr: "up == 0\n", For: "5m", of: "rules", Labels: map[string]string{"severity": "info"}}
	page := "# A\n\n" + begins + head(a) + ends + "\n## Meaning\n\nIt is so.\nAnd so.\n"
	if got, ok := between(page, begins, ends, head(a)); !ok || got != page {
		t.Errorf("a current page is to become %q", got)
	}
	for reason, change := range map[string]func(*alert){
		"another expression": func(a *alert) { a.Expr = "up == 1" }, "another time": func(a *alert) { a.For = "" },
		"another severity": func(a *alert) { a.Labels = map[string]string{"severity": "critical"} },
	} {
		other := a
		if change(&other); head(other) == head(a) {
			t.Errorf("%s goes unnoticed", reason)
		}
	}
	if _, ok := between("# A\n", begins, ends, head(a)); ok {
		t.Error("a page without the part is taken for one")
	}
	if got := meaning(page); got != "It is so." {
		t.Errorf("it means %q", got)
	}
}

// TestFoldersHaveNothingElse: a rule file that no manifest makes would go on for ever.
func TestFoldersHaveNothingElse(t *testing.T) {
	entries, err := os.ReadDir(filepath.Join(root(t), "config", "monitoring", "plain"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(rules, strings.TrimSuffix(e.Name(), ".yaml")) {
			t.Errorf("config/monitoring/plain/%s is made from nothing", e.Name())
		}
	}
}
