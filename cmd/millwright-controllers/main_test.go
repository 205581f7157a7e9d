package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCalled(t *testing.T) {
	for _, c := range []struct {
		reason     string
		args, want []string
		err        string
	}{
		{reason: "a link of the image", args: []string{"/machineset-controller", "--v=2"}, want: []string{"/machineset-controller", "--v=2"}},
		{reason: "the file itself, with a name", args: []string{"/millwright-controllers", "termination-handler", "--v=2"}, want: []string{"termination-handler", "--v=2"}},
		{reason: "the file itself, alone", args: []string{"/millwright-controllers"}, err: "no program: want one of " + list},
		{reason: "a name that nothing has", args: []string{"/millwright-controllers", "nimbus"}, err: "nimbus: want one of " + list},
	} {
		got, err := called(c.args)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: error %v, want %s", c.reason, err, c.err)
			}
		} else if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.reason, got, err)
		}
	}
}

// TestOwn: the file itself has a version, and a list of programs; a program called by its name answers by itself.
func TestOwn(t *testing.T) {
	for _, c := range []struct{ args, begins string }{
		{"/millwright-controllers version", "millwright-controllers "},
		{"/millwright-controllers --version", "millwright-controllers "},
		{"/millwright-controllers --programs", "installation-check\n"},
		{"/machineset-controller version", ""},
		{"/millwright-controllers machineset-controller version", ""},
		{"/millwright-controllers", ""},
	} {
		got := own(strings.Fields(c.args))
		if !strings.HasPrefix(got, c.begins) || (got == "") != (c.begins == "") {
			t.Errorf("%s: %q", c.args, got)
		}
	}
}

const list = "installation-check, machine-api-operator, machine-controller, machine-controller-kubemark, machine-controller-manager, machine-healthcheck, machine-ui, machineset-controller, nodelink-controller, termination-handler"

// TestNames: a command answers to the name that the file is called by.
func TestNames(t *testing.T) {
	for name, command := range programs() {
		if got := command().Name(); got != name {
			t.Errorf("%s calls itself %s", name, got)
		}
	}
}
