// Command millwright-controllers is all programs that run in clusters, in one file: it is the one by whose name it is called, as
// a link to it (/machineset-controller), or whose name is its first argument.
package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/millwright-dev/millwright/cmd/internal/kubemarkcontroller"
	"github.com/millwright-dev/millwright/cmd/internal/setprograms"
	"github.com/millwright-dev/millwright/internal/operator/start"
	"github.com/millwright-dev/millwright/internal/plugin/uiserver"
	"github.com/millwright-dev/millwright/internal/program"
	"github.com/millwright-dev/millwright/internal/runtime/installation"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/termination/handler"
	"github.com/millwright-dev/millwright/internal/runtime/version"
)

// programs are those that the file is, by their names. Images have a link for each.
func programs() map[string]func() *cobra.Command {
	return map[string]func() *cobra.Command{
		"installation-check":          installation.Command,
		"machine-api-operator":        start.Command,
		"machine-controller":          as("machine-controller", kubemarkcontroller.Command),
		"machine-controller-kubemark": kubemarkcontroller.Command,
		"machine-controller-manager":  setprograms.ControllerManager,
		"machine-healthcheck":         program.HealthCheck().Command,
		"machine-ui":                  uiserver.Command,
		"machineset-controller":       setprograms.SetController,
		"nodelink-controller":         program.NodeLink().Command,
		"termination-handler":         handler.Command,
	}
}

// as is a program by another name: images of providers of machine.sapcloud.io have theirs as /machine-controller.
func as(name string, program func() *cobra.Command) func() *cobra.Command {
	return func() *cobra.Command {
		c := program()
		c.Use = name
		return c
	}
}

func main() {
	if text := own(os.Args); text != "" {
		fmt.Println(text)
		return
	}
	args, err := called(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
	// Programs take ports and APIs by the name that they are called by.
	os.Args = args
	run.Main(programs()[filepath.Base(args[0])]())
}

// own is what the file answers by itself, where it is not called by the name of a program; empty: it is a program that answers.
func own(args []string) string {
	if _, linked := programs()[filepath.Base(args[0])]; linked || len(args) != 2 {
		return ""
	}
	switch args[1] {
	case "--programs":
		return strings.Join(names(), "\n")
	case "version", "--version":
		return filepath.Base(args[0]) + " " + version.String()
	}
	return ""
}

// called is the command line of the program that is meant, beginning with its name.
func called(args []string) ([]string, error) {
	_, linked := programs()[filepath.Base(args[0])]
	if linked {
		return args, nil
	}
	args = args[1:]
	asked := cmp.Or(strings.Join(args[:min(1, len(args))], ""), "no program")
	if _, known := programs()[asked]; !known {
		return nil, fmt.Errorf("%s: want one of %s", asked, strings.Join(names(), ", "))
	}
	return args, nil
}

func names() []string { return slices.Sorted(maps.Keys(programs())) }
