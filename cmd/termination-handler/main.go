// Command termination-handler runs on each node whose instance the cloud may interrupt. It watches the cloud's
// metadata service, and reports announced interruptions as conditions of the node.
package main

import (
	"github.com/millwright-dev/millwright/internal/runtime/run"
	"github.com/millwright-dev/millwright/internal/runtime/termination/handler"
)

func main() { run.Main(handler.Command()) }
