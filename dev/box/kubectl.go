package main

import (
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // credential plugins of kubeconfigs
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// runKubectl sets the verbosity before the command is built, because building it (plugins, .kuberc) already logs.
func runKubectl() int {
	if _, err := logs.GlogSetter(cmd.GetLogVerbosity(os.Args)); err != nil {
		os.Stderr.WriteString("kubectl: setting the log verbosity: " + err.Error() + "\n")
	}
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
	return 0
}
