// Command machine-controller-metal3 manages machines on Metal3 hosts.
package main

import (
	"github.com/millwright-dev/millwright/providers/metal3/cloud"
	"github.com/millwright-dev/millwright/serve"
)

func main() { serve.Main(cloud.Plugin()) }
