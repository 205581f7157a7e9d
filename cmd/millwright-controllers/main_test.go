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
		{reason: "the file itself, with the name of a program", args: []string{"/millwright-controllers", "termination-handler", "--v=2"}, want: []string{"termination-handler", "--v=2"}},
		{reason: "the file itself, alone", args: []string{"/millwright-controllers"}, err: "no program: want one of " + list},
		{reason: "an unknown program", args: []string{"/millwright-controllers", "nimbus"}, err: "nimbus: want one of " + list},
	} {
		got, err := called(c.args)
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%s: error %v, want %s", c.reason, err, c.err)
			}
		} else if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: command line %v, error %v", c.reason, got, err)
		}
	}
}

// TestOwn: the file itself prints its version and the list of programs. Under the name of a program, it prints
// nothing itself.
func TestOwn(t *testing.T) {
	for _, c := range []struct{ args, begins string }{
		{"/millwright-controllers version", "millwright-controllers "},
		{"/millwright-controllers --version", "millwright-controllers "},
		{"/millwright-controllers --programs", "control-plane-machine-set-operator\n"},
		{"/machineset-controller version", ""},
		{"/millwright-controllers machineset-controller version", ""},
		{"/millwright-controllers", ""},
	} {
		got := own(strings.Fields(c.args))
		if !strings.HasPrefix(got, c.begins) || (got == "") != (c.begins == "") {
			t.Errorf("%s: output %q", c.args, got)
		}
	}
}

const list = "control-plane-machine-set-operator, installation-check, machine-api-operator, machine-controller, machine-controller-kubemark, machine-controller-manager, machine-healthcheck, machine-ui, machineset-controller, manager, nodelink-controller, termination-handler"

// TestNames: the command of each program has the name of the program.
func TestNames(t *testing.T) {
	for name, command := range programs() {
		if got := command().Name(); got != name {
			t.Errorf("program %s has the command name %s", name, got)
		}
	}
}
