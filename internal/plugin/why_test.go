package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
	"github.com/millwright-dev/millwright/provider"
)

// asked returns the command why after it has parsed the flags.
func asked(t *testing.T, flags ...string) *why {
	t.Helper()
	w := newWhy(genericiooptions.IOStreams{Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}})
	if err := w.command("millwright").ParseFlags(flags); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestQuestion(t *testing.T) {
	for _, test := range []struct {
		args  []string
		flags []string
		want  collect.Question
		err   string
	}{
		{args: []string{"machine/a"}, want: collect.Question{Kind: "Machine", Name: "a"}},
		{args: []string{"machine", "a"}, flags: []string{"-n", "blue"}, want: collect.Question{Kind: "Machine", Name: "a", Namespace: "blue"}},
		{flags: []string{"-n", "blue"}, want: collect.Question{Kind: "Namespace", Name: "blue", Namespace: "blue"}},
		{want: collect.Question{Kind: "Namespace", Name: homeName}},
		{flags: []string{"-A"}, want: collect.Question{Kind: "Namespace", Name: homeName, Everywhere: true}},
		{args: []string{"machine/a"}, flags: []string{"-A"}, want: collect.Question{Kind: "Machine", Name: "a"}},
		{args: []string{"mhc/a"}, want: collect.Question{Kind: "MachineHealthCheck", Name: "a"}},
		{args: []string{"machineclass", "a"}, want: collect.Question{Kind: "MachineClass", Name: "a"}},
		{args: []string{"md/a"}, flags: []string{"--tree"}, want: collect.Question{Kind: "MachineDeployment", Name: "a", Tree: true}},
		{args: []string{"ms/a"}, flags: []string{"--api", "gardener"}, want: collect.Question{Kind: "MachineSet", Name: "a", API: provider.Gardener}},
		{args: []string{"machines.machine.openshift.io/a"}, flags: []string{"--api=openshift"}, want: collect.Question{Kind: "Machine", Name: "a", API: provider.OpenShift}},
		{args: []string{"machines.machine.openshift.io/a"}, flags: []string{"--api=gardener"}, err: "--api is machine.sapcloud.io, but"},
		{args: []string{"machine/a"}, flags: []string{"--api=capi"}, err: `--api: unknown API "capi"`},
		{args: []string{"a"}, err: "want <kind>/<name>"},
	} {
		t.Run(test.err, func(t *testing.T) {
			got, err := asked(t, test.flags...).question(test.args)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v: error %v, want %s", test.args, err, test.err)
				}
				return
			}
			if err != nil || got != test.want {
				t.Errorf("%v: question %+v, error %v; want %+v", test.args, got, err, test.want)
			}
		})
	}
}

// TestTell: tell prints each answer. It succeeds if the answer is about one object, even in a bad state, and fails
// otherwise.
func TestTell(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s := explain.Subject{Kind: "Machine", Name: "a"}
	for _, test := range []struct {
		answer explain.Answer
		want   error
	}{
		{explain.Machine(now, explain.MachineFacts{Subject: s}), nil},
		{explain.NotFound(s, nil, nil, nil), ErrReported},
		{explain.NotFound(s, nil, nil, []string{"machines: forbidden"}), ErrReported},
		{explain.Several(s, []explain.Subject{{API: provider.OpenShift, Kind: "Machine", Name: "a"}, {API: provider.Gardener, Kind: "Machine", Name: "a"}}, nil), ErrReported},
	} {
		for output, read := range map[string]func([]byte, *explain.Answer) error{
			"json": func(raw []byte, a *explain.Answer) error { return json.Unmarshal(raw, a) },
			"yaml": func(raw []byte, a *explain.Answer) error { return yaml.Unmarshal(raw, a) },
			"jsonpath={.sentence}": func(raw []byte, a *explain.Answer) error {
				a.Sentence, a.State = string(raw), test.answer.State
				return nil
			},
			"": func(raw []byte, a *explain.Answer) error {
				a.Sentence, _, _ = strings.Cut(string(raw), "\n")
				a.State = test.answer.State
				return nil
			},
		} {
			p, err := asked(t, "-o", output).print.Printer()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := tell(&out, test.answer, p, now); !errors.Is(err, test.want) {
				t.Errorf("%s with -o %q: error %v", test.answer.Sentence, output, err)
			}
			var got explain.Answer
			if err := read(out.Bytes(), &got); err != nil || got.Sentence != test.answer.Sentence || got.State != test.answer.State {
				t.Errorf("%s with -o %q: error %v, output %s", test.answer.Sentence, output, err, out.String())
			}
		}
	}
	b := explain.Grow(explain.Answer{Subject: s, State: explain.Healthy, Reason: "Running"})
	var out bytes.Buffer
	if err := tell(&out, explain.Answer{Subject: s, Sentence: "It is.", Tree: &b}, nil, now); err != nil || !strings.HasSuffix(out.String(), "\n\nMachine a: Healthy (Running)\n") {
		t.Errorf("with a tree: error %v, output %q", err, out.String())
	}
	if _, err := asked(t, "-o", "xml").print.Printer(); err == nil || !strings.Contains(err.Error(), "json") {
		t.Errorf("-o xml: error %v, want an error that lists the formats", err)
	}
}

// plugged runs the plugin with a command line.
func plugged(t *testing.T, line ...string) (out, messages string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), line, genericiooptions.IOStreams{Out: &stdout, ErrOut: &stderr})
	return stdout.String(), stderr.String(), code
}

// TestPlugin: the help has the name "kubectl machine" and the flags of kubectl. Without a kubeconfig, the error
// message names --kubeconfig.
func TestPlugin(t *testing.T) {
	out, _, code := plugged(t, "/usr/bin/kubectl-machine", "why", "--help")
	if code != 0 || !strings.Contains(out, "\n  kubectl machine why machine/") || !strings.Contains(out, "\n  kubectl machine why [<kind>/<name>] [flags]") {
		t.Errorf("exit code %d, output %s", code, out)
	}
	for _, flag := range []string{"--kubeconfig", "--context", "--namespace", "--as ", "--output", "--request-timeout"} {
		if !strings.Contains(out, flag) {
			t.Errorf("the help lacks kubectl's flag %s: %s", flag, out)
		}
	}
	t.Setenv("KUBECONFIG", "/nonexistent/kubeconfig")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, messages, code := plugged(t, "kubectl-machine", "why", "machine/a"); code != 1 || !strings.HasPrefix(messages, "error: ") || !strings.Contains(messages, "--kubeconfig") {
		t.Errorf("without a cluster: exit code %d, messages %q", code, messages)
	}
}

// TestCompletion: the plugin completes kinds and flags without a cluster, also under the name of the completer that
// kubectl calls.
func TestCompletion(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nonexistent/kubeconfig")
	for _, test := range []struct {
		reason, want string
		line         []string
	}{
		{"a prefix of the kind machinehealthcheck", "machinehealthcheck/\n", []string{"kubectl-machine", "__complete", "why", "machineh"}},
		{"a prefix of the kind machineclass", "machineclass/\n", []string{"kubectl-machine", "__complete", "why", "machinec"}},
		{"a slash follows the kind", "machineset/\n", []string{"kubectl-machine", "__complete", "why", "machines"}},
		{"kubectl calls the completer", "machineset/\n", []string{"/usr/bin/kubectl_complete-machine", "why", "machines"}},
		{"the names of commands", "why", []string{"kubectl_complete-machine", "w"}},
		{"the short names of APIs", "\nopenshift\n", []string{"kubectl_complete-machine", "why", "--api", ""}},
		{"the output formats", "jsonpath", []string{"kubectl_complete-machine", "why", "-o", "json"}},
		{"without a cluster, the completer offers no names and succeeds", ":4\n", []string{"kubectl_complete-machine", "why", "machine/a"}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			if out, messages, code := plugged(t, test.line...); code != 0 || !strings.Contains(out, test.want) {
				t.Errorf("%s: %v: exit code %d, offers %q %q, want %q", test.reason, test.line, code, out, messages, test.want)
			}
		})
	}
}
