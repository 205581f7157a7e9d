package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/serve"
)

// TestNameIsKnownEarly: leases are named after the provider, so that it can move between a linked and a
// remote one.
func TestNameIsKnownEarly(t *testing.T) {
	for want, args := range map[string][]string{
		"remote":   nil,
		"kubemark": {"--leader-elect=false", "--provider-name", "kubemark", "--v", "4", "--unknown=x"},
		"other":    {"--provider-name=other", "--help"},
	} {
		p := plugin(args)
		if p.Name != want {
			t.Errorf("%v: %q, want %q", args, p.Name, want)
		}
		if c := serve.Command(p); c.Name() != "machine-controller-"+want || c.Flags().Lookup("provider-address") == nil {
			t.Errorf("%v: command %q", args, c.Name())
		}
	}
}

// TestAPIsAreKnownEarly: the program does not serve APIs that the provider does not support, whatever the
// program's name.
func TestAPIsAreKnownEarly(t *testing.T) {
	for want, args := range map[string][]string{
		"[]":                     nil,
		"[machine.sapcloud.io]":  {"--provider-apis=machine.sapcloud.io"},
		"[machine.openshift.io]": {"--unknown=x", "--provider-apis", "machine.openshift.io"},
	} {
		if got := serve.Command(plugin(args)).Flags().Lookup("apis").DefValue; got != want {
			t.Errorf("%v: serves %s, want %s", args, got, want)
		}
	}
}

func TestObjects(t *testing.T) {
	got, err := parseObjects([]string{"v1/ConfigMap/cloud/ca", "config.openshift.io/v1/Infrastructure//cluster"})
	want := []provider.ObjectRef{
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "cloud", Name: "ca"},
		{APIVersion: "config.openshift.io/v1", Kind: "Infrastructure", Name: "cluster"},
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	for _, text := range []string{"", "ConfigMap/ca", "v1//cloud/ca", "v1/ConfigMap/cloud/", "a/b/c/d/e/f"} {
		if got, err := parseObjects([]string{text}); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestAddressIsNeeded: the error names the missing flag.
func TestAddressIsNeeded(t *testing.T) {
	f := flags{name: "kubemark"}
	if _, err := f.dial(serve.Env{}); err == nil {
		t.Error("dials nowhere")
	}
	f.address = "unix:///run/kubemark.sock"
	if p, err := f.dial(serve.Env{}); err != nil || p.Name() != "kubemark" {
		t.Errorf("%v, %v", p, err)
	}
}
