// Package flagspage checks that docs/reference/flags.md lists the flags of the programs.
package flagspage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/millwright-dev/millwright/cmd/internal/kubemarkcontroller"
	"github.com/millwright-dev/millwright/cmd/internal/setprograms"
	"github.com/millwright-dev/millwright/internal/demo/cli"
	"github.com/millwright-dev/millwright/internal/operator/start"
	"github.com/millwright-dev/millwright/internal/plugin"
	"github.com/millwright-dev/millwright/internal/plugin/commands"
	"github.com/millwright-dev/millwright/internal/plugin/uiserver"
	"github.com/millwright-dev/millwright/internal/program"
	"github.com/millwright-dev/millwright/internal/runtime/installation"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/termination/handler"
)

// programOf is a program that runs in clusters or on a user's computer.
type programOf struct {
	name    string
	command func() *cobra.Command
	// like is a program whose flags this program has, too. It may be empty.
	like string
}

// controllers returns the controllers, which share most of their flags.
func controllers() []programOf {
	return []programOf{
		{"machine-controller-manager", setprograms.ControllerManager, ""},
		{"machineset-controller", setprograms.SetController, "machine-controller-manager"},
		{"machine-healthcheck", program.HealthCheck().Command, "machine-controller-manager"},
		{"nodelink-controller", program.NodeLink().Command, "machine-controller-manager"},
		{"control-plane-machine-set-operator", setprograms.ControlPlane, "machine-controller-manager"},
		{"machine-controller-kubemark", kubemarkcontroller.Command, ""},
	}
}

func others() []programOf {
	return []programOf{
		{"machine-api-operator", start.Command, ""},
		{"termination-handler", handler.Command, ""},
		{"installation-check", installation.Command, ""},
		{"machine-ui", uiserver.Command, ""},
		{"millwright", cli.Command, ""},
		{"kubectl machine", looks, ""},
	}
}

// looks returns the commands of the kubectl plugin. millwright has the same commands.
func looks() *cobra.Command {
	const name = "kubectl machine"
	c := &cobra.Command{Use: "kubectl-machine", Short: "millwright has the same commands. The commands also take kubectl's flags: `kubectl options`", Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: name}}
	streams := genericiooptions.NewTestIOStreamsDiscard()
	c.AddCommand(plugin.Commands(name, streams, commands.More...)...)
	return c
}

// ours has Millwright's descriptions of flags that Kubernetes defines: the flags for logging, and --output of
// kubectl.
var ours = map[string]string{
	"v":                         "log level: 0 for changes, 1 for retries too, higher for debugging. You can change it while the process runs",
	"vmodule":                   "another `--v` for some files: `file=3,other*=2`",
	"logging-format":            "`text` or `json`",
	"log-flush-frequency":       "maximum time until a log line is written",
	"log-text-split-stream":     "write errors to stderr and all other lines to stdout; with the format `text`",
	"log-text-info-buffer-size": "bytes of the stdout buffer if streams are split; with the format `text`",
	"log-json-split-stream":     "write errors to stderr and all other lines to stdout; with the format `json`",
	"log-json-info-buffer-size": "bytes of the stdout buffer if streams are split; with the format `json`",

	"output": "`json`, `yaml`, `jsonpath=…` or another format of `kubectl`; without it text for people",
}

// foreign returns the flags of kubectl that the plugin accepts and the page does not explain.
func foreign() map[string]bool {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	genericclioptions.NewConfigFlags(true).AddFlags(fs)
	out := map[string]bool{"allow-missing-template-keys": true, "show-managed-fields": true, "template": true}
	fs.VisitAll(func(f *pflag.Flag) { out[f.Name] = true })
	return out
}

// entry is a row of a table.
type entry struct{ flag, preset, meaning string }

// entriesOf returns the visible flags of a command, and the names of its hidden flags. It omits the flags in theirs.
func entriesOf(c *cobra.Command, theirs map[string]bool) (shown []entry, hidden []string) {
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Name == "help" || f.Name == "version" || theirs[f.Name]:
		case f.Hidden || f.Deprecated != "":
			hidden = append(hidden, f.Name)
		default:
			shown = append(shown, entry{names(f), preset(f), meaning(f)})
		}
	})
	return shown, hidden
}

func names(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return "`--" + f.Name + "`"
	}
	return "`-" + f.Shorthand + "`, `--" + f.Name + "`"
}

func preset(f *pflag.Flag) string {
	if value := strings.Replace(f.DefValue, os.Getenv("HOME"), "~", 1); value != "" && value != "[]" {
		return "`" + value + "`"
	}
	return ""
}

func meaning(f *pflag.Flag) string {
	text := ours[f.Name]
	if text == "" {
		text = f.Usage
	}
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(strings.Join(strings.Fields(text), " "))
}

// common returns the entries that all lists have.
func common(all [][]entry) (out []entry) {
	for _, e := range all[0] {
		if !slices.ContainsFunc(all, func(some []entry) bool { return !slices.Contains(some, e) }) {
			out = append(out, e)
		}
	}
	return out
}

func less(all, without []entry) []entry {
	return slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return slices.Contains(without, e) })
}

func table(b *strings.Builder, entries []entry) {
	if len(entries) == 0 {
		return
	}
	b.WriteString("\n| flag | default | meaning |\n|---|---|---|\n")
	for _, e := range entries {
		fmt.Fprintf(b, "| %s | %s | %s |\n", e.flag, e.preset, e.meaning)
	}
}

const headText = `<!-- Made by a test of cmd/internal/flagspage from the flags of the programs. DO NOT EDIT: make generate. -->

# Flags

The page lists the flags of all programs, as ` + "`--help`" + ` does. ` + "`version`" + ` or ` + "`--version`" + ` prints the version. Durations are written as ` + "`90s`" + ` or ` + "`1h30m`" + `.
[processes.md](../contributing/processes.md) has the ports and leases, and the controllers of each program.

## Logging

All programs that run in clusters have these flags.
`

const sharedText = `
## All controllers

` + "`machine-controller-manager`, `machineset-controller`, `machine-healthcheck`, `nodelink-controller` and `machine-controller-kubemark`" + ` have these flags. Underscores are accepted
instead of hyphens. The defaults of addresses and APIs depend on the name of a program, because some programs have the names of programs of the originals.
`

// page returns the text of the page.
func page() string {
	var b strings.Builder
	b.WriteString(headText)
	table(&b, logs())
	b.WriteString(sharedText)
	var all [][]entry
	for _, p := range controllers() {
		shown, _ := entriesOf(called(p), nil)
		all = append(all, less(shown, logs()))
	}
	shared := common(all)
	table(&b, shared)
	_, hidden := entriesOf(called(controllers()[0]), nil)
	fmt.Fprintf(&b, "\nAccepted, without effect or for older command lines: `--%s`.\n", strings.Join(hidden, "`, `--"))
	for i, p := range controllers() {
		own := less(all[i], shared)
		c := called(p)
		if p.like != "" {
			own = less(own, all[0])
			c.Short += ". It also has the flags of " + p.like + ". The table lists the flags that it does not share, or that have another default"
		}
		section(&b, c, "## "+p.name, own)
	}
	for _, p := range others() {
		shown, _ := entriesOf(called(p), foreign())
		section(&b, called(p), "## "+p.name, less(shown, logs()))
	}
	return b.String()
}

// logs returns the flags for logging.
func logs() []entry {
	c := &cobra.Command{}
	run.AddLogFlags(c.Flags())
	shown, _ := entriesOf(c, nil)
	return shown
}

// called returns the command of a program as if the program ran under its name.
func called(p programOf) *cobra.Command {
	os.Args = []string{p.name}
	return p.command()
}

// section writes a section about the command c: the flags in own, and its commands. It lists a flag that several
// commands share once, before the commands.
func section(b *strings.Builder, c *cobra.Command, title string, own []entry) {
	fmt.Fprintf(b, "\n%s\n", title)
	if c.Short != "" {
		fmt.Fprintf(b, "\n%s.\n", c.Short)
	}
	table(b, own)
	var all []entry
	subs := shownBelow(c)
	for _, sub := range subs {
		all = append(all, taken(sub)...)
	}
	several := slices.DeleteFunc(slices.Clone(all), func(e entry) bool { return len(all)-len(less(all, []entry{e})) < 2 })
	if several = slices.Compact(sorted(several)); len(several) > 0 {
		b.WriteString("\nSeveral commands share these flags. Each command lists those that it takes after *Also*:\n")
		table(b, several)
	}
	for _, sub := range subs {
		fmt.Fprintf(b, "\n### %s\n\n%s.\n", sub.CommandPath(), sub.Short)
		table(b, less(taken(sub), several))
		var also []string
		for _, e := range taken(sub) {
			if slices.Contains(several, e) {
				also = append(also, e.flag)
			}
		}
		if len(also) > 0 {
			fmt.Fprintf(b, "\nAlso: %s.\n", strings.Join(also, "; "))
		}
	}
}

func taken(c *cobra.Command) []entry {
	shown, _ := entriesOf(c, foreign())
	return less(shown, logs())
}

func sorted(all []entry) []entry {
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.flag+a.preset+a.meaning, b.flag+b.preset+b.meaning) })
	return all
}

// shownBelow returns the visible commands below c, at any depth.
func shownBelow(c *cobra.Command) (out []*cobra.Command) {
	for _, sub := range c.Commands() {
		switch {
		case sub.Hidden || sub.Name() == "version" || sub.Name() == "help" || sub.Name() == "completion":
		case c.Name() == "millwright" && isLook(sub.Name()):
		default:
			out = append(append(out, sub), shownBelow(sub)...)
		}
	}
	return out
}

func isLook(name string) bool {
	return slices.ContainsFunc(looks().Commands(), func(c *cobra.Command) bool { return c.Name() == name })
}

// TestPage: the page lists the flags of the programs. With UPDATE_GOLDEN, the test writes the page.
func TestPage(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("MILLWRIGHT_HOME", "")
	t.Setenv("KUBECONFIG", "")
	defer func(args []string) { os.Args = args }(os.Args)
	file := filepath.Join("..", "..", "..", "docs", "reference", "flags.md")
	want := page()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(have)); diff != "" {
		t.Errorf("%s does not list the flags of the programs: run UPDATE_GOLDEN=1 go test ./cmd/internal/flagspage (-want +have):\n%s", file, diff)
	}
}

// TestLoggingInOurWords: ours describes each visible flag for logging, and no flag that does not exist.
func TestLoggingInOurWords(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	run.AddLogFlags(fs)
	seen := map[string]bool{}
	fs.VisitAll(func(f *pflag.Flag) {
		if seen[f.Name] = true; !f.Hidden && f.Deprecated == "" && ours[f.Name] == "" {
			t.Errorf("ours does not describe --%s: %s", f.Name, f.Usage)
		}
	})
	for name := range ours {
		if !seen[name] && name != "output" {
			t.Errorf("ours describes --%s, which does not exist", name)
		}
	}
}

// TestCommon: entries that differ in any field are not common.
func TestCommon(t *testing.T) {
	a, b := entry{"`--a`", "", "A."}, entry{"`--b`", "`1`", "B."}
	other := entry{b.flag, "`2`", b.meaning}
	if got := common([][]entry{{a, b}, {a, other}}); !slices.Equal(got, []entry{a}) {
		t.Errorf("common: %v", got)
	}
	if got := less([]entry{a, b}, []entry{a}); !slices.Equal(got, []entry{b}) {
		t.Errorf("remaining entries: %v", got)
	}
}
