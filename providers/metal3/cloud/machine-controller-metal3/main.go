// Command machine-controller-metal3 keeps machines on hosts of Metal3.
package main

import (
	"github.com/millwright-dev/millwright/providers/metal3/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
