// Command millwright-controllers has all programs that run in clusters in one file. The name of the file or link
// selects the program, such as /machineset-controller. Otherwise the first argument is the name of the program.
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

	"github.com/millwright-dev/millwright/cmd/internal/admitters"
	"github.com/millwright-dev/millwright/cmd/internal/kubemarkcontroller"
	"github.com/millwright-dev/millwright/cmd/internal/setprograms"
	"github.com/millwright-dev/millwright/internal/operator/start"
	"github.com/millwright-dev/millwright/internal/plugin/speccheck"
	"github.com/millwright-dev/millwright/internal/plugin/uiserver"
	"github.com/millwright-dev/millwright/internal/program"
	"github.com/millwright-dev/millwright/internal/runtime/installation"
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/termination/handler"
	"github.com/millwright-dev/millwright/internal/runtime/version"
)

// programs returns the programs in the file, by name. An image has a link for each program.
func programs() map[string]func() *cobra.Command {
	return map[string]func() *cobra.Command{
		"control-plane-machine-set-operator": setprograms.ControlPlane,
		"installation-check":                 installation.Command,
		"machine-api-operator":               start.Command,
		"machine-controller":                 as("machine-controller", kubemarkcontroller.Command),
		"machine-controller-kubemark":        kubemarkcontroller.Command,
		"machine-controller-manager":         setprograms.ControllerManager,
		"machine-healthcheck":                program.HealthCheck().Command,
		"machine-ui":                         page,
		"machineset-controller":              setprograms.SetController,
		"manager":                            as("manager", setprograms.ControlPlane),
		"nodelink-controller":                program.NodeLink().Command,
		"termination-handler":                handler.Command,
	}
}

// as returns a program with another name. In images of providers for machine.sapcloud.io, the machine controller is
// /machine-controller. In the image of the original, control-plane-machine-set-operator is /manager.
func as(name string, program func() *cobra.Command) func() *cobra.Command {
	return func() *cobra.Command {
		c := program()
		c.Use = name
		return c
	}
}

// page is the program machine-ui. Its plans check provider specs by the rules of all infrastructures.
func page() *cobra.Command {
	c := uiserver.Command()
	serve := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		c.SetContext(speccheck.WithAdmitters(c.Context(), admitters.ByPlatform()))
		return serve(c, args)
	}
	return c
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
	// A program selects its ports and APIs by the name under which it runs.
	os.Args = args
	run.Main(programs()[filepath.Base(args[0])]())
}

// own returns the output of millwright-controllers itself: the version or the list of programs. It returns "" if one
// of the programs must run.
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

// called returns the command line of the selected program, which begins with the name of the program. It fails if
// args name no program.
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
