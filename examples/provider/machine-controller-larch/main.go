// Command machine-controller-larch is the machine controller for Larch.
package main

import (
	"example.org/larch"

	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(larch.Plugin()) }
