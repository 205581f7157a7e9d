// Command machine-controller-larch keeps machines on Larch.
package main

import (
	"example.org/larch"

	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(larch.Plugin()) }
