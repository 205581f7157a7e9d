// Command machine-controller-kubemark is the machine controller for hollow nodes. An instance is a real kubelet with
// a fake container runtime, a node that kwok simulates, or an entry in memory.
package main

import (
	"github.com/millwright-dev/millwright/cmd/internal/kubemarkcontroller"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(kubemarkcontroller.Command()) }
