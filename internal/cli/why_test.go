package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/internal/inquiry"
	"github.com/millwright-dev/millwright/internal/why"
	"github.com/millwright-dev/millwright/provider"
)

func TestQuestion(t *testing.T) {
	for _, test := range []struct {
		args           []string
		namespace, api string
		want           inquiry.Question
		err            string
	}{
		{args: []string{"machine/a"}, want: inquiry.Question{Kind: "Machine", Name: "a"}},
		{args: []string{"machine", "a"}, namespace: "blue", want: inquiry.Question{Kind: "Machine", Name: "a", Namespace: "blue"}},
		{args: []string{"ms/a"}, api: "gardener", want: inquiry.Question{Kind: "MachineSet", Name: "a", API: provider.Gardener}},
		{args: []string{"machines.machine.openshift.io/a"}, api: "openshift", want: inquiry.Question{Kind: "Machine", Name: "a", API: provider.OpenShift}},
		{args: []string{"machines.machine.openshift.io/a"}, api: "gardener", err: "--api: machine.sapcloud.io, but"},
		{args: []string{"machine/a"}, api: "capi", err: `--api: unknown API "capi"`},
		{args: []string{"a"}, err: "want <kind>/<name>"},
	} {
		got, err := (&asking{namespace: test.namespace, api: test.api}).question(test.args)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%v: %v, want %s", test.args, err, test.err)
			}
			continue
		}
		if err != nil || got != test.want {
			t.Errorf("%v: %+v %v, want %+v", test.args, got, err, test.want)
		}
	}
}

// TestTellWhy: an answer about an object is success, however bad it is; no
// object is a failure, and both are printed.
func TestTellWhy(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	s := why.Subject{Kind: "Machine", Name: "a"}
	for _, test := range []struct {
		answer why.Answer
		want   error
	}{
		{why.Machine(now, why.MachineFacts{Subject: s}), nil},
		{why.NotFound(s, nil, nil, nil), errReported},
		{why.NotFound(s, nil, nil, []string{"machines: forbidden"}), errReported},
		{why.Several(s, []why.Subject{{API: provider.OpenShift, Kind: "Machine", Name: "a"}, {API: provider.Gardener, Kind: "Machine", Name: "a"}}, nil), errReported},
	} {
		var text, document bytes.Buffer
		if err := tellWhy(&text, test.answer, "", now); !errors.Is(err, test.want) || !strings.HasPrefix(text.String(), test.answer.Sentence) {
			t.Errorf("%s: %v, printed %q", test.answer.Sentence, err, text.String())
		}
		if err := tellWhy(&document, test.answer, "json", now); !errors.Is(err, test.want) {
			t.Errorf("%s as json: %v", test.answer.Sentence, err)
		}
		var got why.Answer
		if err := json.Unmarshal(document.Bytes(), &got); err != nil || got.Sentence != test.answer.Sentence || got.State != test.answer.State {
			t.Errorf("%s as json: %v %s", test.answer.Sentence, err, document.String())
		}
	}
}

// TestPlugin: under the name of a plugin the program calls itself as kubectl
// calls it.
func TestPlugin(t *testing.T) {
	for name, want := range map[string]string{"/usr/bin/kubectl-machine": "kubectl machine why ", "bin/millwright": "millwright why "} {
		out := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(out)
		if err != nil {
			t.Fatal(err)
		}
		stdout := os.Stdout
		os.Stdout = f
		code := Run(t.Context(), []string{name, "why", "--help"})
		os.Stdout = stdout
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if code != 0 || !strings.Contains(string(text), "\n  "+want) {
			t.Errorf("%s: exit code %d, prints %s", name, code, text)
		}
	}
}
