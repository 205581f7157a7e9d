// Command machine-controller-kubemark keeps machines whose instances are hollow
// nodes: real kubelets over a fake runtime, nodes played by kwok, or memory.
package main

import (
	"github.com/millwright-dev/millwright/cmd/internal/kubemarkcontroller"
	"github.com/millwright-dev/millwright/internal/runtime/run"
)

func main() { run.Main(kubemarkcontroller.Command()) }
