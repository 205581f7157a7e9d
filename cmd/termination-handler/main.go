// Command termination-handler runs on every node whose instance the cloud may
// take back. It watches the cloud's metadata service and tells what is
// announced by conditions of the node.
package main

import (
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/termination/handler"
)

func main() { run.Main(handler.Command()) }
